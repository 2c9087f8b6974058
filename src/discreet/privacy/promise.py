"""What a release promises, derived from how it was made: the only place that says a status.

The theorem says what would be promised; everything that happened in the run may weaken it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from discreet.privacy import history as ledgers
from discreet.privacy.provenance import (
    GENERATORS,
    Catalogue,
    Neighbours,
    Pairs,
    Provenance,
)
from discreet.privacy.theorems import Status, Theorem, weakest
from discreet.privacy.wording import of_events

INCREMENTAL = "incremental"
"""The variant of releases that add to one another, within lifetime budgets."""
_SEEDED = "This run was seeded: whoever knows the seed can remove the noise. It protects nobody."


class Promise(NamedTuple):
    """What a release promises: how far that is backed, in words, and what is assumed for it."""

    status: Status
    statement: str
    assumptions: tuple[str, ...]


class _Finding(NamedTuple):
    """Something that happened in a run, in words, and the best status that it still allows."""

    words: str
    leaves: Status = Status.PROVEN


def promise(made: Provenance) -> Promise:
    """Status, statement and assumptions, from what happened and from nothing else."""
    assumed = [*_about_tables(made), *_about_ledger(made)]
    assumed += [*_about_randomness(made), *_about_records(made)]
    refuted = [*_about_limits(made)]
    found = [finding.leaves for finding in (*assumed, *refuted)]
    status = weakest(made.theorem.backing, *found)
    words = [finding.words for finding in assumed]
    if made.events is not None:
        words = [of_events(text) for text in words]
    statement = _stated(made.theorem, [finding.words for finding in refuted])
    return Promise(status, statement, (*words, *made.theorem.assumptions))


def _stated(theorem: Theorem, refuted: list[str]) -> str:
    """The theorem, as what it would promise where something has left nothing of it."""
    if not refuted or theorem.backing == Status.UNPROVEN:
        return " ".join([*refuted, theorem.statement])
    return " ".join([*refuted, "Without that it would promise:", theorem.statement])


def _about_limits(made: Provenance) -> Iterator[_Finding]:
    """What leaves nothing of a promise."""
    if made.entropy not in GENERATORS:
        yield _Finding(_SEEDED, Status.UNPROVEN)
    limit, served = made.proven_up_to, made.served
    if limit is not None and (served is None or served > limit):
        most = "any size" if served is None else f"up to {served:g}"
        yield _Finding(
            f"Nothing is proven here: ratings were served with epsilons of {most}, and the proof "
            f"of the noise covers {limit:g} at most.",
            Status.UNPROVEN,
        )


def _about_tables(made: Provenance) -> Iterator[_Finding]:
    if made.sampler == "none":  # without noise there is nothing to assume
        return
    yield _Finding(
        "The rating scale, the offered levels and all parameters were fixed without looking at the "
        "ratings."
    )
    if made.catalogue == Catalogue.GIVEN:
        later = ", and so was every change to it" if made.variant == INCREMENTAL else ""
        yield _Finding(
            "The item catalogue, and every column of its table, was made without the ratings"
            f"{later}."
        )
    else:
        # Under REPLACE who rated what is public by definition, and with it the rated items.
        public = made.neighbours == Neighbours.REPLACE
        yield _Finding(
            "The list of rated items is public: no catalogue was given, so it was taken from them.",
            Status.PROVEN if public else Status.CONDITIONAL,
        )
    if made.vouched:
        yield _Finding(
            f"The columns {', '.join(made.vouched)} of the item table are public, and were not "
            "derived from ratings: somebody vouched for that."
        )
    if made.suspects:
        yield _Finding(
            f"The columns {', '.join(made.suspects)} of the item table look derived from ratings, "
            "and are not: nobody was asked.",
            Status.CONDITIONAL,
        )
    # An empty table is refused, for instance: then there is no release that could be close.
    yield _Finding(
        "The checks that tables pass when their owner reads them, without which there would be no "
        f"release, would pass without any one {made.unit} as well."
    )
    yield _Finding("Only the release leaves: user factors, traces and evaluation results do not.")


def _about_randomness(made: Provenance) -> Iterator[_Finding]:
    if made.sampler != "none" and made.entropy in GENERATORS:
        yield _Finding(GENERATORS[made.entropy])
    if made.coins:
        yield _Finding(
            "Coins from SHA-256 with a secret 256-bit key are as good as independent ones."
        )


def _about_records(made: Provenance) -> Iterator[_Finding]:
    if made.pairs == Pairs.DECLARED:
        yield _Finding(
            "No pair of user and item occurs twice in the table: its keeper declared so.",
            Status.CONDITIONAL,
        )
    if not made.recorded and (made.coins or made.scheme == "Chorus"):
        yield _Finding(
            "What the version that made this release, or one that it adds to, rounded too little "
            "may be neglected: a probability or a scale of noise by a few parts in 10^14.",
            Status.CONDITIONAL,
        )
    if not made.recorded and made.unit == "person":
        yield _Finding(
            "Nobody gave their smallest level to an item outside the catalogue: the version that "
            "made this release did not count such levels.",
            Status.CONDITIONAL,
        )


def _about_ledger(made: Provenance) -> Iterator[_Finding]:
    if made.variant != INCREMENTAL:
        return
    yield _Finding("All releases share one ledger.")
    yield _Finding(
        "Everybody's other ratings depend on a pair through the releases alone. What its owner "
        "rates because of their own recommendations is protected by those ratings' own levels."
    )
    past = made.history
    if past is None:
        yield _Finding(
            "The ledger was never an older copy of itself, and releases came when a schedule that "
            "was fixed in advance wanted them: the version that made this one recorded neither.",
            Status.CONDITIONAL,
        )
        return
    if not past.every_hours:
        yield _Finding(
            "No schedule was declared: when releases were made did not depend on the ratings."
        )
    elif past.off_schedule:
        numbers = ", ".join(map(str, past.off_schedule))
        yield _Finding(
            f"Releases were declared for every {past.every_hours:g} hours. Of these, {numbers} "
            "came at another time, which did not depend on the ratings.",
            Status.CONDITIONAL,
        )
    else:
        yield _Finding(
            f"Releases were declared in advance for every {past.every_hours:g} hours. None came "
            "early, or late by more than a twentieth of that; when exactly, and when the first "
            "came, did not depend on the ratings."
        )
    if past.changes:
        yield _Finding(
            f"What had been declared was changed later ({'; '.join(past.changes)}): what to, and "
            "when, did not depend on the ratings.",
            Status.CONDITIONAL,
        )
    if past.removed:
        yield _Finding(
            f"{past.removed} items of the catalogue were taken down: no release counts them any "
            "more. Which, and when, did not depend on the ratings."
        )
    yield _Finding(ledgers.UNNOTICED)
    if past.since > 1:
        yield _Finding(
            f"Before release {past.since} the ledger was never an older copy of itself: from then "
            "on copies are noticed.",
            Status.CONDITIONAL,
        )
    if past.moves:
        yield _Finding(
            f"A copy went on in the ledger's place ({', '.join(past.moves)}): it was the latest, "
            "and nothing was published from the other one since. Somebody declared so.",
            Status.CONDITIONAL,
        )
    for restore in past.restores:
        copy = f"On {restore.day} the ledger was restored from a copy that knew releases up to "
        copy += f"{restore.known}."
        if not restore.day:
            copy = "Before that was recorded, the ledger was restored from an older copy."
        yield _Finding(
            f"{copy} Ratings that were given after that copy was made, were counted in a "
            "release that it did not know, and were given or read again since may have been "
            "counted again: for these, what each such release spent adds up, and if one of them "
            "was seeded it has no limit.",
            Status.CONDITIONAL,
        )
