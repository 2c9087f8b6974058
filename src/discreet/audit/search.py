"""Search for the worst case: tables and directions for which exact sums differ most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import Array
from discreet.audit.neighbours import Pair, numbered

MOST_ITEMS = 32
"""Twice as many make a break of a root of items only 1.4 times as large, and runs as slow."""


@dataclass(frozen=True, eq=False)
class Person:
    """Somebody's ratings and levels of items 0, 1, ..., and the directions that are fed in.

    The first rating, or all of them, is what the two tables differ in.
    """

    ratings: Array
    levels: Array
    z: Array
    whole: bool = False
    instead: float | None = None
    most: int = MOST_ITEMS
    """So many items a search may go up to."""

    @property
    def pair(self) -> Pair:
        """The two tables; somebody else's rating keeps them from being empty."""
        n = len(self.ratings)
        table = numbered(
            np.append(np.zeros(n, dtype=int), 1),
            np.append(np.arange(n), n - 1),
            np.append(self.ratings, 5.0),
            np.append(self.levels, self.levels.max()),
        )
        removed = np.arange(n + 1) < (n if self.whole else 1)
        return Pair(table, removed, self.instead)


Loss = Callable[[Person], float]


def starts(
    level: float,
    top: float,
    d: int,
    *,
    whole: bool = False,
    instead: float | None = None,
    items: int = MOST_ITEMS,
) -> list[Person]:
    """Where a search begins: user vectors of full length, all but cancelling, and at random.

    What is attacked has `level`, other ratings `top`.
    """
    n, rng = max(items // 2, 2), np.random.default_rng(0)
    levels = np.full(n, level if whole else top)
    levels[0] = level
    along = np.zeros((n, d))
    along[:, 0] = 1.0
    sign = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    best = np.full(n, 5.0)
    turned = _in_the_ball(rng.standard_normal((n, d)))
    shapes = [(best, along), (best, along * sign[:, None]), (rng.choice([1.0, 5.0], n), turned)]
    return [Person(ratings, levels, z, whole, instead, items) for ratings, z in shapes]


def climb(begin: Sequence[Person], loss: Loss, *, steps: int = 90, seed: int = 0) -> Person:
    """From every start uphill, then further from the best: the largest loss that was found."""
    rng = np.random.default_rng(seed)
    best = max((_uphill(person, loss, steps // 3, rng) for person in begin), key=loss)
    return _uphill(best, loss, steps, rng)


def _uphill(person: Person, loss: Loss, steps: int, rng: np.random.Generator) -> Person:
    highest = loss(person)
    for _ in range(steps):
        tried = _varied(person, rng)
        found = loss(tried)
        if found >= highest:
            person, highest = tried, found
    return person


def _varied(person: Person, rng: np.random.Generator) -> Person:
    """One thing changed: some ratings, some directions, a level, or the number of items."""
    n, d = person.z.shape
    some = rng.random(n) < rng.choice([1 / n, 0.3])
    some[rng.integers(n)] = True
    what = rng.integers(4)
    if what == 0:
        values = np.where(rng.random(n) < 0.5, rng.choice([1.0, 5.0], n), rng.uniform(1, 5, n))
        return replace(person, ratings=np.where(some, values, person.ratings))
    if what == 1:
        step = rng.choice([0.1, 2.0]) * rng.standard_normal((n, d))
        z = np.where(some[:, None], _in_the_ball(person.z + step), person.z)
        return replace(person, z=z)
    if what == 2:
        # Never below what is attacked: a person's level is the smallest.
        others = person.levels[0] + rng.random(n) * (person.levels.max() - person.levels[0])
        some[[0, int(person.levels.argmax())]] = False  # the claim, and the largest level on offer
        return replace(person, levels=np.where(some, others, person.levels))
    if rng.random() < 0.5 and n > 2:
        kept = np.delete(np.arange(n), rng.integers(1, n))
    elif n < person.most:
        kept = np.append(np.arange(n), rng.integers(n, size=rng.integers(1, person.most - n + 1)))
    else:
        return person
    return replace(
        person, ratings=person.ratings[kept], levels=person.levels[kept], z=person.z[kept]
    )


def _in_the_ball(z: Array) -> Array:
    """Rows no longer than 1, as the scheme cuts them off."""
    norms = np.sqrt((z**2).sum(axis=1))
    return np.asarray(z / np.maximum(norms, 1.0)[:, None])
