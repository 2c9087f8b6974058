"""docs/proofs/margins.md in exact arithmetic: noise of Tally and Chorus, contributions, sums."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data.ratings import Ratings
from discreet.errors import ParameterError
from discreet.kernels.sums import item_sums, user_vectors
from discreet.privacy.fixedpoint import (
    EXACT_RECORDS,
    GRID,
    MOST_ITEMS,
    ONE_VOTE,
    SUM_GRID,
    cut_off,
    root_rounded_down,
    rounded_down,
    rounded_up,
)
from discreet.privacy.noise import Randomness
from discreet.privacy.provenance import Neighbours
from discreet.privacy.spec import PrivacySpec
from discreet.schemes.base import Run
from discreet.schemes.chorus import rounds
from discreet.schemes.chorus.budget import PersonBudget
from discreet.schemes.chorus.plan import ACTIVITY, CHOOSING, PROBE, Part, Plan
from discreet.schemes.chorus.rounds import FLOOR, NoisyRounds, prepare_rounds
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.chorus.values import CHOICE, CLIP, LEAST_CHOICE, Liking, choosing
from discreet.schemes.chorus.weighing import PERSON_NORM, Allowance
from discreet.schemes.tally import Tally
from discreet.schemes.votes import PERSON_VOTES
from tests.conftest import random_ratings

mp.mp.dps = 60
SOME = [0.1, 0.7, 1.3, 4.0, *np.random.default_rng(0).uniform(0.01, 9, 60).tolist()]
"""Levels, or parts of a budget."""


@given(st.integers(1, 2**70), st.integers(1, 2**70))
def test_numbers_are_rounded_to_the_side_that_is_asked_for(over: int, under: int) -> None:
    """#noise-scales: the helpers, against exact fractions."""
    exact = Fraction(over, under)
    assert Fraction(rounded_up(exact)) >= exact >= Fraction(rounded_down(exact))
    assert rounded_up(exact) - float(exact) <= 2 * math.ulp(float(exact))
    root = root_rounded_down(exact)
    assert (
        Fraction(root) ** 2
        <= exact
        < Fraction(math.nextafter(root, math.inf)) ** 2 * (1 + Fraction(1, 2**51))
    )


def test_noise_beyond_all_numbers_is_refused() -> None:
    with pytest.raises(ParameterError, match="an epsilon so small"):
        rounded_up(Fraction(1 << 20) / Fraction(1e-305))


@pytest.fixture
def scales(monkeypatch: pytest.MonkeyPatch) -> list[Fraction]:
    """The exact scales of all noise that is drawn, as it is drawn."""
    drawn: list[Fraction] = []

    def add(_: Any, sums: Any, scale: float, **__: Any) -> Any:
        drawn.append(Fraction(float(scale)))
        return sums

    monkeypatch.setattr(Randomness, "add_laplace", add)
    monkeypatch.setattr(Randomness, "add_gaussian", add)
    return drawn


def test_counts_and_tallies_together_cost_no_more_than_t(scales: list[Fraction]) -> None:
    """#noise-scales: a whole vote costs N/s in each, and the plan without rounds spends it all."""
    spec, rng = PrivacySpec.uniform(1.0), np.random.default_rng(0)
    data = random_ratings(3, 4, 6, seed=0)
    budget = Chorus(delta=1e-6).budget(data, spec, spec.levels, Run(Randomness(1)))
    # Where share * t is a little above a power of two, rounding it does the most harm.
    near = 2.0 ** rng.integers(-4, 4, 400) * rng.uniform(1, 1.1, 400)
    for t in (*SOME, *(near / PROBE).tolist(), *(near / (1 - PROBE)).tolist()):
        scales.clear()
        declared = replace(budget, allowance=replace(budget.allowance, t=t))
        of_counts = rounded_down(Fraction(PROBE) - Fraction(ACTIVITY))
        declared.probe(of_counts)
        declared.activity(ACTIVITY)
        declared.tallies(1 - PROBE)
        for share, scale in zip((of_counts, ACTIVITY, 1 - PROBE), scales, strict=True):
            assert ONE_VOTE / scale <= Fraction(share) * Fraction(t)
        assert sum(ONE_VOTE / scale for scale in scales) <= Fraction(t)


