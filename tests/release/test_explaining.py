"""Explanations and similar items: what they add up to, what they read, and whom they serve."""

import inspect
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet.data.ratings import Ratings
from discreet.errors import ParameterError, UnknownIdError
from discreet.privacy.spec import PrivacySpec
from discreet.readers.club import Club
from discreet.release.choices import choosers
from discreet.release.own import read_own
from discreet.release.recommending import choice_values
from discreet.release.release import Release
from discreet.schemes.model import FactorModel
from discreet.schemes.pmf.pmf import PMF
from discreet.schemes.tally import Tally
from tests.release.handmade import directions, genres_of, handmade

MINE = ["film-0001", "film-0007", "film-0100", "film-0200"], [5, 4, 2, 5]


@pytest.fixture(scope="module")
def model(club: Club) -> FactorModel:
    return Tally(items=club.items).fit(club.ratings, PrivacySpec.uniform(1.0), seed=1)


@pytest.fixture(scope="module", params=[False, True])
def release(request: pytest.FixtureRequest, club: Club, model: FactorModel) -> Release:
    if not request.param:
        return model.release
    return replace(model.release, choices=directions(len(club.items.ids)))


def test_shares_and_popularity_add_up_to_the_whole(release: Release) -> None:
    for item in release.recommend(*MINE)["item"]:
        told = release.explain(*MINE, item)
        assert told.because["share"].sum() + told.popularity == pytest.approx(1)
        assert told.because["share"].is_sorted(descending=True)
        assert sorted(told.because["item"]) == sorted(MINE[0])
        assert told.because["title"].to_list() == release.items.titles(told.because["item"])


@pytest.mark.parametrize("times", [None, [4, 1, 3, 2]])
def test_the_shares_are_those_of_the_score_that_a_list_is_ranked_by(
    release: Release, times: list[int] | None
) -> None:
    """Taking an item's part out of somebody's vector lowers the linear reading by its share."""
    chosen = release.liked_choices
    own = read_own(release, *MINE, times)
    values = choice_values(release, own)
    assert (values == choice_values(release, own, 0.0)).all() == (times is None)
    person = choosers(chosen, own, values)
    row = 300
    told = release.explain(*MINE, release.item_ids.values[row], times=times)
    whole = float(chosen.rows[row] @ person.linear[0])
    vector = chosen.rows[own.items].astype(np.float64)
    vector[:, chosen.public] *= person.trust[0]
    target = chosen.inverse @ chosen.rows[row]
    for k, item in enumerate(release.item_ids.take(own.items)):
        part = values[k] * chosen.weight[own.items[k]] * vector[k, 1:] @ target[1:]
        share = told.because.filter(pl.col("item") == item)["share"][0]
        assert share == pytest.approx(part / whole, rel=1e-3, abs=1e-6)


def test_an_own_item_that_is_near_speaks_louder_than_one_far_away() -> None:
    """Near: of the same genre, or in the same hidden direction; far: of another, or across."""
    count = 120
    genres = genres_of(count)
    horror = list(range(3, count, 4))
    by_genre = handmade(np.full(count, 300.0), frame=genres)
    told = by_genre.explain([*horror[:10], 0], (), horror[20])
    shares = dict(told.because.select("item", "share").iter_rows())
    assert min(shares[k] for k in horror[:10]) > shares[0]
    sign = np.where(np.arange(count) % 2, 0.7, -0.7)[:, None]
    hidden = directions(count, 1)._replace(columns=sign)
    told = handmade(np.full(count, 300.0), choices=hidden).explain([1, 3, 2], (), 5)
    assert told.because["item"].to_list()[2] == 2
    assert told.because["share"][2] < 0 < told.because["share"][0]
    assert told.because["share"][0] == pytest.approx(told.because["share"][1])


def test_an_item_that_was_liked_speaks_louder_than_the_same_disliked(release: Release) -> None:
    item = release.recommend(*MINE)["item"][0]
    first = release.explain(*MINE, item).because["item"][0]
    place = MINE[0].index(first)
    loud, low = (
        release.explain(MINE[0], [*MINE[1][:place], stars, *MINE[1][place + 1 :]], item)
        for stars in (5, 1)
    )
    shares = [told.because.filter(pl.col("item") == first)["share"][0] for told in (loud, low)]
    assert shares[0] > shares[1]


