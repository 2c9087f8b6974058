"""What somebody loses at most to a mechanism, from its exact sums with and without them."""

from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from discreet.privacy.accounting import gaussian_epsilon
from discreet.privacy.noise import Randomness
from discreet.release.tallies import ONE_VOTE
from discreet.schemes.chorus.budget import PersonBudget, Plan
from discreet.schemes.chorus.rounds import GRID, NoisyRounds
from discreet.schemes.effects import Effects
from discreet.schemes.tally import PERSON_VOTES

T, DELTA = 1.0, 1e-6
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


def tally_loss(crowds: Any) -> float:
    """epsilon: the L1 distance of the exact votes over the noise's scale."""
    scheme = dc.Tally(items=catalogue(), unit="person", threshold=T)
    one, other = (scheme.votes(crowd, SPEC.levels, T, Randomness(0)) for crowd in crowds)
    return float(np.abs(one - other).sum() / (PERSON_VOTES * ONE_VOTE / T))


def chorus_loss(crowds: Any) -> float:
    """epsilon at delta: mu of tallies and all rounds together, from exact sums and deviations."""
    scheme = dc.Chorus(items=catalogue(), unit="person", threshold=T, delta=DELTA)
    plan, z = Plan(0.0, 0.35, 1, 2), np.full((2, 1), float(GRID))
    flat = Effects(3.0, np.zeros(2), np.ones(2))
    votes, sums = [], []
    for crowd in crowds:
        purse = scheme.purse(crowd, SPEC, SPEC.levels, Randomness(0))
        assert isinstance(purse, PersonBudget)
        voices = NoisyRounds(
            crowd, flat, plan, purse, neighbours=dc.Neighbours.ADD_REMOVE, threads=1
        )
        votes.append(purse.exact)
        sums.append(voices.exact_sums(z))
    squares = (np.linalg.norm(votes[0] - votes[1]) / purse.scale(plan.tallies)) ** 2
    for mu in voices.mus:
        squares += (np.linalg.norm(sums[0] - sums[1]) / voices.deviation(float(mu))) ** 2
    return gaussian_epsilon(float(np.sqrt(squares)), DELTA)
