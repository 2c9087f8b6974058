"""How much each public constant matters: refits with it changed, on the same splits and noise.

    python benchmarks/constants.py              # all of them, a quarter of an hour
    python benchmarks/constants.py FLOOR RIDGE  # those whose names contain one of these words

Every number is the change of the clipped test RMSE in steps of 0.0001, less is better, as a mean
over splits with a tenth held out. A changed constant meets the same split and the same seeded
noise as the value in the code, so that chance hardly enters the difference; the last line says how
much of it does. Data sets that are not here are left out, and without any the club stands in. The
result is in docs/constants.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import cache, partial
from types import ModuleType
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

import discreet as dc
from discreet.data import flags
from discreet.evaluate.crossval import evaluate_split
from discreet.evaluate.splits import Split, hold_out
from discreet.privacy.spec import Groups
from discreet.readers import datasets
from discreet.release import scoring
from discreet.schemes import effects, votes
from discreet.schemes.base import Scheme
from discreet.schemes.chorus import directions, rounds, scheme, weighing
from discreet.schemes.chorus.budget import Plan
from discreet.schemes.pmf import als, gradient, pmf

SPLITS = 3
TABLES = ("ml-100k", "ml-1m", "netflix-7128")
DELTA = 1e-7
LEVELS = {"groups": dc.PrivacySpec.groups(seed=7), "1": dc.PrivacySpec.uniform(1.0)}

KINDS = {
    **dict.fromkeys((effects, flags, scoring), "effects"),
    **dict.fromkeys((rounds, directions), "rounds"),
    scheme: "plan",
    **dict.fromkeys((votes, weighing), "person"),
    als: "als",
    gradient: "gradient",
}
"""What the constants of a module can move."""

Make = Callable[..., Scheme]


class Cell(NamedTuple):
    """A column of the result: what is fitted to which table, at which levels."""

    title: str
    table: str
    make: Make
    spec: dc.PrivacySpec


class Trial(NamedTuple):
    """A row of the result: one constant, another value, and what it can move."""

    name: str
    value: str
    change: Callable[[], AbstractContextManager[Any]]
    kind: str


def columns(tables: Sequence[str]) -> dict[str, list[Cell]]:
    """For every kind of constant the cells that it can move."""

    def cells(make: Make, name: str, wanted: Sequence[str] = TABLES) -> list[Cell]:
        return [
            Cell(f"{name}, {table}, {level}", table, make, spec)
            for table in tables
            if table in wanted or tables[0] == datasets.CLUB
            for level, spec in LEVELS.items()
        ]

    def at_one(make: Make, name: str) -> list[Cell]:
        return [Cell(f"{name}, {table}", table, make, LEVELS["1"]) for table in tables]

    chorus = partial(dc.Chorus, delta=DELTA)
    rounds_run = cells(chorus, "Chorus", TABLES[1:])  # with so few ratings as in the first, none
    return {
        "effects": [*cells(dc.Tally, "Tally", TABLES[:2]), *rounds_run],
        "rounds": rounds_run,
        "plan": cells(chorus, "Chorus"),
        "person": [
            *at_one(partial(dc.Tally, unit="person"), "Tally, a person"),
            *at_one(partial(chorus, unit="person"), "Chorus, a person"),
        ],
        **{name: at_one(partial(dc.PMF, solver=name), f"PMF by {name}") for name in pmf.USUAL},
    }


def setting(module: ModuleType, name: str, *values: Any) -> Iterator[Trial]:
    """Trials of a constant that is an attribute of its module."""
    for value in values:
        change = partial(patch.object, module, name, value)
        yield Trial(name, f"{value}", change, KINDS[module])


def default(cls: type, kind: str, name: str, *values: Any) -> Iterator[Trial]:
    """Trials of a parameter's default: schemes are made anew for every trial."""
    known: dict[str, Any] = cls.__init__.__kwdefaults__  # type: ignore[misc]
    for value in values:
        change = partial(patch.dict, known, {name: value})
        yield Trial(f"{cls.__name__}.{name}", f"{value}", change, kind)


def usual(solver: str, *changes: dict[str, Any]) -> Iterator[Trial]:
    """Trials of what a solver takes where nothing else is said."""
    for change in changes:
        value = pmf.USUAL[solver]._replace(**change)
        told = " ".join(f"{name}={new}" for name, new in change.items())
        alone = partial(patch.dict, pmf.USUAL, {solver: value})
        yield Trial(f"USUAL {solver}", told, alone, solver)


def planned(name: str, value: str, change: Callable[[Plan], Plan], kind: str = "rounds") -> Trial:
    """A trial of what `Chorus` plans by itself."""
    own = scheme.plan_for
    return Trial(
        name, value, lambda: patch.object(scheme, "plan_for", lambda *a: change(own(*a))), kind
    )


def tallies_times(factor: float) -> Trial:
    """More or less of the budget for the tallies, and the rest for the rounds."""
    return planned(
        "0.5 * (50 / q) ** (1 / 3)",
        f"times {factor}",
        lambda plan: plan._replace(tallies=min(factor * plan.tallies, 0.9)),
    )


def factors_times(factor: float) -> Trial:
    return planned(
        "0.6 * math.sqrt(q) - 1",
        f"times {factor}",
        lambda plan: plan._replace(factors=max(1, round(factor * plan.factors))),
    )


def never(plan: Plan) -> Plan:
    """No factors, whatever the probe says."""
    return Plan(plan.probe, 1 - plan.probe, 0, 0)


def always(plan: Plan) -> Plan:
    """Two factors where the probe says none: about what its rule would give just below its edge."""
    return plan if plan.factors else Plan(plan.probe, 0.6 * (1 - plan.probe), 2, 6)


