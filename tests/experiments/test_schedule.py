"""What to expect of a schedule of publications: played, not promised."""

import warnings

import polars as pl
import pytest

import discreet as dc
from discreet.errors import ParameterError, SecretsWarning
from discreet.experiments.schedule import AS_GOOD, Schedule, advised, plan_publications
from discreet.readers.club import Club

SMALL = dc.Chorus(delta=1e-6, factors=1, rounds=1, purpose="ratings")
TWO = Schedule(publications=2, first=9000, arriving=500)


def test_the_table_has_a_row_for_every_publication_and_number_declared() -> None:
    found = plan_publications(SMALL, dc.PrivacySpec.uniform(1.0), schedule=TWO, declared=[2, 1, 2])
    assert found.select("declared", "publication", "ratings").rows() == [
        (1, 1, 9000), (1, 2, 9500), (2, 1, 9000), (2, 2, 9500),
    ]  # fmt: skip
    assert found["rmse"].is_between(0.5, 1.5).all()


def test_a_plan_of_events_tells_how_good_lists_are(club: Club) -> None:
    """Nobody predicts a rating of them; the most people whose lists are judged are enough."""
    events = dc.Events.from_frame(club.ratings.to_frame().select("user", "item"))
    schedule = Schedule(publications=2, first=5_000, arriving=125_000)
    scheme = dc.Chorus(items=club.items, delta=1e-6, factors=0)
    found = plan_publications(
        scheme, dc.PrivacySpec.uniform(4.0), events, public=True, schedule=schedule, declared=[1]
    )
    assert found.columns == ["declared", "publication", "ratings", "ndcg@10"]
    first, last = found["ndcg@10"]
    assert 0 < first < last < 1
    assert advised(found) == 1


def test_the_n_whose_lists_are_best_is_advised() -> None:
    rows = {"declared": [1, 1, 12, 12], "publication": [1, 2, 1, 2], "ratings": [1, 2, 1, 2]}
    table = pl.DataFrame({**rows, "ndcg@10": [0.3, 0.3, 0.28, 0.34]})
    assert advised(table) == 12
    assert advised(table.with_columns(pl.lit(0.3).alias("ndcg@10"))) == 1


def test_the_same_seed_plays_the_same_and_another_one_does_not() -> None:
    def errors(seed: int) -> list[float]:
        spec = dc.PrivacySpec.uniform(1.0)
        found = plan_publications(SMALL, spec, schedule=TWO, declared=[2], seed=seed)
        return found["rmse"].to_list()

    assert errors(3) == errors(3)
    assert errors(3) != errors(4)


def test_errors_fall_as_ratings_come(club: Club) -> None:
    """From 2,000 ratings to 130,000, by far more than noise or a split may move them."""
    schedule = Schedule(publications=2, first=2_000, arriving=128_000)
    found = plan_publications(
        dc.Chorus(items=club.items, delta=1e-6, factors=0),
        dc.PrivacySpec.uniform(4.0),
        club.ratings,
        public=True,
        schedule=schedule,
        declared=[1],
    )
    first, last = found["rmse"]
    assert last < first - 0.03


def test_a_table_that_is_not_declared_public_is_warned_of(club: Club) -> None:
    some = club.ratings.subset(club.ratings.user < 200)
    spec, one = dc.PrivacySpec.uniform(1.0), Schedule(publications=1)
    with pytest.warns(SecretsWarning, match="no certificate counts"):
        plan_publications(SMALL, spec, some, schedule=one, declared=[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan_publications(SMALL, spec, some, public=True, schedule=one, declared=[1])


@pytest.mark.parametrize(
    ("schedule", "sizes"),
    [
        (Schedule(publications=3), [33, 66, 100]),
        (Schedule(publications=3, first=50), [50, 75, 100]),
        (Schedule(publications=3, arriving=20), [20, 40, 60]),
        (Schedule(publications=3, first=10, arriving=0), [10, 10, 10]),
        (Schedule(publications=1, first=7), [7]),
    ],
)
def test_how_many_ratings_there_are_each_time(schedule: Schedule, sizes: list[int]) -> None:
    assert schedule.sizes(100) == sizes


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(publications=12, first=50, arriving=5),
        Schedule(publications=2, first=101),
        Schedule(publications=0),
        Schedule(publications=2, first=0),
    ],
)
def test_a_schedule_that_does_not_fit_is_an_error(schedule: Schedule) -> None:
    with pytest.raises(ParameterError):
        schedule.sizes(100)


def test_of_numbers_as_good_as_each_other_the_smaller_one_is_advised() -> None:
    def table(second: float) -> pl.DataFrame:
        rows = {"declared": [4, 4, 12, 12], "publication": [1, 2, 1, 2]}
        return pl.DataFrame({**rows, "rmse": [0.9, 0.9, 0.9, second]})

    assert advised(table(0.9 - AS_GOOD)) == 4
    assert advised(table(0.9 - 4 * AS_GOOD)) == 12
