"""Who is compared: every row of a comparison, and where its hyper-parameters were looked for.

A row's hyper-parameters come from a declared search on MovieLens 100K (`benchmarks/
field_tuning.py`), at the same strength of signal as the table has: what noise leaves of a sum over
people grows with mu times their number. They are kept in tuned.json, and fixed.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from discreet.privacy.accounting import usable_mu

Space = dict[str, tuple[str, Any]]
"""For every parameter how it is drawn: ("log", (low, high)), ("linear", ...), ("of", choices) or
("whole", (low, high)), whole numbers evenly on a logarithmic scale."""

_ALTERNATING: Space = {
    "factors": ("whole", (2, 16)),
    "rounds": ("whole", (1, 4)),
    "first_share": ("log", (0.02, 0.5)),
    "matrix_share": ("linear", (0.1, 0.8)),
    "user_ridge": ("log", (0.1, 30.0)),
    "item_ridge": ("log", (0.03, 10.0)),
    "noise_ridge": ("log", (0.1, 10.0)),
    "fold_ridge": ("log", (0.3, 100.0)),
}
_BIASES: Space = {"first_share": ("linear", (0.05, 0.8)), "width": ("of", (0.75, 1.0, 1.5, 2.0))}
_POWER: Space = {"power": ("of", (0.0, 0.25, 0.5))}
_ENCODER: Space = {"feature_ridge": ("log", (0.3, 300.0))}
_CHOICES: Space = {
    "factors": ("whole", (2, 16)),
    "rounds": ("whole", (1, 4)),
    "power": ("of", (0.0, 0.25, 0.5)),
    "first_share": ("log", (0.02, 0.3)),
    "matrix_share": ("linear", (0.1, 0.8)),
    "others": ("log", (0.001, 1.0)),
    "item_others": ("log", (0.0003, 1.0)),
    "user_ridge": ("log", (0.1, 30.0)),
    "item_ridge": ("log", (0.03, 10.0)),
    "noise_ridge": ("log", (0.1, 10.0)),
}
_GRADIENTS: Space = {
    "factors": ("whole", (2, 16)),
    "steps": ("of", (3, 6, 12, 24)),
    "clip": ("log", (0.1, 3.0)),
    "learning_rate": ("log", (0.03, 3.0)),
    "first_share": ("of", (0.15, 0.3, 0.5)),
    "width": ("of", (0.75, 1.0, 1.5, 2.0)),
    "user_ridge": ("log", (0.3, 30.0)),
    "shrink": ("log", (3.0, 300.0)),
    "fold_ridge": ("log", (0.3, 100.0)),
    "rate": ("of", (1.0, 0.5)),
}
_COVARIANCE: Space = {
    "factors": ("whole", (1, 24)),
    "top": ("of", (100, 200, 400, 700, 1000)),
    "first_share": ("linear", (0.05, 0.8)),
    "width": ("of", (0.75, 1.0, 1.5, 2.0)),
    "balance": ("linear", (0.0, 0.5)),
    "shrink": ("log", (0.3, 100.0)),
    "fold_ridge": ("log", (0.1, 100.0)),
}


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
    judged: tuple[str, ...] = ("errors", "lists")

    def signal(self, epsilon: float, delta: float, people: int) -> float:
        """By what hyper-parameters are chosen."""
        if self.sums == "gaussian":
            return usable_mu(epsilon, delta) * people
        return epsilon * (people if self.sums == "pure" else math.sqrt(people))


ROSTER = (
    Entry(
        "dpals-2021",
        "DPALS, sampled",
        "dpals",
        ("person",),
        space=_ALTERNATING
        | {"sampling": ("of", ("uniform", "tail")), "kept": ("of", (10, 20, 50, 100))},
    ),
    Entry("dpals", "DPALS, adaptive", "dpals", ("person",), space=_ALTERNATING | _POWER),
    Entry(
        "dpals-biases",
        "DPALS, adaptive, biases first",
        "dpals",
        ("person",),
        (("biases", True),),
        _ALTERNATING | _BIASES | _POWER,
    ),
    Entry("am-ssp", "AM-SSP", "am-ssp", ("person",), space=_ALTERNATING | _ENCODER),
    Entry(
        "am-ssp-biases",
        "AM-SSP, biases first",
        "am-ssp",
        ("person",),
        (("biases", True),),
        _ALTERNATING | _BIASES | _ENCODER,
    ),
    Entry(
        "dpals-lists",
        "DPALS for lists",
        "implicit-als",
        ("person",),
        space=_CHOICES,
        judged=("lists",),
    ),
    Entry("dp-sgd", "DP-SGD, biases first", "dp-sgd", ("person", "rating"), space=_GRADIENTS),
    Entry(
        "frank-wolfe",
        "private Frank-Wolfe",
        "frank-wolfe",
        ("person",),
        space={
            "rounds": ("whole", (1, 8)),
            "top": ("of", (100, 200, 400, 700)),
            "count_share": ("log", (0.02, 0.5)),
            "length": ("log", (1.0, 20.0)),
            "radius": ("log", (0.3, 30.0)),
            "corrective": ("of", (False, True)),
            "fold_ridge": ("log", (0.003, 10.0)),
        },
    ),
    Entry(
        "mcsherry-mironov",
        "McSherry-Mironov",
        "mcsherry-mironov",
        ("person", "rating"),
        space=_COVARIANCE,
    ),
    Entry(
        "friedman",
        "Friedman, input perturbation",
        "friedman",
        ("rating",),
        space={
            "factors": ("whole", (1, 24)),
            "ridge": ("log", (0.01, 3.0)),
            "shrink": ("log", (1.0, 300.0)),
            "fold_ridge": ("log", (0.3, 100.0)),
            "sweeps": ("whole", (1, 8)),
        },
        sums="local",
    ),
    Entry(
        "hua",
        "Hua, objective perturbation",
        "hua",
        ("rating",),
        space={
            "factors": ("whole", (1, 16)),
            "ridge": ("log", (0.01, 300.0)),
            "people_ridge": ("log", (0.01, 1.0)),
            "fold_ridge": ("log", (0.3, 100.0)),
            "sweeps": ("whole", (1, 8)),
        },
        sums="pure",
    ),
)
"""The field's private schemes. Chorus and Tally, and what has no privacy, stand in compare.py."""


