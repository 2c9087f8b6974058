"""Bounds on mechanisms whose epsilon is known exactly: rarely above it, and not far below."""

import numpy as np
import pytest
from scipy.stats import binomtest

from discreet.audit.attacks import Classifier, LikelihoodRatio, MeanDifference
from discreet.audit.bounds import at_least, at_most, event_bounds
from discreet.audit.game import Game, attack_outcomes, play_game


def laplace(epsilon: float) -> Game:
    def play(with_record: bool, runs: int, seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        return float(with_record) + rng.laplace(scale=1 / epsilon, size=(runs, 1))

    def log_ratio(seen: np.ndarray) -> np.ndarray:
        return epsilon * (np.abs(seen[:, 0]) - np.abs(seen[:, 0] - 1))

    return Game("Laplace", "", "", epsilon, play, log_ratio)


def randomised_response(epsilon: float) -> Game:
    truth = np.exp(epsilon) / (1 + np.exp(epsilon))

    def play(with_record: bool, runs: int, seed: int) -> np.ndarray:
        kept = np.random.default_rng(seed).random((runs, 1)) < truth
        return np.where(kept, float(with_record), float(not with_record))

    return Game("randomised response", "", "", epsilon, play, lambda seen: seen[:, 0])


def test_probabilities_have_clopper_pearson_s_limits() -> None:
    for successes, runs in ((0, 10), (3, 10), (10, 10), (37, 5000)):
        exact = binomtest(successes, runs).proportion_ci(0.9, method="exact")
        assert at_least(np.array(successes), runs, 0.05) == pytest.approx(exact.low)
        assert at_most(np.array(successes), runs, 0.05) == pytest.approx(exact.high)


def test_delta_is_taken_off_before_the_ratio() -> None:
    counts = np.array(900), 1000, np.array(100), 1000
    pure, loose = (float(event_bounds(*counts, 0.05, delta)) for delta in (0.0, 0.3))
    p, q = at_least(counts[0], 1000, 0.025), at_most(counts[2], 1000, 0.025)
    assert pure == pytest.approx(np.log(p / q))
    assert loose == pytest.approx(np.log((p - 0.3) / q))
    assert event_bounds(np.array(5), 1000, np.array(900), 1000, 0.05, 0.0) == 0  # never below 0


@pytest.mark.parametrize("game", [laplace(1.0), laplace(0.3), randomised_response(1.0)])
def test_the_bound_comes_within_a_fifth_of_the_truth(game: Game) -> None:
    found = play_game(game, 100_000, 0.001)
    assert 0.8 * game.claimed < found.lower_bound <= game.claimed  # type: ignore[operator]


@pytest.mark.parametrize("game", [laplace(0.5), randomised_response(0.5)])
def test_false_alarms_are_as_rare_as_stated(game: Game) -> None:
    """400 audits at a stated rate of 20%: as many alarms would be a once-in-a-million event."""
    audits, alpha = 400, 0.2
    alarms = sum(play_game(game, 300, alpha, seed=k + 1).refuted for k in range(audits))
    assert binomtest(alarms, audits, alpha, alternative="greater").pvalue > 1e-6


def test_trying_several_attacks_and_thresholds_is_paid_for() -> None:
    """On outcomes that tell nothing, attacks that are tried together prove something as rarely."""
    rng, alpha, alarms = np.random.default_rng(1), 0.2, 0
    for _ in range(60):
        one, other = rng.normal(size=(2, 200, 2))
        proof, _ = attack_outcomes(one, other, (MeanDifference(), Classifier()), alpha, 0.0)
        alarms += proof.epsilon > 0
    assert binomtest(alarms, 60, alpha, alternative="greater").pvalue > 1e-6


def test_a_broken_claim_is_refuted() -> None:
    quieter = laplace(1.25)
    claims_one = Game("Laplace", "", "", 1.0, quieter.play, quieter.log_ratio)
    assert play_game(claims_one, 50_000, 0.001).refuted


@pytest.mark.parametrize("attack", [MeanDifference(), Classifier()])
def test_attacks_that_learn_come_near_the_likelihood_ratio(
    attack: MeanDifference | Classifier,
) -> None:
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, 20_000, 3))
    one[:, 1] += 1.5
    known = LikelihoodRatio(lambda seen: 1.5 * seen[:, 1])
    best, _ = attack_outcomes(one, other, (known,), 0.05, 0.0)
    learned, name = attack_outcomes(one, other, (attack,), 0.05, 0.0)
    assert name == attack.name
    assert learned.epsilon > 0.8 * best.epsilon > 0.8


def test_the_mean_difference_survives_heavy_tails() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.standard_cauchy(size=(2, 20_000, 2))
    one[:, 0] += 2
    assert attack_outcomes(one, other, (MeanDifference(),), 0.05, 0.0)[0].epsilon > 0.5
