"""Who is compared: every row of a comparison, and where its hyper-parameters were looked for.

A row's hyper-parameters come from a declared search (`benchmarks/field_tuning.py`) on two tables,
at the strength of signal that the judged one has: what noise leaves of a sum over people grows with
mu times their number. They are kept in tuned.json, and fixed. All that were found near that
strength are run, and what does best on the judged table counts: a choice in the rivals' favour.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from discreet.field import spaces
from discreet.field.spaces import Space
from discreet.privacy.accounting import usable_mu

PERSON, RATING, BOTH = ("person",), ("rating",), ("person", "rating")
BIASES = (("biases", True),)
ERRORS, LISTS = ("errors",), ("lists",)
SEARCHED = ("ml-1m", "netflix-7128")
"""Tables on whose training ratings hyper-parameters were searched."""
NEAR = 4.5
"""Those found at a signal up to so many times as strong or weak are tried."""


@dataclass(frozen=True)
class Entry:
    """One row of a comparison."""

    key: str
    label: str
    name: str
    """Of a scheme of the field, a scheme of the house, or a baseline."""
    units: tuple[str, ...]
    fixed: tuple[tuple[str, Any], ...] = ()
    space: Any = None
    """What is searched; None where nothing is."""
    sums: str = "gaussian"
    """How its signal grows: "gaussian" with mu times people, "pure" with epsilon times people,
    "local" with epsilon times the root of their number, each rating having noise of its own."""
    judged: tuple[str, ...] = ERRORS + LISTS
    """What it is judged by: a row for lists alone was searched by lists, all others by errors."""

    def signal(self, epsilon: float, delta: float, people: int) -> float:
        """By what hyper-parameters are chosen."""
        if self.sums == "gaussian":
            return usable_mu(epsilon, delta) * people
        return epsilon * (people if self.sums == "pure" else math.sqrt(people))


_ADAPTIVE: Space = spaces.ALTERNATING | spaces.POWER
_ENCODED: Space = spaces.ALTERNATING | spaces.ENCODER
_SAMPLED: Space = spaces.ALTERNATING | spaces.SAMPLING
ROSTER = (
    Entry("noisy-biases", "noisy biases alone", "noisy-biases", BOTH, space=spaces.OWN),
    Entry("dpals-2021", "DPALS, sampled", "dpals", PERSON, (), _SAMPLED, judged=ERRORS),
    Entry("dpals", "DPALS, adaptive", "dpals", PERSON, (), _ADAPTIVE, judged=ERRORS),
    Entry(
        "dpals-biases",
        "DPALS, adaptive, biases first",
        "dpals",
        PERSON,
        BIASES,
        _ADAPTIVE | spaces.BIASES,
    ),
    Entry("am-ssp", "AM-SSP", "am-ssp", PERSON, (), _ENCODED, judged=ERRORS),
    Entry(
        "am-ssp-biases",
        "AM-SSP, biases first",
        "am-ssp",
        PERSON,
        BIASES,
        _ENCODED | spaces.BIASES,
    ),
    Entry("dp-sgd", "DP-SGD, biases first", "dp-sgd", BOTH, space=spaces.GRADIENTS),
    Entry("frank-wolfe", "private Frank-Wolfe", "frank-wolfe", PERSON, space=spaces.DIRECTIONS),
    Entry(
        "mcsherry-mironov", "McSherry-Mironov", "mcsherry-mironov", BOTH, space=spaces.COVARIANCE
    ),
    Entry(
        "dpals-lists",
        "DPALS for lists",
        "implicit-als",
        PERSON,
        space=spaces.CHOICES,
        judged=LISTS,
    ),
    Entry(
        "am-ssp-lists",
        "AM-SSP for lists",
        "implicit-als",
        PERSON,
        (("encoder", True),),
        spaces.CHOICES | spaces.ENCODER,
        judged=LISTS,
    ),
    Entry(
        "friedman",
        "Friedman, input perturbation",
        "friedman",
        RATING,
        space=spaces.PERTURBED,
        sums="local",
    ),
    Entry("hua", "Hua, objective perturbation", "hua", RATING, space=spaces.OBJECTIVE, sums="pure"),
)
"""The field's private schemes. Chorus and Tally, and what has no privacy, stand in compare.py."""


@cache
def tuned_cells() -> list[dict[str, Any]]:
    """What the search found: a cell for each entry, unit, table and strength of signal."""
    return list(json.loads((files("discreet.field") / "tuned.json").read_text())["cells"])


def tuned(
    entry: Entry, unit: str, epsilon: float, delta: float, people: int
) -> list[dict[str, Any]]:
    """An entry's hyper-parameters: all that were found near a signal, the nearest first."""
    cells = nearest(entry, unit, entry.signal(epsilon, delta, people))
    return [dict(entry.fixed) | dict(cell["parameters"]) for cell in cells]


def nearest(entry: Entry, unit: str, signal: float) -> list[dict[str, Any]]:
    """The cells with a near signal, by its logarithm, or at least the nearest, which is first."""

    def distance(cell: dict[str, Any]) -> float:
        return abs(math.log(cell["signal"] / signal))

    cells = [cell for table in SEARCHED for cell in cells_of(entry.key, unit, table)]
    first, *others = sorted(cells, key=distance)
    return [first, *(cell for cell in others if distance(cell) <= math.log(NEAR))]


def cells_of(key: str, unit: str, table: str) -> list[dict[str, Any]]:
    """What was searched on one table."""
    wanted = key, unit, table
    return [c for c in tuned_cells() if (c["entry"], c["unit"], c["data"]) == wanted]


SAMPLED = {
    "mcsherry-mironov": "Jorgensen sampling, McSherry-Mironov",
    "dp-sgd": "Jorgensen sampling, DP-SGD",
}
"""Uniform mechanisms for ratings, before which records are sampled by levels of their own."""


def tuned_sampling(delta: float, people: int) -> list[tuple[str, str, dict[str, Any]]]:
    """Label, mechanism inside, and its threshold t with its parameters at t, by either table."""
    found = []
    for inner, label in SAMPLED.items():
        entry = next(entry for entry in ROSTER if entry.key == inner)
        for table in SEARCHED:
            [cell] = cells_of(f"sampled {inner}", "rating", table)
            t = cell["parameters"]["threshold"]
            for given in tuned(entry, "rating", t, delta, people):
                options = {"threshold": t, "parameters": tuple(sorted(given.items()))}
                if (label, inner, options) not in found:
                    found.append((label, inner, options))
    return found