@pytest.mark.parametrize(("unit", "votes"), [("rating", 1), ("person", PERSON_VOTES)])
def test_tallies_alone_cost_no_more_than_t(unit: str, votes: int, scales: list[Fraction]) -> None:
    """#noise-scales: one quotient, rounded up."""
    data, spec = random_ratings(3, 4, 6, seed=0), PrivacySpec.uniform(1.0)
    for t in SOME:
        scales.clear()
        Tally(unit=unit, threshold=t).release(data, spec, Run(Randomness(1)))
        assert votes * ONE_VOTE / scales[0] <= Fraction(t)


@dataclass(frozen=True, eq=False)
class Given(PersonBudget):
    """A budget of a mu and of weights that the test chooses."""

    given: Any = 1.0
    mu: float = 1.0

    def weighing(self, share: float) -> Any:
        del share
        return self

    def counted(self, part: Ratings) -> Ratings:
        return part

    def weights(self, counted: Ratings) -> Any:
        return self.given * np.ones(len(counted))


def given_budget(data: Ratings, mu: float, weights: Any = 1.0) -> Given:
    nothing = Allowance(data.items, lambda part: np.ones(len(part)), np.ones(1), 1.0, 1e-6)
    votes = np.zeros((2, len(data.items)), np.int64)
    return Given(nothing, data, votes, Run(Randomness(0)), weights, mu)


KINDS = {"liking": CLIP, "choosing": CHOICE}
"""Both kinds of rounds, and their X."""


