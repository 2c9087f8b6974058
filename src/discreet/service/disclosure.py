"""What has left about a person's ratings, and what still can: from the ledger, for every page.

Everything is computed from that person's own pairs alone, by the rule that publishers spend by.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np
import polars as pl
from sqlalchemy.engine import Connection

from discreet.database import generation, ledger, own_ratings, publications
from discreet.database.declaration import Declaration
from discreet.database.hashes import hashes_of_few, hashes_of_one
from discreet.database.ledger import Spend
from discreet.database.own_ratings import OwnRating
from discreet.privacy.lifetime import Costs, Loss, Spends, together
from discreet.privacy.purses import Division, divide, told


class State(StrEnum):
    """Where a rating stands."""

    WAITING = "waiting"
    """It enters the model at the next release."""
    RAISED = "raised"
    """It has entered at a lower level; the difference enters at the next release."""
    AGAIN = "again"
    """It has entered, and takes part again in the next release, with another part of its level."""
    COUNTED = "counted"
    """It has entered; changes at this level stay with its owner."""
    TAKEN_DOWN = "taken_down"
    """Its item was taken down: no release counts it, or counts it again."""
    DELETED = "deleted"
    """It has entered and was deleted since; what was released cannot be recalled."""
    UNRATED = "unrated"
    """There is no rating, and none has entered."""


class Entered(StrEnum):
    """Whether a rating has entered a release."""

    YES = "yes"
    MAYBE = "maybe"
    """The database was restored from a backup: it is taken to have spent all that it could."""
    NO = "no"


@dataclass(frozen=True)
class Choice:
    """What a level would mean for one rating, given what was spent on it before."""

    level: float
    next: Loss
    """What the next release may add at this level."""
    most: Loss
    """The most that all releases will ever have told, while the level is this one."""


@dataclass(frozen=True)
class Disclosure:
    """What has left about one pair, and what still can."""

    item: str
    state: State
    entered: Entered
    release: int | None
    """The latest release that has counted it, where one is known."""
    changed_since: bool
    """Whether it was changed after that release read it."""
    spent: Loss
    chosen: Choice | None
    """At its level now; None where there is no rating."""
    choices: tuple[Choice, ...]
    """At every level on offer, the default among them, smallest first."""
    making: bool
    """Whether a release may be in the making, which counts it as it was when that began."""

    @property
    def epsilon(self) -> float | None:
        """The level now."""
        return None if self.chosen is None else self.chosen.level

    @property
    def next(self) -> Loss:
        """What the next release may add, as things are."""
        return Loss() if self.chosen is None else self.chosen.next

    @property
    def most(self) -> Loss:
        """The most that all releases will ever have told, as things are."""
        return self.spent if self.chosen is None else self.chosen.most

    @property
    def can_be_raised(self) -> bool:
        """Whether a more open level would let something more of it enter."""
        return self.choices[-1].next.epsilon > self.next.epsilon


@dataclass(frozen=True)
class Record:
    """All that has left about one person, as of one moment."""

    own: list[OwnRating]
    ratings: list[Disclosure]
    """One for every rating, and for every deleted one that has entered."""
    restored: bool
    making: bool
    """Whether a release may be in the making."""

    @property
    def counted(self) -> list[Disclosure]:
        """Those that have entered a release."""
        return [found for found in self.ratings if found.entered == Entered.YES]

    @property
    def charged(self) -> list[Disclosure]:
        """Those that may have."""
        return [found for found in self.ratings if found.entered == Entered.MAYBE]

    @property
    def spent(self) -> Loss:
        """What all releases have told, for somebody who asks about all ratings at once."""
        return together(found.spent for found in self.ratings)

    @property
    def most(self) -> Loss:
        """The most that they will ever have told, as things are."""
        return together(found.most for found in self.ratings)


def about(
    connection: Connection,
    declared: Declaration,
    person: str,
    items: pl.Series,
    rated: Mapping[str, OwnRating],
    removed: frozenset[str] = frozenset(),
) -> list[Disclosure]:
    """One for every item, rated or not, in their order; `removed` were taken down."""
    rule = _rule(connection, declared, removed)
    spends = _spends(connection, person, items)
    return [_disclosure(item, rated.get(item), spends.get(item), rule) for item in items]


def of_each(
    connection: Connection, declared: Declaration, rated: Sequence[tuple[str, OwnRating]]
) -> list[Disclosure]:
    """One for every rating (person, rating), of whoever it is: each from its own pair alone."""
    rule = _rule(connection, declared, frozenset())
    hashes = hashes_of_few(connection, [(person, own.item) for person, own in rated])
    found = ledger.spends_of(connection, hashes)
    pairs = zip(*(column.tolist() for column in hashes), strict=True)
    return [
        _disclosure(own.item, own, found.get(pair), rule)
        for (_, own), pair in zip(rated, pairs, strict=True)
    ]


def record(
    connection: Connection,
    declared: Declaration,
    person: str,
    own: list[OwnRating],
    known: pl.Series | None,
    removed: frozenset[str] = frozenset(),
) -> Record:
    """Everything about a person, from that person's own rows.

    Where an older version has deleted ratings, whose keyed hashes alone are left, those are found
    by trying all that are known: the whole catalogue.
    """
    rated = {own_rating.item: own_rating for own_rating in own}
    once = own_ratings.once_rated(connection, person)
    items = pl.Series("item", list(dict.fromkeys([*rated, *once])), dtype=pl.String)
    if known is not None and own_ratings.deleted_by_hash_alone(connection):
        items = pl.concat([items, known.filter(~known.is_in(items.implode()))])
    spends, rule = _spends(connection, person, items), _rule(connection, declared, removed)
    listed = [
        _disclosure(item, rated.get(item), spends.get(item), rule)
        for item in items
        if item in rated or item in spends
    ]
    return Record(own, listed, generation.was_restored(connection), rule.making)


@dataclass(frozen=True)
class _Rule:
    """The rule that publishers spend by."""

    declared: Declaration
    division: Division | None
    removed: frozenset[str]
    """Items that were taken down."""
    making: bool

    def spent(self, spend: Spend | None) -> Loss:
        """What releases have told so far."""
        return told(_one(spend), self.declared.delta)

    def choice(self, item: str, level: float, spend: Spend | None) -> Choice:
        """What a level would mean."""
        if item in self.removed:
            return Choice(level, Loss(), self.spent(spend))
        past = None if spend is None else spend._replace(release=None, revision=0)
        return _choice(self.declared.max_level, self.declared.delta, self.division, level, past)


@lru_cache(maxsize=8192)
def _choice(
    t: float, delta: float, division: Division | None, level: float, spend: Spend | None
) -> Choice:
    """What a level would mean for a pair that has spent this: most have spent the same."""
    levels, spends = np.array([level]), _one(spend)
    if division is None:
        costs = spends.undivided(levels, t, delta=delta)
        coming = Loss(float(costs.epsilon[0]), float(costs.delta[0]))
        return Choice(level, coming, told(spends.after(costs), delta))
    before = told(spends, delta)
    after = told(spends.after(division.allowed(levels, spends)), delta)
    coming = Loss(after.epsilon - before.epsilon, after.delta - before.delta)
    pure, mu2 = division.purses(levels, spends)
    rest = Costs.of(
        levels,
        pure=np.maximum(pure - spends.pure, 0.0),
        mu2=np.maximum(mu2 - spends.mu2, 0.0),
    )
    return Choice(level, coming, told(spends.after(rest), delta))


def _rule(connection: Connection, declared: Declaration, removed: frozenset[str]) -> _Rule:
    division = divide(
        t=declared.max_level,  # as in operate/releases.py
        delta=declared.delta,
        publications=declared.publications,
        # Without a delta no release divides a ledger: nobody need look.
        share=ledger.pure_share(connection) if declared.delta else None,
    )
    return _Rule(declared, division, removed, publications.is_being_made(connection))


def _one(spend: Spend | None) -> Spends:
    if spend is None:
        return Spends.none(1)
    past = (spend.level, spend.spent, spend.delta, spend.pure, spend.mu2)
    return Spends(*(np.array([value]) for value in past))


def _spends(connection: Connection, person: str, items: pl.Series) -> dict[str, Spend]:
    """What was spent on one person's pairs with these items, for those that have."""
    if len(items) == 0:
        return {}
    hashes = hashes_of_one(connection, person, items)
    found = ledger.spends_of(connection, hashes)
    pairs = zip(*(column.tolist() for column in hashes), strict=True)
    return {item: found[pair] for item, pair in zip(items, pairs, strict=True) if pair in found}


