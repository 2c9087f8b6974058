"""The rounds of one fit: directions of liking and of choosing, from noise bought by one plan."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from discreet.data.features import Features
from discreet.data.source import RatingsSource
from discreet.privacy.provenance import Neighbours
from discreet.release.choice_factors import ChoiceFactors
from discreet.release.release import Release
from discreet.release.tallies import Tallies
from discreet.schemes.base import Run
from discreet.schemes.chorus.budget import Budget
from discreet.schemes.chorus.choices import (
    better_choices,
    choice_counts,
    released_choices,
    sized,
    whitened,
)
from discreet.schemes.chorus.directions import (
    first_directions,
    known_columns,
    more_telling,
    released_directions,
)
from discreet.schemes.chorus.plan import Part, Plan
from discreet.schemes.chorus.rounds import NoisyRounds, prepare_rounds
from discreet.schemes.chorus.values import Liking, Values, choosing
from discreet.schemes.counts import POPULAR, believe
from discreet.schemes.design import Directions
from discreet.schemes.voting_scheme import Known


@dataclass(frozen=True, eq=False)
class Learning:
    """What directions are learned from: ratings, a budget, and the release before, if any.

    Only this batch is in the rounds: its own tallies tell how strong they are.
    """

    source: RatingsSource = field(repr=False)
    budget: Budget
    plan: Plan
    batch: Tallies
    before: Release | None
    neighbours: Neighbours
    run: Run

    def liking(self, known: Known) -> Directions | None:
        """Hidden tastes: by which people's ratings differ from their items' effects."""
        effects, part, run = known.effects, self.plan.liking_part, self.run
        before = None
        if self.before is not None:
            before = released_directions(self.before, self.source.items, effects)
        if not part.factors:
            return before
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
        found = rounds.run(start, believe(self.batch, run.compute.workers).means)
        return more_telling(found.directions, before)

    def choosing(self, features: Features) -> ChoiceFactors | None:
        """Who chooses what: by which choices go together beyond what their popularity explains."""
        part, values = self.plan.choosing_part, choosing(self.source)
        before = None
        if self.before is not None:
            before = released_choices(self.before, self.source.items)
        if not part.factors:
            return before
        counts = choice_counts(self.batch, values.least)
        columns = known_columns((np.log1p(counts / POPULAR),), features, counts)
        start = first_directions(
            columns,
            counts,
            part.factors,
            self.run.randomness.training,
            None if before is None else whitened(before, counts),
        )
        found = self._rounds(values, part).run(start, counts)
        return better_choices(sized(found, counts), before, counts)

    def _rounds(self, values: Values, part: Part) -> NoisyRounds:
        return prepare_rounds(
            self.source, values, part, self.budget, neighbours=self.neighbours, run=self.run
        )
