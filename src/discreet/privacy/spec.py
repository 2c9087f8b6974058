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
from discreet.kernels.threads import blockwise
from discreet.privacy.hashing import derive_key, pair_uniforms
from discreet.privacy.provenance import Levels as OnOffer

Levels = NDArray[np.float64]
_MIDPOINTS = (np.arange(1000) + 0.5) / 1000


@dataclass(frozen=True)
class Offer:
    """The levels that people could choose from: declared and public, unlike who chose what.

    >>> Offer(1.0, min_level=0.1).describe("rating")
    "each rating's own epsilon, offered from 0.1 up to 1.0; no default"
    """

    max_level: float
    min_level: float | None = None
    default: float | None = None
    """The level of a rating without one, if declared; otherwise such a rating is an error. The
    paper's eps_def is 1.0: the least private level, which is nobody's silent choice."""

    def __post_init__(self) -> None:
        top = _level("max_level", self.max_level)
        low = None if self.min_level is None else _level("min_level", self.min_level)
        usual = None if self.default is None else _level("default", self.default)
        if low is not None and low > top:
            raise SpecError(f"min_level must be at most max_level: got {low:g} > {top:g}")
        if usual is not None and not (low or 0.0) <= usual <= top:
            raise SpecError(f"the default level must be one that is offered: got {usual:g}")
        for name, value in (("max_level", top), ("min_level", low), ("default", usual)):
            object.__setattr__(self, name, value)

    def fill(self, levels: Levels, ratings: Ratings) -> Levels:
        """The default where a record has no level (NaN); without a default, an error that names
        the record."""
        usual = self.default
        if usual is not None:
            return blockwise(lambda some: np.where(np.isnan(some), usual, some), np.float64, levels)
        blank = blockwise(np.isnan, np.bool_, levels)
        if blank.any():
            raise SpecError(no_level(*_pair(ratings, int(np.argmax(blank)))))
        return levels

    def check(self, levels: Levels, ratings: Ratings) -> Levels:
        """The levels, if all were on offer; otherwise an error that names one that was not."""
        low = 0.0 if self.min_level is None else self.min_level
        top = self.max_level
        bad = blockwise(lambda some: (some > top) | (some < low), np.bool_, levels)
        if bad.any():
            k = int(np.argmax(bad))
            user, item = _pair(ratings, k)
            name = "max_level" if levels[k] > self.max_level else "min_level"
            raise SpecError(
                f"epsilon must be within the declared {name} = {getattr(self, name):g}: got "
                f"{levels[k]:g} (user {user!r}, item {item!r}); declare another {name} "
                f"(--{name.replace('_', '-')}), or mend the level"
            )
        return levels

    def describe(self, whose: str) -> str:
        """What was offered, in words for a certificate."""
        floor = "above 0" if self.min_level is None else f"from {self.min_level!r}"
        blank = "no default" if self.default is None else f"{self.default!r} if none was given"
        return f"each {whose}'s own epsilon, offered {floor} up to {self.max_level!r}; {blank}"


def no_level(user: Any, item: Any) -> str:
    """What to say of a rating that has no level, where no default was declared."""
    return (
        f"the rating of user {user!r}, item {item!r} has no level, and no default was declared: "
        "fill the level in, or declare the one that ratings without get, with default=... "
        "(--default-level)"
    )


def _pair(ratings: Ratings, record: int) -> tuple[Any, Any]:
    """The ids of one record, for its owner."""
    user, item = int(ratings.user[record]), int(ratings.item[record])
    return ratings.users.values[user], ratings.items.values[item]


def _level(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if isinstance(value, bool) or not np.isfinite(number) or number <= 0:
        raise SpecError(f"{name} must be finite and > 0: got {value!r}")
    return number


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
        level = _level("epsilon", epsilon)
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
        low, middle, top = _level("eps_c", eps_c), _level("eps_m", eps_m), _level("eps_l", eps_l)
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
            level = _level(f"the level of {self.what} {id_!r}", value)
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
