"""Events in Spark give the release of the same events in memory, bit for bit."""

from typing import Any

import polars as pl
import pytest

import discreet.engines.spark as ds
from discreet.data.event_rules import EventRules, Quantity
from discreet.data.events import Events
from discreet.errors import DataError
from discreet.privacy.provenance import Pairs
from discreet.privacy.spec import PrivacySpec
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.pmf.pdp import PDPPMF
from discreet.schemes.tally import Tally
from tests.engines.spark.test_spark import same_lists
from tests.engines.test_events import CATALOGUE, RULES, SPEC, in_memory, many_events
from tests.engines.test_stream import same

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture(scope="module")
def frame(spark: Any) -> Any:
    return spark.createDataFrame(many_events().to_arrow()).repartition(3)


EVERY_KIND = (
    Tally(items=CATALOGUE),
    Tally(items=CATALOGUE, unit="person"),
    Tally(items=CATALOGUE, personalisation="sample"),
    Chorus(items=CATALOGUE, delta=1e-6, factors=2, rounds=2),
    Chorus(items=CATALOGUE, delta=1e-6, factors=2, rounds=2, unit="person"),
)


@pytest.mark.parametrize("number", range(len(RULES)), ids=lambda k: RULES[k].words)
def test_spark_gives_the_release_of_the_table_in_memory(number: int, frame: Any) -> None:
    """Rules make the values, by SQL or by a task: of every kind with one, of one by either."""
    rules = RULES[number]
    source, here = ds.spark_events(frame, rules=rules), in_memory(rules)
    for scheme in EVERY_KIND if number == 0 else (EVERY_KIND[0], EVERY_KIND[-1]):
        there = ds.fit(scheme, source, SPEC, seed=5)
        same(scheme.fit(here, SPEC, seed=5).release, there)
        assert there.events


def test_everybody_s_list_is_that_of_the_release(frame: Any) -> None:
    model = Tally().fit(in_memory(EventRules()), SPEC, seed=5)
    lists = ds.recommend(model.release, frame, n=3).toArrow()
    same_lists(pl.DataFrame(pl.from_arrow(lists)), model.recommend(n=3))


def test_texts_of_times_and_numbers_are_read(spark: Any) -> None:
    rows = [
        ("a", "1", "2", "2024-01-02"),
        ("a", "1", "8", "2024-01-01"),
        ("b", "1", "4", "2023-01-01"),
    ]
    names = ["user_id", "item", "plays", "date"]
    rules = EventRules(Quantity(8), "last")
    source = ds.spark_events(spark.createDataFrame(rows, names), rules=rules)
    here = Events.from_frame(
        pl.DataFrame(rows, schema=names, orient="row"), quantity=Quantity(8), repeats="last"
    )
    assert here.rating.tolist() == [0.25, 0.5]
    spec = PrivacySpec.uniform(1.0)
    same(Tally().fit(here, spec, seed=1).release, ds.fit(Tally(), source, spec, seed=1))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([(1, 1, -1.0, 0.5)], "weight must be finite and >= 0"),
        ([(1, 1, None, 0.5)], "weight is missing"),
        ([(1, 1, 1.0, -0.5)], "epsilon must be finite and > 0"),
        ([(1, None, 1.0, 0.5)], "item id is missing"),
        ([(1, 1, 1.0, 0.5), (1, 1, 1.0, None)], "another event of the pair has one"),
    ],
)
def test_bad_rows_are_refused_by_name(spark: Any, rows: list[Any], said: str) -> None:
    kinds = "user long, item long, weight double, epsilon double"
    table = spark.createDataFrame([(2, 2, 1.0, 0.5), *rows], kinds)
    with pytest.raises(DataError, match=said):
        ds.spark_events(table, rules=EventRules(Quantity(3)))


def test_unique_pairs_are_declared_and_ratings_wanted_elsewhere(spark: Any) -> None:
    table = spark.createDataFrame([(1, 1), (2, 1)], "user long, item long")
    spec = PrivacySpec.uniform(1.0)
    release = ds.fit(Tally(), ds.spark_events(table, unique_pairs=True), spec, seed=1)
    assert release.certificate.provenance.pairs == Pairs.DECLARED
    with pytest.raises(DataError, match="events go with"):
        ds.fit(PDPPMF(variant="stated", solver="als"), ds.spark_events(table), spec)
