"""The declared search for the field's hyper-parameters, on tables that are not judged by them.

    python -m benchmarks.field_tuning TABLE [ENTRY[-UNIT] ...]    # adds to field/tuned.json

TABLE is ml-1m, for Netflix and all others, or netflix-7128, for MovieLens. For every entry of the
roster, unit and strength of signal there are 200 evaluations or more, on a tenth held out of the
*training* part of a split: 92 random configurations and 76 a step away from one of the best so far
race on some of the people, with one draw of the noise; the best 20 of them on more people; the best
4 of those, and what was chosen at up to two other strengths or for the nearest scheme, on most
people with three further draws. The nearest rivals get more people in every round.
The one with the smallest mean error of these is kept, with the counts. Cells that are there stay.
The 2,000 most rated items are searched on: they hold 94% of the ratings of MovieLens 1M, 79% of
those of Netflix.
"""

import fcntl
import json
import math
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import discreet as dc
from discreet.data.features import encode
from discreet.errors import DiscreetError
from discreet.evaluate.judge import judge_lists
from discreet.evaluate.splits import Split
from discreet.field import biases, dpals, find_field, implicit
from discreet.field.budget import GaussianBudget
from discreet.field.jorgensen import Jorgensen
from discreet.field.roster import ROSTER, SAMPLED, SEARCHED, Entry
from discreet.field.spaces import Space
from discreet.kernels.compute import Compute
from discreet.privacy.accounting import usable_mu
from discreet.privacy.noise import Randomness
from discreet.release import release
from discreet.schemes.base import Run

OUT = Path(__file__).parents[1] / "src/discreet/field/tuned.json"
SPLIT, INNER_SPLIT = 901, 902
RANDOM, STEPS, MIDDLE, FINALISTS, DRAWS = 92, 76, 20, 4, 3
LEADERS, MOVED, STEP = 6, 0.4, 0.15
"""How many of the best are walked on from; the share of parameters that a step moves, and how far,
on scales from 0 to 1."""
PEOPLE, MAIN_PEOPLE = (400, 1_200, 3_000), (1_200, 3_000, 6_000)
"""How many people there are in each round of a race, and where a nearest rival is searched for."""
STRONG, ITEMS = 3e4, 2_000
"""Of a signal beyond STRONG the first two rounds have twice as many people, since with few the
chance of who they are, and not the noise, would choose."""
KIN = {"dpals-biases": "am-ssp-biases", "dpals": "am-ssp", "am-ssp-lists": "dpals-lists"}
"""Whose parameters are tried as well: the same method with or without public features."""
DELTA, LEVELS_SEED = 1e-5, 7
THRESHOLDS = (0.15, 0.25, 0.4, 0.6, 0.8, 1.0)
MAIN = ("mcsherry-mironov", "am-ssp-biases", "dpals-biases")
"""The nearest rivals are searched for at more strengths of signal, and on more people."""
SIGNALS = {
    ("netflix-7128", "person", True): (1.8e3, 7e3, 1.7e4),
    ("netflix-7128", "person", False): (1.8e3, 1.2e4),
    ("ml-1m", "person", True): (1.3e4, 5.4e4, 1.3e5),
    ("ml-1m", "person", False): (1e4, 9e4),
    ("netflix-7128", "rating", False): (1.7e2, 1.6e3, 5.6e3),
    ("ml-1m", "rating", False): (2e2, 2e3, 1e4, 4.3e4),
}
OTHER_SIGNALS = {"pure": (6e2, 6e3, 2.4e4, 1.9e5), "local": (8.0, 80.0, 310.0, 880.0)}
Point = dict[str, float]


class Part(NamedTuple):
    """Some people of a table, and a split of their training ratings."""

    split: Split
    people: int
    fewer: Split
    """With a third of them to judge lists by, which tells lists apart well enough."""


class Table:
    """One table to search on."""

    def __init__(self, name: str) -> None:
        self.name, self.items = name, dc.load_items(name)
        train = dc.hold_out(dc.load_ratings(name), 0.1, seed=SPLIT).train
        counts = np.bincount(train.item, minlength=len(train.items))
        kept = np.zeros(len(counts), dtype=bool)
        kept[np.argsort(-counts, kind="stable")[:ITEMS]] = True
        if not kept.all():
            ids = train.items.take(np.flatnonzero(kept))
            frame = self.items.frame.filter(pl.col("item").is_in(ids.implode()))
            self.items = dc.Items.from_frame(frame)
            train = train.subset(kept[train.item])
        self.train = train
        self.part = cache(self._part)

    def _part(self, people: int) -> Part:
        chosen = self.train.of_some_people(people, seed=INNER_SPLIT).to_frame()
        some = dc.Ratings.from_frame(chosen, scale=self.train.scale)
        train, test = dc.hold_out(some, 0.1, seed=INNER_SPLIT)
        train = train.with_items(self.items.ids)
        third = test.subset(test.user % 3 == 0)
        return Part(Split(train, test), len(some.users), Split(train, third))


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
            found[name] = values[min(int(place * len(values)), len(values) - 1)]
            continue
        low, high = values
        if how == "linear":
            found[name] = round(float(low + place * (high - low)), 4)
        else:
            number = float(low * (high / low) ** place)
            found[name] = round(number) if how == "whole" else float(f"{number:.3g}")
    return found


