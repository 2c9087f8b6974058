"""How much each public constant matters: refits with it changed, on the same splits and noise.

    python benchmarks/constants.py              # all of them, most of an hour
    python benchmarks/constants.py FLOOR RIDGE  # those whose names contain one of these words
    python benchmarks/constants.py =counts      # those of this kind, a key of `columns`: minutes

Every number is the change of the clipped test RMSE in steps of 0.0001, less is better, as a mean
over splits with a tenth held out. A changed constant meets the same split and the same seeded
noise as the value in the code, so that chance hardly enters the difference; the last line says how
much of it does. Data sets that are not here are left out, and without any the club stands in. The
result is in docs/constants.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

import discreet as dc
from constant_trials import Trial, trials
from discreet.evaluate.crossval import evaluate_split
from discreet.evaluate.splits import hold_out
from discreet.privacy.spec import Groups
from discreet.readers import datasets
from discreet.schemes.base import Scheme
from discreet.schemes.pmf import pmf

SPLITS = 3
BOOKS = "book-ratings"
TABLES = ("ml-100k", "ml-1m", "netflix-7128", BOOKS)
DELTA = 1e-7
LEVELS = {
    "0.1": dc.PrivacySpec.uniform(0.1),
    "groups": dc.PrivacySpec.groups(seed=7),
    "1": dc.PrivacySpec.uniform(1.0),
}

Make = Callable[..., Scheme]


class Cell(NamedTuple):
    """A column of the result: what is fitted to which table, at which levels."""

    name: str
    make: Make
    table: str
    level: str = "1"

    @property
    def title(self) -> str:
        return f"{self.name}, {self.table}, {self.level}"


def columns() -> dict[str, list[Cell]]:
    """For every kind of constant cells that it can move: few, for each is refitted in each trial.

    What concerns noise is measured where there is much of it; what concerns the rounds, where there
    are any.
    """

    def cells(name: str, make: Make, *places: str) -> list[Cell]:
        return [Cell(name, make, *place.split()) for place in places]

    chorus = partial(dc.Chorus, delta=DELTA, purpose="ratings")
    tally_person = partial(dc.Tally, unit="person")
    sparse = [f"{BOOKS} {level}" for level in LEVELS]
    everywhere = [f"{table} {level}" for table in TABLES for level in LEVELS]
    return {
        "counts": [
            *cells("Tally", dc.Tally, "ml-100k 0.1", "ml-100k 1", "ml-1m 0.1", "netflix-7128 0.1"),
            *cells("Tally", dc.Tally, *sparse),
            *cells("Tally, a person", tally_person, "ml-100k", BOOKS),
        ],
        "fold-in": [
            *cells("Tally", dc.Tally, "ml-100k 0.1", "ml-100k groups", *sparse[::2]),
            *cells("Chorus", chorus, "ml-1m groups", "netflix-7128 1"),
        ],
        "person": [
            *cells("Tally, a person", tally_person, *TABLES),
            *cells("Chorus, a person", partial(chorus, unit="person"), *TABLES),
        ],
        "plan": cells("Chorus", chorus, *everywhere),
        "rounds": cells(
            "Chorus", chorus, *(f"{t} {x}" for t in TABLES[1:3] for x in ("groups", "1"))
        ),
        **{n: cells(f"PMF by {n}", partial(dc.PMF, solver=n), *TABLES[:3]) for n in pmf.USUAL},
    }


class Bench:
    """Splits and item tables of the data sets, and the errors of the constants as they are."""

    def __init__(self, tables: Sequence[str]) -> None:
        loaded = {name: _load(name) for name in tables}
        self.items = {name: items for name, (_, items) in loaded.items()}
        self.splits = {
            name: [hold_out(ratings, 0.1, seed=seed) for seed in range(SPLITS)]
            for name, (ratings, _) in loaded.items()
        }
        self.usual_errors = cache(self.errors)

    def errors(self, cell: Cell) -> np.ndarray:
        """Clipped RMSE, split by split, with the constants as they are now."""
        made = cell.make(items=self.items[cell.table])
        return np.array(
            [
                evaluate_split(made, split, LEVELS[cell.level], seed=k, clip=True)["rmse"]
                for k, split in enumerate(self.splits[cell.table])
            ]
        )

    def differences(self, trial: Trial, cells: Sequence[Cell]) -> np.ndarray:
        """Cell by split, in steps of 0.0001."""
        before = np.array([self.usual_errors(cell) for cell in cells])
        with trial.change():
            return 1e4 * (np.array([self.errors(cell) for cell in cells]) - before)


def remembered(levels: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Simulated levels are hashed pair by pair, and are the same in every trial: once will do."""
    known: dict[tuple[int, int], np.ndarray] = {}

    def recall(spec: Groups, ratings: dc.Ratings) -> np.ndarray:
        key = hash(spec), hash((ratings.ptr.tobytes(), ratings.item.tobytes()))
        if key not in known:
            known[key] = levels(spec, ratings)
        return known[key].copy()

    return recall


def _load(name: str) -> tuple[dc.Ratings, dc.Items]:
    path = datasets.find(name)
    if name != BOOKS or path is None:
        return datasets.load_ratings(name), datasets.load_items(name)
    items = path.with_name("book-items.parquet")
    return datasets.load_ratings(str(path), scale=(1, 10)), datasets.load_items(str(items))


def wanted(trial: Trial, words: Sequence[str]) -> bool:
    """Whether words ask for it, by a part of its name or by =kind; without any, all are."""
    return not words or any(word in trial.name or word == f"={trial.kind}" for word in words)


def cells_here(cells: Sequence[Cell], tables: Sequence[str]) -> list[Cell]:
    """Those of tables that are here; where none is, each once with the club."""
    if datasets.CLUB in tables:
        return list(dict.fromkeys(cell._replace(table=datasets.CLUB) for cell in cells))
    return [cell for cell in cells if cell.table in tables]


def show(*cells: str) -> None:
    print("|", " | ".join(cells), "|", flush=True)


def in_steps(change: float) -> str:
    """With its sign, unless it is nothing."""
    return f"{round(change):+d}" if round(change) else "0"


def main(words: Sequence[str]) -> None:
    tables = [name for name in TABLES if datasets.find(name) is not None] or [datasets.CLUB]
    bench = Bench(tables)
    chosen = [trial for trial in trials() if wanted(trial, words)]
    doubts: list[float] = []
    for kind, of_all in columns().items():
        cells = cells_here(of_all, tables)
        of_kind = [trial for trial in chosen if trial.kind == kind]
        if not of_kind or not cells:
            continue
        print()
        show("constant", "value", *(cell.title for cell in cells))
        show(*["---"] * (2 + len(cells)))
        show("as it is", "", *(f"{bench.usual_errors(cell).mean():.4f}" for cell in cells))
        for trial in of_kind:
            found = bench.differences(trial, cells)
            show(f"`{trial.name}`", trial.value, *map(in_steps, found.mean(axis=1)))
            doubts += list(found.std(axis=1, ddof=1) / np.sqrt(SPLITS))
    print(f"\nstandard errors: median {np.median(doubts):.1f}, ", end="")
    print(f"nine in ten below {np.quantile(doubts, 0.9):.1f}, largest {max(doubts):.1f}")


if __name__ == "__main__":
    with patch.object(Groups, "levels", remembered(Groups.levels)):
        main(sys.argv[1:])
