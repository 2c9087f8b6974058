"""Where ratings are, as a mechanism sees it: it may ask for integer sums over people, no more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from discreet.arrays import Integers
from discreet.data.ids import Ids
from discreet.data.scale import RatingScale

if TYPE_CHECKING:
    from discreet.data.ratings import Ratings

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Parts(Protocol[T_co]):
    """What was prepared from the ratings of sets of people; nobody is in two of them."""

    def sum(self, contribution: Callable[[T_co], Integers], shape: tuple[int, ...]) -> Integers:
        """The sum of all sets' contributions: integers, so it does not depend on the sets."""
        ...


class RatingsSource(Protocol):
    """Ratings in memory, on disk or in a cluster, in sets of people.

    A person's ratings are all in one set. Where a table is in memory there is one set, the table.
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
        """Whether the table has levels of its own, which people chose."""
        ...

    def over(self, catalogue: Ids) -> RatingsSource:
        """The same, to be counted over a public catalogue.

        Records of other items stay in the sets: what levels they have may count for their owners.
        """
        ...

    def map_parts(self, prepare: Callable[[Ratings], T]) -> Parts[T]:
        """Prepare every set, all records of its people; whether results are kept or made anew each
        time is the source's."""
        ...


@dataclass(frozen=True, eq=False)
class OnePart(Generic[T]):
    """One set, in memory."""

    state: T

    def sum(self, contribution: Callable[[T], Integers], shape: tuple[int, ...]) -> Integers:
        """The contribution of the only set."""
        return contribution(self.state).reshape(shape)


@dataclass(frozen=True, eq=False)
class OverCatalogue:
    """A table in memory whose records are counted over a public catalogue."""

    table: Ratings
    items: Ids

    @property
    def scale(self) -> RatingScale:
        """The rating scale."""
        return self.table.scale

    @property
    def has_levels(self) -> bool:
        """Whether the table has levels of its own."""
        return self.table.has_levels

    def over(self, catalogue: Ids) -> OverCatalogue:
        """The same over another catalogue."""
        return replace(self, items=catalogue)

    def map_parts(self, prepare: Callable[[Ratings], T]) -> OnePart[T]:
        """The whole table as one set of people."""
        return OnePart(prepare(self.table))
