"""How good lists are: NDCG@10 of every scheme, purpose and level beside popularity, and errors.

    python -m benchmarks.lists table ml-1m netflix-7128        # a line for each cell
    python -m benchmarks.lists tastes                          # lists with titles, MovieLens 1M
    python -m benchmarks.lists time                            # everybody's lists, and one person's

A random fifth is held out, and relevant is what was rated 4 or better of 5, or any held-out event.
Splits 201 to 203, on which nothing was chosen; of a large table the lists of 6,000 people.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from functools import partial

import numpy as np
import polars as pl
from benchmarks.common import least, synthetic

import discreet as dc
from discreet.evaluate.baselines.popularity import Popularity, PrivatePopularity
from discreet.evaluate.judge import judge_lists
from discreet.evaluate.splits import Split
from discreet.schemes.model import FactorModel

SPLITS, MOST_PEOPLE = (201, 202, 203), 6000
LEVELS: dict[str, float | None] = {"0.1": 0.1, "levels": None, "1": 1.0, "4": 4.0}
PERSON_LEVELS = (1.0, 5.0, 10.0)
TASTES = {
    "science fiction": (2571, 1240, 1196, 589, 541, 2916, 1580, 260),
    "romance": (587, 1721, 597, 339, 1265, 357, 539, 2424),
    "children's animation": (1, 588, 364, 595, 2355, 1907, 2081, 594),
    "horror": (1258, 1219, 1347, 1974, 2710, 1387, 1994, 1333),
    "classics": (912, 904, 923, 908, 1207, 950, 1219, 913),
    "one rating": (1,),
}
"""Films that somebody of this taste rated 5: ids of MovieLens 1M."""


def table(names: list[str]) -> None:
    """A line for every cell, with its mean and its splits."""
    for name in names:
        data, items = _tables(name)
        rows = [row for seed in SPLITS for row in _measure(data, items, seed)]
        means = (
            pl.DataFrame(rows, schema_overrides={"rmse": pl.Float64})
            .group_by("method", "level", maintain_order=True)
            .agg(
                pl.col("ndcg").mean().round(4).alias("NDCG@10"),
                pl.col("ndcg").round(4).alias("splits"),
                pl.col("rmse").mean().round(4),
                pl.col("directions").last(),
            )
        )
        with pl.Config(tbl_rows=-1, fmt_table_cell_list_len=3, tbl_hide_dataframe_shape=True):
            print(name, means, flush=True)


def _measure(data: dc.Ratings, items: dc.Items, seed: int) -> Iterator[dict[str, object]]:
    split = dc.hold_out(data, 0.2, seed=seed)
    judged = _of_some(split)
    popular = judge_lists(Popularity(items=items).fit(split.train), judged, items)
    yield _row("popularity", "-", popular["ndcg@10"])
    for method, scheme, spec, level in _cells(data, items):
        model = scheme.fit(split.train, spec, seed=seed)
        found = judge_lists(model, judged, items)["ndcg@10"]
        if not isinstance(model, FactorModel):
            yield _row(method, level, found)
            continue
        choices = model.release.choices
        directions = 0 if choices is None else len(choices.reliability)
        yield _row(method, level, found, _rmse(model, split), directions)


def _cells(data: dc.Ratings, items: dc.Items) -> Iterator[tuple[str, object, object, str]]:
    purposes = ("lists",) if data.events else ("lists", "both", "ratings")
    for level, epsilon in LEVELS.items():
        spec = dc.PrivacySpec.uniform(epsilon) if epsilon else dc.PrivacySpec.groups()
        yield "noisy popularity", PrivatePopularity(items=items), spec, level
        yield "Tally", dc.Tally(items=items), spec, level
        for purpose in purposes:
            yield f"Chorus, {purpose}", _chorus(items, purpose, 1e-7), spec, level
    for epsilon in PERSON_LEVELS:
        spec = dc.PrivacySpec.uniform(epsilon)
        for purpose in purposes[:2]:
            scheme = _chorus(items, purpose, 1e-5, "person")
            yield f"Chorus, {purpose}", scheme, spec, f"person {epsilon:g}"


def _chorus(items: dc.Items, purpose: str, delta: float, unit: str = "rating") -> dc.Chorus:
    return dc.Chorus(items=items, delta=delta, purpose=purpose, unit=unit)


def _row(
    method: str, level: str, ndcg: float, rmse: float | None = None, directions: int | None = None
) -> dict[str, object]:
    return {
        "method": method, "level": level, "ndcg": ndcg, "rmse": rmse, "directions": directions
    }  # fmt: skip


def _rmse(model: FactorModel, split: Split) -> float | None:
    if split.test.events:
        return None
    predicted = model.predict_ratings(split.test, clip=True)
    return float(np.sqrt(np.mean((predicted - split.test.rating) ** 2)))


def _of_some(split: Split) -> Split:
    people = len(split.test.users)
    if people <= 2 * MOST_PEOPLE:
        return split
    kept = np.zeros(people, dtype=bool)
    kept[np.random.default_rng(0).choice(people, MOST_PEOPLE, replace=False)] = True
    return split._replace(test=split.test.subset(kept[split.test.user]))


def _tables(name: str) -> tuple[dc.Ratings, dc.Items]:
    load = dc.load_events if name.endswith("events") else dc.load_ratings
    return load(name), dc.load_items(name)


def tastes(_: list[str]) -> None:
    """Lists with titles, by liking as before and by choosing and liking: the paper's levels."""
    data, items = _tables("ml-1m")
    titles = dict(zip(items.ids.values, items.frame["title"], strict=True))
    spec = dc.PrivacySpec.groups()
    schemes = {"Tally": dc.Tally(items=items), "Chorus": dc.Chorus(items=items, delta=1e-7)}
    for name, scheme in schemes.items():
        release = scheme.fit(data, spec, seed=SPLITS[0]).release
        for taste, films in TASTES.items():
            print(f"\n{name}, {taste}: {'; '.join(titles[film] for film in films)}")
            for by in ("liked", "best"):
                found = release.recommend(list(films), [5] * len(films), n=8, rank_by=by)
                print(f"  {by}: {'; '.join(titles[film] for film in found['item'])}")


def time_(_: list[str]) -> None:
    """Everybody's lists of ten on MovieLens 1M; one person's of 17,770 items, in CPU time."""
    data, items = _tables("ml-1m")
    many = synthetic(2_000_000)
    spec = dc.PrivacySpec.uniform(1.0)
    for name in ("Tally", "lists", "both"):

        def scheme(of: dc.Items | None, name: str = name) -> dc.Tally | dc.Chorus:
            return dc.Tally(items=of) if name == "Tally" else _chorus(of, name, 1e-7)  # type: ignore[arg-type]

        model = scheme(items).fit(data, spec, seed=0)
        for by in ("liked", "best"):
            seconds = least(partial(model.recommend, n=10, rank_by=by))
            print(f"{name}, {by}: lists of {len(data.users):,} people {seconds:.3f} s")
        release = scheme(None).fit(many, spec, seed=0).release
        mine = many.items.values[::170], np.full(105, 4.0)
        release.recommend(*mine)
        began = time.process_time()
        for _ in range(100):
            release.recommend(*mine)
        milliseconds = (time.process_time() - began) * 10
        print(f"{name}: one person, {len(many.items):,} items {milliseconds:.2f} ms of CPU")


WHAT = {"table": table, "tastes": tastes, "time": time_}

if __name__ == "__main__":
    WHAT[sys.argv[1]](sys.argv[2:])
