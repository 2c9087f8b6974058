"""The privacy specification: which epsilon each rating has, by rules that are public."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.data.ratings import Ratings
from discreet.errors import SpecError
from discreet.privacy.hashing import derive_key, pair_uniforms
from discreet.privacy.offer import Offer, read_level
from discreet.privacy.provenance import Levels as OnOffer

Levels = NDArray[np.float64]
_MIDPOINTS = (np.arange(1000) + 0.5) / 1000


class PrivacySpec(ABC):
    """Says which privacy level, an epsilon, every rating has; smaller is more private.

    Made by `uniform`, `column`, `by_user`, `by_item` or `groups`. The rule and the range of levels
    are public; the levels of people are as secret as their ratings.

    >>> PrivacySpec.by_user({"ann": 0.1}, default=1.0).max_level
    1.0
    """

    offer: Offer
    reads_column: ClassVar[bool] = False
    """Whether levels are those that the table has; otherwise they take their place."""

    @property
    def max_level(self) -> float:
        """The largest level offered, chosen or not: the t that noise is made for by default."""
        return self.offer.max_level

    @property
    def min_level(self) -> float | None:
        """The smallest level offered, if declared: the one DP-PMF serves everybody with."""
        return self.offer.min_level

    @abstractmethod
    def levels(self, ratings: Ratings) -> Levels:
        """One finite level > 0 for every record, in the table's order."""

    def typical_levels(self) -> Levels:
        """Levels as people might choose them, from what was declared alone: evenly spread."""
        low = 0.0 if self.offer.min_level is None else self.offer.min_level
        return low + (self.max_level - low) * _MIDPOINTS

    @abstractmethod
    def describe(self) -> str:
        """What was declared, in words fit for a certificate: nothing of single people."""

    @property
    def on_offer(self) -> OnOffer:
        """What was declared, as a certificate records it."""
        offer = self.offer
        return OnOffer(
            words=self.describe(),
            least=offer.min_level,
            most=offer.max_level,
            default=offer.default,
        )

    @staticmethod
    def uniform(epsilon: float) -> PrivacySpec:
        """The same level for every rating."""
        level = read_level("epsilon", epsilon)
        return Uniform(Offer(level, level))

    @staticmethod
    def column(
        *, max_level: float = 1.0, min_level: float | None = None, default: float | None = None
    ) -> PrivacySpec:
        """The table's epsilon column.

        `max_level` declares the largest level on offer, whether or not anyone chose it. A blank
        gets the `default` if one is declared; without, it is an error that names the record.
        """
        return LevelColumn(Offer(max_level, min_level, default))

    @staticmethod
    def by_user(
        levels: Mapping[Any, float],
        *,
        max_level: float = 1.0,
        min_level: float | None = None,
        default: float | None = None,
    ) -> PrivacySpec:
        """A level per user for all that user's ratings.

        Everybody else gets the `default` if one is declared; without, a rating of somebody whom
        `levels` does not name is an error that names it.
        """
        return ById(Offer(max_level, min_level, default), "user", levels)

    @staticmethod
    def by_item(
        levels: Mapping[Any, float],
        *,
        max_level: float = 1.0,
        min_level: float | None = None,
        default: float | None = None,
    ) -> PrivacySpec:
        """A level per item for all ratings of that item; the default is as in `by_user`."""
        return ById(Offer(max_level, min_level, default), "item", levels)

    @staticmethod
    def groups(
        *,
        f_c: float = 0.54,
        f_m: float = 0.37,
        eps_c: float = 0.1,
        eps_m: float = 0.2,
        eps_l: float = 1.0,
        seed: int = 0,
    ) -> PrivacySpec:
        """The paper's experiment: conservative, moderate and liberal ratings.

        A share f_c of the ratings draws its level from [eps_c, eps_m), a share f_m from
        [eps_m, eps_l), the rest has eps_l. Every draw is a hash of (seed, user, item).
        """
        for name, share in (("f_c", f_c), ("f_m", f_m)):
            if not 0 <= share <= 1:
                raise SpecError(f"{name} must be a share from 0 to 1: got {share!r}")
        if f_c + f_m > 1 + 1e-12:
            raise SpecError(f"f_c + f_m must be at most 1: got {f_c + f_m:g}")
        low, middle, top = (
            read_level("eps_c", eps_c),
            read_level("eps_m", eps_m),
            read_level("eps_l", eps_l),
        )
        if not low <= middle <= top:
            raise SpecError(
                f"levels must rise: eps_c <= eps_m <= eps_l; got {low:g}, {middle:g}, {top:g}"
            )
        return Groups(Offer(top, low), f_c, f_m, middle, seed)