def _disclosure(
    item: str, own_rating: OwnRating | None, spend: Spend | None, rule: _Rule
) -> Disclosure:
    chosen = None if own_rating is None else rule.choice(item, own_rating.epsilon, spend)
    declared = rule.declared
    state = _state(chosen, spend)
    if chosen is not None and item in rule.removed:
        state = State.TAKEN_DOWN
    return Disclosure(
        item=item,
        state=state,
        entered=_entered(spend),
        release=None if spend is None else spend.release,
        changed_since=spend is not None
        and (own_rating is None or own_rating.revision != spend.revision),
        spent=rule.spent(spend),
        chosen=chosen,
        choices=tuple(
            rule.choice(item, level, spend)
            for level in sorted({*declared.levels, declared.usual_level})
        ),
        making=rule.making,
    )


def _state(chosen: Choice | None, spend: Spend | None) -> State:
    if chosen is None:
        return State.UNRATED if spend is None else State.DELETED
    if spend is None:
        return State.WAITING
    if chosen.next.epsilon <= 0:
        return State.COUNTED
    return State.RAISED if chosen.level > spend.level else State.AGAIN


def _entered(spend: Spend | None) -> Entered:
    if spend is None:
        return Entered.NO
    return Entered.MAYBE if spend.release is None else Entered.YES
