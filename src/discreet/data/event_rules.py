"""Rules of events: what one counts, and what several of one pair are; declared, never looked up.

They are public parameters of a release, like a rating scale: fixed without looking at the events.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Array, Floats
from discreet.data.columns import choose_columns
from discreet.data.names import told
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

    def weight(self, value: float) -> float:
        """The quantity that has this value, in the middle of the step that was cut off.

        >>> round(Quantity(10).weight(0.5), 4)
        5.0
        """
        grown = (value + 0.5 / STEPS) * (np.log1p(self.cap) if self.shape == "log" else self.cap)
        return float(np.expm1(grown) if self.shape == "log" else grown)

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

    def value(self, weight: float | None, before: float | None = None) -> float:
        """What a pair's record counts after one more event; `before`: what it counted so far.

        >>> round(EventRules(Quantity(10), "sum").value(3.0, before=0.5), 4)
        0.8
        """
        if self.quantity is None:
            return 1.0
        given = self.quantity.missing if weight is None else weight
        if given is None and self.repeats == "sum":
            given = 1.0  # events are counted
        if given is None:
            raise DataError(
                f"weight is missing, and {self.quantity.words}: say it, or declare what stands "
                "for a missing one"
            )
        if self.repeats == "sum" and before is not None:
            given += self.quantity.weight(before)
        value = float(self.quantity.values([given])[0])
        return max(value, before or 0.0) if self.repeats == "any" else value

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
        if "weight" in columns and self.quantity is None:
            raise ParameterError(
                f"column {columns['weight']!r} holds quantities, and how much makes a whole event "
                "was not declared: say quantity=Quantity(cap) (--quantity linear:CAP or log:CAP)"
            )
        wanted = [c for c in COLUMNS if c != "weight" or self.quantity is not None]
        chosen = choose_columns(names, columns, wanted, REQUIRED, "the table of events")
        has = f"the table of events has {told(names)}"
        if self.repeats == "last" and "timestamp" not in chosen:
            raise DataError(
                f"repeats='last' needs a timestamp column to know which event is the latest: {has}"
            )
        if self.quantity is not None and "weight" not in chosen and self.repeats != "sum":
            raise DataError(
                f"no column of quantities: {has}; name it with columns={{'weight': ...}} "
                "(--columns weight=...), or count events with repeats='sum' (--repeats sum)"
            )
        return chosen
