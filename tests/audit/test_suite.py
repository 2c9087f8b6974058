"""The audit as a whole: proven claims stand, what is broken on purpose falls."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.audit import (
    chorus,
    events,
    fits,
    over_time,
    paper,
    replays,
    suite,
    tally,
)
from discreet.audit.game import Game, play_game
from discreet.audit.heard import CopiedRuns, ReplayedRuns
from discreet.audit.neighbours import as_events, four_people
from discreet.audit.setting import PrintedLoss, Setting, paper_setting, two_gaussians
from discreet.audit.transcript import CERTAIN, listen, log_ratio
from discreet.data.ratings import Ratings
from discreet.errors import ParameterError
from discreet.privacy.accounting import gaussian_epsilon, gaussian_mu
from discreet.privacy.provenance import Neighbours
from discreet.privacy.spec import PrivacySpec
from discreet.publishing.publish import publish
from discreet.readers.club import Club
from discreet.release.release import Release
from discreet.schemes.bias import Bias
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.pmf.dp import DPPMF
from discreet.schemes.pmf.pdp import PDPPMF
from discreet.schemes.pmf.pmf import PMF
from discreet.schemes.tally import Tally

PROVEN = [
    game
    for game in (
        *paper.games(), *tally.games(), *tally.games(unit="person"), tally.replaced_game(1.0),
        tally.searched_game(), *events.every_game(), *chorus.games(),
        *chorus.games(unit="person"), chorus.shared_game(),
        chorus.replaced_game(1.0, 0.1), chorus.published_game(),
        chorus.published_game(purpose="both"),
        chorus.published_game(purpose="lists", events=True), *chorus.choice_games(),
        *over_time.games()[:3],
        *replays.games(),
    )
    if game.proven
]  # fmt: skip


def name(game: Game) -> str:
    return f"{game.scheme} {game.variant} {game.case}"


@pytest.mark.parametrize("game", PROVEN, ids=name)
def test_what_is_proven_is_not_refuted(game: Game) -> None:
    finding = play_game(game, 20 if game.slow else round(5_000 * game.share), 1e-6)
    assert not finding.refuted
    assert finding.confidence == 1 - 1e-6


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_what_a_database_publishes_is_not_refuted(delta: float) -> None:
    pytest.importorskip("sqlalchemy", reason="games through the database need the extra serve")
    assert not play_game(over_time.database_game(delta), 300, 1e-6).refuted


def test_rounds_through_a_database_are_replayed() -> None:
    """Rounds pay every other time; whatever leaks past their noise is certain to be heard."""
    pytest.importorskip("sqlalchemy", reason="games through the database need the extra serve")
    game = replays.database_events_game()
    assert game.case in {found.case for found in suite.every_game(thorough=True)}
    runs = game.play
    assert isinstance(runs, ReplayedRuns)
    table, other = (runs.pair.side(side) for side in (True, False))
    laws = set()
    for _ in range(40):  # that none of these has rounds happens once in 10^12
        heard, releases = listen(runs.produce, table)
        laws = {draw.law for draw in heard}
        if "add_gaussian" in laws:
            break
    assert laws == {"add_laplace", "add_gaussian"}
    ratio, moved = log_ratio(runs.produce, heard, releases, table, other)
    assert 0 < abs(ratio) < 20
    assert len(moved) == len(heard)
    assert log_ratio(runs.produce, heard, releases, table, table)[0] == 0

    def told(table: Ratings) -> list[Release]:
        return [replace(release, mean=len(table) / 1e6) for release in runs.produce(table)]

    assert replace(runs, produce=told)(True, 1, 0)[0, 0] == CERTAIN


@pytest.mark.parametrize("variant", ["printed", "stated"])
@pytest.mark.parametrize("t", [0.39, 1.0])
def test_the_paper_s_claims_are_refuted(variant: str, t: float) -> None:
    game = next(g for g in paper.games((t,)) if g.variant == variant and "trained" in g.case)
    assert play_game(game, 10_000, 0.001).refuted


def test_nothing_hides_a_record_in_pmf_nor_in_jointly_trained_factors() -> None:
    joint = next(g for g in fits.games() if g.control)
    for game in (*fits.games_of(PMF), joint):
        assert play_game(game, 400, 0.01).lower_bound > 1.5


def test_a_search_finds_a_table_that_is_as_bad() -> None:
    start = paper.PaperRuns("stated", four_people(), 1.0)
    found = paper.search(start, tries=4, each=500)
    assert found.pair.removed.sum() == 1
    assert found.variant == "stated"


def test_an_audit_divides_its_false_alarms_and_reports_as_it_goes() -> None:
    games, seen = tally.games()[:2], []
    findings = suite.audit(games, runs=200, found=seen.append)
    assert findings == seen
    assert all(f.confidence == 1 - suite.FALSE_ALARMS / 2 for f in findings)
    assert set(findings[0].row()) >= {
        "scheme", "variant", "control", "claimed", "lower_bound", "confidence", "runs",
    }  # fmt: skip
    with pytest.raises(ParameterError, match="runs must be a whole number >= 20"):
        suite.audit(games, runs=1)


def test_every_scheme_has_a_game_through_the_public_fit() -> None:
    through = {(game.scheme, game.variant) for game in suite.every_game() if game.slow}
    assert {scheme for scheme, _ in through} >= {"PMF", "DP-PMF", "PDP-PMF", "Tally", "Chorus"}
    assert isinstance(tally.games()[0].play, CopiedRuns)  # fits many copies at once


def test_a_canary_goes_into_whatever_table_is_given(club: Club) -> None:
    game = fits.canary_game(club.ratings)
    assert not play_game(game, 20, 0.01).refuted


SPEC = PrivacySpec.column(max_level=2.0)
THREE = ["record below t", "record at t", "record above t"]
QUIET = ["noise times 0.8"]
HALF = ["noise times 0.5"]
ROUNDS = ["record below t, d = 1", "record at t, d = 2", "record above t, d = 3"]
PERSON = ["person below t", "person at t"]


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        (Tally(), THREE + QUIET),
        (Tally(personalisation="sample"), THREE + QUIET),
        (Tally(unit="person"), PERSON + QUIET),
        (Tally(neighbours=Neighbours.REPLACE), ["value replaced, at t", *QUIET]),
        (Chorus(delta=1e-3, factors=2, purpose="ratings"), ROUNDS + HALF),
        (Chorus(delta=1e-3, factors=2), [f"{case}, liking and choices" for case in ROUNDS] + HALF),
        (
            Chorus(delta=1e-3, unit="person", purpose="lists"),
            ["person below t, d = 1, choices", "person at t, d = 2, choices", *HALF],
        ),
        (
            Chorus(delta=1e-3, neighbours=Neighbours.REPLACE),
            ["value replaced, at t, purpose both", *HALF],
        ),
        (PDPPMF(gamma=1.0, factors=2), ["record below t, U trained", "record at t, U trained"]),
        (PMF(factors=2), ["one record of many, through fit"]),
    ],
)
def test_a_certificate_names_what_is_audited(
    scheme: Tally, expected: list[str], small: Ratings
) -> None:
    certificate = scheme.fit(small, SPEC, seed=1).release.certificate
    games = suite.games_for(certificate)
    assert [game.case for game in games] == expected
    assert {game.scheme for game in games} == {certificate.scheme}
    if certificate.scheme == "Tally":
        assert max(game.claimed or 0 for game in games) == 2.0
    if certificate.scheme == "Chorus":  # of its curve a point that can be seen
        assert all(game.delta > 0.01 for game in games)
        assert max(game.claimed or 0 for game in games) < 2.0


@pytest.mark.parametrize(
    ("scheme", "expected"),
    [
        (Tally(), ["event below t", "event at t", "event above t", *QUIET]),
        (Tally(unit="person"), PERSON + QUIET),
    ],
)
def test_a_certificate_of_events_names_what_is_audited(
    scheme: Tally, expected: list[str], small: Ratings
) -> None:
    certificate = scheme.fit(as_events(small), SPEC, seed=1).release.certificate
    games = suite.games_for(certificate)
    assert [game.case for game in games] == expected
    assert all("events" in game.variant for game in games)
    assert max(game.claimed or 0 for game in games) == 2.0


@pytest.mark.parametrize("unit", ["rating", "person"])
def test_a_certificate_of_chosen_events_names_what_is_audited(unit: str, small: Ratings) -> None:
    scheme = Chorus(delta=1e-3, factors=2, unit=unit)
    certificate = scheme.fit(as_events(small), SPEC, seed=1).release.certificate
    games = suite.games_for(certificate)
    what = "person" if unit == "person" else "event"
    assert [game.case for game in games] == [f"{what} at t, d = 2, choices", *HALF]
    for game in games:
        assert isinstance(game.play, chorus.ChorusRuns) == (not game.control)


def test_several_publications_are_audited_together(small: Ratings, tmp_path: Path) -> None:
    scheme = Chorus(delta=1e-4, factors=2, publications=3, threshold=0.5)
    model = publish(scheme, small, SPEC, out=tmp_path / "r", ledger=tmp_path / "l.db", seed=1)
    games = suite.games_for(model.release.certificate)
    assert games[-1].case == "record above t, tallies of 4 publications"
    assert games[-1].claimed == 1.0
    runs = games[0].play
    assert isinstance(runs, chorus.ChorusRuns)
    # All three publications together spend one lifetime: nothing is divided by hand.
    assert (runs.times, runs.scheme.publications) == (3, 3)
    assert (runs.scheme.threshold, runs.scheme.delta) == (0.5, 1e-4)
    assert games[1].control


def test_a_curve_s_point_that_can_be_seen_is_the_same_claim() -> None:
    for unit in ("rating", "person"):
        game = chorus.games(1.0, 1e-6, unit)[1]
        assert isinstance(game.play, chorus.ChorusRuns)
        assert game.play.scheme.delta == 1e-6
        assert 0 < game.claimed < 1.0  # type: ignore[operator]
        assert game.delta > 100 * 1e-6
        assert not play_game(game, 20_000, 1e-6).refuted


def test_a_game_may_be_played_with_a_part_of_the_runs() -> None:
    game = replace(tally.games()[0], share=0.5)
    [finding] = suite.audit([game], runs=200)
    assert finding.runs == 100


def test_a_replaced_value_is_audited_with_the_noise_for_it(small: Ratings) -> None:
    scheme = DPPMF(variant="repaired", factors=2, gamma=1.0, neighbours=Neighbours.REPLACE)
    certificate = scheme.fit(small, PrivacySpec.uniform(1.0), seed=1).release.certificate
    for game in suite.games_for(certificate):
        runs = game.play
        assert isinstance(runs, paper.PaperRuns)
        assert runs.pair.instead is not None
        assert runs.scale == pytest.approx(2.0 / (1.0 - np.log1p(1 / runs.ridge)))
        assert not play_game(game, 5_000, 1e-6).refuted


def test_a_repaired_certificate_is_audited_given_u_and_as_it_is(small: Ratings) -> None:
    scheme = DPPMF(variant="repaired", factors=2, gamma=1.0, kappa=0.5)
    certificate = scheme.fit(small, PrivacySpec.uniform(0.7), seed=1).release.certificate
    games = suite.games_for(certificate)
    assert {game.case for game in games} == {"record at t, U fixed", "record at t, U trained"}
    assert {game.claimed for game in games} == {0.7}
    assert isinstance(games[0].play, paper.PaperRuns)
    assert games[0].play.kappa == 0.5


def test_who_claims_nothing_is_not_audited(small: Ratings) -> None:
    with pytest.raises(ParameterError, match="no audit of"):
        suite.games_for(Bias().fit(small, seed=1).release.certificate)


def test_gaussian_epsilon_inverts_gaussian_mu() -> None:
    for epsilon in (0.1, 1.0, 5.0):
        assert gaussian_epsilon(gaussian_mu(epsilon, 1e-6), 1e-6) == pytest.approx(
            epsilon, rel=1e-5
        )
    assert gaussian_epsilon(1e-9, 1e-6) == 0.0


def test_the_loss_in_the_paper_s_setting_is_that_of_its_recursion(small: Ratings) -> None:
    """The closed form against the recursion itself, step by step."""
    setting = Setting(factors=2, k2=7, gamma=2.0)
    U, V = setting.train(small)
    loss = PrintedLoss(small, setting, U, V)
    k = 5
    i, j, r = small.user[k], small.item[k], float(small.rating[k])
    step, scale = 2.0 / len(small), small.scale.largest / setting.t

    def outcome(keep: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        own = keep & (small.item == j)
        u, values = U[small.user[own]], small.rating[own].astype(float)
        M = np.eye(2) * (1 - step * 0.01) - step * u.T @ u
        mean, covariance = V[j].copy(), np.zeros((2, 2))
        for _ in range(7):
            mean = M @ mean + step * values @ u
            covariance = M @ covariance @ M.T + (step * scale) ** 2 * 3 * np.eye(2)
        return mean, covariance

    there, gone = outcome(np.ones(len(small), bool)), outcome(np.arange(len(small)) != k)
    [found] = loss.of(np.array([j]), np.array([i]), np.array([r]), added=False)
    # In one dimension at a time the loss is at least that of the marginal along any direction.
    for angle in np.linspace(0, np.pi, 7):
        a = np.array([np.cos(angle), np.sin(angle)])
        means, variances = [a @ x[0] for x in (there, gone)], [a @ x[1] @ a for x in (there, gone)]
        assert exact_loss(*means, *variances) <= found * (1 + 1e-3) + 1e-6
    # And with the covariance unchanged it would be that of the shift alone.
    moved = there[0] - gone[0]
    mu = np.sqrt(moved @ np.linalg.solve(gone[1], moved))
    assert found >= 0.98 * gaussian_epsilon(mu, 1e-6)


def exact_loss(m1: float, m0: float, v1: float, v0: float, delta: float = 1e-6) -> float:
    """Two Gaussians on a line, by integration: the larger of both directions."""
    found = 0.0
    for (ma, va), (mb, vb) in (((m1, v1), (m0, v0)), ((m0, v0), (m1, v1))):
        x = ma + np.sqrt(va) * np.linspace(-12, 12, 400_001)
        p = np.exp(-((x - ma) ** 2) / (2 * va)) / np.sqrt(2 * np.pi * va)
        q = np.exp(-((x - mb) ** 2) / (2 * vb)) / np.sqrt(2 * np.pi * vb)
        low, high = 0.0, 50.0
        for _ in range(60):
            middle = (low + high) / 2
            mass = np.maximum(p - np.exp(middle) * q, 0).sum() * (x[1] - x[0])
            low, high = (middle, high) if mass > delta else (low, middle)
        found = max(found, high)
    return found


@pytest.mark.parametrize(
    ("shift", "ratio"),
    [(0.2, 1.0), (0.2, 1.03), (0.05, 0.97), (0.5, 1.3), (0.0, 1.05), (0.001, 1.0)],
)
def test_the_loss_between_two_gaussians_is_that_of_the_integral(shift: float, ratio: float) -> None:
    one, other = (
        two_gaussians(np.array([[s]]), np.array([[r]]), 1e-6)[0]
        for s, r in ((shift, ratio), (shift / np.sqrt(ratio), 1 / ratio))
    )
    exact = exact_loss(shift, 0.0, ratio, 1.0)
    assert max(one, other) == pytest.approx(exact, rel=0.02, abs=1e-4)


def test_two_gaussians_of_equal_covariance_lose_what_their_distance_says() -> None:
    shift = np.array([[0.1, 0.2, 0.2]])
    found = two_gaussians(shift, np.ones((1, 3)), 1e-6)[0]
    assert found == pytest.approx(gaussian_epsilon(0.3, 1e-6), rel=0.01)


def test_the_paper_s_setting_tells_rare_from_popular(club: Club) -> None:
    losses = paper_setting(club.ratings, Setting(factors=4, k1=5), sample=300)
    assert set(losses.columns) == {"kind", "item_ratings", "loss", "gamma", "k2", "claimed"}
    assert (losses["loss"] >= 0).all()
    added = losses.filter((losses["kind"] == "added") & (losses["k2"] == 50))
    rare, popular = (
        added.filter(m)["loss"].mean()
        for m in (added["item_ratings"] < 30, added["item_ratings"] > 200)
    )
    assert rare > popular  # type: ignore[operator]
