"""Transcripts: every noisy number that a piece of production code lets out, and its likelihood.

Code that is private adds noise to exact sums and concludes the rest from what it got. So the same
transcript can be put into the mouth of the same code on another table: what it then says of the
exact sums is how likely that table was to produce it, and what it releases must be the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arrays import Array
from discreet.audit.breaking import Change, patched
from discreet.data.ratings import Ratings
from discreet.privacy.noise import Randomness
from discreet.release.release import Release

Produce = Callable[[Ratings], Sequence[Release]]
"""Production code: from a table to what it releases, one publication after the other."""
CERTAIN = 1e6
"""The log ratio where only one of two tables can have produced what was heard."""


@dataclass(frozen=True, eq=False)
class Draw:
    """Noise once added to exact sums."""

    law: str
    """The method of `Randomness` that drew it."""
    exact: Array
    scale: float
    noisy: Array

    def log_likelihood(self) -> float:
        """How likely the noisy numbers are, up to a constant that all tables share."""
        away = (self.noisy - self.exact) / self.scale
        loss = np.abs(away).sum() if self.law == "add_laplace" else (away**2).sum() / 2
        return -float(loss) - self.exact.size * math.log(self.scale)


class OtherwiseError(Exception):
    """Another table could not have led to this transcript."""


def listen(
    produce: Produce, table: Ratings, *, noiseless: bool = False
) -> tuple[list[Draw], Sequence[Release]]:
    """Run production code on a table, and hear all that it adds noise to.

    Without noise nothing that follows is left to chance, as the number of factors would be.
    """
    heard: list[Draw] = []
    with listening(heard, noiseless=noiseless):
        releases = produce(table)
    return heard, releases


def log_ratio(
    produce: Produce,
    heard: Sequence[Draw],
    releases: Sequence[Release],
    own: Ratings,
    other: Ratings,
) -> tuple[float, list[Array]]:
    """log p(heard | own) - log p(heard | other), and what exact sums differ by, draw by draw."""
    again = _replayed(produce, heard, releases, other)
    if again is None:
        # Only if the same table does lead to the same again is the difference the table's.
        same = _replayed(produce, heard, releases, own)
        return (0.0 if same is None else CERTAIN), []
    pairs = list(zip(heard, again, strict=True))
    total = sum(one.log_likelihood() - theirs.log_likelihood() for one, theirs in pairs)
    return max(-CERTAIN, min(CERTAIN, total)), [one.exact - theirs.exact for one, theirs in pairs]


def _replayed(
    produce: Produce, heard: Sequence[Draw], releases: Sequence[Release], table: Ratings
) -> list[Draw] | None:
    """The transcript as this table would lead to it; None if it cannot lead to what was seen."""
    again: list[Draw] = []
    try:
        with listening(again, heard):
            told = produce(table)
    except OtherwiseError:
        return None
    seen = [[release.files() for release in some] for some in (releases, told)]
    return again if len(again) == len(heard) and seen[0] == seen[1] else None


@contextmanager
def listening(
    heard: list[Draw], replayed: Sequence[Draw] | None = None, *, noiseless: bool = False
) -> Iterator[None]:
    """Hear every draw; answer with those of a transcript if there is one, or with the sums."""

    def tapped(law: str) -> Callable[..., Array]:
        draw = getattr(Randomness, law)

        def add(self: Randomness, sums: Array, scale: float, **more: Any) -> Array:
            if noiseless:
                noisy = np.array(sums)
            elif replayed is None:
                noisy = draw(self, sums, scale, **more)
            else:
                known = replayed[len(heard)] if len(heard) < len(replayed) else None
                if known is None or (known.law, known.noisy.shape) != (law, np.shape(sums)):
                    raise OtherwiseError
                noisy = known.noisy
            heard.append(Draw(law, np.array(sums), scale, noisy))
            return np.array(noisy)

        return add

    # Starting points protect nobody: the attacker may know them, so they are the same every time.
    laws = ("add_laplace", "add_gaussian")
    changes: list[Change] = [(Randomness, law, tapped(law)) for law in laws]
    changes.append((Randomness, "training", property(_public_starts)))
    with patched(changes):
        yield


def _public_starts(self: Randomness) -> np.random.Generator:
    starts = self.__dict__.setdefault("_public_starts", np.random.default_rng(self.run))
    assert isinstance(starts, np.random.Generator)
    return starts