@contextmanager
def counted_from(count: float) -> Iterator[None]:
    """Popularity as log(1 + c / count)."""
    with ExitStack() as stack:
        for module in (effects, directions):
            stack.enter_context(patch.object(module, "popularity", lambda c: np.log1p(c / count)))
        yield


def trials() -> list[Trial]:
    """Halved and doubled, or neighbours that make sense."""
    return [
        *setting(effects, "_RATING_VARIANCE", 0.5, 2.0),
        *setting(effects, "_PRIOR_RIDGE", 10.0, 40.0),
        *setting(effects, "_SPREAD", (0.01, 1.0), (0.04, 1.0), (0.02, 0.5), (0.02, 2.0)),
        *setting(effects, "_ROUNDS", 4, 16),
        *setting(effects, "_RIDGE_ONE", 2.5, 10.0),
        *setting(effects, "_RIDGE_EFFECT", 6.0, 8.0, 24.0),
        *setting(effects, "_RIDGE_COUNT", 15.0, 60.0),
        *setting(effects, "_RIDGE_PRODUCT", 150.0, 200.0, 600.0),
        *setting(effects, "_RIDGE_PUBLIC", 12.5, 50.0),
        *setting(scoring, "FAMILY_SHRINK", 0.75, 3.0, 1e9),
        *setting(flags, "LEAST_ITEMS", 2, 10),
        *setting(flags, "MOST_FLAGS", 9, 128),
        *setting(rounds, "CLIP", 0.275, 0.5, 0.6, 1.1),
        *setting(rounds, "FLOOR", 0.125, 0.5),
        *setting(directions, "FIRST_SIZE", 0.015, 0.035, 0.06),
        *setting(directions, "VECTOR_SQUARE", 0.15, 0.6),
        *setting(directions, "MEMORY", 1, 2, 6),
        *setting(directions, "FADE", 0.25, 1.0),
        *setting(directions, "NOISE_BINS", 8, 16, 128),
        *setting(directions, "EM_STEPS", 1, 10, 40),
        *setting(directions, "LEAST", 0.05, 0.2),
        *setting(scheme, "PROBE", 0.015, 0.04, 0.06),
        planned("q < 45", "never factors", never, "plan"),
        planned("q < 45", "always factors", always, "plan"),
        *map(tallies_times, (0.5, 2.0)),
        *map(factors_times, (0.5, 2.0)),
        *(
            planned("8 if q >= 300 else 6", f"{n}", lambda plan, n=n: plan._replace(rounds=n))
            for n in (3, 8, 12)
        ),
        *setting(votes, "PERSON_VOTES", 4, 64, 1024),
        *(
            Trial("popularity", f"c / {n}", partial(counted_from, n), kind)
            for kind, counts in {"effects": (5, 20), "person": (40, 160, 640)}.items()
            for n in counts
        ),
        *setting(weighing, "PERSON_NORM", 4, 8, 32),
        *usual("als", *({"lambda_u": x, "lambda_v": x} for x in (0.025, 0.1))),
        *setting(als, "_START_RECORDS", 100_000, 400_000),
        *default(dc.PMF, "als", "sweeps", 5, 20),
        *default(dc.PMF, "als", "factors", 10, 40),
        *usual("sgd", *({"lambda_u": x, "lambda_v": x} for x in (0.02, 0.08))),
        *usual("sgd", {"gamma": 0.0125}, {"gamma": 0.05}, {"passes": 5}, {"passes": 20}),
        *default(dc.PMF, "sgd", "factors", 10, 40),
        *setting(gradient, "BATCH", 50_000, 200_000),
    ]


class Bench:
    """Splits and item tables of the data sets, and the errors of the constants as they are."""

    def __init__(self, tables: Sequence[str]) -> None:
        self.items = {name: datasets.load_items(name) for name in tables}
        self.splits = {name: _splits(name) for name in tables}
        self.usual_errors = cache(self.errors)

    def errors(self, cell: Cell) -> np.ndarray:
        """Clipped RMSE, split by split, with the constants as they are now."""
        made = cell.make(items=self.items[cell.table])
        return np.array(
            [
                evaluate_split(made, split, cell.spec, seed=k, clip=True)["rmse"]
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


def _splits(name: str) -> list[Split]:
    ratings = datasets.load_ratings(name)
    return [hold_out(ratings, 0.1, seed=seed) for seed in range(SPLITS)]


def show(*cells: str) -> None:
    print("|", " | ".join(cells), "|", flush=True)


def main(words: Sequence[str]) -> None:
    tables = [name for name in TABLES if datasets.find(name) is not None] or [datasets.CLUB]
    bench = Bench(tables)
    chosen = [t for t in trials() if not words or any(word in t.name for word in words)]
    doubts: list[float] = []
    for kind, cells in columns(tables).items():
        of_kind = [trial for trial in chosen if trial.kind == kind]
        if not of_kind or not cells:
            continue
        print()
        show("constant", "value", *(cell.title for cell in cells))
        show(*["---"] * (2 + len(cells)))
        show("as it is", "", *(f"{bench.usual_errors(cell).mean():.4f}" for cell in cells))
        for trial in of_kind:
            found = bench.differences(trial, cells)
            show(f"`{trial.name}`", trial.value, *(f"{round(x):+d}" for x in found.mean(axis=1)))
            doubts += list(found.std(axis=1, ddof=1) / np.sqrt(SPLITS))
    print(f"\nstandard errors: median {np.median(doubts):.1f}, ", end="")
    print(f"nine in ten below {np.quantile(doubts, 0.9):.1f}, largest {max(doubts):.1f}")


if __name__ == "__main__":
    with patch.object(Groups, "levels", remembered(Groups.levels)):
        main(sys.argv[1:])
