"""What every record may spend in Chorus, and its weight: values that go where records are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Floats, Integers
from discreet.data.ids import Ids
from discreet.data.ratings import Ratings
from discreet.kernels.compute import Compute
from discreet.privacy.accounting import gaussian_weights
from discreet.privacy.fixedpoint import ONE_VOTE
from discreet.privacy.personalise import levelled, share_among_own
from discreet.privacy.provenance import Neighbours
from discreet.schemes.base import Run
from discreet.schemes.votes import Ballot, LevelsOf, count_votes

PERSON_NORM = 16
"""A whole person's votes, as the root of the sum of squares: 256 ratings have one each.

Measured in docs/constants.md."""


@dataclass(frozen=True, eq=False)
class Allowance:
    """What every record may spend in one fit: its level (secret), and what is declared."""

    catalogue: Ids
    levels_of: LevelsOf
    typical: Floats
    """Levels as they are declared to be distributed."""
    t: float
    delta: float
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def ballot(self, run: Run) -> Ballot:
        """How records vote in counts and tallies, each by its own level."""
        return Ballot(
            self.catalogue,
            self.levels_of,
            self.t,
            "rating",
            "weigh",
            run.randomness,
            run.compute,
        )


class Weighing(Protocol):
    """How records count in the rounds; a value of its own, because it goes where they are."""

    def counted(self, part: Ratings) -> Ratings:
        """Some people's records over the catalogue, with the level that counts for each."""
        ...

    def weights(self, counted: Ratings) -> Floats:
        """Counted records' weights, at most 1."""
        ...


@dataclass(frozen=True, eq=False)
class RatingWeighing:
    """Every record by its own level: mu(share epsilon)/mu(share t)."""

    allowance: Allowance
    share: float

    def counted(self, part: Ratings) -> Ratings:
        """Every record has its own level."""
        return levelled(part, self.allowance.levels_of(part), "rating", self.allowance.catalogue)

    def weights(self, counted: Ratings) -> Floats:
        """For this share of every epsilon."""
        assert counted.epsilon is not None
        top, delta = self.share * self.allowance.t, self.allowance.delta
        return gaussian_weights(self.share * counted.epsilon, top, delta)


@dataclass(frozen=True, eq=False)
class PurseWeighing:
    """Every record by what its Gaussian purse allows, which was worked out before."""

    catalogue: Ids
    weights_of: LevelsOf

    def counted(self, part: Ratings) -> Ratings:
        """Every record has its weight in the place of a level."""
        return levelled(part, self.weights_of(part), "rating", self.catalogue)

    def weights(self, counted: Ratings) -> Floats:
        """As they were worked out."""
        assert counted.epsilon is not None
        return counted.epsilon


@dataclass(frozen=True, eq=False)
class PersonWeighing:
    """Every record by its person's level, in votes as in rounds: a person has PERSON_NORM votes."""

    allowance: Allowance
    compute: Compute

    def counted(self, part: Ratings) -> Ratings:
        """Every record has its person's level."""
        return levelled(part, self.allowance.levels_of(part), "person", self.allowance.catalogue)

    def weights(self, counted: Ratings) -> Floats:
        """As in the votes, whatever the share."""
        return self.vote_weights(counted) / (PERSON_NORM * ONE_VOTE)

    def vote_weights(self, counted: Ratings) -> NDArray[np.int32]:
        """How much of a person's votes each of their records has, on the grid of votes."""
        assert counted.epsilon is not None
        omega = gaussian_weights(counted.epsilon, self.allowance.t, self.allowance.delta)
        return share_among_own(counted, omega, PERSON_NORM, norm=2)

    def votes(self, counted: Ratings) -> Integers:
        """What some people's counted records add to the votes."""
        return count_votes(counted, self.vote_weights(counted), self.compute)

    def votes_in(self, part: Ratings) -> Integers:
        """The same of some people's records over any catalogue."""
        return self.votes(self.counted(part))
