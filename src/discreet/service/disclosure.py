"""What has left about a person's ratings, and what still can: from the ledger, for every page.

Everything is computed from that person's own pairs alone, by the rule that publishers spend by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import polars as pl
from sqlalchemy.engine import Connection

from discreet.database import generation, ledger
from discreet.database.declaration import Declaration
from discreet.database.hashes import hashes_of_one
from discreet.database.ledger import Spend
from discreet.database.own_ratings import OwnRating
from discreet.privacy.lifetime import Loss, Spends, together


class State(StrEnum):
    """Where a rating stands."""

    WAITING = "waiting"
    """It enters the model at the next release."""
    RAISED = "raised"
    """It has entered at a lower level; the difference enters at the next release."""
    COUNTED = "counted"
    """It has entered; changes at this level stay with its owner."""
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
) -> list[Disclosure]:
    """One for every item, rated or not, in their order."""
    if len(items) == 0:
        return []
    hashes = hashes_of_one(connection, person, items)
    spends = ledger.spends_of(connection, hashes)
    pairs = zip(*(column.tolist() for column in hashes), strict=True)
    return [
        _disclosure(item, rated.get(item), spends.get(pair), declared)
        for item, pair in zip(items, pairs, strict=True)
    ]


def record(
    connection: Connection,
    declared: Declaration,
    person: str,
    own: list[OwnRating],
    catalogue: pl.Series | None,
) -> Record:
    """Everything about a person; deleted ratings are found by trying the whole catalogue."""
    items = pl.Series("item", [own_rating.item for own_rating in own], dtype=pl.String)
    if catalogue is not None:
        items = pl.concat([items, catalogue.filter(~catalogue.is_in(items.implode()))])
    rated = {own_rating.item: own_rating for own_rating in own}
    found = about(connection, declared, person, items, rated)
    listed = [one for one in found if one.state != State.UNRATED]
    return Record(own, listed, generation.was_restored(connection))


def _disclosure(
    item: str, own_rating: OwnRating | None, spend: Spend | None, declared: Declaration
) -> Disclosure:
    chosen = None if own_rating is None else _choice(own_rating.epsilon, spend, declared)
    return Disclosure(
        item=item,
        state=_state(chosen, spend),
        entered=_entered(spend),
        release=None if spend is None else spend.release,
        changed_since=spend is not None
        and (own_rating is None or own_rating.revision != spend.revision),
        spent=_spent(spend),
        chosen=chosen,
        choices=tuple(
            _choice(level, spend, declared)
            for level in sorted({*declared.levels, declared.usual_level})
        ),
    )


def _state(chosen: Choice | None, spend: Spend | None) -> State:
    if chosen is None:
        return State.UNRATED if spend is None else State.DELETED
    if spend is None:
        return State.WAITING
    return State.RAISED if chosen.next.epsilon > 0 else State.COUNTED


def _entered(spend: Spend | None) -> Entered:
    if spend is None:
        return Entered.NO
    return Entered.MAYBE if spend.release is None else Entered.YES


def _spent(spend: Spend | None) -> Loss:
    return Loss() if spend is None else Loss(spend.spent, spend.delta)


def _choice(level: float, spend: Spend | None, declared: Declaration) -> Choice:
    """By the publishers' own rule; t is the largest level offered, as in operate/releases.py."""
    past = (0.0, 0.0, 0.0) if spend is None else spend[:3]
    spends = Spends(*(np.array([value]) for value in past))
    part = spends.allowance(np.array([level]), declared.max_level, delta=declared.delta)
    epsilon = float(part[0])
    coming = Loss(epsilon, declared.delta if epsilon > 0 else 0.0)
    return Choice(level, coming, _spent(spend).then(coming))
