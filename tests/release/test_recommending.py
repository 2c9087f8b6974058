"""Lists from releases of every kind, ranked in every way, for one person and for many."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.data.events import Events
from discreet.errors import ParameterError
from discreet.privacy.provenance import Neighbours
from discreet.privacy.spec import PrivacySpec
from discreet.readers.club import Club
from discreet.release.ranking import RANKINGS, Ranking
from discreet.release.release import Release
from discreet.release.scoring import Own
from discreet.schemes.model import FactorModel
from discreet.schemes.pmf.pmf import PMF
from discreet.schemes.tally import Tally
from tests.conftest import random_ratings
from tests.release.handmade import directions, genres_of, handmade, histories

OLD = Path(__file__).parent / "format-1"
EVERY_RANKING = pytest.mark.parametrize("by", RANKINGS)


@pytest.fixture(scope="module")
def model(club: Club) -> FactorModel:
    return Tally(items=club.items).fit(club.ratings, PrivacySpec.uniform(1.0), seed=1)


@pytest.fixture(scope="module", params=["features", "directions", "events"])
def release(request: pytest.FixtureRequest, club: Club, model: FactorModel) -> Release:
    if request.param == "events":
        events = Events.from_frame(club.ratings.to_frame().select("user", "item"))
        return Tally(items=club.items).fit(events, PrivacySpec.uniform(1.0), seed=1).release
    if request.param == "directions":
        return replace(model.release, choices=directions(len(club.items.ids)))
    return model.release


def rankings_of(release: Release) -> list[str]:
    return [by for by in RANKINGS if not (release.events and by == "liked")]


def some_people(release: Release, count: int, seed: int = 0) -> Own:
    stars = [1] if release.events else [1, 2, 3, 4, 5]
    lengths = np.random.default_rng(seed).integers(0, 40, count)
    return histories(lengths, len(release.items), seed, ratings=stars)


@pytest.mark.parametrize("people", [3, 20])  # by rows, and by tiles
@pytest.mark.parametrize("threads", [1, 2])
def test_a_list_depends_on_nobody_else_s_ratings(
    release: Release, people: int, threads: int
) -> None:
    """To the bit, whatever others did: with other ratings, other items, and none."""
    mine = some_people(release, 1, seed=5)
    others = [some_people(release, people - 1, seed=k) for k in (1, 2)]
    others.append(histories([0] * (people - 1), len(release.items)))
    for by in rankings_of(release):
        for diversity in (0.0, 0.5):
            ranking = Ranking(by=by, diversity=diversity)
            found = [
                release.recommend_rows(joined(other, mine), 10, ranking, threads=threads)
                for other in others
            ]
            lists = [frame.filter(pl.col("person") == people - 1) for frame in found]
            assert lists[0].height == 10
            assert lists[0].equals(lists[1])
            assert lists[0].equals(lists[2])
            assert not found[0].equals(found[1])


def joined(one: Own, other: Own) -> Own:
    return Own(
        np.concatenate([one.ptr, one.ptr[-1] + other.ptr[1:]]),
        np.concatenate([one.items, other.items]),
        np.concatenate([one.ratings, other.ratings]),
    )


def test_one_person_s_list_is_that_of_many(release: Release) -> None:
    """In every place an item as likely as that of the other computation, to rounding."""
    people = some_people(release, 30)
    for by in rankings_of(release):
        together = release.recommend_rows(people, 10, Ranking(by=by))
        for p in (0, 7, 29):
            own = slice(people.ptr[p], people.ptr[p + 1])
            alone = release.recommend(
                release.item_ids.take(people.items[own]), people.ratings[own], rank_by=by
            )
            listed = together.filter(pl.col("person") == p)
            scores = dict(listed.select("item", "score").iter_rows())
            shared = alone.filter(pl.col("item").is_in(list(scores)))
            assert shared.height >= 9  # rounding may move one over the edge
            np.testing.assert_allclose(
                shared["score"], [scores[item] for item in shared["item"]], rtol=1e-3
            )


def test_the_order_in_which_ratings_are_typed_changes_nothing(release: Release) -> None:
    mine = some_people(release, 3)
    items, ratings = release.item_ids.take(mine.items).to_list(), mine.ratings.tolist()
    items, ratings = zip(*dict(zip(items, ratings, strict=True)).items(), strict=True)
    for by in rankings_of(release):
        there = release.recommend(items, ratings, rank_by=by)
        assert there.equals(release.recommend(items[::-1], ratings[::-1], rank_by=by))


@EVERY_RANKING
def test_filters_hold_for_every_ranking(club: Club, model: FactorModel, by: str) -> None:
    films = {row["item"]: row for row in club.items.frame.iter_rows(named=True)}
    mine = ["film-0001", "film-0002", "film-0003"], [5, 4, 1]
    release = model.release

    def listed(**wishes: Any) -> list[str]:
        return release.recommend(*mine, n=20, rank_by=by, **wishes)["item"].to_list()

    wanted = {"genres": "Comedy", "year": (1980, 1999)}
    found = listed(among=wanted, without={"genres": "Drama"})
    assert found
    for item in found:
        assert "Comedy" in films[item]["genres"]
        assert "Drama" not in films[item]["genres"]
        assert 1980 <= films[item]["year"] <= 1999
    few = ["film-0001", "film-0007", "film-0009"]
    assert set(listed(among=few)) == {"film-0007", "film-0009"}
    assert set(listed(among=few, exclude_rated=False)) == set(few)
    assert listed(among=[]) == []
    plain = listed()
    assert set(plain[:3]).isdisjoint(listed(without=plain[:3]))
    assert not set(plain) & set(mine[0])
    everybody = model.recommend(["member-0001", "nobody"], rank_by=by, among=few)
    assert set(everybody["item"]) <= set(few)


@EVERY_RANKING
def test_diversity_costs_likeness_and_none_is_the_plain_list(
    club: Club, model: FactorModel, by: str
) -> None:
    people = club.ratings.users.values.head(200)
    plain = model.recommend(people, rank_by=by)
    assert plain.equals(model.recommend(people, rank_by=by, diversity=0.0))
    flags = np.column_stack(list(model.release.features.flags.values())).astype(float)
    rows = flags / np.maximum(np.linalg.norm(flags, axis=1, keepdims=True), 1e-9)
    alike = []
    for diversity in (0.0, 1.0, 4.0):
        lists = model.recommend(people, rank_by=by, diversity=diversity)
        assert lists.height == 2000
        assert lists.select("user", "item").is_unique().all()
        listed = rows[model.release.item_ids.rows(lists["item"])].reshape(200, 10, -1)
        alike.append(float(np.einsum("pak,pbk->", listed, listed)))
    assert alike == sorted(alike, reverse=True)
    assert alike[-1] < 0.9 * alike[0]


def test_somebody_without_history_gets_what_is_popular_and_liked() -> None:
    """Of two items that are chosen alike, the one that is liked; of two liked alike, the other."""
    counts = np.array([400.0, 400, 100, 100, 20])
    share = np.array([0.2, 0.8, 0.2, 0.8, 0.8])
    release = handmade(counts * share, counts * (1 - share), effects=4 * (share - 0.625))
    best = dict(release.recommend().select("item", "rank").iter_rows())
    assert best[1] < best[0]
    assert best[3] < best[2]
    assert best[1] < best[3] < best[4]
    likely = release.recommend(rank_by="likely")["item"].to_list()
    assert likely == [0, 1, 2, 3, 4]
    assert release.recommend(rank_by="liked")["item"].to_list()[:3] == [1, 3, 4]


def test_a_taste_for_a_genre_shows_in_the_list() -> None:
    count = 200
    release = handmade(np.linspace(400, 100, count), frame=genres_of(count))
    horror = [k for k in range(count) if k % 4 == 3]
    listed = release.recommend(horror[::2], n=10, rank_by="best")["item"].to_list()
    assert sum(k in horror for k in listed) >= 8
    nobody = release.recommend(n=10)["item"].to_list()
    assert sum(k in horror for k in nobody) <= 5


def test_hidden_directions_decide_what_goes_together() -> None:
    """Items of one sign are chosen together; what is publicly known says nothing of it."""
    count = 100
    sign = np.where(np.arange(count) % 2, 0.8, -0.8)[:, None]
    hidden = directions(count, 1)._replace(columns=sign)
    release = handmade(np.full(count, 300.0), choices=hidden)
    listed = release.recommend([1, 3, 5, 7, 9, 11], n=10)["item"]
    assert (listed % 2 == 1).all()


@pytest.mark.parametrize("n", [1, 29, 30, 31, 100])
def test_more_places_than_items_are_filled_as_far_as_items_go(n: int) -> None:
    release = handmade(np.full(30, 50.0), np.full(30, 50.0), frame=genres_of(30))
    for by in RANKINGS:
        for diversity in (0.0, 1.0):
            found = release.recommend([0, 1], [5, 1], n, rank_by=by, diversity=diversity)
            assert found.height == min(n, 28)
            assert found["item"].is_unique().all()
            assert found["rank"].to_list() == list(range(1, found.height + 1))
            whole = release.recommend(
                [0, 1], [5, 1], n, rank_by=by, diversity=diversity, exclude_rated=False
            )
            assert whole.height == min(n, 30)


@EVERY_RANKING
def test_one_item_nothing_left_and_counts_below_zero_make_lists(by: str) -> None:
    one = handmade([3.0], [1.0])
    assert one.recommend(rank_by=by)["item"].to_list() == [0]
    assert one.recommend([0], [5], rank_by=by).height == 0
    below = handmade([-4.0, -1e6, -7.0], [-2.0, -3.0, 1.0], variance=20.0)
    for diversity in (0.0, 2.0):
        found = below.recommend([1], [5], rank_by=by, diversity=diversity)
        assert sorted(found["item"].to_list()) == [0, 2]
        assert found["score"].is_finite().all()
    empty = Own(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0))
    assert below.recommend_rows(empty, 3, Ranking(by=by)).height == 0


def test_a_table_whose_counts_are_public_makes_lists() -> None:
    data = random_ratings(60, 25, 700, seed=3)
    scheme = Tally(neighbours=Neighbours.REPLACE)
    release = scheme.fit(data, PrivacySpec.uniform(0.5), seed=1).release
    assert release.tallies is not None
    assert (release.tallies.count_variance == 0).all()
    for by in RANKINGS:
        assert release.recommend([101, 105], [5, 2], n=8, rank_by=by).height == 8


@pytest.mark.parametrize("name", sorted(path.name for path in OLD.iterdir()))
@EVERY_RANKING
def test_old_releases_make_lists_of_every_kind(name: str, by: str) -> None:
    release = Release.load(OLD / name)
    known = release.item_ids.take(np.array([0]))
    found = release.recommend(known, [5], n=3, rank_by=by)
    assert found.height == min(3, len(release.items) - 1)
    if release.tallies is None:
        assert found.equals(release.recommend(known, [5], n=3, rank_by="liked"))


def test_without_tallies_every_list_is_by_liking(club: Club) -> None:
    release = PMF(factors=3, sweeps=2, items=club.items).fit(club.ratings, seed=1).release
    mine = ["film-0001", "film-0009"], [5, 1]
    liked = release.recommend(*mine, rank_by="liked")
    assert liked["score"].is_sorted(descending=True)
    for by in ("best", "likely"):
        assert release.recommend(*mine, rank_by=by).equals(liked)
    varied = release.recommend(*mine, diversity=5.0)
    assert varied.height == 10
    assert varied["item"][0] == liked["item"][0]


def test_scores_of_events_are_relative_to_the_first() -> None:
    release = handmade(np.linspace(300, 10, 40), frame=genres_of(40))
    for by in ("best", "likely"):
        for diversity in (0.0, 1.0):
            found = release.recommend([1, 5], n=12, rank_by=by, diversity=diversity)
            assert found["score"][0] == 1
            assert found["score"].is_between(0, 1, closed="right").all()
            assert diversity or found["score"].is_sorted(descending=True)
    with pytest.raises(ParameterError, match="rank by 'best' or 'likely'"):
        release.recommend([1], rank_by="liked")
    with pytest.raises(ParameterError, match="predicts choices, not ratings"):
        release.recommend([1], with_error=True)


def test_an_event_counts_as_much_as_its_value_for_best_and_wholly_for_likely() -> None:
    release = handmade(np.full(60, 100.0), frame=genres_of(60), choices=directions(60))
    weak, strong = ([3, 7, 11], [0.1] * 3), ([3, 7, 11], [1.0] * 3)
    assert release.recommend(*weak, rank_by="likely").equals(
        release.recommend(*strong, rank_by="likely")
    )
    assert not release.recommend(*weak).equals(release.recommend(*strong))


@EVERY_RANKING
def test_errors_stand_beside_the_scores_that_predict_gives(model: FactorModel, by: str) -> None:
    mine = ["film-0001", "film-0007", "film-0100"], [5, 4, 2]
    found = model.release.recommend(*mine, rank_by=by, with_error=True)
    told = model.release.predict(*mine, found["item"], with_error=True)
    np.testing.assert_allclose(found["score"], told.ratings, rtol=1e-5)
    np.testing.assert_allclose(found["error"], told.standard_errors, rtol=1e-5)
    plain = model.release.recommend(*mine, rank_by=by)
    assert plain["item"].to_list() == found["item"].to_list()
    assert "error" in model.recommend(["member-0001"], rank_by=by, with_error=True).columns


def test_a_wrong_wish_is_refused_by_name(model: FactorModel) -> None:
    for wrong, words in (
        ({"rank_by": "stars"}, "rank_by must be one of 'best', 'likely', 'liked': got 'stars'"),
        ({"diversity": -1}, "diversity must be between 0 and 10: got -1"),
        ({"n": 0}, "n must be"),
    ):
        for ask in (model.release.recommend, model.recommend):
            with pytest.raises(ParameterError, match=words):
                ask(**wrong)
