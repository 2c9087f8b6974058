"""The declared search for the field's hyper-parameters: on MovieLens 100K, and nowhere else.

    python -m benchmarks.field_tuning [ENTRY ...]      # writes src/discreet/field/tuned.json

For every entry of the roster, unit and strength of signal: 200 configurations of its space, 110 of
them random and 90 a step away from one of the best so far, one draw of the noise each, on a tenth
held out of the *training* part of a split; then the best 12 with three further draws. The one with
the smallest mean error of these is kept, with the counts. Cells that are there already stay.
"""

import json
import math
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dc
from discreet.data.features import encode
from discreet.errors import DiscreetError
from discreet.evaluate.judge import judge_lists
from discreet.field import biases, dpals, find_field
from discreet.field.budget import GaussianBudget
from discreet.field.jorgensen import Jorgensen
from discreet.field.roster import ROSTER, SAMPLED, Entry, Space, tuned
from discreet.kernels.compute import Compute
from discreet.privacy.accounting import gaussian_epsilon
from discreet.privacy.noise import Randomness
from discreet.release import release
from discreet.schemes.base import Run

OUT = Path(__file__).parents[1] / "src/discreet/field/tuned.json"
DATA, SPLIT, INNER_SPLIT = "ml-100k", 901, 902
CONFIGURATIONS, AT_RANDOM, FINALISTS, DRAWS = 200, 110, 12, 3
LEADERS, MOVED, STEP = 6, 0.4, 0.15
"""How many of the best are walked on from; the share of parameters that a step moves, and how far,
on scales from 0 to 1."""
Point = dict[str, float]
NEAREST = ("dpals", "dpals-biases", "am-ssp-biases")
BETWEEN = (1.1e4, 4.5e4)
"""The nearest rivals are searched for at more strengths of signal."""
DELTA = 1e-5
THRESHOLDS = (0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
SIGNALS = {
    ("gaussian", "person"): (1.6e3, 7e3, 1.6e4, 9e4),
    ("lists", "person"): (1.6e3, 7e3, 1.6e4, 9e4),
    ("gaussian", "rating"): (2e2, 1.6e3, 6e3, 3e4),
    ("pure", "rating"): (6e2, 6e3, 2.4e4, 1e5),
    ("local", "rating"): (8.0, 22.0, 78.0, 310.0),
}


def draw(space: Space, rng: np.random.Generator, near: Point | None = None) -> Point:
    """A random point: a place from 0 to 1 for every parameter; or a step away from another."""
    places = {}
    for name in space:
        place = float(rng.random())
        if near is not None:
            stays = rng.random() > MOVED
            place = near[name] if stays else near[name] + STEP * float(rng.standard_normal())
        places[name] = min(max(place, 0.0), 1.0 - 1e-9)
    return places


def configuration(space: Space, point: Point) -> dict[str, Any]:
    """What a point stands for."""
    found: dict[str, Any] = {}
    for name, (how, values) in space.items():
        place = point[name]
        if how == "of":
            found[name] = values[int(place * len(values))]
            continue
        low, high = values
        if how == "linear":
            found[name] = round(float(low + place * (high - low)), 4)
        else:
            number = float(low * (high / low) ** place)
            found[name] = round(number) if how == "whole" else float(f"{number:.3g}")
    return found


class Cell:
    """One entry, unit and signal on one split."""

    def __init__(self, entry: Entry, unit: str, signal: float) -> None:
        self.entry, self.unit, self.signal = entry, unit, signal
        ratings = dc.load_ratings(DATA)
        self.items = dc.load_items(DATA)
        train = dc.hold_out(ratings, 0.1, seed=SPLIT).train
        self.split = dc.hold_out(train, 0.1, seed=INNER_SPLIT)
        self.people = len(ratings.users)
        # A third of the people tell lists apart well enough, in a third of the time.
        third = self.split.test.subset(self.split.test.user % 3 == 0)
        self.fewer = self.split._replace(test=third)

    def budget(self, seed: int) -> GaussianBudget:
        """As strong as the signal says, on a table of so many people."""
        randomness = Randomness(seed)
        if self.entry.sums == "gaussian":
            mu = self.signal / self.people
            return GaussianBudget(mu, randomness, (gaussian_epsilon(mu, DELTA), DELTA))
        size = self.people if self.entry.sums == "pure" else math.sqrt(self.people)
        return GaussianBudget(math.inf, randomness, (self.signal / size, 0.0))

    def error(self, parameters: dict[str, Any], seed: int) -> float:
        """RMSE of one fit, clipped to the scale, or of one for lists -NDCG@10: smaller is better.

        Infinite where it cannot be had.
        """
        kind = find_field(self.entry.name)
        given = dict(self.entry.fixed) | parameters
        if "unit" in kind.__dataclass_fields__:
            given["unit"] = self.unit
        scheme = kind(items=self.items, **given)
        budget = self.budget(seed)
        run = Run(budget.randomness, Compute(threads=1))
        spec = dc.PrivacySpec.uniform(1.0)
        try:
            certificate = scheme.certificate(spec, 1.0, budget.randomness)
            model = scheme.learn(scheme_data(self), budget, certificate, run)
            if "errors" not in self.entry.judged:
                return -judge_lists(model, self.fewer, self.items)["ndcg@10"]
            predicted = model.predict_ratings(self.split.test, clip=True)
        except (DiscreetError, np.linalg.LinAlgError, FloatingPointError):
            return math.inf
        found = float(np.sqrt(np.mean((predicted - self.split.test.rating) ** 2)))
        return found if math.isfinite(found) else math.inf


def scheme_data(cell: Cell) -> dc.Ratings:
    """The training part over the catalogue."""
    return cell.split.train.with_items(cell.items.ids)


def space_of(cell: Cell) -> Space:
    """What is searched; samples of people only where their accounting is quick."""
    space = dict(cell.entry.space)
    if "rate" in space and cell.signal / cell.people > 8:
        space.pop("rate")
    return space


def search(cell: Cell) -> dict[str, Any]:
    """The best configuration, and how it was found."""
    began = time.perf_counter()
    name = f"{cell.entry.key}/{cell.unit}/{cell.signal:g}"
    rng = np.random.default_rng(list(name.encode()))
    space = space_of(cell)
    points: list[Point] = []
    errors: list[float] = []
    for k in range(CONFIGURATIONS):
        near = None
        if k >= AT_RANDOM:
            near = points[int(np.argsort(errors)[int(rng.integers(LEADERS))])]
        points.append(draw(space, rng, near))
        errors.append(cell.error(configuration(space, points[-1]), 1000 + k))
    tried = [configuration(space, point) for point in points]
    best = np.argsort(errors)[:FINALISTS]
    means = [np.mean([cell.error(tried[k], 5000 + s) for s in range(DRAWS)]) for k in best]
    chosen = int(best[int(np.argmin(means))])
    return {
        "entry": cell.entry.key,
        "unit": cell.unit,
        "signal": cell.signal,
        "parameters": tried[chosen],
        "score": round(float(min(means)), 4),
        "evaluations": CONFIGURATIONS + FINALISTS * DRAWS,
        "draws": DRAWS,
        "failed": int(np.isinf(errors).sum()),
        "seconds": round(time.perf_counter() - began, 1),
    }


def main(names: list[str]) -> None:
    """All cells that are missing; what is known of the items is encoded once."""
    once = cache(encode)
    for module in (biases, dpals, release):
        module.encode = once
    for entry in ROSTER:
        if names and entry.key not in names:
            continue
        for unit in entry.units:
            how = entry.sums if "errors" in entry.judged else "lists"
            for signal in (*SIGNALS[how, unit], *(BETWEEN if entry.key in NEAREST else ())):
                known = read()
                if any(_same(c, entry, unit, signal) for c in known["cells"]):
                    continue
                found = search(Cell(entry, unit, signal))
                known = read()
                known["cells"].append(found)
                OUT.write_text(json.dumps(known, indent=1) + "\n")
                print(found, flush=True)
    if not names:
        search_thresholds()


def search_thresholds() -> None:
    """t of sampling by levels: the paper's levels on MovieLens 100K itself, three draws each."""
    cell = Cell(ROSTER[0], "rating", 1.0)
    for inner in SAMPLED:
        entry = next(entry for entry in ROSTER if entry.key == inner)
        known = read()["cells"]
        if any(c["entry"] == f"sampled {inner}" for c in known):
            continue
        began, errors = time.perf_counter(), {}
        for t in THRESHOLDS:
            given = tuned(entry, "rating", t, DELTA, cell.people)
            scheme = Jorgensen(
                items=cell.items, inner=inner, threshold=t, parameters=tuple(given.items())
            )
            errors[t] = float(np.mean([sampled_error(scheme, cell, s) for s in range(DRAWS)]))
        best = min(errors, key=lambda t: errors[t])
        found = {
            "entry": f"sampled {inner}",
            "unit": "rating",
            "signal": cell.people,
            "parameters": {"threshold": best},
            "score": round(errors[best], 4),
            "evaluations": DRAWS * len(THRESHOLDS),
            "draws": DRAWS,
            "failed": 0,
            "seconds": round(time.perf_counter() - began, 1),
        }
        known = read()
        known["cells"].append(found)
        OUT.write_text(json.dumps(known, indent=1) + "\n")
        print(found, flush=True)


def sampled_error(scheme: Jorgensen, cell: Cell, seed: int) -> float:
    """RMSE at the paper's levels."""
    spec = dc.PrivacySpec.groups(seed=7)
    model = scheme.fit(cell.split.train, spec, seed=seed, compute=Compute(threads=1))
    predicted = model.predict_ratings(cell.split.test, clip=True)
    return float(np.sqrt(np.mean((predicted - cell.split.test.rating) ** 2)))


def _same(cell: dict[str, Any], entry: Entry, unit: str, signal: float) -> bool:
    return (cell["entry"], cell["unit"], cell["signal"]) == (entry.key, unit, signal)


def read() -> dict[str, Any]:
    """What was found before."""
    if OUT.exists():
        return dict(json.loads(OUT.read_text()))
    how = (
        f"{AT_RANDOM} random configurations and {CONFIGURATIONS - AT_RANDOM} a step from one of "
        f"the best {LEADERS}, with one draw of the noise; the best {FINALISTS} with {DRAWS} more"
    )
    return {"data": DATA, "splits": [SPLIT, INNER_SPLIT], "search": how, "cells": []}


if __name__ == "__main__":
    main(sys.argv[1:])
