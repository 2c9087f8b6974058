"""What the paper's schemes are to the letter, and the identities that tie them together."""

from typing import Any

import numpy as np
import pytest

from discreet.data.ratings import Ratings
from discreet.errors import (
    SpecError,
)
from discreet.kernels import reference
from discreet.privacy import encoding
from discreet.privacy.noise import Randomness
from discreet.privacy.provenance import Neighbours
from discreet.privacy.spec import PrivacySpec
from discreet.privacy.theorems import Status
from discreet.schemes.pmf.dp import DPPMF
from discreet.schemes.pmf.gradient import GradientSteps
from discreet.schemes.pmf.pdp import PDPPMF
from discreet.schemes.pmf.pmf import PMF
from tests.conftest import GENTLE, random_ratings

SPEC = PrivacySpec.column(min_level=0.1)


def test_without_noise_the_perturbed_steps_go_on_like_plain_ones(small: Ratings) -> None:
    class Silent(Randomness):
        def spherical(self, rows: int, d: int, scale: float) -> Any:  # noqa: ARG002
            return np.zeros((rows, d))

    def steps() -> GradientSteps:
        return GradientSteps(small, 5.0, np.random.default_rng(0), np.float64, 1)

    first = steps()
    U, V = first.start(3, "signed")
    perturbed = first.perturb(U, V, 0.01, 1.0, 30, Silent(0), lambda *_: None)
    rate = 5.0 / len(small)
    order = small.by_item
    for _ in range(30):
        after = V * (1 - rate * 0.01)
        reference.add_gradient(
            0, len(small), order.rows, order.cols, order.values, V, U, rate, after,
            np.zeros(len(V)),
        )  # fmt: skip
        V = after
    np.testing.assert_allclose(perturbed, V, rtol=1e-10)


def test_one_gradient_step_is_the_printed_formula(small: Ratings) -> None:
    model = PMF(factors=3, solver="gradient", gamma=7.0, passes=1, dtype="float64")
    steps = GradientSteps(small, 7.0, Randomness(2).training, np.float64, 1)
    U, V = steps.start(3, "signed")
    np.testing.assert_allclose(np.linalg.norm(U, axis=1), 1)
    R, known = np.zeros((len(U), len(V))), np.zeros((len(U), len(V)))
    R[small.user, small.item], known[small.user, small.item] = small.rating, 1
    E, rate = known * (R - U @ V.T), 7.0 / len(small)
    U1 = U - rate * (-E @ V + 0.01 * U)
    V1 = V - rate * (-E.T @ U + 0.01 * V)
    U1 /= np.maximum(1, np.linalg.norm(U1, axis=1))[:, None]
    fit = model.fit(small, seed=2)
    np.testing.assert_allclose(fit.user_factors, U1, rtol=1e-10)
    np.testing.assert_allclose(fit.release.item_factors, V1, rtol=1e-10)
    assert len(fit.trace) == 1


def test_als_lowers_the_objective_and_ends_where_both_gradients_vanish(small: Ratings) -> None:
    model = PMF(
        factors=2, lambda_u=0.7, lambda_v=0.4, weighted=False, sweeps=400, dtype="float64"
    ).fit(small, seed=0)
    U, V = model.user_factors, model.release.item_factors
    R, known = np.zeros((len(U), len(V))), np.zeros((len(U), len(V)))
    R[small.user, small.item], known[small.user, small.item] = small.rating, 1
    E = known * (R - U @ V.T)
    assert np.abs(-E @ V + 0.7 * U).max() < 1e-4
    assert np.abs(-E.T @ U + 0.4 * V).max() < 1e-4
    errors = [point.rmse for point in model.trace]
    assert errors[0] > errors[-1]


def test_more_than_one_mini_batch_covers_every_record_once() -> None:
    data = random_ratings(900, 400, 160_000, seed=1)
    steps = GradientSteps(data, 1.0, np.random.default_rng(0), np.float32, 1)
    seen = []
    for people, items, lo, hi in steps.mini_batches(with_people=True):
        own = sorted(zip(people.rows[lo:hi], people.cols[lo:hi], strict=True))
        assert own == sorted(zip(items.cols[lo:hi], items.rows[lo:hi], strict=True))
        seen += own
        assert abs((hi - lo) / 80_000 - 1) < 0.05
    assert sorted(seen) == sorted(zip(data.user, data.item, strict=True))


