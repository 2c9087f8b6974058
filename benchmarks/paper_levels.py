"""Errors and lists at the paper's levels: what README and docs/results/figures.md show.

    python -m benchmarks.paper_levels ml-100k ml-1m netflix-7128 netflix-10m book-ratings
    python benchmarks/report.py                     # writes the tables into the documents

The first writes docs/results/paper-levels.csv; rows of tables that are not named stay as they are.
Splits have the seeds from 101 on, on which nothing was chosen: three of them, five for the paper's
own schemes. It takes some hours, nearly all of them for the Netflix tables.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

import discreet as dc
from discreet.evaluate.baselines import find_method

OUT = Path(__file__).parents[1] / "docs/results/paper-levels.csv"
DELTA, PERSON_DELTA = 1e-7, 1e-5
DELTAS = {"netflix-10m": 1e-8}
"""Smaller, where there are more people."""
FIRST_SPLIT, HELD_OUT = 101, {"errors": 0.1, "lists": 0.2}
FIGURES = {"errors": "rmse", "lists": "ndcg@10"}
CHORUS_ALONE = ("netflix-10m",)
"""Tables for Chorus' errors and nothing else."""
TALLY_ALONE = ("book-ratings",)


class Case(NamedTuple):
    """A row: what is measured, how it is called, at which level, and what makes it."""

    kind: str
    method: str
    level: str
    """The paper's groups, "paper"; a number; "person 1"; or "none"."""
    make: Callable[[dc.Items, float], Any]
    splits: int = 3


def chorus(purpose: str, *, person: bool = False) -> Callable[[dc.Items, float], Any]:
    """Chorus on an item table, for ratings or whole persons."""

    def make(items: dc.Items, delta: float) -> Any:
        if person:
            spent = PERSON_DELTA if purpose == "lists" else delta
            return dc.Chorus(items=items, delta=spent, purpose=purpose, unit="person")
        return dc.Chorus(items=items, delta=delta, purpose=purpose)

    return make


CASES = [
    Case("errors", "Tally, no item table", "paper", lambda _items, _delta: dc.Tally()),
    Case("errors", "Tally", "paper", lambda items, _delta: dc.Tally(items=items)),
    Case("errors", "Tally", "0.1", lambda items, _delta: dc.Tally(items=items)),
    Case("errors", "PDP-PMF printed", "paper", lambda _items, _delta: dc.PDPPMF(), 5),
    Case("errors", "PMF, the paper's", "none", lambda *_: dc.PMF(solver="gradient"), 5),
    Case("errors", "PMF by ALS", "none", lambda *_: dc.PMF(solver="als", factors=20)),
    Case("errors", "PMF by SGD", "none", lambda *_: dc.PMF(solver="sgd", factors=20)),
    *(Case("errors", "Chorus", level, chorus("ratings")) for level in ("paper", "0.1", "1", "4")),
    *(
        Case("errors", "Chorus", f"person {level}", chorus("ratings", person=True))
        for level in ("1", "5")
    ),
    Case("lists", "popularity", "none", lambda *_: find_method("popularity")()),
    Case("lists", "EASE", "none", lambda *_: find_method("ease")()),
    Case("lists", "Tally", "paper", lambda items, _delta: dc.Tally(items=items)),
    Case("lists", "Tally", "0.1", lambda items, _delta: dc.Tally(items=items)),
    *(Case("lists", "Chorus", level, chorus("lists")) for level in ("paper", "1", "4")),
    *(
        Case("lists", "Chorus", f"person {level}", chorus("lists", person=True))
        for level in ("1", "5", "10")
    ),
]


def main(names: list[str]) -> None:
    """Measure the tables of these names, and keep what is known of others."""
    known = pl.read_csv(OUT, schema_overrides={"level": pl.String}) if OUT.exists() else None
    for name in names:
        measured = pl.DataFrame(list(measure(name)))
        if known is not None:
            measured = pl.concat([known.filter(pl.col("data") != name), measured])
        known = measured
        known.write_csv(OUT)


def measure(name: str) -> Iterator[dict[str, object]]:
    """A row for each case that the table is for."""
    ratings, items = dc.load_ratings(name), dc.load_items(name)
    for case in CASES:
        if name in CHORUS_ALONE and (case.kind, case.method) != ("errors", "Chorus"):
            continue
        if name in TALLY_ALONE and (case.kind, case.method) != ("errors", "Tally"):
            continue
        scheme = case.make(items, DELTAS.get(name, DELTA))
        found = [_one(case, scheme, ratings, FIRST_SPLIT + k) for k in range(case.splits)]
        value = round(sum(found) / len(found), 4)
        row = {"kind": case.kind, "data": name, "method": case.method, "level": case.level}
        print(row, value, flush=True)
        yield {**row, "value": value, "splits": case.splits}


def _one(case: Case, scheme: Any, ratings: dc.Ratings, seed: int) -> float:
    word = case.level.removeprefix("person ")
    groups = word in ("paper", "none")
    spec = dc.PrivacySpec.groups(seed=seed) if groups else dc.PrivacySpec.uniform(float(word))
    split = dc.hold_out(ratings, HELD_OUT[case.kind], seed=seed)
    top = 10 if case.kind == "lists" else None
    found = dc.cross_validate(scheme, ratings, spec, folds=[split], clip=True, top=top)
    return float(found[FIGURES[case.kind]][0])


if __name__ == "__main__":
    main(sys.argv[1:] or ["ml-100k"])
