"""Who is compared: every row of a comparison, and where its hyper-parameters were looked for.

A row's hyper-parameters come from a declared search (`benchmarks/field_tuning.py`) on another table
than the one that is judged, at the same strength of signal as that has: what noise leaves of a sum
over people grows with mu times their number. They are kept in tuned.json, and fixed.
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


def searched_on(data: str) -> tuple[str, ...]:
    """The tables whose parameters another one takes: never those of its own kind.

    >>> searched_on("ml-100k"), searched_on("netflix-10m"), searched_on("books.csv")
    (('netflix-7128',), ('ml-1m',), ('ml-1m', 'netflix-7128'))
    """
    kinds = {"ml-1m": "ml-", "netflix-7128": "netflix-"}
    return tuple(table for table in SEARCHED if not data.startswith(kinds[table]))


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
    entry: Entry, unit: str, epsilon: float, delta: float, people: int, data: str = ""
) -> dict[str, Any]:
    """An entry's hyper-parameters: those found at the nearest signal, on a logarithmic scale.

    `data` names the table to judge, on which they were not searched.
    """
    wanted = math.log(entry.signal(epsilon, delta, people))
    cells = cells_for(entry.key, unit, data)
    nearest = min(cells, key=lambda cell: abs(math.log(cell["signal"]) - wanted))
    return dict(entry.fixed) | dict(nearest["parameters"])


def cells_for(key: str, unit: str, data: str) -> list[dict[str, Any]]:
    """What was searched on the tables that `data` takes its parameters from."""
    known = [c for c in tuned_cells() if (c["entry"], c["unit"]) == (key, unit)]
    return [c for c in known if c["data"] in searched_on(data)]


SAMPLED = {
    "mcsherry-mironov": "Jorgensen sampling, McSherry-Mironov",
    "dp-sgd": "Jorgensen sampling, DP-SGD",
}
"""Uniform mechanisms for ratings, before which records are sampled by levels of their own."""


def tuned_sampling(
    delta: float, people: int, data: str = ""
) -> dict[str, tuple[str, dict[str, Any]]]:
    """By the mechanism inside: label, threshold t, and its parameters at t."""
    found = {}
    for inner, label in SAMPLED.items():
        entry = next(entry for entry in ROSTER if entry.key == inner)
        t = cells_for(f"sampled {inner}", "rating", data)[-1]["parameters"]["threshold"]
        given = tuned(entry, "rating", t, delta, people, data)
        found[inner] = label, {"threshold": t, "parameters": tuple(sorted(given.items()))}
    return found
