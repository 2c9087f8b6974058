"""What every scheme promises."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.data.ids import Ids
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.errors import (
    DataError,
    DivergenceError,
    ParameterError,
    SpecError,
    UnknownIdError,
)
from discreet.kernels.compute import Compute
from discreet.privacy.provenance import Neighbours
from discreet.privacy.spec import PrivacySpec
from discreet.schemes.bias import Bias
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.pmf.dp import DPPMF
from discreet.schemes.pmf.pdp import PDPPMF
from discreet.schemes.pmf.pmf import PMF
from discreet.schemes.tally import Tally
from tests.conftest import GENTLE, random_ratings

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
    fits += [scheme.fit(data, SPEC, seed=3, compute=Compute(threads=k)) for k in (1, 2)]
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


def sure_scores(model: Any, user: str, listed: pl.DataFrame) -> pl.Series:
    """What a list is ranked by: the score less two deviations of what is unknown of the item.

    The score is that of the regression, before one's own mean is mixed in.
    """
    release, own = model.release, model.people.own
    doubts = release.item_scores.doubts
    if doubts is None:
        return listed["score"]
    trust = 1.0 if own is None else own.trust[model.ratings.users.rows([user])[0]]
    unsure = np.sqrt(doubts[release.item_ids.rows(listed["item"])])
    scores = model.predict([user] * listed.height, listed["item"])  # not clipped to the scale
    return pl.Series("score", scores / trust - 2 * unsure)


@EVERY
def test_recommendations_are_ranked_unrated_and_from_one_s_own_ratings(
    scheme: Any, small: Ratings
) -> None:
    model = scheme.fit(small, SPEC, seed=1)
    lists = model.recommend(n=5, rank_by="liked")
    rated = set(zip(small.to_frame()["user"], small.to_frame()["item"], strict=True))
    assert not rated & set(lists.select("user", "item").iter_rows())
    for user, group in lists.group_by("user"):
        assert group["rank"].to_list() == list(range(1, 6))
        assert sure_scores(model, user[0], group).is_sorted(descending=True)
        own = small.to_frame().filter(pl.col("user") == user[0])
        alone = model.release.recommend(own["item"], own["rating"], 5, rank_by="liked")
        assert group["item"].to_list() == alone["item"].to_list()
    everything = model.recommend(["u1"], n=1000, exclude_rated=False)
    assert everything.height == len(small.items)
    assert everything["rank"].to_list() == list(range(1, 1 + everything.height))
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


def test_no_secret_number_is_in_a_certificate(small: Ratings) -> None:
    doubled = Ratings.from_frame(
        pl.concat([small.to_frame(), small.to_frame().with_columns(pl.col("user") + "x")])
    )
    for scheme in SCHEMES:
        one, two = (scheme.fit(data, SPEC, seed=1).release.certificate for data in (small, doubled))
        assert one == two


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
        (
            lambda r: Tally().fit(list(r.rating), SPEC),
            DataError,
            "must be a Polars, pandas or Arrow",
        ),
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
