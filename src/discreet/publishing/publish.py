"""Publishing over time: a release adds new ratings' votes to the tallies released before."""

from __future__ import annotations

from pathlib import Path

from discreet.data.edges import require_inside
from discreet.data.ratings import Ratings
from discreet.errors import LedgerError, ParameterError, ReleaseError
from discreet.kernels.compute import Compute
from discreet.privacy.noise import Randomness
from discreet.privacy.provenance import Neighbours
from discreet.privacy.spec import PrivacySpec
from discreet.progress import Progress, silent
from discreet.publishing.file_ledger import LOST, RECORDED, VISIBLE, Ledger
from discreet.release.durable import put_in_place, remove_leftovers
from discreet.release.release import FILES, Release
from discreet.schemes.base import Publishing, Run
from discreet.schemes.model import FactorModel


def publish(
    scheme: Publishing,
    ratings: Ratings,
    spec: PrivacySpec | None = None,
    *,
    out: str | Path,
    ledger: Ledger | str | Path,
    seed: int | None = None,
    compute: Compute = Compute(),
    progress: Progress = silent,
) -> FactorModel:
    """Fit within every pair's lifetime budget, and put the release in place.

    `ratings` may be the whole table: what was counted before is not counted again. A pair that has
    nothing left gets weight zero, and nobody but the operator is told. Safe against a kill at any
    moment and against two publishers at once.
    """
    require_publishing(scheme)
    if not isinstance(ledger, Ledger):
        ledger = Ledger(ledger)
    target = Path(out).expanduser().resolve()
    if ledger.path.is_relative_to(target):
        raise LedgerError(
            f"the ledger {ledger.path} lies in the release folder, which is public and replaced "
            "whole: keep it elsewhere, as secret as the ratings"
        )
    spec, data = scheme.prepare(ratings, spec)
    require_inside(ratings, scheme.items)
    with ledger.publishing():
        progress("publish", 0, 4)
        ledger.check()
        finish_interrupted(ledger)
        previous = _previous(ledger, target)
        if previous is not None and previous.scale != data.scale:
            raise LedgerError(
                f"the previous release has ratings {previous.scale}, this table {data.scale}: "
                "tallies on different scales cannot be added up"
            )
        randomness = Randomness(seed, run=len(ledger.releases()))
        spends = ledger.spends(data)
        progress("publish", 1, 4)
        history = ledger.history(ledger.next_number())
        batch = scheme.publish_batch(
            data, spec, spends, previous, Run(randomness, compute, progress), history=history
        )
        progress("publish", 2, 4)
        staged = batch.model.release.stage(target)
        certificate = Release.load(staged).certificate
        entry = ledger.next_release(certificate, staged, target)
        ledger.record(data, spec.levels(data), batch.epsilons, batch.deltas, entry)
        progress("publish", 3, 4)
        put_in_place(staged, target)
        ledger.settle(entry.number, VISIBLE)
        progress("publish", 4, 4)
    return batch.model


def require_publishing(scheme: Publishing) -> None:
    """Only what the theorem for releases over time covers."""
    if not scheme.about.publishes:
        raise ParameterError(
            f"the ledger goes with Tally and Chorus, or a scheme that publishes as they do: got "
            f"{scheme.about.name}"
        )
    if scheme.neighbours != Neighbours.ADD_REMOVE or scheme.unit != "rating":
        raise ParameterError("the ledger goes with add/remove neighbours and unit='rating' only")


def finish_interrupted(ledger: Ledger) -> None:
    """Put in place what was recorded and staged when its process ended; call it under the lock."""
    for entry in ledger.releases():
        if entry.state != RECORDED:
            continue
        if _digest(entry.staged) == entry.digest:
            put_in_place(entry.staged, entry.target)
        state = VISIBLE if _digest(entry.target) == entry.digest else LOST
        ledger.settle(entry.number, state)


def _previous(ledger: Ledger, target: Path) -> Release | None:
    """The release to add to, the ledger's latest; leftovers of a crash are removed."""
    remove_leftovers(target, FILES)
    shown = [entry for entry in ledger.releases() if entry.state == VISIBLE]
    found = _digest(target)
    if not shown:
        if found is not None:
            raise LedgerError(
                f"{target} holds a release that {ledger.path} knows nothing of: publish to another "
                "folder, or with the ledger it was made with"
            )
        return None
    if found is not None and found not in {entry.digest for entry in ledger.releases()}:
        raise LedgerError(
            f"{target} holds a release that {ledger.path} knows nothing of. If this ledger was "
            "restored from a backup, it has forgotten what was spent since: restore the latest "
            "ledger. Without it, declare that ('discreet ledger restored'), and put back there the "
            f"latest release that it knows, number {shown[-1].number}"
        )
    if found != shown[-1].digest:
        raise LedgerError(
            f"{target} does not hold the latest release of {ledger.path}, number "
            f"{shown[-1].number}, whose tallies are needed to add to: put that release back there "
            f"(it was published at {shown[-1].target})"
        )
    return Release.load(target)


def _digest(folder: Path) -> str | None:
    try:
        return Release.load(folder).certificate.digest
    except ReleaseError:
        return None
