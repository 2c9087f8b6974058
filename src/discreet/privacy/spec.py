"""The privacy specification: one epsilon per rating, from declared, public rules."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SpecError
from discreet.ids import Ids
from discreet.privacy.hashing import derive_key, pair_uniforms
from discreet.ratings import Ratings

DEFAULT_LEVEL = 1.0
"""The paper's eps_def: the level of a rating that has none."""

Levels = NDArray[np.float64]


class PrivacySpec(ABC):
    """Says every rating's level; `max_level` and `min_level` are declared, never computed.

    >>> PrivacySpec.uniform(0.1).max_level
    0.1
    """

    max_level: float
    """The largest level offered: the default threshold."""
    min_level: float | None
    """The smallest level offered, if one is declared: the level DP-PMF serves everybody with."""

    @abstractmethod
    def levels(self, ratings: Ratings) -> Levels:
        """One finite level > 0 for every record, in the table's order."""

    @abstractmethod
    def describe(self) -> str:
        """What was declared, in words fit for a certificate: nothing of single people."""

    @staticmethod
    def uniform(epsilon: float) -> PrivacySpec:
        """The same level for every rating."""
        return _Uniform(epsilon)

    @staticmethod
    def column(
        *,
        max_level: float = 1.0,
        min_level: float | None = None,
        default: float | None = None,
    ) -> PrivacySpec:
        """The table's epsilon column; a missing level gets the default.

        `max_level` declares the largest level on offer, whether or not anyone chose it. The
        default level is 1.0, or `max_level` where that is smaller.
        """
        return _Column(max_level, min_level, default)

    @staticmethod
    def by_user(
        levels: Mapping[Any, float],
        *,
        max_level: float = 1.0,
        min_level: float | None = None,
        default: float | None = None,
    ) -> PrivacySpec:
        """A level per user for all that user's ratings; others get the default."""
        return _ById("user", levels, max_level, min_level, default)

    @staticmethod
    def by_item(
        levels: Mapping[Any, float],
        *,
        max_level: float = 1.0,
        min_level: float | None = None,
        default: float | None = None,
    ) -> PrivacySpec:
        """A level per item for all ratings of that item; others get the default."""
        return _ById("item", levels, max_level, min_level, default)

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
        return _Groups(f_c, f_m, eps_c, eps_m, eps_l, seed)