def prepared(
    data: Ratings,
    kind: str,
    part: Part,
    budget: Given,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> NoisyRounds:
    """Rounds whose residuals are all beyond the clip, so that weights alone decide."""
    base = np.full(len(data.items), -50.0)
    values = Liking(base, data.scale.span / 4) if kind == "liking" else choosing(data)
    return prepare_rounds(data, values, part, budget, neighbours=neighbours, run=budget.run)


def rounds_cost(rounds: NoisyRounds, moved: Fraction) -> Fraction:
    """The sum of the squares of all rounds' mu, each of which its noise keeps."""
    moved = (moved + Fraction(rounds.rho)) * SUM_GRID
    for mu in rounds.mus:
        assert moved / Fraction(rounds.deviation(mu)) <= Fraction(mu)
    return sum((Fraction(mu) ** 2 for mu in rounds.mus), Fraction(0))


@pytest.mark.parametrize("of_choices", [0.0, CHOOSING, 0.1, 1.0])
def test_a_person_s_noises_share_one_budget_exactly(
    of_choices: float, scales: list[Fraction]
) -> None:
    """#noise-scales: the squares of all parts of mu add up to at most mu^2, as they are drawn."""
    data = random_ratings(3, 4, 6, seed=0)
    for mu in SOME:
        scales.clear()
        budget = given_budget(data, mu)
        plan = Plan(PROBE, (1 - PROBE) * min(mu / 10, 0.6), 2, 6, 3, 5, of_choices)
        of_counts = rounded_down(Fraction(PROBE) - Fraction(ACTIVITY))
        budget.probe(of_counts)
        budget.activity(ACTIVITY)
        budget.tallies(plan.tallies)
        for share, scale in zip((of_counts, ACTIVITY, plan.tallies), scales, strict=True):
            part = Fraction(mu) ** 2 * Fraction(share)
            assert (PERSON_NORM * ONE_VOTE / scale) ** 2 <= part
        votes = sum((PERSON_NORM * ONE_VOTE / scale) ** 2 for scale in scales)
        for share in (plan.probe, plan.tallies, plan.share):
            assert Fraction(budget.rounds(share)) ** 2 <= Fraction(mu) ** 2 * Fraction(share)
        parts = {"liking": plan.liking_part, "choosing": plan.choosing_part}
        spent = sum(
            rounds_cost(prepared(data, kind, part, budget), Fraction(KINDS[kind]))
            for kind, part in parts.items()
            if part.of_rounds
        )
        assert votes + spent <= Fraction(mu) ** 2
        assert sum(part.of_rounds for part in parts.values()) == 1


@given(st.floats(0, 0.3), st.floats(0.01, 0.7))
def test_shares_add_up_to_at_most_one(probe: float, tallies: float) -> None:
    """#noise-scales: as exact numbers."""
    plan = Plan(probe, tallies, 1, 1)
    assert Fraction(probe) + Fraction(tallies) + Fraction(plan.share) <= 1
    for paid in (0.0, PROBE):  # where no rounds follow, tallies get what the probe leaves
        assert Fraction(paid) + Fraction(1 - paid) <= 1


@pytest.mark.parametrize(
    ("kind", "neighbours", "moved"),
    [
        ("liking", Neighbours.ADD_REMOVE, Fraction(CLIP)),
        ("liking", Neighbours.REPLACE, 2 * Fraction(CLIP)),
        ("choosing", Neighbours.ADD_REMOVE, Fraction(CHOICE)),
        ("choosing", Neighbours.REPLACE, Fraction(CHOICE - LEAST_CHOICE)),
    ],
)
def test_the_noise_of_all_rounds_costs_their_mu_and_no_more(
    kind: str, neighbours: Neighbours, moved: Fraction
) -> None:
    """#noise-scales: (moved + rho)/sigma, in squares, over all rounds."""
    data, part = random_ratings(3, 4, 6, seed=0), Plan(0.0, 0.35, 2, 6).liking_part
    for mu in SOME:
        budget = given_budget(data, mu)
        spent = rounds_cost(prepared(data, kind, part, budget, neighbours), moved)
        assert spent <= Fraction(budget.rounds(part.share)) ** 2


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("items", [1, 40, 1000])
def test_a_contribution_leaves_room_for_what_is_cut_off(items: int, kind: str) -> None:
    """#contributions: |a| + rho <= omega (X + rho), for every weight omega (1 + 2^-53)."""
    data = random_ratings(1, items, items, seed=0)
    rng = np.random.default_rng(1)
    for scale in (1.0, 1e-3, 1e-6, 1e-8):
        weights = np.where(np.arange(items) % 5 > 0, rng.uniform(0, scale, items), scale)
        part = Plan(0.0, 0.35, 32, 6).liking_part
        rounds = prepared(data, kind, part, given_budget(data, 1.0, weights))
        assert rounds.rho >= 2 * math.sqrt(items * 32) / SUM_GRID
        rho, X = Fraction(rounds.rho), Fraction(KINDS[kind])
        a = rounds.contributions.state.by_user.values  # type: ignore[attr-defined]
        for weight, value in zip(weights, a, strict=True):
            omega = Fraction(weight) / (1 + Fraction(1, 2**53))
            assert value == 0 or Fraction(abs(int(value)), GRID) + rho <= omega * (X + rho)
        assert scale < 1e-5 or (a != 0).any()


@pytest.mark.parametrize("weight", [1.0, 0.3, 1e-3, 1e-7])
def test_another_rating_moves_a_choice_by_its_share_of_what_ratings_add(weight: float) -> None:
    """#contributions: |a - a'| + rho <= omega ((X - x0) + rho), though both are cut off."""
    data = random_ratings(40, 30, 400, seed=1)
    worst = Fraction(0)
    for omega in weight * np.random.default_rng(2).uniform(0.5, 1, 40):
        sides = []
        for value in (data.scale.lo, data.scale.lo + data.scale.span):
            table = replace(data, rating=np.full(len(data), value, np.float32))
            budget = given_budget(table, 1.0, omega)
            part = Plan(0.0, 0.35, 2, 6).liking_part
            rounds = prepared(table, "choosing", part, budget, Neighbours.REPLACE)
            sides.append(rounds.contributions.state.by_user.values)  # type: ignore[attr-defined]
        rho, moved = Fraction(rounds.rho), Fraction(CHOICE - LEAST_CHOICE)
        apart = Fraction(int(np.abs(sides[1] - sides[0]).max()), GRID)
        exact = Fraction(omega) / (1 + Fraction(1, 2**53))
        assert apart == 0 or apart + rho <= exact * (moved + rho)
        worst = max(worst, apart / (exact * moved))
    assert worst > 0.99 or weight < 1e-4


@pytest.mark.parametrize("X", list(KINDS.values()))
@pytest.mark.parametrize("d", [1, 3, 64])
@pytest.mark.parametrize("n", [1, 50, 9000])
def test_a_user_vector_and_its_products_are_as_exact_as_rho_needs(n: int, d: int, X: float) -> None:
    """#rho: u within (d/2 + 8) 2^-53, and every product within 1 + 2^-20 steps of the exact one."""
    rng = np.random.default_rng(n)
    a = np.trunc(rng.choice([-1, 1], n) * X * GRID * rng.uniform(0.2, 1, n)).astype(np.int32)
    z = rng.normal(size=(n, d))
    z = np.trunc(z / np.linalg.norm(z, axis=1)[:, None] * GRID)
    U, V = np.empty((1, d)), np.empty((n, d), dtype=np.int64)
    user_vectors(
        0, 1, np.array([0, n]), np.arange(n, dtype=np.int32), a, z, FLOOR, GRID, EXACT_RECORDS, U
    )
    finer = SUM_GRID // GRID
    item_sums(0, n, np.arange(n + 1), np.zeros(n, np.int32), a, U, finer, EXACT_RECORDS, V)
    g = [sum(int(x) * int(y) for x, y in zip(a, z[:, f], strict=True)) for f in range(d)]
    h = sum(int(x) ** 2 for x in a)
    root = mp.sqrt(mp.mpf(sum(x * x for x in g)) / 2**80 + mp.mpf(h) / 2**40 + mp.mpf(FLOOR))
    u = [mp.mpf(x) / 2**40 / root for x in g]
    assert sum(Fraction(x) ** 2 for x in U[0]) <= 1
    for f in range(d):
        assert abs(mp.mpf(U[0, f]) / u[f] - 1) <= (mp.mpf(d) / 2 + 8) * mp.mpf(2) ** -53
        for j in range(0, n, max(1, n // 40)):
            exact = int(a[j]) * 1024 * u[f]
            assert abs(int(V[j, f]) - exact) <= 1 + mp.mpf(2) ** -20
            assert abs(int(V[j, f])) <= abs(exact) + mp.mpf(2) ** -20


def test_integer_sums_of_a_billion_ratings_stay_within_64_bits() -> None:
    """#integer-sums: the largest number that each sum can reach."""
    most, limit = 10**9, 2**63
    assert most * ONE_VOTE < limit // 8000
    assert most * PERSON_VOTES * ONE_VOTE < limit // 32
    assert most * CHOICE * SUM_GRID < limit // 8
    # No weight is 1: rho is taken off, and then it is cut off on the grid.
    assert (1 - cut_off(1, 1)) * GRID < GRID
    block, contribution = EXACT_RECORDS, math.ceil(CHOICE * GRID) - 1
    assert block * contribution * GRID < 2**53
    assert block * contribution**2 < 2**53
    assert block * contribution * 1024 < 2**53
    assert MOST_ITEMS * contribution * GRID < limit


def test_a_catalogue_beyond_the_proof_of_the_rounds_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rounds, "MOST_ITEMS", 3)
    with pytest.raises(ParameterError, match="catalogues of at most 3 items: got 4"):
        Chorus(delta=1e-6, factors=2).fit(random_ratings(3, 4, 12, seed=0), seed=1)


@pytest.mark.parametrize("unit", ["rating", "person"])
def test_a_budget_that_leaves_nothing_is_named(unit: str) -> None:
    """#gaussian-accounting: where numbers underflow."""
    scheme = Chorus(delta=1e-300, factors=2, unit=unit)
    with pytest.raises(ParameterError, match="a delta of 1e-300 are too small for Gaussian noise"):
        scheme.fit(random_ratings(3, 4, 12, seed=0), PrivacySpec.uniform(1.0), seed=1)


@pytest.mark.parametrize(("delta", "level"), [(1e-30, 1.0), (1e-6, 1e-9), (0.9, 500.0)])
def test_every_epsilon_and_delta_buys_rounds(delta: float, level: float) -> None:
    """#gaussian-accounting: nothing is set aside but a share of each."""
    scheme = Chorus(delta=delta, factors=1, rounds=1)
    ratings = random_ratings(9, 4, 30, seed=0)
    release = scheme.fit(ratings, PrivacySpec.uniform(level), seed=1).release
    assert release.certificate.delta == delta
    assert release.certificate.provenance.proven_up_to is None
