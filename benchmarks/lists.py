"""How good lists are: NDCG@10 of every scheme, purpose and level beside popularity, and errors.

    python -m benchmarks.lists table ml-1m netflix-7128        # a line for each cell
    python -m benchmarks.lists table netflix-10m --levels levels,1 --persons "" --splits 201
    python -m benchmarks.lists table ml-1m --methods "Chorus, both" --levels 1
    python -m benchmarks.lists recency ml-1m ml-100k           # with one's own times, and without
    python -m benchmarks.lists tastes                          # lists with titles, MovieLens 1M
    python -m benchmarks.lists time                            # everybody's lists, and one person's

A random fifth is held out, and relevant is what was rated 4 or better of 5, or any held-out event.
Splits 201 to 203, on which nothing was chosen; of a large table the lists of 6,000 people.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl
from benchmarks.common import least, synthetic

import discreet as dc
from discreet.evaluate.baselines.popularity import Popularity, PrivatePopularity
from discreet.evaluate.judge import Judging, judge_lists
from discreet.evaluate.splits import Split
from discreet.schemes.model import FactorModel

SPLITS, MOST_PEOPLE = (201, 202, 203), 6000
MANY = "64 directions"
LEVELS: dict[str, float | None] = {"0.1": 0.1, "levels": None, "1": 1.0, "4": 4.0}
PERSON_LEVELS = (1.0, 5.0, 10.0)
TASTES = {
    "science fiction": (2571, 1240, 1196, 589, 541, 2916, 1580, 260),
    "romance": (587, 1721, 597, 339, 1265, 357, 539, 2424),
    "children's animation": (1, 588, 364, 595, 2355, 1907, 2081, 594),
    "horror": (1258, 1219, 1347, 1974, 2710, 1387, 1994, 1333),
    "classics": (912, 904, 923, 908, 1207, 950, 1219, 913),
    "one rating": (1,),
    "one rating of another kind": (1219,),
}
"""Films that somebody of this taste rated 5: ids of MovieLens 1M."""


@dataclass(frozen=True)
class Wanted:
    """Which cells are measured."""

    splits: tuple[int, ...] = SPLITS
    levels: tuple[str, ...] = tuple(LEVELS)
    persons: tuple[float, ...] = PERSON_LEVELS
    methods: tuple[str, ...] = ()
    """By their names in the table; none: all."""
    people: int = MOST_PEOPLE

    def measures(self, method: str) -> bool:
        """Whether this one is wanted."""
        return not self.methods or method in self.methods


def table(names: list[str], wanted: Wanted) -> None:
    """A line for every cell, with its mean and its splits."""
    for name in names:
        data, items = _tables(name)
        rows = [row for seed in wanted.splits for row in _measure(data, items, seed, wanted)]
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


def _measure(
    data: dc.Ratings, items: dc.Items, seed: int, wanted: Wanted
) -> Iterator[dict[str, object]]:
    split = dc.hold_out(data, 0.2, seed=seed)
    judged = _of_some(split, wanted.people)
    if wanted.measures("popularity"):
        popular = judge_lists(Popularity(items=items).fit(split.train), judged, items)
        yield _row("popularity", "-", popular["ndcg@10"])
    for method, scheme, spec, level in _cells(data, items, wanted):
        if not wanted.measures(method):
            continue
        model = scheme.fit(split.train, spec, seed=seed)
        found = judge_lists(model, judged, items)["ndcg@10"]
        if not isinstance(model, FactorModel):
            yield _row(method, level, found)
            continue
        choices = model.release.choices
        directions = 0 if choices is None else len(choices.reliability)
        yield _row(method, level, found, _rmse(model, split), directions)


def _cells(
    data: dc.Ratings, items: dc.Items, wanted: Wanted
) -> Iterator[tuple[str, object, object, str]]:
    purposes = ("lists",) if data.events else ("lists", "both", "ratings")
    for level in wanted.levels:
        epsilon = LEVELS[level] if level in LEVELS else float(level)
        spec = dc.PrivacySpec.uniform(epsilon) if epsilon else dc.PrivacySpec.groups()
        yield "noisy popularity", PrivatePopularity(items=items), spec, level
        yield "Tally", dc.Tally(items=items), spec, level
        for purpose in purposes:
            yield f"Chorus, {purpose}", _chorus(items, purpose, 1e-7), spec, level
    for epsilon in wanted.persons:
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


def _of_some(split: Split, most: int = MOST_PEOPLE) -> Split:
    people = len(split.test.users)
    if people <= 2 * most:
        return split
    kept = np.zeros(people, dtype=bool)
    kept[np.random.default_rng(0).choice(people, most, replace=False)] = True
    return split._replace(test=split.test.subset(kept[split.test.user]))


def _tables(name: str) -> tuple[dc.Ratings, dc.Items]:
    load = dc.load_events if name.endswith("events") else dc.load_ratings
    return load(name), dc.load_items(name)


@dataclass(frozen=True)
class AsOfOneDay:
    """A model whose lists look at nobody's times."""

    model: FactorModel

    def recommend(self, users: object, n: int) -> pl.DataFrame:
        """As the model's."""
        return self.model.recommend(users, n, recency=0.0)


