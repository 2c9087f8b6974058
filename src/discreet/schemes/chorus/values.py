"""What a record says in a round: a bounded number, weighed and put on the grid of contributions.

The theorem takes any number x of the record and of public values with |x| <= X. Two are in use: how
much more or less an item was liked than it usually is, and that it was chosen at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from discreet.arrays import Array, Floats
from discreet.data.scale import RatingScale
from discreet.data.source import RatingsSource
from discreet.privacy.fixedpoint import CONTRIBUTION_SHAVE, GRID
from discreet.privacy.provenance import Neighbours
from discreet.schemes.chorus.directions import CHOICE_MEMORY, LIKING_MEMORY, Memory

# Public constants, the same for every data set: docs/constants.md.
CLIP = 0.55
"""X of liking, in quarters of the scale: a residual counts for at most this much."""
CHOICE = 1.0
"""X of choosing."""
LEAST_CHOICE = 0.2
"""x of a choice that was rated lowest: a dislike is a choice too, but a small one."""


class Values(Protocol):
    """What records say in one kind of rounds, and how these are heard."""

    @property
    def phase(self) -> str:
        """What progress calls the rounds."""
        ...

    @property
    def clip(self) -> float:
        """X: no record says more."""
        ...

    @property
    def memory(self) -> Memory:
        """How rounds of such values are combined."""
        ...

    @property
    def centred(self) -> bool:
        """Whether directions are fed in without their mean over records, and evened out."""
        ...

    def moved(self, neighbours: Neighbours) -> float:
        """How far a record of weight 1 can be moved: from the table, or to another value."""
        ...

    def on_grid(self, rating: Array, item: Array, weights: Floats) -> Floats:
        """a = w x in whole steps of the grid."""
        ...


@dataclass(frozen=True, eq=False)
class Liking:
    """How far ratings are above or below their item's base, in quarters of the scale."""

    base: Floats = field(repr=False)
    """Every item's rating by somebody of whom nothing is known: released."""
    quarter: float
    phase: str = "rounds"
    centred: bool = False

    @property
    def clip(self) -> float:
        """A residual's."""
        return CLIP

    @property
    def memory(self) -> Memory:
        """Short: directions of liking settle soon."""
        return LIKING_MEMORY

    def moved(self, neighbours: Neighbours) -> float:
        """Another value may have the other sign."""
        return CLIP if neighbours == Neighbours.ADD_REMOVE else 2 * CLIP

    def on_grid(self, rating: Array, item: Array, weights: Floats) -> Floats:
        """x = the residual, clipped to +-X."""
        a = np.clip((rating - self.base[item]) / self.quarter, -CLIP, CLIP)
        a *= weights
        return np.trunc(a * GRID)


@dataclass(frozen=True, eq=False)
class Choosing:
    """That somebody chose an item, a little less where they disliked it.

    x = least + (1 - least) (r - lo)/(hi - lo). Of an event least is 0, and x its value.
    """

    scale: RatingScale
    least: float
    phase: str = "choice rounds"
    centred: bool = True

    @property
    def clip(self) -> float:
        """A choice's."""
        return CHOICE

    @property
    def memory(self) -> Memory:
        """Longer: there are more directions, and each is weaker."""
        return CHOICE_MEMORY

    def moved(self, neighbours: Neighbours) -> float:
        """Where who chose what is public, only what the rating adds to it is moved."""
        return CHOICE if neighbours == Neighbours.ADD_REMOVE else CHOICE - self.least

    def on_grid(self, rating: Array, item: Array, weights: Floats) -> Floats:
        """Cut off in two parts: another rating moves the second alone, so by at most its whole."""
        del item
        above = rating.astype(np.float64) - self.scale.lo
        share = np.clip(above / self.scale.span, 0.0, 1.0)
        share *= CHOICE - self.least
        share *= weights
        return np.trunc(weights * self.least * GRID) + np.trunc(share * GRID)


def choosing(source: RatingsSource) -> Choosing:
    """What choices say in a table of ratings, or of events."""
    return Choosing(source.scale, 0.0 if source.events else LEAST_CHOICE)


def shaved(weights: Floats, rho: float, values: Values, neighbours: Neighbours) -> Floats:
    """Weights w with w X + rho within the level's share of X + rho; the shave covers rounding.

    X is whichever is smaller of what a record can say and how far it can be moved.
    """
    least = min(values.clip, values.moved(neighbours))
    return np.asarray(np.maximum(weights - rho / least, 0.0) * (1 - CONTRIBUTION_SHAVE))
