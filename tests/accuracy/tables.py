"""Makers of tables for the zoo: each draws another table of its kind from every generator."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import polars as pl

from discreet.arrays import Array
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.evaluate.splits import hold_out

Rng = np.random.Generator


class Table(NamedTuple):
    """Ratings to train on, ratings to test on, and the public catalogue, if there is one."""

    train: Ratings
    test: Ratings
    items: Items | None


# Who rates what ----------------------------------------------------------------------------------


def pairs(rng: Rng, counts: Any, weights: Any) -> tuple[Array, Array]:
    """counts[i] different items for person i, item j with a chance that grows with weights[j]."""
    counts, weights = np.asarray(counts), np.asarray(weights, dtype=np.float64)
    user = np.repeat(np.arange(len(counts)), counts)
    item = rng.choice(len(weights), len(user), p=weights / weights.sum())
    # Whoever drew an item twice rates one fewer: the table has about as many ratings as were asked.
    pair = np.unique(user * len(weights) + item)
    return pair // len(weights), pair % len(weights)


def zipf(items: int, power: float = 0.8) -> Array:
    """Popularity that falls off along the catalogue, as everywhere."""
    return (1.0 + np.arange(items)) ** -power


def activity(rng: Rng, people: int, typical: float, spread: float = 0.9) -> Array:
    """How much people rate: most little, some a lot."""
    return 1 + rng.lognormal(np.log(typical), spread, people).astype(int)


# What they think ---------------------------------------------------------------------------------


def opinions(
    rng: Rng,
    user: Array,
    item: Array,
    *,
    mean: float = 0.6,
    person: float = 0.45,
    quality: float = 0.5,
    chance: float = 0.9,
) -> Array:
    """mean + person's level + item's quality + chance, in quarters of the scale from its middle."""
    level = rng.normal(0, person, user.max() + 1)
    better = rng.normal(0, quality, item.max() + 1)
    return mean + level[user] + better[item] + rng.normal(0, chance, len(user))


def on_scale(x: Array, scale: tuple[float, float] = (1, 5), step: float = 1.0) -> Array:
    """Opinions in quarters of the scale as ratings: whole steps, clipped to the scale."""
    lo, hi = scale
    value = (lo + hi) / 2 + x * (hi - lo) / 4
    return np.clip(lo + np.rint((value - lo) / step) * step, lo, hi)


def divided(
    rng: Rng,
    user: Array,
    item: Array,
    rating: Array,
    *,
    scale: tuple[float, float] = (1, 5),
    items: Items | None = None,
    fraction: float = 0.2,
    epsilon: Array | None = None,
) -> Table:
    """A table, with a part held out."""
    columns = {"user": user, "item": item, "rating": rating}
    if epsilon is not None:
        columns["epsilon"] = epsilon
    table = Ratings.from_frame(pl.DataFrame(columns), scale=scale)
    return Table(*hold_out(table, fraction, seed=int(rng.integers(1 << 31))), items)


def usual(
    rng: Rng,
    people: int = 600,
    items: int = 300,
    typical: float = 15,
    *,
    scale: tuple[float, float] = (1, 5),
    step: float = 1.0,
    **opinion: float,
) -> Table:
    """An ordinary table without an item table: levels of people, qualities of items, chance."""
    user, item = pairs(rng, activity(rng, people, typical), zipf(items))
    x = opinions(rng, user, item, **opinion)
    return divided(rng, user, item, on_scale(x, scale, step), scale=scale)


# Small and strange -------------------------------------------------------------------------------


def one_person(rng: Rng) -> Table:
    user, item = pairs(rng, [40], np.ones(60))
    return divided(rng, user, item, on_scale(opinions(rng, user, item)), fraction=0.4)


def two_people(rng: Rng) -> Table:
    user, item = pairs(rng, [30, 30], np.ones(40))
    return divided(rng, user, item, on_scale(opinions(rng, user, item)), fraction=0.4)


def one_item(rng: Rng) -> Table:
    """Everybody tested is a stranger: whoever rated the item once cannot do it again."""
    user, item = np.arange(1000), np.zeros(1000, dtype=int)
    return divided(rng, user, item, on_scale(opinions(rng, user, item)))


def all_equal(rng: Rng, rating: float) -> Table:
    user, item = pairs(rng, activity(rng, 400, 10), zipf(200))
    return divided(rng, user, item, np.full(len(user), rating))


def each_their_number(rng: Rng) -> Table:
    """Everybody gives everything the same rating, each a rating of their own."""
    user, item = pairs(rng, activity(rng, 500, 10), zipf(200))
    return divided(rng, user, item, rng.integers(1, 6, 500)[user].astype(float))


def two_points(rng: Rng, scale: tuple[float, float]) -> Table:
    """Thumbs up, thumbs down."""
    user, item = pairs(rng, activity(rng, 600, 12), zipf(300))
    up = opinions(rng, user, item) > 0
    return divided(rng, user, item, np.where(up, scale[1], scale[0]), scale=scale)


def so_many_each(rng: Rng, people: int, each: int, items: int, tested: float = 0.2) -> Table:
    user, item = pairs(rng, np.full(people, each), zipf(items))
    x = opinions(rng, user, item)
    return divided(rng, user, item, on_scale(x), fraction=tested)


def strangers(rng: Rng) -> Table:
    """Those tested have rated nothing before."""
    user, item = pairs(rng, activity(rng, 800, 12), zipf(300))
    table = divided(rng, user, item, on_scale(opinions(rng, user, item)))
    new = rng.random(800) < 0.3
    both = Ratings.from_frame(pl.concat([table.train.to_frame(), table.test.to_frame()]))
    return Table(both.subset(~new[both.user]), both.subset(new[both.user]), None)


# Strange tastes ----------------------------------------------------------------------------------


def opposite_tastes(rng: Rng) -> Table:
    """Two camps: what one loves the other hates, and the item means say nothing."""
    user, item = pairs(rng, activity(rng, 600, 15), zipf(300))
    camp, kind = rng.choice([-1, 1], 600), rng.choice([-1, 1], 300)
    x = 0.3 + 0.9 * camp[user] * kind[item] + rng.normal(0, 0.7, len(user))
    return divided(rng, user, item, on_scale(x))


def hidden_tastes(rng: Rng) -> Table:
    """Three hidden tastes that move a rating as much as people's levels do: what Chorus is for."""
    user, item = pairs(rng, activity(rng, 2500, 35), zipf(300))
    taste, offer = rng.normal(size=(2500, 3)), rng.normal(size=(300, 3))
    x = opinions(rng, user, item) + 0.3 * (taste[user] * offer[item]).sum(axis=1)
    return divided(rng, user, item, on_scale(x))