class Cell(NamedTuple):
    """One entry, unit and signal on one table."""

    table: Table
    entry: Entry
    unit: str
    signal: float

    def budget(self, people: int, seed: int) -> GaussianBudget:
        """As strong as the signal says, on a table of so many people."""
        strength = self.signal / (math.sqrt(people) if self.entry.sums == "local" else people)
        if self.entry.sums == "gaussian":
            return GaussianBudget(strength, Randomness(seed))
        return GaussianBudget(math.inf, Randomness(seed), (strength, 0.0))

    def error(self, parameters: dict[str, Any], people: int, seed: int) -> float:
        """RMSE of one fit, clipped to the scale, or of one for lists -NDCG@10: smaller is better.

        Infinite where it cannot be had.
        """
        part = self.table.part(people)
        kind = find_field(self.entry.name)
        given = dict(self.entry.fixed) | parameters
        if len(kind.about.units) > 1:
            given["unit"] = self.unit
        scheme = kind(items=self.table.items, **given)
        budget = self.budget(part.people, seed)
        run = Run(budget.randomness, Compute(threads=1))
        try:
            certificate = scheme.certificate(dc.PrivacySpec.uniform(1.0), 1.0, budget.randomness)
            model = scheme.learn(part.split.train, budget, certificate, run)
            if "errors" not in self.entry.judged:
                return -judge_lists(model, part.fewer, self.table.items)["ndcg@10"]
            predicted = model.predict_ratings(part.split.test, clip=True)
        except (DiscreetError, np.linalg.LinAlgError, FloatingPointError):
            return math.inf
        found = float(np.sqrt(np.mean((predicted - part.split.test.rating) ** 2)))
        return found if math.isfinite(found) else math.inf


def race(cell: Cell, others: list[Point]) -> dict[str, Any]:
    """The best configuration, and how it was found; `others` were chosen at other strengths."""
    began = time.process_time()
    name = f"{cell.table.name}/{cell.entry.key}/{cell.unit}/{cell.signal:g}"
    rng = np.random.default_rng(list(name.encode()))
    space: Space = cell.entry.space
    few, some, most = MAIN_PEOPLE if cell.entry.key in MAIN else PEOPLE
    if cell.signal > STRONG:
        few, some = 2 * few, 2 * some
    points = list(others)
    errors = [cell.error(configuration(space, p), few, 1000) for p in points]
    for k in range(RANDOM + STEPS):
        near = None
        if k >= RANDOM:
            near = points[int(np.argsort(errors)[int(rng.integers(LEADERS))])]
        points.append(draw(space, rng, near))
        errors.append(cell.error(configuration(space, points[-1]), few, 1001 + k))
    middle = np.argsort(errors)[:MIDDLE]
    second = [cell.error(configuration(space, points[k]), some, 3000 + int(k)) for k in middle]
    last = dict.fromkeys([int(middle[k]) for k in np.argsort(second)[:FINALISTS]])
    last |= dict.fromkeys(range(len(others)))
    means = {
        k: np.mean(
            [cell.error(configuration(space, points[k]), most, 5000 + s) for s in range(DRAWS)]
        )
        for k in last
    }
    chosen = min(means, key=lambda k: means[k])
    return {
        "entry": cell.entry.key,
        "unit": cell.unit,
        "data": cell.table.name,
        "signal": cell.signal,
        "parameters": configuration(space, points[chosen]),
        "score": round(float(means[chosen]), 4),
        "evaluations": len(points) + MIDDLE + len(last) * DRAWS,
        "draws": DRAWS,
        "failed": int(np.isinf(errors).sum()),
        "seconds": round(time.process_time() - began, 1),
        "place": {name: round(place, 6) for name, place in points[chosen].items()},
    }


def declared() -> Iterator[tuple[str, str, str, float]]:
    """Entry, unit, table and signal of everything that is to be searched, weakest signals first."""
    for name in SEARCHED:
        for entry in ROSTER:
            for unit in entry.units:
                strengths = SIGNALS[name, unit, entry.key in MAIN and unit == "person"]
                for signal in OTHER_SIGNALS.get(entry.sums, strengths):
                    yield entry.key, unit, name, signal


def cells_of(table: Table, names: list[str]) -> Iterator[Cell]:
    """What is to be searched on a table, all of it or of some entries, or of a unit of theirs."""
    by_key = {entry.key: entry for entry in ROSTER}
    for key, unit, name, signal in declared():
        if name == table.name and (not names or {key, f"{key}-{unit}"} & set(names)):
            yield Cell(table, by_key[key], unit, signal)


