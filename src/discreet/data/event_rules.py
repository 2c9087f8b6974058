"""Rules of events: what one counts, and what several of one pair are; declared, never looked up.

They are public parameters of a release, like a rating scale: fixed without looking at the events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Array, Floats
from discreet.errors import (
    DataError,
    ParameterError,
    require_choice,
    require_nonnegative,
    require_positive,
)

STEPS = 1 << 20
"""Values are multiples of one over this, as votes are: exact in 32 bits, the same everywhere."""
SHAPES: dict[str, Callable[[Floats, float], Floats]] = {
    "linear": lambda w, cap: w / cap,
    "log": lambda w, cap: np.log1p(w) / np.log1p(cap),
}
"""How a quantity grows up to its cap: a new shape is a line here."""
REPEATS = {
    "any": "of several events of a pair the largest counts, once",
    "last": "of several events of a pair the latest counts",
    "sum": "several events of a pair are one, with the sum of their quantities",
}
"""How several events of one pair become its one record."""
COLUMNS = ("user", "item", "weight", "epsilon", "timestamp")
REQUIRED = COLUMNS[:2]
USUAL_NAMES = {
    "user": ("user_id", "userid", "userId"),
    "item": ("item_id", "itemid", "itemId"),
    "weight": (
        "hours", "minutes", "seconds", "plays", "play_count", "playcount", "count", "quantity",
        "playtime", "duration", "listens", "views", "clicks",
    ),
    "timestamp": ("time", "datetime", "date"),
}  # fmt: skip
"""What tables of events usually call our columns."""


@dataclass(frozen=True)
class Quantity:
    """How hours or counts become a value from 0 to 1: up to a cap, beyond which more is no more.

    linear: min(1, w/cap); log: min(1, log(1 + w)/log(1 + cap)); both cut off at steps of 2^-20.

    >>> Quantity(10).values([0, 5, 40]).tolist()
    [0.0, 0.5, 1.0]
    """

    cap: float
    shape: str = "linear"
    missing: float | None = None
    """The quantity of an event that has none; by default such an event is an error."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "cap", require_positive("the cap of a quantity", self.cap))
        require_choice("the shape of a quantity", self.shape, tuple(SHAPES))
        if self.missing is not None:
            given = require_nonnegative("what stands for a missing quantity", self.missing)
            object.__setattr__(self, "missing", given)

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """A quantity as it is written: SHAPE:CAP, or SHAPE:CAP:MISSING.

        >>> Quantity.parse("log:10:0.5")
        Quantity(cap=10.0, shape='log', missing=0.5)
        """
        shape, *numbers = text.split(":")
        try:
            cap, *missing = map(float, numbers)
            if len(missing) > 1:
                raise ValueError("one number too many")
        except ValueError:
            raise ParameterError(
                "a quantity is SHAPE:CAP, such as linear:10 or log:10, or SHAPE:CAP:MISSING with "
                f"what stands for a missing one: got {text!r}"
            ) from None
        return cls(cap, shape, missing[0] if missing else None)

    def values(self, weights: Array | Sequence[float]) -> Floats:
        """The value of every event, from its quantity."""
        # Capped first: a quotient cannot overflow then.
        capped = np.clip(np.asarray(weights, dtype=np.float64), 0.0, self.cap)
        shares = np.minimum(SHAPES[self.shape](capped, self.cap), 1.0)
        return np.asarray(np.floor(shares * STEPS) / STEPS)

    def __str__(self) -> str:
        text = f"{self.shape}:{self.cap:g}"
        return text if self.missing is None else f"{text}:{self.missing:g}"

    @property
    def words(self) -> str:
        """The rule in words, for a certificate."""
        w, cap = ("w", f"{self.cap:g}")
        if self.shape == "log":
            w, cap = f"log(1 + {w})", f"log(1 + {cap})"
        told = f"an event of quantity w counts min(1, {w}/{cap})"
        if self.missing is not None:
            told += f", one without a quantity as one of {self.missing:g}"
        return told


@dataclass(frozen=True)
class EventRules:
    """How the rows of a table of events become its records, at most one for each user and item.

    >>> EventRules(Quantity(10, "log")).words
    'an event of quantity w counts min(1, log(1 + w)/log(1 + 10)); of several events of a pair the \
largest counts, once'
    """

    quantity: Quantity | None = None
    """None: every event counts 1."""
    repeats: str = "any"

    def __post_init__(self) -> None:
        require_choice("repeats", self.repeats, tuple(REPEATS))
        if self.repeats == "sum" and self.quantity is None:
            raise ParameterError(
                "repeats='sum' adds up quantities, and needs to know how much makes a whole: "
                "declare it with quantity=Quantity(cap) (--quantity linear:CAP)"
            )

    @property
    def words(self) -> str:
        """The rules in words, for a certificate."""
        value = "every event counts 1" if self.quantity is None else self.quantity.words
        return f"{value}; {REPEATS[self.repeats]}"

    def choose_columns(self, names: Sequence[str], columns: Mapping[str, str]) -> dict[str, str]:
        """How the table calls each of our columns: as mapped, as we do, or as is usual.

        >>> EventRules().choose_columns(["user_id", "item", "hours"], {})
        {'user': 'user_id', 'item': 'item'}
        """
        for ours in columns:
            require_choice("a mapped column", ours, COLUMNS)
        if "weight" in columns and self.quantity is None:
            raise ParameterError(
                f"column {columns['weight']!r} holds quantities, and how much makes a whole event "
                "was not declared: say quantity=Quantity(cap) (--quantity linear:CAP or log:CAP)"
            )
        wanted = [c for c in COLUMNS if c != "weight" or self.quantity is not None]
        chosen = {c: columns[c] if c in columns else _called(c, names) for c in wanted}
        for c in REQUIRED:
            chosen[c] = chosen[c] or c
        self._require_all(chosen, names)
        return {c: theirs for c, theirs in chosen.items() if theirs is not None}

    def _require_all(self, chosen: Mapping[str, str | None], names: Sequence[str]) -> None:
        has = f"the table of events has {', '.join(map(repr, names))}"
        for theirs in chosen.values():
            if theirs is not None and theirs not in names:
                raise DataError(
                    f"no column {theirs!r}: {has}; name yours with columns={{'user': ...}} "
                    "(--columns user=... on the command line), and check the delimiter"
                )
        if self.repeats == "last" and chosen["timestamp"] is None:
            raise DataError(
                f"repeats='last' needs a timestamp column to know which event is the latest: {has}"
            )
        if self.quantity is not None and chosen.get("weight") is None and self.repeats != "sum":
            raise DataError(
                f"no column of quantities: {has}; name it with columns={{'weight': ...}} "
                "(--columns weight=...), or count events with repeats='sum' (--repeats sum)"
            )


def _called(ours: str, names: Sequence[str]) -> str | None:
    """What the table calls a column that nobody mapped; an error where that is ambiguous."""
    if ours in names:
        return ours
    usual = [name for name in names if name in USUAL_NAMES.get(ours, ())]
    if len(usual) > 1:
        raise DataError(
            f"which column is the {ours}: {' or '.join(map(repr, usual))}? Say it with "
            f"columns={{{ours!r}: ...}} (--columns {ours}=... on the command line)"
        )
    return usual[0] if usual else None
