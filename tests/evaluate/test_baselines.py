"""Baselines are what they are called: each equals its formula, written out."""

from dataclasses import replace

import numpy as np
import pytest

from discreet.data.event_rules import Quantity
from discreet.data.events import Events
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.errors import DataError, ParameterError
from discreet.evaluate.baselines import BASELINES, REFERENCES, find_method
from discreet.evaluate.baselines.ease import EASE, MOST_ITEMS
from discreet.evaluate.baselines.item_knn import ItemKNN
from discreet.evaluate.baselines.own_mean import OwnMean
from discreet.evaluate.baselines.popularity import Popularity, PrivatePopularity
from discreet.evaluate.crossval import NOT_PRIVATE, evaluate_split
from discreet.evaluate.judge import TARGETS, Judging, Predicts, Recommends, judge_lists
from discreet.evaluate.splits import hold_out
from discreet.privacy.spec import PrivacySpec
from discreet.schemes import SCHEMES, find_scheme
from discreet.schemes.bias import Bias
from discreet.schemes.tally import Tally


def matrix(ratings: Ratings) -> np.ndarray:
    X = np.zeros((len(ratings.users), len(ratings.items)))
    X[ratings.user, ratings.item] = 1
    return X


def best(scores: np.ndarray, X: np.ndarray, n: int) -> list[list[int]]:
    """The n largest scores of every row that X has not, ties by popularity, then in order."""
    popular = 1e-6 * X.sum(axis=0) / X.sum(axis=0).max()
    order = np.argsort(-np.where(X > 0, -np.inf, scores + popular), axis=1, kind="stable")
    return [[int(j) for j in row if not X[i, j]][:n] for i, row in enumerate(order)]


def listed(model: Recommends, ratings: Ratings, n: int) -> list[list[int]]:
    frame = model.recommend(ratings.users.values, n)
    rows = ratings.items.rows(frame["item"])
    who = ratings.users.rows(frame["user"])
    return [rows[who == person].tolist() for person in range(len(ratings.users))]


def test_popularity_ranks_by_counts(small: Ratings) -> None:
    X = matrix(small)
    counts = np.repeat(X.sum(axis=0)[None], len(X), axis=0)
    model = Popularity().fit(small)
    assert listed(model, small, 7) == best(counts, X, 7)
    everything = model.recommend(["u3"], 30, exclude_rated=False)
    assert everything["item"].n_unique() == 30
    assert everything["score"].is_sorted(descending=True)


def test_private_popularity_ranks_by_the_counts_of_a_tally(small: Ratings) -> None:
    spec = PrivacySpec.uniform(0.3)
    model = PrivatePopularity().fit(small, spec, seed=5)
    tallies = Tally().fit(small, spec, seed=5).release.tallies
    assert tallies is not None
    counts = np.repeat(sum(tallies.votes())[None], len(small.users), axis=0)  # type: ignore[index]
    assert listed(model, small, 7) == best(counts, matrix(small), 7)
    assert model.release is not None
    levelless = replace(small, epsilon=None)
    assert "levels" in PrivatePopularity.why_not(levelless, None)
    assert not PrivatePopularity.why_not(levelless, spec)
    assert not PrivatePopularity.why_not(small, None)


def test_ease_is_the_regression_of_every_item_on_all_others(small: Ratings) -> None:
    """Column k of B minimises |x_k - X b|^2 + lambda |b|^2 with b_k = 0: solved one by one."""
    X, ridge = matrix(small), 3.0
    B = np.zeros((X.shape[1], X.shape[1]))
    for k in range(X.shape[1]):
        others = np.delete(np.arange(X.shape[1]), k)
        A = X[:, others]
        B[others, k] = np.linalg.solve(A.T @ A + ridge * np.eye(len(others)), A.T @ X[:, k])
    model = EASE(ridge=ridge).fit(small)
    np.testing.assert_allclose(model.score(small.by_user), X @ B, atol=1e-5)
    assert listed(model, small, 5) == best(model.score(small.by_user), X, 5)


def test_ease_s_own_ridge_is_the_count_of_a_typical_record_s_item(small: Ratings) -> None:
    counts = matrix(small).sum(axis=0)
    typical = float(counts[small.item].mean())
    one, same = (EASE(ridge=ridge).fit(small).score(small.by_user) for ridge in (None, typical))
    np.testing.assert_allclose(one, same)