def main(name: str, names: list[str]) -> None:
    """All cells that are missing; what is known of the items is encoded once."""
    if name not in SEARCHED:
        raise SystemExit(f"search on one of {', '.join(SEARCHED)}")
    once = cache(encode)
    for module in (biases, dpals, implicit, release):
        module.encode = once
    table = Table(name)
    for cell in cells_of(table, names):
        known = read()["cells"]
        alike = [c for c in known if _same(c, cell) and "place" in c]
        if any(c["signal"] == cell.signal for c in alike):
            continue
        keep(race(cell, [c["place"] for c in alike[-2:]] + of_kin(cell, known)))
    if not names or "sampled" in names:
        search_thresholds(table)


def of_kin(cell: Cell, known: list[dict[str, Any]]) -> list[Point]:
    """What the nearest method was given at the nearest signal, as far as it has the same names."""
    name = KIN.get(cell.entry.key)
    kin = [c for c in known if (c["entry"], c["data"]) == (name, cell.table.name)]
    kin = [c for c in kin if c["unit"] == cell.unit and "place" in c]
    kin.sort(key=lambda c: abs(math.log(c["signal"] / cell.signal)))
    return [{name: c["place"].get(name, 0.5) for name in cell.entry.space} for c in kin[:1]]


def search_thresholds(table: Table) -> None:
    """t of sampling by levels: the paper's levels, three draws each, parameters of the nearest."""
    part = table.part(PEOPLE[-1])
    spec = dc.PrivacySpec.groups(seed=LEVELS_SEED)
    for inner in SAMPLED:
        known = read()["cells"]
        if any(c["entry"] == f"sampled {inner}" and c["data"] == table.name for c in known):
            continue
        cells = [c for c in known if (c["entry"], c["unit"]) == (inner, "rating")]
        cells = [c for c in cells if c["data"] == table.name]
        began, errors = time.process_time(), {}
        for t in THRESHOLDS:
            wanted = math.log(usable_mu(t, DELTA) * part.people)
            near = min(cells, key=lambda c: abs(math.log(c["signal"]) - wanted))
            given = tuple(near["parameters"].items())
            scheme = Jorgensen(items=table.items, inner=inner, threshold=t, parameters=given)
            errors[t] = float(
                np.mean([sampled_error(scheme, part.split, spec, s) for s in range(DRAWS)])
            )
        best = min(errors, key=lambda t: errors[t])
        keep(
            {
                "entry": f"sampled {inner}",
                "unit": "rating",
                "data": table.name,
                "signal": part.people,
                "parameters": {"threshold": best},
                "score": round(errors[best], 4),
                "evaluations": DRAWS * len(THRESHOLDS),
                "draws": DRAWS,
                "failed": 0,
                "seconds": round(time.process_time() - began, 1),
            }
        )


def sampled_error(scheme: Jorgensen, split: Split, spec: dc.PrivacySpec, seed: int) -> float:
    """RMSE at the paper's levels."""
    model = scheme.fit(split.train, spec, seed=seed, compute=Compute(threads=1))
    predicted = model.predict_ratings(split.test, clip=True)
    return float(np.sqrt(np.mean((predicted - split.test.rating) ** 2)))


def _same(found: dict[str, Any], cell: Cell) -> bool:
    """Whether it is of the same entry, unit and table."""
    key = (found["entry"], found["unit"], found["data"])
    return key == (cell.entry.key, cell.unit, cell.table.name)


def keep(found: dict[str, Any]) -> None:
    """Add a cell; searches on two tables may run side by side."""
    with Path(__file__).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = read()
        known["cells"].append(found)
        known["cells"].sort(key=lambda c: (c["entry"], c["unit"], c["data"], c["signal"]))
        fresh = OUT.with_suffix(".new")
        fresh.write_text(json.dumps(known, indent=1) + "\n")
        fresh.replace(OUT)
    print({k: v for k, v in found.items() if k != "place"}, flush=True)


def read() -> dict[str, Any]:
    """What was found before."""
    if OUT.exists():
        return dict(json.loads(OUT.read_text()))
    how = (
        f"{RANDOM} random configurations and {STEPS} a step from one of the best {LEADERS} on "
        f"{PEOPLE[0]} people, with one draw of the noise; the best {MIDDLE} on {PEOPLE[1]:,}; the "
        f"best {FINALISTS} and what was chosen at up to two other signals, or by kin, on "
        f"{PEOPLE[2]:,}, with {DRAWS} draws; of {', '.join(MAIN)} on {MAIN_PEOPLE[0]:,}, "
        f"{MAIN_PEOPLE[1]:,} and {MAIN_PEOPLE[2]:,}; beyond a signal of {STRONG:g} the first two "
        "rounds have twice as many"
    )
    return {"splits": [SPLIT, INNER_SPLIT], "search": how, "cells": []}


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
