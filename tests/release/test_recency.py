"""Recency: what one chose lately counts for more, by one's own times alone."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.cli.recommend import recommend as command
from discreet.errors import DataError, ParameterError
from discreet.privacy.spec import PrivacySpec
from discreet.readers.club import Club
from discreet.release.own import read_own
from discreet.release.ranking import RECENCY, Ranking
from discreet.release.recency import HALF_LIFE, recent
from discreet.release.release import Release
from discreet.release.scoring import Own
from discreet.schemes.model import FactorModel
from discreet.schemes.tally import Tally
from tests.release.handmade import directions, genres_of, handmade


def own_of(*histories: Sequence[int]) -> Own:
    """People whose records have these times."""
    times = np.concatenate([np.array(one, np.int64) for one in histories])
    ptr = np.concatenate([[0], np.cumsum([len(one) for one in histories])]).astype(np.int64)
    count = len(times)
    return Own(ptr, np.arange(count, dtype=np.int32), np.ones(count), times)


@given(
    st.lists(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3), max_size=12)),
    st.floats(0, 1),
)
def test_a_record_counts_by_how_many_of_the_same_person_are_later(
    histories: list[list[int]], recency: float
) -> None:
    """Whatever the clock, and whoever else there is; records of one moment count alike."""
    if not histories:
        return
    found = recent(own_of(*histories), recency)
    later = [sum(other > time for other in one) for one in histories for time in one]
    expected = 1 - recency + recency * 0.5 ** (np.array(later, dtype=float) / HALF_LIFE)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_without_times_or_without_the_wish_everything_counts_alike() -> None:
    own = own_of([5, 1, 9], [2])
    assert recent(own, 0.0).tolist() == [1, 1, 1, 1]
    assert recent(own._replace(times=None), 0.7).tolist() == [1, 1, 1, 1]
    assert recent(own_of([4, 4, 4]), 0.7).tolist() == [1, 1, 1]  # as an import leaves them


@pytest.fixture(scope="module")
def model(club: Club) -> FactorModel:
    return Tally(items=club.items).fit(club.ratings, PrivacySpec.uniform(1.0), seed=1)


def crossing(count: int = 120) -> Release:
    """Popular alike, half of them of one genre and half of another."""
    return handmade(np.full(count, 300.0), frame=genres_of(count, 2), choices=directions(count))


@pytest.mark.parametrize("by", ["best", "likely"])
def test_a_list_follows_what_was_chosen_last(by: str) -> None:
    """First comedies and then action, or the other way round: the same items, other lists."""
    release = crossing()
    action, comedies = list(range(0, 40, 2)), list(range(1, 41, 2))
    mine = action + comedies
    shares = {}
    for last, times in (("action", range(40, 0, -1)), ("comedy", range(40))):
        listed = release.recommend(mine, n=20, rank_by=by, recency=1.0, times=list(times))
        shares[last] = float((listed["item"] % 2 == 1).mean())  # type: ignore[arg-type]
    assert shares["comedy"] > shares["action"]


def test_times_are_read_in_seconds_dates_and_texts(model: FactorModel) -> None:
    release = model.release
    mine = ["film-0001", "film-0007", "film-0100"], [5, 4, 5]
    assert read_own(release, *mine).times is None
    days: list[Any] = [date(2020, 1, 3), date(2020, 1, 1), date(2020, 1, 2)]
    asked: list[list[Any]] = [
        days,
        [datetime(day.year, day.month, day.day) for day in days],
        [str(day) for day in days],
        [3, 1, 2],
        [3.0, 1.0, 2.0],
    ]
    for times in asked:
        own = read_own(release, *mine, times)
        assert recent(own, 1.0).tolist() == [1.0, 0.5**0.2, 0.5**0.1]
        other = read_own(release, mine[0][::-1], mine[1][::-1], times[::-1])
        assert recent(other, 1.0).tolist() == recent(own, 1.0).tolist()


def test_times_that_make_no_sense_are_refused_by_name(model: FactorModel) -> None:
    mine = ["film-0001", "film-0007"], [5, 4]
    for times, words in (
        ([1], "every item needs one time: got 2 and 1"),
        ([1, None], r"timestamp is missing at row 2 \(user 'you', item 'film-0007'\)"),
        ([1.0, float("nan")], "timestamp must be finite: got nan"),
        (["1999-01-01", "yesterday"], "timestamp must be seconds or an ISO date"),
        ([1, "1999-01-01"], "times must be all seconds, or all dates"),
        ([1, 2**70], "times|timestamp"),
    ):
        for ask in (
            lambda times=times: model.release.recommend(*mine, times=times),
            lambda times=times: model.release.explain(*mine, "film-0002", times=times),
        ):
            with pytest.raises(DataError, match=words):
                ask()
    for recency in (-0.1, 1.1, float("nan")):
        for refused in (
            lambda recency=recency: model.recommend(["member-0001"], recency=recency),
            lambda recency=recency: model.explain("member-0001", "film-0002", recency=recency),
        ):
            with pytest.raises(ParameterError, match="recency must be between 0 and 1"):
                refused()


def test_a_model_reads_the_times_of_its_table(model: FactorModel, club: Club) -> None:
    """For one and for many as a release does for somebody who brings them."""
    user = "member-0007"
    own = club.ratings.to_frame().filter(pl.col("user") == user)
    mine = own["item"], own["rating"]
    there = model.release.recommend(*mine, times=own["timestamp"])
    here = model.recommend(["nobody", user, "member-0008"]).filter(pl.col("user") == user)
    assert here["item"].to_list() == there["item"].to_list()
    every = model.recommend().filter(pl.col("user") == user)
    assert len(set(every["item"]) & set(there["item"])) >= 9  # rounding may move one over the edge
    plain = model.release.recommend(*mine)
    assert not there.equals(plain)
    assert model.recommend([user], recency=0.0)["item"].to_list() == plain["item"].to_list()
    timeless = replace(model, ratings=replace(model.ratings, timestamp=None))
    assert timeless.recommend([user])["item"].to_list() == plain["item"].to_list()


def test_nobody_else_s_times_change_a_list(model: FactorModel) -> None:
    times = model.ratings.timestamp
    assert times is not None
    mine = model.ratings.user == 7
    moved = np.where(mine, times, np.random.default_rng(0).permutation(times))
    other = replace(model, ratings=replace(model.ratings, timestamp=moved))
    user = model.ratings.users.values[7]
    lists = [one.recommend().filter(pl.col("user") == user) for one in (model, other)]
    assert lists[0].equals(lists[1])
    assert not model.recommend().equals(other.recommend())


def test_the_latest_speak_louder_in_an_explanation() -> None:
    release = crossing()
    mine = list(range(0, 40, 2))
    for recency in (RECENCY, 1.0):
        shares = []
        for times in (range(20, 0, -1), None):  # the first is the latest
            told = release.explain(mine, (), 50, recency, times).because
            whole = told["share"].abs().sum()
            shares.append(told.filter(pl.col("item") == 0)["share"].abs().sum() / whole)
        assert shares[0] > 1.2 * shares[1]


def test_by_liking_times_change_nothing(model: FactorModel) -> None:
    assert model.recommend(rank_by="liked").equals(model.recommend(rank_by="liked", recency=0.0))


def test_the_command_line_has_the_same_default() -> None:
    defaults = command.__kwdefaults__
    assert defaults is not None
    assert defaults["recency"] == Ranking().recency == RECENCY
