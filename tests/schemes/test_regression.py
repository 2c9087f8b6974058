"""The regression of item effects, by tables without noise or chance: nothing here is drawn."""

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.data.features import Features
from discreet.data.scale import RatingScale
from discreet.privacy.fixedpoint import ONE_VOTE
from discreet.release.tallies import Tallies
from discreet.schemes import voting_scheme
from discreet.schemes.design import design
from discreet.schemes.effects import PRIOR_RIDGE, Effects, _Moments, _regression, estimate
from discreet.schemes.standardise import FEW_COLUMNS
from tests.conftest import random_ratings

STARS = RatingScale(1, 5)
NOTHING = Features({}, {}, {})


def flags(**columns: Any) -> Features:
    return Features({}, {name: np.asarray(x, float) for name, x in columns.items()}, {})


def exact(counts: Any, stars: Any) -> Tallies:
    """Public counts, and ratings of so many stars from the middle on average, without noise."""
    counts, stars = np.broadcast_arrays(np.asarray(counts, float), np.asarray(stars, float))
    votes = np.rint(np.stack([counts * (2 - stars), counts * (2 + stars)]) / 4 * ONE_VOTE)
    return Tallies(*votes.astype(np.int64), np.zeros(len(counts)), shared_noise=True)


def test_what_the_regression_does_not_know_is_in_doubt() -> None:
    """Of two items that nobody rated, the one of a genre that nobody rated is known less."""
    counts = np.repeat([50, 0], [100, 2])
    stars = np.where(np.arange(102) % 2, 0.9, 0.3)
    unheard = np.arange(102) == 101
    doubts = estimate(exact(counts, stars), STARS, flags(unheard=unheard), 1.0).doubts
    # A coefficient that nothing is known of has variance 1/ridge.
    assert doubts[101] - doubts[100] == pytest.approx(1 / PRIOR_RIDGE, rel=0.05)
    assert doubts[101] > doubts[:100].max()


def test_features_together_explain_no_more_than_effects_vary() -> None:
    """Each of ten genres is worth about a star; an item of all ten is not worth ten."""
    items, genres = 1000, 10
    own = np.arange(items) % (2 * genres)  # every second item has no genre
    columns = {f"g{k}": np.append(own == k, True) for k in range(genres)}
    stars = np.append(np.where(own < genres, 0.6, -0.4), 0.0)
    tallies = exact(np.append(np.full(items, 200), 0), stars)
    effects = estimate(tallies, STARS, flags(**columns), 1.0).item_effects
    deviation = effects[:-1].std()
    assert deviation == pytest.approx(0.5, abs=0.1), "genres tell the others apart"
    assert deviation < effects[-1] < 2 * deviation


def moments(items: int, weight: float) -> _Moments:
    """Of items that are alike, each known with this weight."""
    values = dict.fromkeys(_Moments._fields, 0.0)
    values |= {"counts": 10.0, "popularity": 1.0, "popularity_square": 1.0, "weight": weight}
    values |= {"weight_popularity": weight, "weight_popularity_square": weight, "sums": weight}
    return _Moments(**{name: np.full(items, value) for name, value in values.items()})


@pytest.mark.parametrize("doubt", [1e-9, 0.004, 0.5, 20.0])
def test_a_regression_is_no_surer_of_its_constant_than_the_noise_allows(doubt: float) -> None:
    prior = _regression(np.ones((50, 1)), moments(50, 2.0), doubt, 0.1)
    assert prior.covariance[0, 0] == pytest.approx(max(doubt, 1 / (50 * 2.0)), rel=1e-6)
    assert prior.at(np.ones(50)) == pytest.approx(1.0), "which moves no mean"


def test_features_are_trusted_less_where_the_noise_is_said_to_be_large() -> None:
    found = moments(50, 2.0)
    side = np.where(np.arange(50) % 2, 1.0, -1.0)
    found = found._replace(sums=found.sums * side)  # items of one side are better by two stars
    known = np.column_stack([np.ones(50), side])
    sure, doubtful = (_regression(known, found, doubt, 0.1).rest for doubt in (1e-9, 1.0))
    assert np.ptp(doubtful) < 0.2 * np.ptp(sure)


def test_heavier_ratings_carry_more_chance() -> None:
    """What single ratings differ by, an item need not."""
    tallies = exact(np.full(40, 5.0), np.where(np.arange(40) % 2, 1.0, 0.0))
    light, heavy = (estimate(tallies, STARS, NOTHING, ratio) for ratio in (1.0, 3.0))
    assert (np.abs(heavy.item_effects) < 0.5 * np.abs(light.item_effects)).all()


@pytest.mark.parametrize(
    ("scheme", "spec", "expected"),
    [
        (dc.Tally(), dc.PrivacySpec.uniform(0.3), 1.0),
        (dc.Tally(), dc.PrivacySpec.by_user({"u0": 0.5}, default=1.0), 2 / 3),
        (dc.Tally(unit="person"), dc.PrivacySpec.by_user({"u0": 0.5}, default=1.0), 1.0),
    ],
)
def test_the_chance_of_ratings_follows_from_the_declared_levels(
    scheme: dc.Tally, spec: dc.PrivacySpec, expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Levels are thought to be evenly spread, where nothing else is declared: E[w^2]/E[w] = 2/3."""
    ratios = []

    def listening(tallies: Any, scale: Any, features: Any, ratio: float, threads: Any) -> Effects:
        ratios.append(ratio)
        return estimate(tallies, scale, features, ratio, threads)

    monkeypatch.setattr(voting_scheme, "estimate", listening)
    scheme.fit(random_ratings(9, 8, 30, seed=0), spec, seed=0)
    assert ratios == pytest.approx([expected], rel=1e-3)


@pytest.mark.parametrize("kind", ["flags", "numbers"])
def test_many_public_columns_share_what_few_would_explain(kind: str) -> None:
    """A column's size in the fold-in is one over the root of its ridge."""
    rng = np.random.default_rng(0)
    columns = {f"c{k:02}": x for k, x in enumerate((rng.random((60, 30)) < 0.5).astype(float))}
    effects = estimate(exact(np.full(30, 9.0), np.linspace(-1, 1, 30)), STARS, NOTHING, 1.0)

    def first_column(count: int) -> Any:
        own = dict(list(columns.items())[:count])
        features = Features(own, {}, {}) if kind == "numbers" else Features({}, own, {})
        names, matrix, _ = design(effects, STARS, features)
        return matrix[:, names.index("c00")]

    few = first_column(1)
    assert np.abs(few).max() > 0
    assert first_column(FEW_COLUMNS) == pytest.approx(few)
    assert first_column(3 * FEW_COLUMNS) == pytest.approx(few / np.sqrt(3))