def love_or_hate(rng: Rng) -> Table:
    """Ratings at both ends and few between, more above."""
    user, item = pairs(rng, activity(rng, 600, 12), zipf(300))
    up = opinions(rng, user, item, mean=0.4) > 0
    x = np.where(up, 1.7, -1.7) + rng.normal(0, 0.4, len(user))
    return divided(rng, user, item, on_scale(x))


def reviews(rng: Rng, people: int = 2000, items: int = 1000) -> Table:
    """J-shaped, as reviews in shops are: mostly fives, then ones; few ratings a person."""
    user, item = pairs(rng, 1 + rng.geometric(0.5, people), zipf(items, 1.0))
    x = opinions(rng, user, item, mean=0.9, person=0.3)
    rating = np.select([x < -0.3, x < 0, x < 0.25, x < 0.6], [1, 2, 3, 4], 5).astype(float)
    return divided(rng, user, item, rating)


def disliked_hits(rng: Rng) -> Table:
    """The more an item is rated, the less it is liked: popularity misleads whoever trusts it."""
    user, item = pairs(rng, activity(rng, 600, 15), zipf(400))
    x = opinions(rng, user, item, mean=0.0, quality=0.2) - 1.2 + 0.4 * np.log1p(item)
    return divided(rng, user, item, on_scale(x))


# Strange shapes ----------------------------------------------------------------------------------


def only_once(rng: Rng) -> Table:
    """Every item is rated by one person, and tested ones are rated by nobody else."""
    user = np.repeat(np.arange(200), 20)
    item = np.arange(len(user))
    return divided(rng, user, item, on_scale(opinions(rng, user, item, quality=0.4)))


def large_catalogue(rng: Rng, catalogue: int, rated: int, people: int) -> Table:
    """Far more items on sale than rated ones, with a public year that tells a little."""
    chosen = rng.choice(catalogue, rated, replace=False)
    year = rng.integers(1950, 2024, catalogue)
    user, place = pairs(rng, activity(rng, people, 8), zipf(rated))
    x = opinions(rng, user, place) + (year[chosen[place]] - 1987) / 100
    items = Items.from_frame(pl.DataFrame({"item": np.arange(catalogue), "year": year}))
    return divided(rng, user, chosen[place], on_scale(x), items=items)


def half_on_one(rng: Rng) -> Table:
    """One item has half of all the ratings."""
    others, place = pairs(rng, rng.integers(0, 3, 2000), zipf(400))
    user = np.concatenate([np.arange(2000), others])
    item = np.concatenate([np.zeros(2000, dtype=int), place + 1])
    return divided(rng, user, item, on_scale(opinions(rng, user, item)))


def one_rates_all(rng: Rng) -> Table:
    """A person with 5,000 ratings among 300 with ten each."""
    user, item = pairs(rng, [20_000, *[10] * 300], zipf(5600, 0.3))
    first = np.flatnonzero(user == 0)
    gone = rng.permutation(first)[5000:]
    user, item = np.delete(user, gone), np.delete(item, gone)
    return divided(rng, user, item, on_scale(opinions(rng, user, item)))


def heavy_tails(rng: Rng) -> Table:
    """Activity, popularity and a public number without a variance to speak of."""
    counts = np.minimum(1 + rng.pareto(1.1, 1200).astype(int) * 3, 600)
    user, item = pairs(rng, counts, rng.pareto(0.7, 1500) + 1e-3)
    x = opinions(rng, user, item)
    price = pl.Series("price", np.exp(2 * rng.standard_cauchy(1500).clip(-30, 30)))
    items = Items.from_frame(pl.DataFrame({"item": np.arange(1500), "price": price}))
    return divided(rng, user, item, on_scale(x), items=items)


def levels_by_taste(rng: Rng) -> Table:
    """Three groups of people by level; the more careful they are, the less they like things."""
    user, item = pairs(rng, activity(rng, 900, 12), zipf(300))
    group = rng.choice(3, 900, p=[0.54, 0.37, 0.09])
    x = opinions(rng, user, item) + 0.4 * (group[user] - 0.5)
    return divided(rng, user, item, on_scale(x), epsilon=np.array([0.1, 0.3, 1.0])[group[user]])
