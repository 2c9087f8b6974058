"""Lists are judged by hand-made examples and by somebody else's code."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import ndcg_score

from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.errors import DataError, ParameterError
from discreet.evaluate.judge import Judging, judge_lists
from discreet.evaluate.lists import Facts, Lists, diversity, summary
from discreet.evaluate.splits import Split, leave_last_out
from tests.evaluate.test_evaluate import keys

SHARES = np.array([1 / 2, 1 / 2, 1 / 4, 1 / 8, 1 / 8, 1 / 8])


def lists_of(pairs: list[tuple[int, int]], relevant: list[tuple[int, int]], places: int) -> Lists:
    listed, wanted = (np.array(p, dtype=np.int64).reshape(-1, 2).T for p in (pairs, relevant))
    return Lists.of((listed[0], listed[1]), (wanted[0], wanted[1]), places, Facts(SHARES))


def test_figures_on_an_example_by_hand() -> None:
    # Person 0 gets items 3, 1, 2 and likes 1 and 5; person 2 gets 0, 1, 2 and likes 0.
    pairs = [(0, 3), (0, 1), (0, 2), (2, 0), (2, 1), (2, 2)]
    figures = summary(lists_of(pairs, [(0, 1), (0, 5), (2, 0)], 6), 3)
    assert figures["precision@3"] == pytest.approx((1 / 3 + 1 / 3) / 2)
    assert figures["recall@6"] == pytest.approx((1 / 2 + 1) / 2)
    first, second = 1 / np.log2(3) / (1 + 1 / np.log2(3)), 1.0
    assert figures["ndcg@3"] == pytest.approx((first + second) / 2)
    assert figures["distinct@3"] == 4
    assert figures["coverage@3"] == pytest.approx(4 / 6)
    assert figures["novelty@3"] == pytest.approx(((3 + 1 + 2) / 3 + (1 + 1 + 2) / 3) / 2)
    # Two people: the standard error of their mean is half their difference.
    assert figures["ndcg@3_margin"] == pytest.approx(1.96 * (second - first) / 2)
    assert "coverage@3_margin" not in figures


@pytest.mark.parametrize("top", [1, 3, 10])
def test_ndcg_is_what_scikit_learn_says(top: int) -> None:
    rng = np.random.default_rng(0)
    people, items = 30, 25
    truth = rng.random((people, items)) < 0.2
    truth[:, 0] |= ~truth.any(axis=1)
    scores = rng.random((people, items))
    order = np.argsort(-scores, axis=1)
    who = np.repeat(np.arange(people), items)
    lists = Lists.of((who, order.ravel()), np.nonzero(truth), 20, Facts(np.ones(items)))
    theirs = ndcg_score(truth.astype(float), scores, k=top)
    assert summary(lists, top)[f"ndcg@{top}"] == pytest.approx(theirs)


def test_the_order_of_people_and_strangers_does_not_count() -> None:
    pairs, relevant = [(0, 3), (0, 1), (2, 0), (2, 5)], [(0, 1), (2, 0)]
    turned = [(2, 0), (7, 1), (2, 5), (0, 3), (0, 1)]  # nothing is relevant to person 7
    one, other = (summary(lists_of(listed, relevant, 4), 2) for listed in (pairs, turned))
    np.testing.assert_equal(one, other)


def test_a_place_beyond_the_end_of_a_list_does_not_count() -> None:
    figures = summary(lists_of([(0, 3), (0, 1), (0, 2)], [(0, 2)], 2), 1)
    assert figures["precision@1"] == figures["recall@2"] == figures["ndcg@1"] == 0
    short = summary(lists_of([(0, 2)], [(0, 2)], 4), 2)
    assert (short["precision@2"], short["recall@4"], short["ndcg@2"]) == (0.5, 1, 1)
    assert short["novelty@2"] == 2


def test_where_nothing_is_relevant_every_figure_is_open() -> None:
    figures = summary(lists_of([(0, 3)], [], 2), 1)
    assert np.isnan(list(figures.values())).all()


def test_diversity_is_one_minus_the_mean_cosine_of_pairs() -> None:
    genres = [["War"], ["War", "Drama"], ["Drama"], [], ["War"], ["Comedy"]] + [["Comedy"]] * 9
    genres += [["War", "Drama"]] * 5
    items = Items.from_frame(pl.DataFrame({"item": range(len(genres)), "genres": genres}))
    facts = Facts.of(np.zeros(len(genres)), 10, items)
    assert facts.flags is not None
    listed = [(0, 0), (0, 1), (0, 3), (0, 2), (1, 0), (1, 3), (2, 0), (2, 4), (3, 0), (3, 5)]
    who, what = np.array(listed).T
    lists = Lists.of((who, what), (np.arange(4), np.zeros(4)), 4, facts)
    cosines = [np.sqrt(0.5), 0.0, np.sqrt(0.5)]  # of persons 0's items 0, 1 and 2; 3 has no genre
    np.testing.assert_allclose(diversity(lists), [1 - np.mean(cosines), np.nan, 0, 1], atol=1e-12)


class Fixed:
    """Recommends the same to everybody, and remembers how it was asked."""

    def __init__(self, items: list[int]) -> None:
        self.items, self.asked = items, (pl.Series(), 0)

    def recommend(self, users: Any, n: int) -> pl.DataFrame:
        self.asked = (pl.Series(users), n)
        rows = [(user, item) for user in users for item in self.items[:n]]
        return pl.DataFrame(rows, schema=["user", "item"], orient="row")


def table(rows: list[tuple[str, int, int]]) -> Ratings:
    return Ratings.from_frame(pl.DataFrame(rows, schema=["user", "item", "rating"], orient="row"))


@pytest.fixture
def split() -> Split:
    whole = table([("a", 1, 5), ("a", 2, 4), ("a", 3, 2), ("b", 1, 5), ("b", 3, 3), ("c", 4, 1)])
    tested = np.array([False, True, True, False, True, False])
    return Split(whole.subset(~tested), whole.subset(tested))


def test_targets_are_what_was_liked_or_all_that_was_consumed(split: Split) -> None:
    model = Fixed([2, 3])
    liked = judge_lists(model, split, how=Judging(top=1))
    assert model.asked[0].to_list() == ["a"]  # b liked nothing of what was held out
    assert model.asked[1] == 2  # once, for NDCG@1 and recall@2
    assert liked["recall@2"] == liked["ndcg@1"] == 1
    consumed = judge_lists(model, split, how=Judging(top=1, target="consumed"))
    assert model.asked[0].to_list() == ["a", "b"]
    assert (consumed["ndcg@1"], consumed["recall@2"]) == (0.5, 1)
    fond = judge_lists(model, split, how=Judging(top=1, relevant=3))
    assert fond["ndcg@1"] == 0.5
    with pytest.raises(ParameterError, match="target must be one of 'liked', 'consumed'"):
        judge_lists(model, split, how=Judging(target="seen"))


def test_some_people_are_drawn_the_same_for_every_model(split: Split) -> None:
    consumed = Judging(top=1, target="consumed", people=1)
    asked = []
    for listed in ([2, 3], [3, 2]):
        model = Fixed(listed)
        judge_lists(model, split, how=consumed)
        asked.append(model.asked[0].to_list())
    assert asked[0] == asked[1]
    assert len(asked[0]) == 1
    everybody = Fixed([2, 3])
    judge_lists(everybody, split, how=Judging(top=1, target="consumed", people=2))
    assert everybody.asked[0].to_list() == ["a", "b"]
    with pytest.raises(ParameterError, match="people"):
        judge_lists(everybody, split, how=Judging(people=0))


def test_novelty_counts_people_of_the_training_part(split: Split) -> None:
    figures = judge_lists(Fixed([1, 4, 2]), split, how=Judging(top=3))
    bits = -np.log2([2 / 3, 1 / 3, 1 / 3])  # nobody has item 2 there: it counts as one person's
    assert figures["novelty@3"] == pytest.approx(bits.mean())


def test_what_is_outside_the_catalogue_is_nobody_s_to_foresee(split: Split) -> None:
    items = Items.from_frame(pl.DataFrame({"item": [1, 3, 4, 9]}))
    figures = judge_lists(Fixed([9, 3]), split, items, Judging(top=1, target="consumed"))
    assert figures["recall@2"] == 1  # item 2 of person a does not count
    assert figures["coverage@1"] == 1 / 4


def test_the_last_record_of_everybody_is_held_out(small: Ratings) -> None:
    for count in (1, 3):
        train, test = leave_last_out(small, count)
        assert not keys(train) & keys(test)
        assert keys(train) | keys(test) == keys(small)
        assert train.timestamp is not None
        assert test.timestamp is not None
        sizes = np.bincount(small.user)
        assert np.bincount(test.user).tolist() == np.where(sizes > count, count, 0).tolist()
        for person in range(len(small.users)):
            past, future = (t.timestamp[t.user == person] for t in (train, test))  # type: ignore[index]
            assert past.max(initial=0) <= future.min(initial=10**10)


def test_records_at_the_same_time_are_left_out_by_chance() -> None:
    rows = [(f"u{k:03}", item, 3, 7) for k in range(200) for item in (1, 2)]
    whole = Ratings.from_frame(
        pl.DataFrame(rows, schema=["user", "item", "rating", "timestamp"], orient="row")
    )
    [one, same, other] = [leave_last_out(whole, seed=seed).test for seed in (0, 0, 1)]
    assert keys(one) == keys(same) != keys(other)
    # Of 200 fair coins fewer than 60 fall on a side in fewer than 1 of 10^8 draws.
    assert (np.bincount(one.item) >= 60).all()


def test_leaving_the_last_out_needs_times_and_people_with_more() -> None:
    timeless = table([("a", 1, 5), ("a", 2, 4)])
    with pytest.raises(DataError, match="needs a timestamp column"):
        leave_last_out(timeless)
    lonely = Ratings.from_frame(timeless.to_frame().with_columns(timestamp=pl.lit(1)).head(1))
    with pytest.raises(DataError, match="nobody has more than 1 records"):
        leave_last_out(lonely)
    with pytest.raises(ParameterError, match="count must be"):
        leave_last_out(lonely, 0)
