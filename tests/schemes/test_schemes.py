"""What every scheme promises, and the identities that tie the paper's schemes together."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.errors import (
    DataError,
    DivergenceError,
    ParameterError,
    SpecError,
    UnknownIdError,
)
from discreet.ids import Ids
from discreet.items import Items
from discreet.kernels import reference
from discreet.privacy.certificate import Neighbours, Status
from discreet.privacy.noise import Randomness
from discreet.privacy.spec import PrivacySpec
from discreet.ratings import Ratings
from discreet.schemes.baseline import Bias
from discreet.schemes.chorus import Chorus
from discreet.schemes.dppmf import DPPMF, PDPPMF
from discreet.schemes.gradient import GradientSteps
from discreet.schemes.pmf import PMF
from discreet.schemes.tally import Tally
from tests.conftest import random_ratings

GENTLE: dict[str, Any] = {"factors": 3, "gamma": 5.0, "k1": 20, "k2": 20}
SPEC = PrivacySpec.column(min_level=0.1)
SCHEMES = [
    Tally(),
    Tally(personalisation="sample", threshold=0.6),
    Tally(neighbours=Neighbours.REPLACE),
    Chorus(delta=1e-6, factors=3, rounds=2),
    Chorus(delta=1e-6, factors=2, rounds=4, neighbours=Neighbours.REPLACE),
    Chorus(delta=1e-6),
    Chorus(delta=1e-6, unit="person", factors=2, rounds=2),
    Tally(unit="person"),
    Bias(),
    PMF(factors=3),
    PMF(factors=3, solver="sgd"),
    PMF(factors=3, solver="sgd", initial="nonnegative", dtype="float64"),
    PMF(factors=3, solver="gradient", gamma=5.0),
    *(
        kind(variant=v, **GENTLE)
        for kind in (DPPMF, PDPPMF)
        for v in ("printed", "stated", "repaired")
    ),
    PDPPMF(variant="repaired", solver="als", threshold=0.5, **GENTLE),
    PDPPMF(initial="nonnegative", dtype="float64", threshold="max", **GENTLE),
]
EVERY = pytest.mark.parametrize(
    "scheme", SCHEMES, ids=lambda s: f"{type(s).__name__}-{getattr(s, 'variant', '')}"
)


@EVERY
def test_a_seed_repeats_a_fit_with_any_number_of_threads(scheme: Any) -> None:
    data = random_ratings(150, 80, 6000, seed=4)
    fits = [scheme.fit(data, SPEC, seed=3)]
    if hasattr(scheme, "threads"):
        fits += [replace(scheme, threads=k).fit(data, SPEC, seed=3) for k in (1, 2)]
    for fit in fits[1:]:
        assert (fit.user_factors == fits[0].user_factors).all()
        assert (fit.release.item_factors == fits[0].release.item_factors).all()
    one, other = fits[0].release.item_factors, scheme.fit(data, SPEC, seed=4).release.item_factors
    same = one.shape == other.shape and np.allclose(one, other)  # noise may hide a direction
    assert same == isinstance(scheme, Bias)


@EVERY
def test_renaming_users_and_shuffling_rows_changes_nothing_but_names(
    scheme: Any, small: Ratings
) -> None:
    # Names that sort the same way: row numbers, and with them all draws, are unchanged ...
    frame = small.to_frame()
    shuffled = Ratings.from_frame(frame.sample(fraction=1, shuffle=True, seed=1))
    one, two = scheme.fit(small, SPEC, seed=1), scheme.fit(shuffled, SPEC, seed=1)
    assert (one.release.item_factors == two.release.item_factors).all()
    if isinstance(scheme, PDPPMF) or getattr(scheme, "personalisation", "") == "sample":
        return  # ... but coins are tied to names, so another name is another coin
    renamed = Ratings.from_frame(frame.with_columns(pl.col("user").str.replace("u", "x")))
    three = scheme.fit(renamed, SPEC, seed=1)
    assert (one.release.item_factors == three.release.item_factors).all()


@EVERY
def test_everybody_gets_a_prediction_and_strict_mode_names_the_unknown(
    scheme: Any, small: Ratings
) -> None:
    model = scheme.fit(small, SPEC, seed=1)
    known = model.predict(["u1", "u2"], [105, 106])
    assert np.isfinite(known).all()
    if model.trained is None:  # everything comes from the release and one's own ratings
        overall = model.release.mean
        item_mean = model.release.typical_scores[small.items.rows([105])[0]]
    else:
        overall = small.rating.mean(dtype=np.float64)
        item_mean = small.rating[small.items.take(small.item) == 105].mean(dtype=np.float64)
    np.testing.assert_allclose(
        model.predict(["nobody", "u1", "nobody"], [105, -1, -1]), [item_mean, overall, overall]
    )
    assert model.predict(["u1"], [105], clip=True)[0] == np.clip(known[0], 1, 5)
    with pytest.raises(UnknownIdError, match="unknown user 'nobody'"):
        model.predict(["nobody"], [105], strict=True)
    with pytest.raises(UnknownIdError, match="unknown item -1"):
        model.predict(["u1"], [-1], strict=True)


@EVERY
def test_recommendations_are_ranked_unrated_and_from_one_s_own_ratings(
    scheme: Any, small: Ratings
) -> None:
    model = scheme.fit(small, SPEC, seed=1)
    lists = model.recommend(n=5)
    rated = set(zip(small.to_frame()["user"], small.to_frame()["item"], strict=True))
    assert not rated & set(lists.select("user", "item").iter_rows())
    for user, group in lists.group_by("user"):
        assert group["rank"].to_list() == list(range(1, 6))
        assert group["score"].is_sorted(descending=True)
        own = small.to_frame().filter(pl.col("user") == user[0])
        alone = model.release.recommend(own["item"].to_list(), own["rating"].to_list(), 5)
        assert group["item"].to_list() == alone["item"].to_list()
    everything = model.recommend(["u1"], n=1000, exclude_rated=False)
    assert everything.height == len(small.items)
    one, stranger = model.recommend(["u1", "nobody"], n=3).partition_by("user")
    assert one.height == stranger.height == 3
    with pytest.raises(UnknownIdError):
        model.recommend(["nobody"], strict=True)


@EVERY
def test_the_release_covers_the_whole_catalogue(scheme: Any, small: Ratings) -> None:
    frame = pl.DataFrame({"item": range(90, 120)}).with_columns(
        title=pl.col("item").cast(pl.String)
    )
    catalogue = Items.from_frame(frame)
    model = replace(scheme, items=catalogue).fit(small, SPEC, seed=1)
    assert model.release.item_ids == catalogue.ids
    assert np.isfinite(model.release.item_factors).all()


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
    model = PMF(factors=3, solver="gradient", gamma=7.0, passes=1, dtype="float64", threads=1)
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
    for people, items, lo, hi in steps._batches(with_people=True):
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
    assert seeded.status == status
    assert seeded.entropy == "seeded: protects nobody"
    real = scheme.fit(small, SPEC).release.certificate
    assert real.entropy == "operating system"
    if status == Status.CONDITIONAL:
        assert any("constants" in a for a in real.assumptions)
        assert seeded.statement.startswith("This run was seeded")


def test_a_threshold_from_the_data_is_named_but_its_value_is_not_told(small: Ratings) -> None:
    certificate = PDPPMF(**GENTLE).fit(small, SPEC, seed=1).release.certificate
    assert certificate.threshold == "mean of the training levels"
    mean = float(SPEC.levels(small).mean())
    assert f"{mean:.3f}" not in certificate.to_json()
    fixed = PDPPMF(threshold=0.25, **GENTLE).fit(small, SPEC, seed=1).release.certificate
    assert fixed.threshold == "0.25"


def test_no_secret_number_is_in_a_certificate(small: Ratings) -> None:
    doubled = Ratings.from_frame(
        pl.concat([small.to_frame(), small.to_frame().with_columns(pl.col("user") + "x")])
    )
    for scheme in SCHEMES:
        one, two = (scheme.fit(data, SPEC, seed=1).release.certificate for data in (small, doubled))
        assert one == two


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


@pytest.mark.parametrize("count", [1, 30, 400])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_step_that_is_too_long_for_a_small_table_is_named(count: int, dtype: str) -> None:
    data = random_ratings(20, 20, count, seed=3)
    for scheme in (
        PMF(solver="gradient", gamma=5000.0, dtype=dtype),
        PMF(solver="sgd", gamma=5000.0, dtype=dtype),
        DPPMF(gamma=5000.0, dtype=dtype),
    ):
        with pytest.raises(DivergenceError, match=r"gamma = 5000 diverges .* try gamma = 500"):
            scheme.fit(data, PrivacySpec.uniform(1.0), seed=0)


def test_the_paper_s_gamma_on_a_tiny_table_is_an_error_and_not_a_table_of_nan() -> None:
    data = random_ratings(40, 10, 400, seed=3)
    with pytest.raises(DivergenceError, match="gamma = 50 diverges"):
        PMF(solver="gradient").fit(data, seed=0)


def test_strong_noise_alone_is_not_taken_for_divergence(small: Ratings) -> None:
    model = DPPMF(**GENTLE).fit(small, PrivacySpec.uniform(1e-4), seed=0)
    assert np.isfinite(model.release.item_factors).all()


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        (PMF(factors=0), "factors must be a whole number >= 1: got 0"),
        (PMF(solver="svd"), "solver must be one of 'als', 'sgd', 'gradient': got 'svd'"),
        (PMF(passes=0, solver="sgd"), "passes must be a whole number >= 1: got 0"),
        (PMF(weighted=False, solver="sgd"), "weighted=False goes with solver='als' only"),
        (PMF(gamma=float("nan"), solver="gradient"), "gamma must be a finite number > 0"),
        (PMF(lambda_u=-1), "lambda_u must be >= 0"),
        (PMF(weighted=True, solver="gradient"), "goes with solver='als'"),
        (PMF(dtype="float16"), "dtype must be one of"),
        (DPPMF(variant="improved"), "variant must be one of"),
        (DPPMF(k2=0), "k2 must be a whole number >= 1"),
        (DPPMF(variant="repaired", lambda_v=1e-3), "leaves nothing of t"),
        (PDPPMF(threshold=0), "threshold must be > 0"),
        (PDPPMF(threshold=float("inf")), "threshold must be a finite number > 0"),
        (PDPPMF(variant="repaired", neighbours=Neighbours.REPLACE), "add/remove neighbours only"),
    ],
)
def test_a_parameter_outside_its_range_is_named(scheme: Any, message: str, small: Ratings) -> None:
    with pytest.raises(ParameterError, match=message):
        scheme.fit(small, PrivacySpec.uniform(0.5), seed=0)


def test_a_constructor_only_stores() -> None:
    assert PMF(factors=-5).factors == -5
    assert replace(PDPPMF(threshold=-1), threshold=0.5).threshold == 0.5


def test_bias_is_the_shrunk_means_it_says(small: Ratings) -> None:
    model = Bias(shrink_items=2.0, shrink_users=3.0).fit(small)
    own = small.item == 4
    mean = small.rating.mean(dtype=np.float64)
    assert model.release.item_effects[4] == pytest.approx(
        (small.rating[own] - mean).sum() / (own.sum() + 2)
    )
    # Folding in a member's own ratings gives the same effect as training did.
    frame = small.to_frame().filter(pl.col("user") == "u3")
    predicted = model.release.predict(frame["item"], frame["rating"], [110], clip=False)
    np.testing.assert_allclose(predicted, model.predict(["u3"], [110]), rtol=1e-9)


def test_items_outside_the_catalogue_are_dropped_silently(small: Ratings) -> None:
    half = Ids.of(list(range(100, 115)), "item")
    model = Bias(items=Items.from_frame(half.values.to_frame("item"))).fit(small)
    inside = small.with_items(half)
    assert model.release.mean == pytest.approx(inside.rating.mean(dtype=np.float64))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda r: Tally().fit(r.to_frame(), SPEC), DataError, "must be a Ratings table: got Data"),
        (lambda r: Tally().fit(r, 0.1), SpecError, "must be a PrivacySpec: got 0.1"),
        (lambda r: PDPPMF().fit(r, 0.1), SpecError, "must be a PrivacySpec: got 0.1"),
        (lambda r: DPPMF().fit(r, "0.1"), SpecError, "must be a PrivacySpec: got '0.1'"),
        (lambda r: PMF(items=r.to_frame()).fit(r), DataError, "must be an Items table"),
        (lambda r: Bias().fit(r).recommend("u1"), DataError, "ids must come in a list: got 'u1'"),
        (lambda r: Bias().fit(r).release.recommend("i", [1]), DataError, "must come in a list"),
    ],
)
def test_a_natural_mistake_is_named(call: Any, error: Any, message: str, small: Ratings) -> None:
    with pytest.raises(error, match=message):
        call(small)