def recency(names: list[str], wanted: Wanted) -> None:
    """Lists by one's own times beside lists without: each person's last record, a late fifth and
    random fifths held out."""
    consumed = Judging(target="consumed")
    for name in names:
        data, items = _tables(name)
        splits = [
            ("last record", dc.leave_last_out(data, seed=0), consumed),
            ("latest fifth", dc.by_time(data, 0.2), consumed),
            *((f"random, {s}", dc.hold_out(data, 0.2, seed=s), Judging()) for s in wanted.splits),
        ]
        for kind, whole, how in splits:
            split = _of_some(whole, wanted.people)
            for method, scheme, spec in (
                ("Tally, levels", dc.Tally(items=items), dc.PrivacySpec.groups()),
                ("Chorus, 1", _chorus(items, "lists", 1e-7), dc.PrivacySpec.uniform(1.0)),
            ):
                model = scheme.fit(split.train, spec, seed=7)
                without, with_times = (
                    judge_lists(one, split, items, how)["ndcg@10"]
                    for one in (AsOfOneDay(model), model)
                )
                print(f"{name}, {kind}, {method}: {without:.4f}, with times {with_times:.4f}")


def tastes(_: list[str], wanted: Wanted) -> None:
    """Lists with titles, by liking as before and by choosing and liking: the paper's levels."""
    data, items = _tables("ml-1m")
    titles = dict(zip(items.ids.values, items.frame["title"], strict=True))
    spec = dc.PrivacySpec.groups()
    schemes = {"Tally": dc.Tally(items=items), "Chorus": dc.Chorus(items=items, delta=1e-7)}
    for name, scheme in schemes.items():
        release = scheme.fit(data, spec, seed=wanted.splits[0]).release
        for taste, films in TASTES.items():
            print(f"\n{name}, {taste}: {'; '.join(titles[film] for film in films)}")
            for by in ("liked", "best"):
                found = release.recommend(list(films), [5] * len(films), n=8, rank_by=by)
                print(f"  {by}: {'; '.join(titles[film] for film in found['item'])}")


def time_(_: list[str], __: Wanted) -> None:
    """Everybody's lists of ten on MovieLens 1M, and one person's of 17,770 items, in CPU time."""
    data, items = _tables("ml-1m")
    many = synthetic(2_000_000)
    spec = dc.PrivacySpec.uniform(1.0)
    for name in ("Tally", "lists", "both", MANY):

        def scheme(of: dc.Items | None, name: str = name) -> dc.Tally | dc.Chorus:
            if name == MANY:
                return dc.Chorus(items=of, delta=1e-7, purpose="lists", factors=64, rounds=1)
            return dc.Tally(items=of) if name == "Tally" else _chorus(of, name, 1e-7)  # type: ignore[arg-type]

        model = scheme(items).fit(data, spec, seed=0)
        for by in ("liked", "best"):
            seconds = least(partial(model.recommend, n=10, rank_by=by))
            print(f"{name}, {by}: lists of {len(data.users):,} people {seconds:.3f} s")
        release = scheme(None).fit(many, spec, seed=0).release
        mine = many.items.values[::170], np.full(105, 4.0)
        hundreds = []
        for _ in range(5):
            began = time.process_time()
            for _ in range(100):
                release.recommend(*mine)
            hundreds.append(time.process_time() - began)
        milliseconds = min(hundreds) * 10
        print(f"{name}: one person, {len(many.items):,} items {milliseconds:.2f} ms of CPU")


WHAT = {"table": table, "recency": recency, "tastes": tastes, "time": time_}


def _main() -> None:
    words = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    words.add_argument("what", choices=WHAT)
    words.add_argument("tables", nargs="*", help="data sets by name")
    words.add_argument("--splits", default="201,202,203")
    words.add_argument(
        "--levels", default=",".join(LEVELS), help="numbers, or the paper's 'levels'"
    )
    words.add_argument("--persons", default="1,5,10", help="levels of whole persons; '' for none")
    words.add_argument("--methods", nargs="*", default=(), help="by name, as 'Chorus, both'")
    words.add_argument("--people", type=int, default=MOST_PEOPLE, help="whose lists are judged")
    given = words.parse_args()
    wanted = Wanted(
        tuple(int(part) for part in _parts(given.splits)),
        tuple(_parts(given.levels)),
        tuple(float(part) for part in _parts(given.persons)),
        tuple(given.methods),
        given.people,
    )
    WHAT[given.what](given.tables, wanted)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


if __name__ == "__main__":
    _main()