def test_a_table_too_large_for_ease_is_refused_with_the_reason(
    small: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert EASE().why_not(small) == ""
    monkeypatch.setattr("discreet.evaluate.baselines.ease.MOST_ITEMS", 29)
    assert EASE().why_not(small) == "30 items, more than 29"
    with pytest.raises(ParameterError, match="30 items, more than 29"):
        EASE().fit(small)
    assert MOST_ITEMS == 6_000


@pytest.mark.parametrize("neighbours", [1, 4, 100])
def test_item_knn_is_brute_force(small: Ratings, neighbours: int) -> None:
    X = matrix(small)
    both = X.T @ X
    counts = np.diag(both)
    alike = both / (np.sqrt(np.outer(counts, counts)) + 10)
    np.fill_diagonal(alike, -1)
    scores = np.zeros_like(X)
    for j, row in enumerate(alike):
        near = np.argsort(-row, kind="stable")[: min(neighbours, 29)]
        scores[:, near] += X[:, [j]] * row[near]
    model = ItemKNN(neighbours=neighbours).fit(small)
    np.testing.assert_allclose(model.score(small.by_user), scores, atol=1e-12)


def test_one_s_own_mean_is_drawn_to_everybody_s(small: Ratings) -> None:
    model = OwnMean(shrink=2.0).fit(small)
    mean = small.rating.mean(dtype=np.float64)
    own = small.rating[small.user == 3].astype(np.float64)
    expected = (own.sum() + 2 * mean) / (len(own) + 2)
    predicted = model.predict_ratings(small)
    np.testing.assert_allclose(predicted[small.user == 3], expected)
    frame = small.to_frame().with_columns(user=np.array(["somebody else"]).repeat(400))
    stranger = Ratings.from_frame(frame.unique(["user", "item"]))
    np.testing.assert_allclose(model.predict_ratings(stranger), mean)
    assert not isinstance(model, Recommends)


def test_somebody_without_records_gets_what_is_popular(small: Ratings) -> None:
    counts = np.bincount(small.item)
    best = small.items.take(np.argsort(-counts, kind="stable")[:4]).to_list()
    for name in ("popularity", "item-knn", "ease"):
        frame = find_method(name)().fit(small).recommend(["u1", "ghost"], 4)
        assert frame.filter(frame["user"] == "ghost")["item"].to_list() == best


def test_baselines_cover_the_catalogue_and_pass_over_the_rest(small: Ratings) -> None:
    some = Items.from_frame(small.items.values.head(20).to_frame("item"))
    for name in ("popularity", "item-knn", "ease"):
        model = find_method(name)(items=some).fit(small)
        assert set(model.recommend(None, 30)["item"]) <= set(some.ids.values)


def test_of_events_lists_alone_are_judged_by_all_that_was_chosen(small: Ratings) -> None:
    plays = Events.from_frame(small.to_frame(), {"weight": "rating"}, quantity=Quantity(5))
    split = hold_out(plays, 0.2)
    assert isinstance(split.test, Events)
    for name in ("popularity", "private-popularity", "item-knn", "ease"):
        model = find_method(name)().fit(split.train, PrivacySpec.column(), seed=0)
        liked, consumed = (judge_lists(model, split, how=Judging(target=t)) for t in TARGETS)
        np.testing.assert_equal(liked, consumed)
        assert 0 < liked["recall@20"] <= 1
    with pytest.raises(DataError, match="learns from ratings"):
        OwnMean().fit(plays)


def test_no_baseline_is_offered_for_a_release() -> None:
    assert not set(BASELINES) & set(SCHEMES)
    for name in BASELINES:
        with pytest.raises(ParameterError, match="there is no scheme"):
            find_scheme(name)
        assert not find_method(name).about.publishes


def test_references_are_judged_by_what_they_can_do(small: Ratings) -> None:
    split, spec = hold_out(small, 0.2), PrivacySpec.column()
    for reference in REFERENCES:
        row = evaluate_split(reference.build(None), split, spec, seed=0)
        assert ("rmse" in row) or reference.of == "lists"
        assert ("ndcg@10" in row) or reference.of == "errors"
        private = reference.name == "private-popularity"
        assert (row["mechanism"] == NOT_PRIVATE) != private
    assert isinstance(Bias().fit(small), Predicts)


def test_a_single_item_has_no_neighbour(small: Ratings) -> None:
    one = small.with_items(Items.from_frame(small.items.values.head(1).to_frame("item")).ids)
    assert ItemKNN().fit(one).recommend(["ghost"], 3).height == 1