def _level(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if isinstance(value, bool) or not np.isfinite(number) or number <= 0:
        raise SpecError(f"{name} must be finite and > 0: got {value!r}")
    return number


@dataclass(frozen=True)
class _Uniform(PrivacySpec):
    epsilon: float
    max_level: float = field(init=False)
    min_level: float | None = field(init=False)

    def __post_init__(self) -> None:
        level = _level("epsilon", self.epsilon)
        object.__setattr__(self, "max_level", level)
        object.__setattr__(self, "min_level", level)

    def levels(self, ratings: Ratings) -> Levels:
        return np.full(len(ratings), self.max_level)

    def describe(self) -> str:
        return f"every rating at epsilon = {self.max_level:g}"


def _check_offer(
    max_level: float, min_level: float | None, default: float | None
) -> tuple[float, float | None, float]:
    """The declared range and the default level, which must lie inside."""
    top = _level("max_level", max_level)
    low = None if min_level is None else _level("min_level", min_level)
    usual = min(DEFAULT_LEVEL, top) if default is None else _level("default", default)
    if low is not None and low > top:
        raise SpecError(f"min_level must be at most max_level: got {low:g} > {top:g}")
    if usual > top or (low is not None and usual < low):
        raise SpecError(f"the default level must be one that is offered: got {usual:g}")
    return top, low, usual


def _offer_in_words(whose: str, top: float, low: float | None, default: float) -> str:
    floor = "above 0" if low is None else f"from {low:g}"
    return f"each {whose}'s own epsilon, offered {floor} up to {top:g}; {default:g} if none given"


def _check_range(
    levels: Levels, top: float, low: float | None, ratings: Ratings, source: str
) -> Levels:
    bad = levels > top if low is None else (levels > top) | (levels < low)
    if bad.any():
        k = int(np.argmax(bad))
        user, item = ratings.users.values[int(ratings.user[k])], ratings.items.values[
            int(ratings.item[k])
        ]
        side, bound, name = (
            ("at most", top, "max_level") if levels[k] > top else ("at least", low, "min_level")
        )
        raise SpecError(
            f"epsilon must be {side} the declared {name} = {bound:g}: got {levels[k]:g} {source} "
            f"(user {user!r}, item {item!r}); declare another {name}, or mend the level"
        )
    return levels


@dataclass(frozen=True)
class _Column(PrivacySpec):
    max_level: float
    min_level: float | None
    default: float | None

    def __post_init__(self) -> None:
        _set_offer(self)

    def levels(self, ratings: Ratings) -> Levels:
        if ratings.epsilon is None:
            raise SpecError(
                "the ratings table has no epsilon column: add one, map one with "
                "columns={'epsilon': ...}, or choose another specification (--privacy uniform:0.1)"
            )
        levels = np.where(np.isnan(ratings.epsilon), self.default, ratings.epsilon)
        return _check_range(levels, self.max_level, self.min_level, ratings, "in the column")

    def describe(self) -> str:
        return _offer_in_words("rating", self.max_level, self.min_level, float(self.default or 0))


@dataclass(frozen=True)
class _ById(PrivacySpec):
    what: str
    given: Mapping[Any, float] = field(repr=False)
    max_level: float
    min_level: float | None
    default: float | None

    def __post_init__(self) -> None:
        _set_offer(self)
        for id_, value in self.given.items():
            _level(f"the level of {self.what} {id_!r}", value)

    def levels(self, ratings: Ratings) -> Levels:
        ids: Ids = ratings.users if self.what == "user" else ratings.items
        rows = ratings.user if self.what == "user" else ratings.item
        table = np.full(len(ids), float(self.default or 0))
        if self.given:
            found = ids.rows(list(self.given))
            values = np.array([float(v) for v in self.given.values()])
            table[found[found >= 0]] = values[found >= 0]
        return _check_range(
            table[rows], self.max_level, self.min_level, ratings, f"by {self.what}"
        )

    def describe(self) -> str:
        return _offer_in_words(self.what, self.max_level, self.min_level, float(self.default or 0))


def _set_offer(spec: _Column | _ById) -> None:
    offer = _check_offer(spec.max_level, spec.min_level, spec.default)
    for name, value in zip(("max_level", "min_level", "default"), offer, strict=True):
        object.__setattr__(spec, name, value)


@dataclass(frozen=True)
class _Groups(PrivacySpec):
    f_c: float
    f_m: float
    eps_c: float
    eps_m: float
    eps_l: float
    seed: int

    def __post_init__(self) -> None:
        for name in ("f_c", "f_m"):
            share = getattr(self, name)
            if not 0 <= share <= 1:
                raise SpecError(f"{name} must be a share from 0 to 1: got {share!r}")
        if self.f_c + self.f_m > 1 + 1e-12:
            raise SpecError(f"f_c + f_m must be at most 1: got {self.f_c + self.f_m:g}")
        eps_c, eps_m, eps_l = (_level(n, getattr(self, n)) for n in ("eps_c", "eps_m", "eps_l"))
        if not eps_c <= eps_m <= eps_l:
            raise SpecError(
                f"levels must rise: eps_c <= eps_m <= eps_l; got {eps_c:g}, {eps_m:g}, {eps_l:g}"
            )

    @property
    def max_level(self) -> float:  # type: ignore[override]
        return float(self.eps_l)

    @property
    def min_level(self) -> float:  # type: ignore[override]
        return float(self.eps_c)

    def levels(self, ratings: Ratings) -> Levels:
        draws = pair_uniforms(
            derive_key("levels", self.seed),
            ratings.users.values,
            ratings.items.values,
            ratings.user,
            ratings.item,
            count=2,
        )
        group, place = draws[:, 0], draws[:, 1]
        return np.select(
            [group < self.f_c, group < self.f_c + self.f_m],
            [
                self.eps_c + (self.eps_m - self.eps_c) * place,
                self.eps_m + (self.eps_l - self.eps_m) * place,
            ],
            self.eps_l,
        )

    def describe(self) -> str:
        return (
            f"simulated groups: {self.f_c:g} of the ratings in [{self.eps_c:g}, {self.eps_m:g}), "
            f"{self.f_m:g} in [{self.eps_m:g}, {self.eps_l:g}), the rest at {self.eps_l:g}"
        )
