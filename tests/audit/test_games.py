"""Games: copies are independent runs, ratios are exact, tiny trainings are the schemes' own."""

from typing import Any

import numpy as np
import pytest

from discreet.audit import chorus, over_time, paper, replays, tally
from discreet.audit.game import Game
from discreet.audit.neighbours import (
    canary,
    copies,
    crowd,
    four_people,
    one_busy_person,
    random_pair,
    whole_person,
)
from discreet.kernels import tiny
from discreet.privacy.noise import Randomness
from discreet.privacy.spec import PrivacySpec
from discreet.readers.club import Club
from discreet.schemes.base import Run
from discreet.schemes.pmf.dp import DPPMF
from discreet.schemes.pmf.gradient import GradientSteps
from discreet.schemes.tally import Tally
from discreet.schemes.votes import exact_votes


def test_neighbours_differ_in_what_is_removed_alone() -> None:
    for pair in (four_people(), crowd(), one_busy_person(5), whole_person(4)):
        there, gone = pair.side(True), pair.side(False)
        assert len(there) - len(gone) == pair.removed.sum()
        assert len(there.users) == len(gone.users)
        assert len(there.items) == len(gone.items)
    replaced = four_people().replaced()
    assert (replaced.side(True).rating != replaced.side(False).rating).sum() == 1
    assert four_people().at_level(0.3).level == 0.3


def test_random_tables_and_canaries_are_tables(club: Club) -> None:
    pair = random_pair(np.random.default_rng(0))
    assert pair.removed.sum() == 1
    stranger = canary(club.ratings, 0.5)
    assert len(stranger.table) == len(club.ratings) + 1
    assert stranger.level == 0.5
    counts = np.bincount(club.ratings.item, minlength=len(club.ratings.items))
    assert counts[stranger.item] == counts.min()


def test_every_copy_has_the_sums_of_the_table_itself() -> None:
    table = four_people(0.4).table
    many = copies(table, 5)
    scheme, spec = Tally(), PrivacySpec.column()
    alone, together = (
        exact_votes(t, scheme.ballot(t, spec, spec.levels, Run(Randomness(0))))
        for t in (table, many)
    )
    assert (together.reshape(2, 5, -1) == alone[:, None]).all()


def ratios(game: Game, runs: int = 20_000) -> tuple[Any, Any]:
    assert game.log_ratio is not None
    runs = round(runs * game.share)
    return tuple(game.log_ratio(game.play(side, runs, 7 + side)) for side in (True, False))  # type: ignore[return-value]


EXACT = [
    *tally.games(),
    *tally.games(unit="person"),
    tally.replaced_game(1.0),
    chorus.games()[0],
    chorus.games(unit="person")[0],
    chorus.shared_game(),
    chorus.replaced_game(1.0, 0.1),
    chorus.published_game(),
    over_time.tally_game(1.0),
    over_time.chorus_game(1.0, 2),
    replays.stream_tally_game(),
    replays.outside_game("Chorus"),
    *(game for game in paper.games((1.0,)) if "U fixed" in game.case),
]


@pytest.mark.parametrize("game", EXACT, ids=lambda g: f"{g.scheme} {g.variant} {g.case}")
def test_a_ratio_of_likelihoods_is_one(game: Game) -> None:
    """E[P/Q] under Q is 1, and so is E[Q/P] under P: a wrong noise or sum would show."""
    with_record, without = ratios(game)
    sides = [np.exp(without)]
    if game.variant != "stated":  # there Q/P has no bound, and its mean no finite sample
        sides.append(np.exp(-with_record))
    for values in sides:
        capped = np.minimum(values, np.quantile(values, 0.9999))
        error = capped.std() / np.sqrt(len(capped)) + 1e-9
        assert abs(capped.mean() - 1) < 6 * error + 0.02


@pytest.mark.parametrize("variant", ["printed", "stated", "repaired"])
def test_a_tiny_training_is_the_scheme_s_own(variant: str) -> None:
    """The same start and the same noise through `GradientSteps` and through the batched kernel."""
    pair, t, d = crowd(), 1.0, 2
    table = pair.table
    runs = paper.PaperRuns(variant, pair, t, gamma=0.7, k1=5, k2=4)
    scheme = DPPMF(variant=variant, factors=d, gamma=0.7, k1=5, k2=4, dtype="float64", kappa=1.0)
    rng = np.random.default_rng(3)
    U, V = rng.normal(size=(4, d)), rng.normal(size=(3, d))
    centre = table.scale.middle if variant == "repaired" else 0.0
    state = np.array([11], dtype=np.uint64)
    mine_u, mine_v = U.copy(), V.copy()
    tiny.train_one(
        state, table.user, table.item, table.rating.astype(np.float64) - centre,
        paper.VARIANT_CODES[variant], 0.7, 0.01, runs.ridge, 5, 4, runs.scale, 1.0, mine_u, mine_v,
    )  # fmt: skip

    class Noise(Randomness):
        drawn = np.array([11], dtype=np.uint64)

        def spherical(self, rows: int, d: int, scale: float) -> Any:
            eta = np.empty((rows, d))
            tiny.spherical(self.drawn, scale, eta)
            return eta

    noise = Noise(0)
    steps = GradientSteps(table, 0.7, noise.training, np.float64, 1, centre)
    lambda_v = 0.01 if variant != "repaired" else runs.ridge
    theirs_u, theirs_v = steps.train(U, V, 0.01, lambda_v, 5, lambda *_: None)
    if variant == "printed":
        theirs_v = steps.perturb(theirs_u, theirs_v, 0.01, runs.scale, 4, noise, lambda *_: None)
    elif variant == "stated":
        theirs_v = scheme.minimise(table, theirs_u, t, Run(noise))
    else:
        theirs_v = scheme.minimise_huber(table, theirs_u, t, Run(noise))
    np.testing.assert_allclose(mine_u, theirs_u, rtol=1e-12)
    np.testing.assert_allclose(mine_v, theirs_v, rtol=1e-7)


def test_tiny_trainings_do_not_depend_on_threads() -> None:
    one, two = (
        paper.PaperRuns("printed", four_people(), 1.0, threads=n)(True, 500, 3) for n in (1, 2)
    )
    assert (one == two).all()


def test_the_kernels_own_noise_has_the_distribution_of_the_noise_module() -> None:
    state, eta = np.array([5], dtype=np.uint64), np.empty((40_000, 3))
    tiny.spherical(state, 2.0, eta)
    real = Randomness(1).spherical(40_000, 3, 2.0)
    from scipy.stats import ks_2samp

    for mine, theirs in (
        (eta[:, 0], real[:, 0]),
        *[[np.linalg.norm(x, axis=1) for x in (eta, real)]],
    ):
        assert ks_2samp(mine, theirs).pvalue > 1e-4
    assert np.abs(np.corrcoef(eta.T) - np.eye(3)).max() < 0.03