def test_features_say_how_much_of_one_s_history_has_them() -> None:
    frame = genres_of(40).with_columns(
        genres=pl.Series([[g, "Long"] if k % 8 == 1 else [g] for k, [g] in
                          enumerate(genres_of(40)["genres"].to_list())])
    )  # fmt: skip
    counts = np.where(np.arange(40) % 4 == 1, 300.0, 100.0)  # comedies are half of all choices
    release = handmade(counts, frame=frame)
    told = release.explain([1, 5, 9, 2], (), 17).features  # three comedies, two of them long
    assert told.columns == ["feature", "mine", "typical"]
    found = {feature.split()[-1].strip("'"): (a, b) for feature, a, b in told.iter_rows()}
    by_name = {name: next(v for k, v in found.items() if name in k) for name in ("Comedy", "Long")}
    assert by_name["Comedy"] == (pytest.approx(0.75), pytest.approx(0.5, abs=0.01))
    assert by_name["Long"] == (pytest.approx(0.5), pytest.approx(0.25, abs=0.01))
    assert len(found) == 2
    nobody = release.explain([], (), 17)
    assert (nobody.features["mine"] == 0).all()


def test_without_history_popularity_is_the_whole_reason(release: Release) -> None:
    told = release.explain([], [], "film-0005")
    assert told.because.height == 0
    assert told.popularity == 1


def test_an_explanation_reads_the_release_and_one_s_own_ratings_alone(
    model: FactorModel, club: Club, tmp_path: Path
) -> None:
    """Of a release that was loaded elsewhere it is the same; the model asks for its own person."""
    loaded = Release.load(model.release.save(tmp_path / "r"))
    user = "member-0007"
    own = club.ratings.to_frame().filter(pl.col("user") == user)
    item = model.recommend([user])["item"][0]
    there = loaded.explain(own["item"], own["rating"], item, times=own["timestamp"])
    here = model.explain(user, item)
    assert there.because["item"].to_list() == here.because["item"].to_list()
    np.testing.assert_allclose(there.because["share"], here.because["share"], atol=1e-9)
    assert there.features.equals(here.features)
    assert model.similar_items(item, 4).equals(loaded.similar_items(item, 4))
    with pytest.raises(UnknownIdError, match="unknown user 'nobody'"):
        model.explain("nobody", item)
    with pytest.raises(UnknownIdError, match="unknown item 'film-9'"):
        model.explain(user, "film-9")


def test_similar_items_are_public_and_others_than_the_item(release: Release) -> None:
    assert list(inspect.signature(release.similar_items).parameters) == ["item", "n"]
    found = release.similar_items("film-0001", 7)
    assert found.columns == ["item", "title", "rank", "similarity"]
    assert "film-0001" not in found["item"].to_list()
    assert found["rank"].to_list() == list(range(1, 8))
    assert found["similarity"].is_between(-1, 1).all()
    assert release.similar_items("film-0001", 10**6).height == len(release.items) - 1


def test_similar_items_share_genres_directions_and_families() -> None:
    count = 80
    flat = np.full(count, 200.0)
    by_genre = handmade(flat, frame=genres_of(count)).similar_items(3, 15)
    assert (by_genre["item"] % 4 == 3).all()
    sign = np.where(np.arange(count) % 2, 0.7, -0.7)[:, None]
    hidden = directions(count, 1)._replace(columns=sign)
    found = handmade(flat, choices=hidden).similar_items(3, 30)
    assert (found["item"] % 2 == 1).all()
    np.testing.assert_allclose(found["similarity"], 1, rtol=1e-3)
    codes = np.full(count, -1, np.int32)
    codes[[3, 10, 20]] = 0  # of other genres, but of the same series
    series = handmade(flat, frame=genres_of(count), families={"series": codes})
    ranks = dict(series.similar_items(3, count).select("item", "similarity").iter_rows())
    plain = dict(
        handmade(flat, frame=genres_of(count))
        .similar_items(3, count)
        .select("item", "similarity")
        .iter_rows()
    )
    for k in (10, 20):
        assert ranks[k] >= 0.5 > plain[k]


def test_an_item_that_hardly_anybody_chose_is_not_the_most_similar() -> None:
    """Both are wholly alike; what two choices say of one of them is chance."""
    counts = np.array([500.0, 500, 1] + [300.0] * 20)
    columns = np.vstack([[[1.0, 0]] * 3, np.random.default_rng(0).normal(0, 0.3, (20, 2))])
    hidden = directions(23, 2)._replace(columns=columns)
    found = handmade(counts, choices=hidden).similar_items(0, 22)
    places = dict(found.select("item", "rank").iter_rows())
    assert places[1] == 1
    assert places[2] > 1


def test_what_is_unknown_or_has_no_counts_is_refused_by_name(
    model: FactorModel, small: Ratings
) -> None:
    pmf = PMF(factors=2, sweeps=1).fit(small, seed=1).release
    for ask in (lambda: pmf.explain([101], [5], 102), lambda: pmf.similar_items(101)):
        with pytest.raises(ParameterError, match=r"release of Tally or Chorus.*got one of PMF"):
            ask()
    with pytest.raises(UnknownIdError, match="unknown item 'ghost'"):
        model.release.similar_items("ghost")
    with pytest.raises(ParameterError, match="n must be"):
        model.release.similar_items("film-0001", 0)
