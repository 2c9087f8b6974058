"""Tally of events: docs/proofs/tally.md#events, exercised."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet.data.event_rules import EventRules, Quantity
from discreet.data.events import Events
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.errors import DataError, DiscreetError, LedgerError, ParameterError, ReleaseError
from discreet.evaluate.crossval import cross_validate
from discreet.privacy.fixedpoint import ONE_VOTE
from discreet.privacy.noise import Randomness
from discreet.privacy.personalise import weigh
from discreet.privacy.provenance import Neighbours
from discreet.privacy.spec import PrivacySpec
from discreet.publishing.file_ledger import FileLedger
from discreet.publishing.publish import publish
from discreet.release.release import Release
from discreet.release.tallies import Tallies
from discreet.schemes.bias import Bias
from discreet.schemes.pmf.dp import DPPMF
from discreet.schemes.pmf.pdp import PDPPMF
from discreet.schemes.pmf.pmf import PMF
from discreet.schemes.tally import Tally
from discreet.schemes.votes import count_votes
from tests.publishing.ledgers import no_noise
from tests.stats.scales import sample_size, scale_is

SPEC = PrivacySpec.column()


@pytest.fixture(scope="module")
def events(small: Ratings) -> Events:
    """400 events of 40 people on 30 items, of different values and levels."""
    return Events.from_frame(small.to_frame(), {"weight": "rating"}, quantity=Quantity(4, "log"))


@given(st.data())
def test_one_event_moves_the_counts_by_at_most_its_weight(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 8))
    value = st.floats(-5, 5)  # beyond the scale as well: the mechanism clips
    values = np.array(data.draw(st.lists(value, min_size=count, max_size=count)), np.float32)
    t = data.draw(st.floats(1e-3, 20))
    levels = np.array(data.draw(st.lists(st.floats(1e-3, 30), min_size=count, max_size=count)))
    frame = pl.DataFrame({"user": range(count), "item": [k % 3 for k in range(count)]})
    table = replace(Events.from_frame(frame), rating=values)
    weights = weigh(levels, t)
    whole = count_votes(table, weights)
    assert not whole[0].any()
    for k in range(count):
        rest = np.arange(count) != k
        moved = whole - count_votes(table.subset(rest), weights[rest])
        assert 0 <= moved.sum() == np.abs(moved).sum() <= weights[k]
        assert weights[k] <= min(1, levels[k] / t) * ONE_VOTE
        # Another value moves one count, in one direction: no further than the event itself.
        other = replace(table, rating=np.where(rest, values, np.float32(1 - values[k])))
        assert np.abs(whole - count_votes(other, weights)).sum() <= weights[k]


@given(st.data())
def test_one_person_moves_the_counts_by_at_most_all_their_votes(data: st.DataObject) -> None:
    pairs = data.draw(
        st.lists(st.tuples(st.integers(0, 2), st.integers(0, 5)), min_size=2, unique=True)
    )
    frame = pl.DataFrame(pairs, schema=["user", "item"], orient="row")
    levels = data.draw(st.lists(st.floats(0.01, 3), min_size=len(pairs), max_size=len(pairs)))
    table = Events.from_frame(frame.with_columns(epsilon=pl.Series(levels)))
    spec = PrivacySpec.column(max_level=3.0)
    items = Items.from_frame(pl.DataFrame({"item": range(6)}))
    scheme = Tally(unit="person", threshold=1.0, items=items)
    sums: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Randomness,
            "add_laplace",
            lambda _s, exact, scale, **_: sums.append((exact, scale)) or exact,
        )
        scheme.fit(table, spec)
        for person in range(len(table.users)):
            rest = table.user != person
            if not rest.any():
                continue
            scheme.fit(table.subset(rest), spec)
            (whole, scale), (others, _) = sums[0], sums[-1]
            assert table.epsilon is not None
            smallest = float(table.epsilon[~rest].min())
            assert np.abs(whole - others).sum() <= min(smallest, 1.0) * scale


def test_counts_without_noise_are_sums_of_weighed_values(
    events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_noise(monkeypatch)
    found = Tally().fit(events, SPEC).release.tallies
    assert found is not None
    weights = weigh(SPEC.levels(events), 1.0).astype(np.float64)
    exact = np.zeros(len(events.items))
    np.add.at(exact, events.item, np.floor(weights * events.rating.astype(np.float64)))
    assert (found.in_favour == exact).all()
    assert not found.against.any()
    assert found.events
    np.testing.assert_array_equal(found.counts, exact / ONE_VOTE)


def test_the_noise_of_a_count_is_laplace_of_scale_one_over_t() -> None:
    """On a fine grid |x| is exponential; a scale off by 5% is refused."""
    count = sample_size(1)
    table = Events.from_frame(pl.DataFrame({"user": [1] * count, "item": range(count)}))
    t = 0.5
    tallies = Tally().fit(table, PrivacySpec.uniform(t), seed=11).release.tallies
    assert tallies is not None
    noise = tallies.counts - 1
    assert scale_is(np.abs(noise), 1, 1 / t)
    assert not scale_is(np.abs(noise) * 0.95, 1, 1 / t)
    assert not scale_is(np.abs(noise) * 1.05, 1, 1 / t)
    assert stats.binomtest(int((noise > 0).sum()), count).pvalue > 1e-6
    np.testing.assert_allclose(tallies.count_variance, 2 / t**2)


def test_the_variance_of_a_count_follows_what_it_is_made_of() -> None:
    one, noise = np.array([ONE_VOTE]), np.array([3.0])
    nothing = np.zeros(1, dtype=np.int64)
    assert Tallies(one, one, noise).count_variance.tolist() == [6.0]
    assert Tallies(one, one, noise, shared_noise=True).count_variance.tolist() == [0.0]
    counted = Tallies(nothing, one, noise, events=True)
    assert counted.count_variance.tolist() == [3.0]
    assert (counted + counted).counts.tolist() == [2.0]
    assert (counted + counted).events
    with pytest.raises(ReleaseError, match="of ratings and of events"):
        counted + Tallies(nothing, one, noise)
    with pytest.raises(ReleaseError, match="nothing is voted against"):
        Tallies(one, one, noise, events=True)


def test_relabelling_people_changes_nothing(events: Events) -> None:
    renamed = events.to_frame().with_columns(user="x" + pl.col("user").str.reverse())
    other = Events.from_frame(renamed, quantity=Quantity(1))
    assert sorted(other.rating) == sorted(events.rating)
    for scheme in (Tally(), Tally(unit="person")):
        one, two = (scheme.fit(table, SPEC, seed=3).release.tallies for table in (events, other))
        assert one is not None
        assert two is not None
        assert (one.in_favour == two.in_favour).all()


@pytest.mark.parametrize("unit", ["rating", "person"])
def test_a_certificate_says_that_the_event_itself_is_hidden(events: Events, unit: str) -> None:
    items = Items.from_frame(pl.DataFrame({"item": range(100, 130)}))
    certificate = Tally(unit=unit, items=items).fit(events, SPEC).release.certificate
    assert certificate.status == "proven"
    assert certificate.unit == ("event" if unit == "rating" else "person")
    assert certificate.theorem.name == ("tally-events" + ("-person" if unit == "person" else ""))
    assert certificate.provenance.events == events.rules.words
    told = " ".join([certificate.statement, *certificate.assumptions, certificate.about_sums])
    assert "event" in told
    assert not re.search(r"\brating", told + certificate.levels)
    if unit == "rating":
        assert "A record is (user, item, value, epsilon)" in certificate.statement


def test_a_release_of_events_round_trips_and_gives_lists(events: Events, tmp_path: Path) -> None:
    model = Tally().fit(events, SPEC, seed=1)
    model.release.save(tmp_path / "r")
    read = Release.load(tmp_path / "r")
    assert read.events
    assert read.files() == model.release.files()
    assert read.tallies is not None
    mine = [100, 101]
    found = read.recommend(mine, n=5)
    order = np.argsort(-read.tallies.counts, kind="stable")
    expected = [item for item in read.item_ids.take(order) if item not in mine][:5]
    assert found["item"].to_list() == expected
    assert found["score"].is_sorted(descending=True)
    assert read.recommend(n=2)["item"].to_list() == read.item_ids.take(order)[:2].to_list()
    everybody = model.recommend(n=3)
    for person in ("u1", "u7"):
        one = model.recommend([person], n=3)
        assert one["item"].to_list() == everybody.filter(pl.col("user") == person)["item"].to_list()
    with pytest.raises(DataError, match="rated twice"):
        read.recommend([100, 100])


def test_no_rating_is_predicted_of_events(events: Events) -> None:
    model = Tally().fit(events, SPEC, seed=1)
    for ask in (
        lambda: model.predict(["u1"], [100]),
        lambda: model.predict(["u1"], [100], with_error=True),
        lambda: model.release.predict([100], [1], [101]),
        lambda: model.predict_ratings(events),
    ):
        with pytest.raises(ParameterError, match="predicts choices, not ratings"):
            ask()


@pytest.mark.parametrize("scheme", [PMF(), DPPMF(), PDPPMF(), Bias()])
def test_schemes_that_learn_from_ratings_refuse_events(scheme: Any, events: Events) -> None:
    with pytest.raises(DataError, match="events go with"):
        scheme.fit(events, PrivacySpec.uniform(1.0), seed=1)


def test_that_an_event_happened_cannot_be_public(events: Events) -> None:
    with pytest.raises(ParameterError, match="use add/remove neighbours"):
        Tally(neighbours=Neighbours.REPLACE).fit(events, SPEC)


def test_a_ledger_counts_a_pair_once_and_adds_no_ratings(
    events: Events, small: Ratings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_noise(monkeypatch)
    items = Items.from_frame(pl.DataFrame({"item": range(100, 130)}))
    scheme, ledger = Tally(items=items), FileLedger(tmp_path / "ledger.db")

    def put(table: Ratings) -> Release:
        return publish(scheme, table, SPEC, out=tmp_path / "r", ledger=ledger).release

    early = events.subset(np.arange(len(events)) % 2 == 0)
    put(early)
    again, once = put(events), Tally(items=items).fit(events, SPEC).release
    for release in (again, put(events)):
        assert release.tallies is not None
        assert once.tallies is not None
        assert release.events
        assert (release.tallies.in_favour == once.tallies.in_favour).all()
    assert again.certificate.theorem.name == "incremental-events"
    assert "events" in again.certificate.statement
    told = " ".join([*again.certificate.assumptions, again.certificate.about_sums])
    assert not re.search(r"\brating", told.lower())
    assert "an event's budget" in told
    np.testing.assert_allclose(again.tallies.noise_variance, 2 * once.tallies.noise_variance)  # type: ignore[union-attr]
    other = replace(events, rules=EventRules())
    assert again.certificate.provenance.events == events.rules.words
    rules = put(other).certificate.provenance.events
    assert rules is not None
    assert other.rules.words in rules
    assert events.rules.words in rules
    unit = Ratings.from_frame(small.to_frame().with_columns(rating=pl.lit(1.0)), scale=(0, 1))
    with pytest.raises(LedgerError, match="of events"):
        put(unit)


def test_lists_alone_are_judged(events: Events) -> None:
    found = cross_validate(Tally(), events, SPEC, folds=3, seed=1)
    assert {"ndcg@10", "recall@20", "fold"} <= set(found.columns)
    assert "rmse" not in found.columns
    assert found["ndcg@10"].is_between(0, 1).all()


def test_an_old_release_is_of_ratings(small: Ratings) -> None:
    release = Tally().fit(small, SPEC, seed=1).release
    assert not release.events
    assert release.certificate.provenance.events is None
    with pytest.raises(DiscreetError, match="every item needs one rating"):
        release.recommend([100])
