"""What somebody loses at most to a mechanism, from its exact sums with and without them."""

from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from discreet.privacy.accounting import gaussian_epsilon
from discreet.privacy.fixedpoint import GRID, ONE_VOTE
from discreet.privacy.noise import Randomness
from discreet.schemes.base import Run
from discreet.schemes.chorus.budget import PersonBudget
from discreet.schemes.chorus.plan import Plan
from discreet.schemes.chorus.rounds import prepare_rounds
from discreet.schemes.chorus.values import Liking
from discreet.schemes.votes import PERSON_VOTES, exact_votes

T, DELTA = 1.0, 1e-6
ALONE = Run(Randomness(0), dc.Compute(threads=1))
LEAST = 0.1
"""The smallest level of "p", given to an item outside the catalogue."""
SPEC = dc.PrivacySpec.column(max_level=T)


def catalogue() -> dc.Items:
    return dc.Items.from_frame(pl.DataFrame({"item": ["a", "b"]}))


def tables() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Everybody's ratings, and the same without p, who was careful outside the catalogue only."""
    records = [
        ("p", "a", 5, 1.0), ("p", "outside", 3, LEAST), ("q", "a", 1, 1.0), ("q", "b", 4, 0.5),
        ("r", "outside", 2, 1.0), ("r", "b", 5, 0.7),
    ]  # fmt: skip
    schema = {"user": pl.String, "item": pl.String, "rating": pl.Float64, "epsilon": pl.Float64}
    whole = pl.DataFrame(records, schema=schema, orient="row")
    return whole, whole.filter(pl.col("user") != "p")


def tally_loss(sources: Any) -> float:
    """epsilon: the L1 distance of the exact votes over the noise's scale."""
    scheme = dc.Tally(items=catalogue(), unit="person", threshold=T)
    ballots = [scheme.ballot(source, SPEC, SPEC.levels, ALONE) for source in sources]
    one, other = map(exact_votes, sources, ballots)
    return float(np.abs(one - other).sum() / (PERSON_VOTES * ONE_VOTE / T))


def chorus_loss(sources: Any) -> float:
    """epsilon at delta: mu of tallies and all rounds together, from exact sums and deviations."""
    scheme = dc.Chorus(items=catalogue(), unit="person", threshold=T, delta=DELTA)
    plan, z = Plan(0.0, 0.35, 1, 2), np.full((2, 1), GRID, dtype=np.int32)
    flat = Liking(np.full(2, 3.0), 1.0)
    votes, sums = [], []
    for source in sources:
        budget = scheme.budget(source, SPEC, SPEC.levels, ALONE)
        assert isinstance(budget, PersonBudget)
        rounds = prepare_rounds(
            source, flat, plan.liking_part, budget, neighbours=dc.Neighbours.ADD_REMOVE, run=ALONE
        )
        votes.append(budget.exact)
        sums.append(rounds.exact_sums(z))
    squares = (np.linalg.norm(votes[0] - votes[1]) / budget.scale(plan.tallies)) ** 2
    for mu in rounds.mus:
        squares += (np.linalg.norm(sums[0] - sums[1]) / rounds.deviation(float(mu))) ** 2
    return gaussian_epsilon(float(np.sqrt(squares)), DELTA)
