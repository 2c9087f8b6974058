"""The rounds of one fit: directions of liking and of choosing, from noise bought by one plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from discreet.arrays import Array, Floats
from discreet.data.features import Features
from discreet.data.source import RatingsSource
from discreet.privacy.provenance import Neighbours
from discreet.release.choice_columns import flag_directions
from discreet.release.choice_factors import ChoiceFactors
from discreet.release.heard_sums import HeardSums
from discreet.release.release import Release
from discreet.release.tallies import Tallies
from discreet.schemes.base import Run
from discreet.schemes.chorus.budget import Budget
from discreet.schemes.chorus.choices import (
    choice_counts,
    released_choices,
    sized,
    whitened,
)
from discreet.schemes.chorus.directions import (
    Heard,
    first_directions,
    known_columns,
    released_directions,
)
from discreet.schemes.chorus.plan import Part, Plan
from discreet.schemes.chorus.rounds import NoisyRounds, prepare_rounds
from discreet.schemes.chorus.values import Liking, Values, choosing
from discreet.schemes.counts import POPULAR, believe
from discreet.schemes.design import Directions
from discreet.schemes.voting_scheme import Known

_SOME = 1e-3
"""Of a count: an item that nobody chose has a popularity too."""


class Tastes(NamedTuple):
    """Directions of liking, and the sums that they were found from, where these are kept."""

    directions: Directions | None
    sums: HeardSums | None


class Choices(NamedTuple):
    """Directions of choosing, and the sums that they were found from, where these are kept."""

    factors: ChoiceFactors | None
    sums: HeardSums | None


@dataclass(frozen=True, eq=False)
class Learning:
    """What directions are learned from: ratings, a budget, and the release before, if any.

    `heard` are the tallies of the ratings that are in the rounds, about: they tell how strong these
    are. `lasting` is for publications: what the rounds have shown is kept for later ones.
    """

    source: RatingsSource = field(repr=False)
    budget: Budget
    plan: Plan
    heard: Tallies
    tallies: Tallies
    """Of all publications so far."""
    before: Release | None
    neighbours: Neighbours
    run: Run
    lasting: bool = False

    def liking(self, known: Known) -> Tastes:
        """Hidden tastes: by which people's ratings differ from their items' effects."""
        effects, part, run = known.effects, self.plan.liking_part, self.run
        before, kept = None, None
        if self.before is not None:
            before = released_directions(self.before, self.source.items, effects)
            kept = self.before.sums_over(self.source.items)[0]
        if not part.factors:
            return Tastes(before, kept)
        own = (effects.item_effects, effects.popularity)
        columns = known_columns(own, known.features, effects.counts)
        start = first_directions(
            columns,
            effects.counts,
            part.factors,
            run.randomness.training,
            None if before is None else before.z,
        )
        base = effects.mean + effects.item_effects
        rounds = self._rounds(Liking(base, self.source.scale.span / 4), part)
        counts = believe(self.heard, run.compute.workers).means
        found, kept = self._run(rounds, start, counts, effects.counts, kept)
        return Tastes(found.directions if found.values.any() else before, kept)

    def choosing(self, features: Features) -> Choices:
        """Who chooses what: by which choices go together beyond what their popularity explains."""
        part, values = self.plan.choosing_part, choosing(self.source)
        before, kept = None, None
        if self.before is not None:
            before = released_choices(self.before, self.source.items)
            kept = self.before.sums_over(self.source.items)[1]
        if not part.factors:
            return Choices(before, kept)
        counts = choice_counts(self.heard, values.least)
        columns = known_columns((np.log1p(counts / POPULAR),), features, counts)
        start = first_directions(
            columns,
            counts,
            part.factors,
            self.run.randomness.training,
            None if before is None else whitened(before, counts),
        )
        known = choice_counts(self.tallies, values.least)
        public = flag_directions(counts + _SOME, features)
        found, kept = self._run(self._rounds(values, part), start, counts, known, kept, public)
        return Choices(sized(found, known) or before, kept)

    def _run(
        self,
        rounds: NoisyRounds,
        start: Array,
        counts: Floats,
        known: Floats,
        kept: HeardSums | None,
        public: Floats | None = None,
    ) -> tuple[Heard, HeardSums | None]:
        """The rounds, and what they show with those of earlier publications."""
        if not self.lasting:
            return rounds.run(start, counts, rounds.estimator(counts, public)), None
        combined = rounds.combination(counts, known, kept)
        return rounds.run(start, counts, combined), combined.kept

    def _rounds(self, values: Values, part: Part) -> NoisyRounds:
        return prepare_rounds(
            self.source, values, part, self.budget, neighbours=self.neighbours, run=self.run
        )
