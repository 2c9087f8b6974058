"""What `constants.py` tries: every constant, other values of it, and what it can move."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple
from unittest.mock import patch

import discreet as dc
from discreet.data import column_use, flags
from discreet.release import own_mean, scoring
from discreet.schemes import counts, design, effects, standardise, votes
from discreet.schemes.chorus import budget, directions, plan, rounds, values, weighing
from discreet.schemes.chorus.directions import Memory
from discreet.schemes.chorus.plan import Plan
from discreet.schemes.pmf import als, gradient, pmf

KINDS = {
    **dict.fromkeys((counts, effects), "counts"),
    **dict.fromkeys((standardise, design, own_mean, flags, scoring), "fold-in"),
    **dict.fromkeys((rounds, values, directions), "rounds"),
    **dict.fromkeys((plan, budget), "plan"),
    **dict.fromkeys((votes, weighing), "person"),
    als: "als",
    gradient: "gradient",
}
"""What the constants of a module can move."""


class Trial(NamedTuple):
    """A row of the result: one constant, another value, and what it can move."""

    name: str
    value: str
    change: Callable[[], AbstractContextManager[Any]]
    kind: str


def setting(
    module: ModuleType, name: str, *values: Any, also: ModuleType | None = None
) -> Iterator[Trial]:
    """Trials of a constant that is an attribute of its module, and of another that imports it."""
    for value in values:
        change = partial(_changed, [module, *([also] if also else [])], name, value)
        yield Trial(name, f"{value}", change, KINDS[module])


@contextmanager
def _changed(modules: list[ModuleType], name: str, value: Any) -> Iterator[None]:
    with ExitStack() as stack:
        for module in modules:
            stack.enter_context(patch.object(module, name, value))
        yield


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
    own = plan.plan_for
    return Trial(
        name, value, lambda: patch.object(plan, "plan_for", lambda *a: change(own(*a))), kind
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


def trials() -> list[Trial]:
    """Halved and doubled, or neighbours that make sense."""
    return [
        *setting(counts, "NARROWEST", 0.125, 0.5),
        *setting(counts, "WIDENING", 0.15, 0.6),
        *setting(counts, "_REACH", 10.0, 40.0),
        *setting(counts, "_SAMPLE", 500, 8000),
        *setting(counts, "_STEPS", 25, 400),
        *setting(counts, "_FALL", 1.0, 2.0),
        *setting(effects, "RATING_VARIANCE", 0.35, 1.0, 1.4),
        *setting(effects, "PRIOR_RIDGE", 20.0, 80.0),
        *setting(effects, "SPREAD", (0.001, 1.0), (0.02, 1.0), (0.002, 0.5)),
        *setting(effects, "USUAL_SPREAD", 0.05, 0.2),
        *setting(effects, "SPREAD_WEIGHT", 75.0, 300.0),
        *setting(effects, "USUAL_LEVEL", 0.3, 1.2),
        *setting(effects, "LEVEL_VARIANCE", 0.25, 0.5, 2.0),
        *setting(effects, "REACH", 0.625, 2.5),
        *setting(effects, "MOST_ROUNDS", 6, 24),
        *setting(effects, "STILL", 0.002, 0.008),
        *setting(counts, "POPULAR", 5.0, 20.0),
        *setting(standardise, "MOST_DEVIATIONS", 1.0, 4.0),
        *setting(standardise, "FEW_COLUMNS", 10, 40),
        *setting(standardise, "_TAMED", 1, 6),
        *setting(design, "RIDGE_ONE", 2.0, 3.0, 8.0),
        *setting(design, "RIDGE_EFFECT", 9.0, 12.0, 36.0),
        *setting(design, "RIDGE_COUNT", 20.0, 80.0),
        *setting(design, "RIDGE_PRODUCT", 150.0, 600.0),
        *setting(design, "RIDGE_NUMBER", 20.0, 80.0),
        *setting(design, "RIDGE_FLAG", 12.5, 50.0),
        *setting(design, "LEAST_EFFECT", 0.01, 0.04),
        *setting(own_mean, "_STEADY", (0.05, 0.02), (0.2, 0.02), (0.1, 0.01), (0.1, 0.04)),
        *setting(own_mean, "_USUAL", (0.5, 0.4), (2.0, 1.6), (1.0, 0.4), (1.0, 1.6)),
        *setting(own_mean, "LOG_ODDS", 1.5, 6.0, 50.0),
        *setting(scoring, "FAMILY_SHRINK", 0.75, 3.0, 1e9),
        *setting(flags, "LEAST_ITEMS", 2, 10, also=column_use),
        *setting(flags, "MOST_FLAGS", 9, 128),
        *setting(values, "CLIP", 0.275, 0.5, 0.6, 1.1),
        *setting(rounds, "FLOOR", 0.125, 0.5),
        *setting(directions, "FIRST_SIZE", 0.015, 0.035, 0.06),
        *setting(directions, "VECTOR_SQUARE", 0.15, 0.6),
        *setting(values, "LIKING_MEMORY", *(Memory(n, 0.5) for n in (1, 2, 6))),
        *setting(values, "LIKING_MEMORY", *(Memory(3, fade) for fade in (0.25, 1.0))),
        *setting(directions, "NOISE_BINS", 8, 16, 128),
        *setting(directions, "EM_STEPS", 1, 10, 40),
        *setting(directions, "LEAST", 0.05, 0.2),
        *setting(plan, "PROBE", 0.015, 0.06),
        *setting(plan, "ACTIVITY", 0.0025, 0.01),
        *setting(plan, "LEAST_BEYOND", 0.2, 0.75),
        *setting(budget, "FEW", 10, 40),
        planned("q < 45", "never factors", never, "plan"),
        planned("q < 45", "always factors", always, "plan"),
        *map(tallies_times, (0.5, 2.0)),
        *map(factors_times, (0.5, 2.0)),
        *(
            planned("8 if q >= 300 else 6", f"{n}", lambda plan, n=n: plan._replace(rounds=n))
            for n in (3, 8, 12)
        ),
        *setting(votes, "PERSON_VOTES", 4, 64, 1024),
        *(trial._replace(kind="person") for trial in setting(counts, "POPULAR", 40, 160, 640)),
        *setting(weighing, "PERSON_NORM", 4, 8, 32, also=budget),
        *usual("als", *({"lambda_u": x, "lambda_v": x} for x in (0.025, 0.1))),
        *setting(als, "_START_RECORDS", 100_000, 400_000),
        *default(dc.PMF, "als", "sweeps", 5, 20),
        *default(dc.PMF, "als", "factors", 10, 40),
        *usual("sgd", *({"lambda_u": x, "lambda_v": x} for x in (0.02, 0.08))),
        *usual("sgd", {"gamma": 0.0125}, {"gamma": 0.05}, {"passes": 5}, {"passes": 20}),
        *default(dc.PMF, "sgd", "factors", 10, 40),
        *setting(gradient, "BATCH", 50_000, 200_000),
    ]
