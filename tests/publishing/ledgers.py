"""What the tests of the ledger share: a catalogue, a scheme, and how to publish with both."""

import polars as pl
import pytest

from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.privacy.noise import Randomness
from discreet.publishing.file_ledger import FileLedger
from discreet.publishing.publish import publish
from discreet.release.release import Release
from discreet.schemes import votes
from discreet.schemes.base import Publishing
from discreet.schemes.tally import Tally

ITEMS = Items.from_frame(pl.DataFrame({"item": range(100, 130)}))
TALLY = Tally(items=ITEMS)


def put(
    ledger: FileLedger, ratings: Ratings, scheme: Publishing = TALLY, **more: object
) -> Release:
    out = ledger.path.parent / "release"
    return publish(scheme, ratings, None, out=out, ledger=ledger, **more).release  # type: ignore[arg-type]


def no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact votes, and all of a batch's: without noise there is nothing to tell it from."""
    monkeypatch.setattr(Randomness, "add_laplace", lambda _s, sums, _scale, **_: sums)
    monkeypatch.setattr(votes, "share_of_signal", lambda _counts, _variance: 1.0)
    monkeypatch.setattr(votes, "share_to_add", lambda _batch, _earlier, _publications: 1.0)
