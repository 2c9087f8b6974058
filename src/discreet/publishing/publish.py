"""Publishing over time: train, charge every rating for it, and put the release in place."""

from __future__ import annotations

from pathlib import Path

from discreet.data.edges import require_inside
from discreet.data.ratings import Ratings
from discreet.data.tables import Table, as_ratings
from discreet.errors import LedgerError, ParameterError
from discreet.kernels.compute import Compute
from discreet.privacy.noise import Randomness
from discreet.privacy.spec import PrivacySpec
from discreet.progress import Progress, silent
from discreet.publishing.file_ledger import FileLedger
from discreet.publishing.folder import FolderLedger
from discreet.publishing.ledger import Entry, Ledger
from discreet.schemes import SCHEMES, find_scheme
from discreet.schemes.base import LedgerState, Publishing, Run
from discreet.schemes.model import FactorModel


def publish(
    scheme: Publishing,
    ratings: Table,
    spec: PrivacySpec | None = None,
    *,
    out: str | Path,
    ledger: FileLedger | str | Path,
    seed: int | None = None,
    compute: Compute = Compute(),
    progress: Progress = silent,
) -> FactorModel:
    """Train on the ratings that have budget left, and replace the release in folder `out`.

    Each rating's epsilon is a budget for its lifetime: what earlier releases have spent of it is in
    the ledger, and the new release adds to them. `ratings` may be the whole table: what was counted
    before is not counted again. A pair that has nothing left gets weight zero, and nobody but the
    operator is told. Safe against being killed at any time and against two publishers at once.
    """
    require_publishing(scheme)  # before a new ledger begins
    table = as_ratings(ratings)
    book = ledger if isinstance(ledger, FileLedger) else FileLedger(ledger)
    into = FolderLedger(book, Path(out).expanduser().resolve())
    into.require_apart()
    model, _ = publish_into(
        into, scheme, table, spec, seed=seed, compute=compute, progress=progress
    )
    return model


def publish_into(
    ledger: Ledger[Entry],
    scheme: Publishing,
    ratings: Ratings,
    spec: PrivacySpec | None,
    *,
    seed: int | None,
    compute: Compute = Compute(),
    progress: Progress,
) -> tuple[FactorModel, Entry]:
    """One publication, whatever keeps the ledger: the model, and the entry of its release."""
    require_publishing(scheme)
    spec, data = scheme.prepare(ratings, spec)
    require_inside(ratings, scheme.items)
    progress("publish", 0, 3)
    with ledger.hold():
        state = ledger.state(data)
        _require_alike(state, data)
        progress("publish", 1, 3)
        run = Run(Randomness(seed, run=state.earlier), compute, progress)
        batch = scheme.publish_batch(data, spec, state, run)
        progress("publish", 2, 3)
        entry = ledger.record(data, batch)
        progress("publish", 3, 3)
    return batch.model, entry


def require_publishing(scheme: Publishing) -> None:
    """An error for a scheme that the theorem about releases over time does not cover."""
    if not scheme.about.publishes:
        abouts = [find_scheme(name).about for name in SCHEMES]
        others = " and ".join(about.name for about in abouts if about.publishes)
        raise ParameterError(f"the ledger goes with {others}: got {scheme.about.name}")
    scheme.require_publishable()


def _require_alike(state: LedgerState, data: Ratings) -> None:
    before = state.before
    if before is not None and before.events != data.events:
        was, now = (("ratings", "events")[k] for k in (before.events, data.events))
        raise LedgerError(f"the previous release is of {was}, and {now} cannot be added to them")
    if before is not None and before.scale != data.scale:
        raise LedgerError(
            f"the previous release has ratings {before.scale}, this table {data.scale}: "
            "tallies on different scales cannot be added up"
        )