@dataclass(frozen=True)
class Uniform(PrivacySpec):
    """The same level for every rating."""

    offer: Offer

    def levels(self, ratings: Ratings) -> Levels:
        """See PrivacySpec."""
        return np.full(len(ratings), self.max_level)

    def describe(self) -> str:
        """See PrivacySpec."""
        return f"every rating at epsilon = {self.max_level!r}"


@dataclass(frozen=True)
class LevelColumn(PrivacySpec):
    """The table's epsilon column."""

    offer: Offer
    reads_column: ClassVar[bool] = True

    def levels(self, ratings: Ratings) -> Levels:
        """See PrivacySpec."""
        if ratings.epsilon is None:
            raise SpecError(
                "the ratings table has no epsilon column: add one, map one with "
                "columns={'epsilon': ...}, or choose another specification, such as "
                "PrivacySpec.uniform(0.1) (--privacy uniform:0.1)"
            )
        return self.offer.check(self.offer.fill(ratings.epsilon, ratings), ratings)

    def describe(self) -> str:
        """See PrivacySpec."""
        return self.offer.describe("rating")


@dataclass(frozen=True)
class ById(PrivacySpec):
    """A level per user or per item."""

    offer: Offer
    what: str
    given: Mapping[Any, float] = field(repr=False)

    def __post_init__(self) -> None:
        low = 0.0 if self.offer.min_level is None else self.offer.min_level
        for id_, value in self.given.items():
            level = read_level(f"the level of {self.what} {id_!r}", value)
            if not low <= level <= self.max_level:
                raise SpecError(
                    f"the level of {self.what} {id_!r} must be one that is offered, from {low!r} "
                    f"to {self.max_level!r}: got {level!r}; declare another max_level or min_level"
                )

    def levels(self, ratings: Ratings) -> Levels:
        """See PrivacySpec."""
        by_user = self.what == "user"
        ids, rows = (ratings.users, ratings.user) if by_user else (ratings.items, ratings.item)
        table = np.full(len(ids), np.nan)
        if self.given:
            found = ids.rows(list(self.given))
            values = np.array([float(v) for v in self.given.values()])
            table[found[found >= 0]] = values[found >= 0]
        return self.offer.check(self.offer.fill(table[rows], ratings), ratings)

    def describe(self) -> str:
        """See PrivacySpec."""
        return self.offer.describe(self.what)


@dataclass(frozen=True)
class Groups(PrivacySpec):
    """The paper's simulated groups: a level from a hash of the pair."""

    offer: Offer
    f_c: float
    f_m: float
    eps_m: float
    seed: int

    def levels(self, ratings: Ratings) -> Levels:
        """See PrivacySpec."""
        draws = pair_uniforms(
            derive_key("levels", self.seed),
            ratings.users.values,
            ratings.items.values,
            ratings.user,
            ratings.item,
            count=2,
        )
        return self._level_at(draws[:, 0], draws[:, 1])

    def typical_levels(self) -> Levels:
        """The declared distribution: the same place in each group's range, group by group."""
        return self._level_at(*(g.ravel() for g in np.meshgrid(_MIDPOINTS[::20], _MIDPOINTS[::20])))

    def _level_at(self, group: Levels, place: Levels) -> Levels:
        low, top = self.offer.min_level, self.max_level
        assert low is not None
        return np.select(
            [group < self.f_c, group < self.f_c + self.f_m],
            [low + (self.eps_m - low) * place, self.eps_m + (top - self.eps_m) * place],
            top,
        )

    def describe(self) -> str:
        """See PrivacySpec."""
        low, middle, top = self.offer.min_level, self.eps_m, self.max_level
        return (
            f"simulated groups: {self.f_c!r} of the ratings in [{low!r}, {middle!r}), "
            f"{self.f_m!r} in [{middle!r}, {top!r}), the rest at {top!r}"
        )


def require_spec(spec: Any) -> PrivacySpec:
    """A specification, or an error that says how to make one."""
    if not isinstance(spec, PrivacySpec):
        raise SpecError(
            f"a privacy specification must be a PrivacySpec: got {spec!r}; make one with "
            "PrivacySpec.uniform(0.1), .column(), .by_user({...}), .by_item({...}) or .groups()"
        )
    return spec
