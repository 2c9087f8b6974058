"""Makers of item tables for the zoo: telling ones, and all that can be wrong with a column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import Array
from discreet.data.items import Items
from tests.accuracy.tables import Rng, Table, activity, divided, on_scale, opinions, pairs, zipf


def described(rng: Rng, describe: Callable[[Rng, Array], dict[str, Any]]) -> Table:
    """A table whose items have a public year and genres that tell something, then `describe`d."""
    count = 400
    year = rng.integers(1950, 2024, count)
    user, item = pairs(rng, activity(rng, 700, 12), zipf(count)[rng.permutation(count)])
    x = opinions(rng, user, item, quality=0.35) + ((year - 1987) / 60)[item]
    columns = {"item": np.arange(count)} | describe(rng, year)
    return divided(rng, user, item, on_scale(x), items=Items.from_frame(pl.DataFrame(columns)))


def telling(_: Rng, year: Array) -> dict[str, Any]:
    return {"year": year}


def noise(rng: Rng, year: Array) -> dict[str, Any]:
    count = len(year)
    numbers = {f"number {k}": rng.normal(size=count) for k in range(12)}
    words = [[f"tag {t}" for t in np.unique(rng.integers(0, 25, 3))] for _ in range(count)]
    titles = [f"Word{k} Tale" for k in rng.integers(0, count // 3, count)]
    return numbers | {"tags": words, "title": titles}


def duplicated(rng: Rng, year: Array) -> dict[str, Any]:
    """The year six times, and six times but for a hair."""
    nearly = {f"nearly {k}": year + rng.normal(0, 1e-6, len(year)) for k in range(6)}
    return {f"year {k}": year for k in range(6)} | nearly


def constant(_: Rng, year: Array) -> dict[str, Any]:
    nearly = np.zeros(len(year))
    nearly[0] = 1.0
    same = {"year": np.full(len(year), 2000), "language": ["en"] * len(year)}
    return same | {"nearly": nearly, "here": [True] * len(year)}


def missing(rng: Rng, year: Array) -> dict[str, Any]:
    known = [None if rng.random() < 0.6 else int(y) for y in year]
    genres = [None if rng.random() < 0.5 else [f"g{rng.integers(6)}"] for _ in year]
    return {"year": known, "genres": genres, "nothing": pl.Series([None] * len(year), dtype=float)}
