"""What the tests of the ledger share: a catalogue, a scheme, and how to publish with both."""

import polars as pl

from discreet.items import Items
from discreet.privacy.ledger import Ledger
from discreet.ratings import Ratings
from discreet.release import Release
from discreet.schemes.publish import publish
from discreet.schemes.tally import Tally

ITEMS = Items.from_frame(pl.DataFrame({"item": range(100, 130)}))
TALLY = Tally(items=ITEMS)


def put(ledger: Ledger, ratings: Ratings, scheme: Tally = TALLY, **more: object) -> Release:
    out = ledger.path.parent / "release"
    return publish(scheme, ratings, None, out=out, ledger=ledger, **more).release  # type: ignore[arg-type]