def test_stated_with_one_item_has_a_closed_form() -> None:
    data = random_ratings(50, 1, 50, seed=1)
    scheme = DPPMF(variant="stated", **GENTLE | {"gamma": 0.5})
    model = scheme.fit(data, PrivacySpec.uniform(0.5), seed=6)
    U = model.user_factors[data.user]
    # The noise is the first that the seeded stream draws: Delta = r_max = 5.
    eta = Randomness(6).spherical(1, 3, 5 / 0.5)[0]
    expected = np.linalg.solve(U.T @ U + 0.01 * np.eye(3), U.T @ data.rating - eta)
    np.testing.assert_allclose(model.release.item_factors[0], expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("scheme", "delta"),
    [
        (DPPMF(variant="stated", **GENTLE), 5.0),
        (DPPMF(variant="stated", neighbours=Neighbours.REPLACE, **GENTLE), 4.0),
        (PDPPMF(variant="stated", **GENTLE), 5.0),
        (PDPPMF(variant="stated", neighbours=Neighbours.REPLACE, **GENTLE), 5.0),
    ],
)
def test_the_noise_has_the_delta_of_its_neighbours(
    scheme: DPPMF, delta: float, small: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    scales = []
    monkeypatch.setattr(
        Randomness, "spherical",
        lambda _self, rows, d, scale: scales.append(scale) or np.zeros((rows, d)),
    )  # fmt: skip
    scheme.fit(small, PrivacySpec.uniform(0.5), seed=0)
    assert scales == [pytest.approx(delta / 0.5)]


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_repaired_spends_exactly_t_on_noise_and_jacobian(
    neighbours: Neighbours, small: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/proofs/objective-perturbation.md: moved / scale + log(1 + 1/lambda_v) = t."""
    scales = []
    monkeypatch.setattr(
        Randomness, "spherical",
        lambda _self, rows, d, scale: scales.append(scale) or np.zeros((rows, d)),
    )  # fmt: skip
    for lambda_v, kappa in ((None, None), (5.0, 0.5), (9.0, 3.0)):
        scheme = DPPMF(
            variant="repaired", lambda_v=lambda_v, kappa=kappa, neighbours=neighbours, **GENTLE
        )
        scheme.fit(small, PrivacySpec.uniform(0.8), seed=0)
        ridge = lambda_v or 1 / np.expm1(0.4)
        moved = kappa or 1.0
        if neighbours == Neighbours.REPLACE:
            moved = min(2 * moved, 4.0)
        assert moved / scales[-1] + np.log1p(1 / ridge) == pytest.approx(0.8)


def test_repaired_is_the_minimum_of_its_objective(small: Ratings) -> None:
    model = DPPMF(variant="repaired", **GENTLE).fit(small, PrivacySpec.uniform(1.0), seed=6)
    assert model.release.mean == 3.0
    ridge = 1 / np.expm1(0.5)
    eta = Randomness(6).spherical(len(small.items), 3, 1.0 / 0.5)
    U = model.user_factors
    assert np.linalg.norm(U, axis=1).max() <= 1 + 1e-6
    for j, v in enumerate(model.release.item_factors):
        own = small.item == j
        X, y = U[small.user[own]], small.rating[own] - 3.0
        gradient = -X.T @ np.clip(y - X @ v, -1, 1) + ridge * v + eta[j]
        assert np.abs(gradient).max() < 1e-6  # U is rounded to 32 bits on its way out


@pytest.mark.parametrize(
    ("scheme", "status"),
    [
        (PMF(), Status.UNPROVEN),
        (DPPMF(**GENTLE), Status.UNPROVEN),
        (DPPMF(variant="stated", **GENTLE), Status.UNPROVEN),
        (DPPMF(variant="repaired", **GENTLE), Status.CONDITIONAL),
        (PDPPMF(variant="repaired", **GENTLE), Status.CONDITIONAL),
        (PDPPMF(variant="repaired", threshold="mean", **GENTLE), Status.UNPROVEN),
        (PDPPMF(variant="repaired", threshold="max", **GENTLE), Status.UNPROVEN),
    ],
)
def test_a_certificate_claims_no_more_than_is_true(
    scheme: Any, status: Status, small: Ratings
) -> None:
    seeded = scheme.fit(small, SPEC, seed=1).release.certificate
    assert seeded.status == Status.UNPROVEN
    assert seeded.without_seed == status
    assert seeded.entropy == "seeded: protects nobody"
    real = scheme.fit(small, SPEC).release.certificate
    assert real.entropy == "operating system"
    assert real.status == status
    if status == Status.CONDITIONAL:
        assert any("constants" in a for a in real.assumptions)
        assert seeded.statement.startswith("This run was seeded")


def test_a_threshold_from_the_data_is_named_but_its_value_is_not_told(small: Ratings) -> None:
    certificate = PDPPMF(**GENTLE).fit(small, SPEC, seed=1).release.certificate
    assert certificate.threshold is None
    assert certificate.threshold_words == "mean of the training levels"
    mean = float(SPEC.levels(small).mean())
    assert f"{mean:.3f}" not in encoding.write(certificate)
    fixed = PDPPMF(threshold=0.25, **GENTLE).fit(small, SPEC, seed=1).release.certificate
    assert fixed.threshold == 0.25


def test_sampling_with_every_level_at_t_is_plain_dp_pmf(small: Ratings) -> None:
    spec = PrivacySpec.uniform(0.4)
    one = PDPPMF(threshold=0.4, **GENTLE).fit(small, spec, seed=8)
    two = DPPMF(**GENTLE).fit(small, spec, seed=8)
    assert (one.release.item_factors == two.release.item_factors).all()


def test_dp_pmf_serves_everybody_at_the_smallest_offered_level(small: Ratings) -> None:
    by_groups = DPPMF(**GENTLE).fit(small, PrivacySpec.groups(), seed=8)
    uniform = DPPMF(**GENTLE).fit(small, PrivacySpec.uniform(0.1), seed=8)
    assert (by_groups.release.item_factors == uniform.release.item_factors).all()
    for spec in (None, PrivacySpec.column()):
        with pytest.raises(SpecError, match="one level for everybody"):
            DPPMF().fit(small, spec)
    with pytest.raises(SpecError, match=r"declared min_level = 0.5"):
        DPPMF(**GENTLE).fit(small, PrivacySpec.column(min_level=0.5))