@cache
def tuned_cells() -> list[dict[str, Any]]:
    """What the search found: a cell for each entry, unit and strength of signal."""
    return list(json.loads((files("discreet.field") / "tuned.json").read_text())["cells"])


def tuned(entry: Entry, unit: str, epsilon: float, delta: float, people: int) -> dict[str, Any]:
    """An entry's hyper-parameters: those found at the nearest signal, on a logarithmic scale."""
    wanted = math.log(entry.signal(epsilon, delta, people))
    cells = [c for c in tuned_cells() if c["entry"] == entry.key and c["unit"] == unit]
    nearest = min(cells, key=lambda cell: abs(math.log(cell["signal"]) - wanted))
    return dict(entry.fixed) | dict(nearest["parameters"])


SAMPLED = {
    "mcsherry-mironov": "Jorgensen sampling, McSherry-Mironov",
    "dp-sgd": "Jorgensen sampling, DP-SGD",
}
"""Uniform mechanisms for ratings, before which records are sampled by levels of their own."""


def tuned_sampling(delta: float, people: int) -> dict[str, tuple[str, dict[str, Any]]]:
    """By the mechanism inside: label, threshold t, and its parameters at t."""
    found = {}
    for inner, label in SAMPLED.items():
        entry = next(entry for entry in ROSTER if entry.key == inner)
        t = next(
            c["parameters"]["threshold"] for c in tuned_cells() if c["entry"] == f"sampled {inner}"
        )
        given = tuned(entry, "rating", t, delta, people)
        found[inner] = label, {"threshold": t, "parameters": tuple(sorted(given.items()))}
    return found
