"""Errors: one tree, each error also the builtin a caller would expect, each naming the remedy."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any


class DiscreetError(Exception):
    """Anything Discreet refuses to do; the command line prints it without a traceback."""


class DataError(DiscreetError, ValueError):
    """A table that cannot be used as it is: the message names the row and the remedy."""


class DataMissingError(DiscreetError, FileNotFoundError):
    """A file or data set that is not where it was looked for."""

    def __str__(self) -> str:
        return str(self.args[0])


class SpecError(DiscreetError, ValueError):
    """A privacy specification that cannot be honoured."""


class ParameterError(DiscreetError, ValueError):
    """A parameter outside its range."""


class DivergenceError(DiscreetError, ArithmeticError):
    """Training that left every bound; the message names the parameter to change."""


class UnknownIdError(DiscreetError, KeyError):
    """A user or item that is not in the model, in strict mode."""

    def __str__(self) -> str:
        return str(self.args[0])


class ReleaseError(DiscreetError, ValueError):
    """A release folder that is missing, truncated, changed or of another version."""


class LedgerError(DiscreetError, RuntimeError):
    """A ledger that cannot be used, or a publication that would not fit it."""


class DatabaseError(DiscreetError, RuntimeError):
    """A database that cannot be opened or used, or a declaration that does not fit it."""


class BusyError(DatabaseError):
    """A database that has no time now: try again."""


class OutputError(DiscreetError, OSError):
    """A place that cannot be written to."""


class SparkError(DiscreetError, RuntimeError):
    """Spark could not start, or stopped in the middle: nothing was written."""


class MissingExtraError(DiscreetError, ImportError):
    """An optional dependency that is not installed; the message names the extra."""


class SecretsWarning(UserWarning):
    """Something was computed from secret ratings, outside any mechanism."""


def require_positive(name: str, value: Any) -> float:
    """Return value as a float, or say that it must be a finite number above zero."""
    if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
        raise ParameterError(f"{name} must be a finite number > 0: got {value!r}")
    if value <= 0:
        raise ParameterError(f"{name} must be > 0: got {value!r}")
    return float(value)


def require_nonnegative(name: str, value: Any) -> float:
    """Return value as a float, or say that it must be a finite number of at least zero."""
    if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
        raise ParameterError(f"{name} must be a finite number >= 0: got {value!r}")
    if value < 0:
        raise ParameterError(f"{name} must be >= 0: got {value!r}")
    return float(value)


def require_count(name: str, value: Any, *, least: int = 1) -> int:
    """Return value as an int, or say that it must be a whole number of at least `least`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ParameterError(f"{name} must be a whole number >= {least}: got {value!r}")
    return int(value)


def require_choice(name: str, value: Any, choices: Any) -> Any:
    """Return value, or say which choices there are."""
    if value not in choices:
        offered = ", ".join(repr(choice) for choice in choices)
        raise ParameterError(f"{name} must be one of {offered}: got {value!r}")
    return value
