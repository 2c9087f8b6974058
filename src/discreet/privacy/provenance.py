"""Provenance: how a release was made, as far as its promise depends on it; public, frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from discreet.privacy.history import History
from discreet.privacy.theorems import Theorem

SYSTEM_ENTROPY = "operating system"
OPENSSL_ENTROPY = "OpenSSL's generator, seeded by the operating system"
SEEDED = "seeded: protects nobody"
GENERATORS = {
    SYSTEM_ENTROPY: "The operating system's random generator is as good as independent fair bits.",
    OPENSSL_ENTROPY: "The random generators of the operating system and of OpenSSL, which OpenDP "
    "draws from, are as good as independent fair bits.",
}
"""Where real noise comes from, and what is assumed of it."""
_BEFORE = "; in earlier releases: "


class Neighbours(StrEnum):
    """The neighbouring relation: which two data sets a release must hardly tell apart.

    ADD_REMOVE: one has a record, or person, that the other lacks, which hides also who rated what.
    REPLACE: one rating has another value; who rated what is public.
    """

    ADD_REMOVE = "add/remove"
    REPLACE = "replace"


class Catalogue(StrEnum):
    """Where the list of items came from: if from the ratings, it tells which items were rated."""

    GIVEN = "given"
    RATED = "the rated items"


class Pairs(StrEnum):
    """How it is known that no pair of user and item occurs twice."""

    CHECKED = "checked"
    DECLARED = "declared by the table's keeper"


@dataclass(frozen=True, kw_only=True)
class Levels:
    """The levels that people could choose from, as declared; which of them occur is secret."""

    words: str
    least: float | None = None
    most: float | None = None
    default: float | None = None
    """Of a rating without a level of its own; None where every rating must have one."""

    def after(self, before: Levels) -> Levels:
        """The levels of this release and an earlier one together: what either of them offered."""
        words = before.words
        if self.words not in words.split(_BEFORE):
            words = f"{self.words}{_BEFORE}{words}"
        open_below = self.least is None or before.least is None
        least = None if open_below else _smallest(self.least, before.least)
        return replace(self, words=words, least=least, most=_largest(self.most, before.most))


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """How a release was made; `privacy.certificate` derives from it what may be promised.

    What is None does not apply.
    """

    scheme: str
    variant: str
    theorem: Theorem
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    unit: str = "rating"
    personalisation: str = "none"
    """How ratings with different epsilons are served."""
    levels: Levels = Levels(words="none")
    threshold: float | None = None
    """t, where it is a declared number."""
    threshold_rule: str = "declared"
    """How t came about, where it is not."""
    delta: float = 0.0
    served: float | None = None
    """The largest epsilon that any record may have been counted with in one release."""
    proven_up_to: float | None = None
    """The largest such epsilon that the proof covers, where it has a limit."""
    parameters: Mapping[str, str | int | float] = field(default_factory=dict)
    sampler: str = "none"
    entropy: str
    coins: bool = False
    """Whether records were kept or dropped by coins from a keyed hash."""
    catalogue: Catalogue
    columns: tuple[str, ...] = ()
    """Of the item table: published, and features where they can be."""
    vouched: tuple[str, ...] = ()
    """Those of them of which somebody said that they are public and not derived from ratings."""
    suspects: tuple[str, ...] = ()
    """Those that look derived from ratings, and of which nobody said anything: in releases of a
    version that did not ask."""
    pairs: Pairs = Pairs.CHECKED
    history: History | None = None
    """Of the ledger, for a release that adds to others."""
    events: str | None = None
    """Of a release of events, not ratings: the rules by which rows became records, in words."""
    recorded: bool = True
    """False for a release of a version that asserted its status instead of recording why, and for
    those that add to one."""

    def after(self, before: Provenance) -> Provenance:
        """Of a release that adds to an earlier one: what weakens either promise weakens both."""
        generators = {self.entropy, before.entropy}
        real = max(generators, key=list(GENERATORS).index) if generators <= {*GENERATORS} else None
        rated = Catalogue.RATED in (self.catalogue, before.catalogue)
        declared = Pairs.DECLARED in (self.pairs, before.pairs)
        return replace(
            self,
            entropy=real or SEEDED,
            catalogue=Catalogue.RATED if rated else self.catalogue,
            pairs=Pairs.DECLARED if declared else self.pairs,
            coins=self.coins or before.coins,
            delta=max(self.delta, before.delta),
            levels=self.levels.after(before.levels),
            served=_largest(self.served, before.served),
            proven_up_to=_smallest(self.proven_up_to, before.proven_up_to),
            columns=_union(before.columns, self.columns),
            vouched=_union(before.vouched, self.vouched),
            suspects=_union(before.suspects, self.suspects),
            events=self.events if self.events == before.events else _together(self, before),
            recorded=self.recorded and before.recorded,
        )


def _together(made: Provenance, before: Provenance) -> str:
    """Rules of this release and an earlier one: whichever they are, values are from 0 to 1."""
    rules = (before.events or "").split(_BEFORE)
    return _BEFORE.join([rule for rule in (made.events or "",) if rule not in rules] + rules)


def _largest(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else max(one, other)


def _smallest(one: float | None, other: float | None) -> float | None:
    return min((limit for limit in (one, other) if limit is not None), default=None)


def _union(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*one, *other)))
