"""A source of ratings, in memory or elsewhere: a mechanism may ask it for integer sums, no more.

People are divided into parts, each person's ratings in one. Every part computes an array of
integers, and these are added up: in integers the sum does not depend on how many parts there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from discreet.arrays import Integers
from discreet.data.event_rules import EventRules
from discreet.data.ids import Ids
from discreet.data.scale import RatingScale

if TYPE_CHECKING:
    from discreet.data.ratings import Ratings

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Parts(Protocol[T_co]):
    """What was prepared from each part of the ratings; no person is in two parts."""

    def sum(self, contribution: Callable[[T_co], Integers], shape: tuple[int, ...]) -> Integers:
        """Add up what every part contributes: integer arrays of this shape."""
        ...


class RatingsSource(Protocol):
    """Ratings in memory, on disk or in a cluster, divided into parts by person.

    Where a table is in memory there is one part, the table.
    """

    @property
    def items(self) -> Ids:
        """The catalogue, in canonical order."""
        ...

    @property
    def scale(self) -> RatingScale:
        """The rating scale."""
        ...

    @property
    def has_levels(self) -> bool:
        """Whether the table has an epsilon column, with levels that people chose."""
        ...

    @property
    def rules(self) -> EventRules | None:
        """By which rows of events became records; None for ratings."""
        ...

    @property
    def events(self) -> bool:
        """Whether these are events: who chose what, with values from 0 to 1 as ratings."""
        ...

    def over(self, catalogue: Ids) -> RatingsSource:
        """The same ratings, to be counted over a public catalogue.

        Records of other items stay in the parts: what levels they have may count for their owners.
        """
        ...

    def map_parts(self, prepare: Callable[[Ratings], T]) -> Parts[T]:
        """Apply `prepare` to every part.

        Whether its results are kept, or computed anew for every sum, is the source's choice.
        """
        ...


def sum_once(
    source: RatingsSource, contribution: Callable[[Ratings], Integers], shape: tuple[int, ...]
) -> Integers:
    """Add up what every part contributes, and keep nothing else of it: it is asked for once."""
    return source.map_parts(contribution).sum(_itself, shape)


def _itself(found: Integers) -> Integers:
    return found


@dataclass(frozen=True, eq=False)
class OnePart(Generic[T]):
    """Ratings in memory: one part, whose contribution is the sum.

    >>> import numpy as np
    >>> OnePart(3).sum(lambda state: np.array([state, 2 * state]), (2,)).tolist()
    [3, 6]
    """

    state: T = field(repr=False)

    def sum(self, contribution: Callable[[T], Integers], shape: tuple[int, ...]) -> Integers:
        """What the only part contributes."""
        return contribution(self.state).reshape(shape)


@dataclass(frozen=True, eq=False)
class OverCatalogue:
    """A table in memory as a source whose items are those of a public catalogue."""

    table: Ratings
    items: Ids

    @property
    def scale(self) -> RatingScale:
        """The rating scale."""
        return self.table.scale

    @property
    def has_levels(self) -> bool:
        """Whether the table has an epsilon column."""
        return self.table.has_levels

    @property
    def rules(self) -> EventRules | None:
        """By which rows of events became records; None for ratings."""
        return self.table.rules

    @property
    def events(self) -> bool:
        """Whether these are events."""
        return self.table.events

    def over(self, catalogue: Ids) -> OverCatalogue:
        """The same table over another catalogue."""
        return replace(self, items=catalogue)

    def map_parts(self, prepare: Callable[[Ratings], T]) -> OnePart[T]:
        """Prepare the whole table, also its records of items outside the catalogue."""
        return OnePart(prepare(self.table))
