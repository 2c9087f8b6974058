"""Standard errors are what they say: of the rating that a person would give."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.data.items import Items
from discreet.data.scale import RatingScale
from discreet.errors import ParameterError, ReleaseError
from discreet.evaluate.splits import hold_out
from discreet.readers.club import Club
from discreet.release.certainty import Folded, doubts_of, standard_errors
from discreet.release.release import Release
from discreet.release.scoring import FoldIn, ItemScores, Own, fold_in, score_pairs
from discreet.schemes.base import Scheme
from tests.release.test_bending import tallies_of

OLD = Path(__file__).parent / "format-1"
STARS = RatingScale(1, 5)


@pytest.fixture(scope="module")
def release(club: Club) -> Release:
    levels = dc.PrivacySpec.groups()
    return dc.Tally(items=club.items).fit(club.ratings, levels, seed=1).release


def drawn(
    people: int, each: int, *, noise: float = 0.7, doubt: float = 0.1
) -> tuple[Folded, np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """A table from the model itself, folded in; pairs that were left out, and their ratings."""
    rng = np.random.default_rng(people + each)
    items, d, ridge = 400, 5, 1.3
    V = rng.normal(size=(items, d)) / np.sqrt(d)
    base = rng.normal(3, 0.4, items)
    truth = base + rng.normal(0, np.sqrt(doubt), items)
    # The ridge is right where noise / ridge is the variance of a coefficient.
    U = rng.normal(0, np.sqrt(noise / ridge), (people, d))
    what = np.argsort(rng.random((people, items)), axis=1)[:, : 2 * each].astype(np.int32)
    scores = np.take_along_axis(truth + U @ V.T, what, axis=1)
    ratings = scores + rng.normal(0, np.sqrt(noise), scores.shape)
    own = Own(np.arange(people + 1) * each, what[:, :each].ravel(), ratings[:, :each].ravel())
    item_scores = ItemScores(base, V, np.zeros(d), doubts=np.full(items, doubt))
    folded = fold_in(item_scores, own, FoldIn(ridge))
    who = np.repeat(np.arange(people), each)
    known = Folded(item_scores, np.full(items, doubt), own, FoldIn(ridge), folded)
    return known, who, what[:, each:].ravel(), ratings[:, each:].ravel()


@pytest.mark.parametrize("each", [2, 10, 100])
def test_errors_are_calibrated_on_ratings_drawn_from_the_model(each: int) -> None:
    """20,000 errors of 400 items: the doubts of items are shared, so a share is off by about 1%."""
    folded, who, what, ratings = drawn(20_000 // each, each)
    errors = standard_errors(folded, who, what, STARS)
    off = np.abs(ratings - score_pairs(folded.item_scores, folded.people, who, what)) / errors
    assert abs(np.mean(off <= 1) - 0.683) < 0.03
    assert abs(np.mean(off <= 2) - 0.954) < 0.015


def test_errors_follow_a_persons_own_ratings() -> None:
    sizes = []
    for noise in (0.2, 0.7, 1.5):
        folded, who, what, ratings = drawn(200, 100, noise=noise)
        errors = standard_errors(folded, who, what, STARS)
        off = np.abs(ratings - score_pairs(folded.item_scores, folded.people, who, what))
        assert abs(np.mean(off <= errors) - 0.683) < 0.04
        sizes.append(errors.mean())
    assert sizes == sorted(sizes)


def test_the_variance_is_the_gaussian_processs() -> None:
    folded, who, what, _ = drawn(7, 6)
    item_scores, doubts, own, how, people = folded
    errors = standard_errors(folded, who, what, STARS)
    for k in (0, 8, 41):
        mine = slice(own.ptr[who[k]], own.ptr[who[k] + 1])
        V, v = item_scores.factors[own.items[mine]], item_scores.factors[what[k]]
        # sigma^2/ridge (K(j, j) - K(j, H) (K(H, H) + ridge)^-1 K(H, j)), the ridge for sigma^2.
        between = np.linalg.solve(V @ V.T + how.ridge * np.eye(6), V @ v)
        posterior = (v @ v - (V @ v) @ between) / how.ridge
        y = own.ratings[mine] - item_scores.base[own.items[mine]]
        left = y - V @ people.coefficients[who[k]]
        noise = (5 * 0.7 + max(y @ left - doubts[own.items[mine]].sum(), 0)) / (5 + 6)
        assert errors[k] ** 2 == pytest.approx(noise * (1 + posterior) + doubts[what[k]])


def test_what_one_rated_of_a_family_says_more_of_it() -> None:
    folded, _, _, _ = drawn(1, 20)
    rated = folded.own.items
    codes = np.full(400, -1, dtype=np.int32)
    others = np.setdiff1d(np.arange(400), rated)[:4].astype(np.int32)
    codes[rated[:3]], codes[others[:2]], codes[others[2]] = 0, 0, 1
    scores = folded.item_scores._replace(families=(codes,))
    within = folded._replace(item_scores=scores, people=fold_in(scores, folded.own, folded.how))
    who = np.zeros(4, dtype=int)
    alone = standard_errors(folded, who, others, STARS) ** 2
    family = standard_errors(within, who, others, STARS) ** 2
    assert (family[:2] < alone[:2]).all()
    np.testing.assert_allclose(family[2:], alone[2:])


def test_more_ratings_and_less_noise_leave_less_doubt() -> None:
    counts = np.array([0.0, 1.0, 10.0, 1000.0])
    some, more = (doubts_of(tallies_of(counts, noise), STARS, 3.5) for noise in (2.0, 200.0))
    assert some[0] == more[0] == 0.2
    assert (np.diff(some) < 0).all()
    assert (more[1:] > some[1:]).all()
    assert some[3] < 0.002


def test_predictions_come_with_errors(club: Club, release: Release) -> None:
    mine = ["film-0001", "film-0007"], [5, 1]
    films = ["film-0002", "film-0003", "unheard-of"]
    ratings, errors = release.predict(*mine, films, with_error=True)
    assert (ratings == release.predict(*mine, films)).all()
    assert errors.shape == (3,)
    assert ((errors > 0.3) & (errors < 2)).all()
    assert errors[2] > 0.8
    # A model says the same of a member as the release says of the member's own ratings.
    model = dc.Tally(items=club.items).fit(club.ratings, dc.PrivacySpec.groups(), seed=1)
    own = club.ratings.subset(club.ratings.user == 5)
    _, expected = model.release.predict(
        own.items.take(own.item), own.rating, films, with_error=True
    )
    found = model.predict(["member-0006"] * 3, films, with_error=True)
    np.testing.assert_allclose(found.standard_errors, expected)
    # Of an item that is not in the release less is known than of any that is.
    _, unknown = model.predict(["member-0006"], ["no film"], with_error=True)
    assert unknown > np.median(found.standard_errors)
    # Of somebody unknown as much is known as of somebody without ratings.
    _, stranger = model.predict(["nobody"], films[:1], with_error=True)
    np.testing.assert_allclose(stranger, release.predict([], [], films[:1], with_error=True)[1])


def test_errors_hold_on_ratings_that_were_left_out(club: Club) -> None:
    train, test = hold_out(club.ratings, 0.2, seed=3)
    model = dc.Tally(items=club.items).fit(train, dc.PrivacySpec.uniform(1.0), seed=3)
    users, films = test.users.take(test.user), test.items.take(test.item)
    ratings, errors = model.predict(users, films, with_error=True)
    off = np.abs(ratings - test.rating) / errors
    assert 0.6 < np.mean(off <= 1) < 0.85
    assert 0.92 < np.mean(off <= 2) < 0.995


@pytest.mark.parametrize("scheme", [dc.Bias(), dc.PMF(factors=2, sweeps=2)])
def test_schemes_that_know_no_doubt_say_so(scheme: Scheme, small: dc.Ratings) -> None:
    model = scheme.fit(small, seed=1)
    with pytest.raises(ParameterError, match="standard errors"):
        model.predict(["u1"], [100], with_error=True)
    with pytest.raises(ParameterError, match="release of Tally or Chorus"):
        model.release.predict([100], [4], [101], with_error=True)


def test_an_item_with_one_rating_does_not_top_a_list() -> None:
    """Twenty people find one film good; one more film has a single rating, of five stars."""
    rows = [(f"u{u}", "liked", 4 + u % 2) for u in range(40)]
    rows += [(f"u{u}", f"fair-{k}", 3 + (u + k) % 2) for u in range(40) for k in range(4)]
    rows += [("u0", "once", 5)]
    table = dc.Ratings.from_frame(
        pl.DataFrame(rows, schema=["user", "item", "rating"], orient="row")
    )
    model = dc.Tally().fit(table, dc.PrivacySpec.uniform(20.0), seed=1)
    listed = model.release.recommend(n=6, rank_by="liked")
    assert listed["item"][0] == "liked"
    # What is shown is the predicted rating, whatever the order.
    predicted = model.release.predict([], [], listed["item"].to_list())
    np.testing.assert_allclose(listed["score"], predicted)


def test_doubts_come_back_with_a_release_and_must_make_sense(
    release: Release, tmp_path: Path
) -> None:
    loaded = Release.load(release.save(tmp_path / "r"))
    assert release.item_doubts is not None
    assert loaded.item_doubts is not None
    assert (loaded.item_doubts == release.item_doubts).all()
    count = len(release.items)
    for wrong in (np.full(count, -1.0), np.full(count, np.nan), np.ones(count - 1)):
        with pytest.raises(ReleaseError, match="doubts"):
            replace(release, item_doubts=wrong)
    with pytest.raises(ReleaseError, match="not finite"):
        replace(release, item_doubts=np.full(count, np.inf))


@pytest.mark.parametrize("name", ["tally", "chorus-person", "chorus-incremental"])
def test_an_old_release_tells_its_errors_from_its_tallies(name: str) -> None:
    old = Release.load(OLD / name)
    assert old.item_doubts is None
    film = [str(old.items.frame["item"][1])]
    ratings, errors = old.predict(["a"], [5], film, with_error=True)
    assert np.isfinite(ratings).all()
    assert 0.3 < errors[0] < 3


def test_old_items_have_no_column_of_doubts(release: Release) -> None:
    assert isinstance(release.items, Items)
    assert "_doubt" not in release.items.frame.columns


@pytest.mark.parametrize("scheme", [dc.Tally(), dc.Chorus(delta=1e-6, factors=1, rounds=2)])
def test_a_scale_is_a_matter_of_units(scheme: Scheme, small: dc.Ratings) -> None:
    """From 1..5 to -10..10 everything is five times as large, and a variance 25 times."""
    stars = dc.Ratings.from_frame(small.to_frame(), scale=(1, 5))
    points = dc.Ratings.from_frame(
        stars.to_frame().with_columns(pl.col("rating") * 5 - 15), scale=(-10, 10)
    )
    one, other = (scheme.fit(t, dc.PrivacySpec.uniform(1.0), seed=1) for t in (stars, points))
    assert one.release.item_doubts is not None
    assert other.release.item_doubts is not None
    np.testing.assert_allclose(other.release.item_doubts, 25 * one.release.item_doubts, rtol=1e-4)
    users = stars.users.take(stars.user)
    films = stars.items.take(stars.item)
    ratings, errors = one.predict(users, films, with_error=True)
    as_points, as_errors = other.predict(users, films, with_error=True)
    np.testing.assert_allclose(as_points, 5 * ratings - 15, atol=1e-3)
    np.testing.assert_allclose(as_errors, 5 * errors, rtol=1e-3)
    strangers = [x.predict(["nobody"] * 2, [films[0], -7], with_error=True) for x in (one, other)]
    np.testing.assert_allclose(strangers[1][1], 5 * strangers[0][1], rtol=1e-3)
