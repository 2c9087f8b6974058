"""Privacy in plain words: what a level means to somebody who never heard of epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.database.declaration import Declaration

_NAMES = ((0.2, "Very private"), (0.5, "Private"), (1.5, "Open"), (math.inf, "Hardly private"))
"""Up to an epsilon: somebody who wavers can become 55%, 63%, 82% sure, or surer."""


def surest(epsilon: float, delta: float = 0.0) -> float:
    """How often somebody can be right who gave it an even chance before.

    (e^eps + delta) / (1 + e^eps); with delta = 0 also how sure they can become, whatever they see.

    >>> round(surest(0.1), 3)
    0.525
    """
    return min(1.0, (1 + delta * math.exp(-epsilon)) / (1 + math.exp(-epsilon)))


@dataclass(frozen=True)
class Level:
    """A privacy level that the page offers."""

    epsilon: float
    name: str
    in_short: str
    explained: str


def offered_levels(declared: Declaration) -> list[Level]:
    """The declared levels, most private first."""
    named = [_name(level) for level in declared.levels]
    return [
        Level(
            level,
            name if named.count(name) == 1 else f"{name} ({level:g})",
            _in_short(level, declared),
            explained(level, declared),
        )
        for level, name in zip(declared.levels, named, strict=True)
    ]


def explained(epsilon: float, declared: Declaration) -> str:
    """What a level promises, true as worded: docs/proofs/incremental.md.

    Whether a rating is there is protected by epsilon, which of two values it has by twice that.
    """
    delta = declared.delta
    there = percent(surest(epsilon, delta))
    value = percent(surest(2 * epsilon, (1 + math.exp(epsilon)) * delta))
    can = (
        f"can become at most {there} sure"
        if delta == 0
        else f"can guess right in at most {there} of all cases"
    )
    return (
        "Even somebody who knows every other rating, and gives it an even chance that you rated "
        f"this, {can} from all that we ever publish. If they know that you rated it, and waver "
        f"between two ratings, at most {value}."
    )


def _in_short(epsilon: float, declared: Declaration) -> str:
    most = percent(surest(epsilon, declared.delta))
    if declared.delta == 0:
        return f"somebody unsure whether you rated this can become {most} sure, no more"
    return f"somebody unsure whether you rated this guesses right in {most} of all cases at most"


def _name(epsilon: float) -> str:
    """By how much it protects, whatever else is on offer."""
    return next(name for most, name in _NAMES if epsilon <= most)


def percent(share: float) -> str:
    """For people; rounded up, because a bound must not be understated."""
    return f"{math.ceil(share * 1000 - 1e-9) / 10:g}%"
