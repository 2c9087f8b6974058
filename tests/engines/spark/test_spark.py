"""Spark gives the release that a fit in memory gives, bit for bit."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
import discreet.engines.spark as ds
from discreet.data.edges import check_tables
from discreet.data.ids import Ids
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.engines.spark import sql, stated
from discreet.errors import DataError, DataMissingError, ParameterError, SpecError
from discreet.privacy.noise import Randomness
from discreet.privacy.personalise import sample
from discreet.privacy.provenance import Neighbours
from discreet.readers.club import Club
from discreet.release.ranking import Ranking
from discreet.schemes.base import Run
from tests.engines import losses
from tests.engines.test_stream import same

# One session for all: on one worker, where tests run on several.
pytestmark = pytest.mark.xdist_group("spark")
GROUPS = dc.PrivacySpec.groups(seed=7)


@pytest.fixture(scope="module")
def source(spark: Any, parquet: Path) -> ds.SparkRatings:
    return ds.read_ratings(spark, str(parquet))


@pytest.mark.parametrize(
    "scheme",
    [
        dc.Tally(),
        dc.Tally(personalisation="sample"),
        dc.Tally(unit="person"),
        dc.Tally(neighbours=Neighbours.REPLACE),
        dc.Chorus(delta=1e-6, factors=3, rounds=2),
        dc.Chorus(delta=1e-6, factors=2, rounds=2, unit="person"),
    ],
)
def test_spark_gives_the_release_of_the_table_in_memory(
    scheme: Any, club: Club, source: ds.SparkRatings
) -> None:
    here = scheme.fit(club.ratings, GROUPS, seed=5).release
    same(here, ds.fit(scheme, source, GROUPS, seed=5))


def test_with_a_catalogue_and_auto_too(club: Club, source: ds.SparkRatings) -> None:
    half = dc.Items.from_frame(club.items.frame[::2])
    for scheme in (dc.Tally(items=half), dc.Chorus(delta=1e-6, items=half)):
        here = scheme.fit(club.ratings, dc.PrivacySpec.uniform(4.0), seed=5).release
        same(here, ds.fit(scheme, source, dc.PrivacySpec.uniform(4.0), seed=5))


def levels(spark: Any, small: Ratings) -> Any:
    frame = small.to_frame().with_columns(
        epsilon=pl.when(pl.int_range(pl.len()) % 3 > 0).then(pl.int_range(1, pl.len() + 1) / 500)
    )
    return frame, spark.createDataFrame(frame.to_arrow())


def test_every_specification_says_the_same_in_sql(spark: Any, small: Ratings) -> None:
    frame, table = levels(spark, small)
    here = Ratings.from_frame(frame)
    someone, something = small.users.values[0], small.items.values[0]
    source = ds.spark_ratings(table)
    for spec in (
        dc.PrivacySpec.column(default=0.3),
        dc.PrivacySpec.by_user({someone: 0.2}, default=0.7),
        dc.PrivacySpec.by_item({something: 0.4, 10**9: 0.1}, default=1.0),
        dc.PrivacySpec.by_user({}, default=0.9),
        dc.PrivacySpec.by_user(dict.fromkeys(small.users.values, 0.4)),
        dc.PrivacySpec.by_item({float(something): 0.2}, default=1.0),
        GROUPS,
        dc.PrivacySpec.uniform(0.25),
    ):
        found = sql.with_levels(source, spec).select("user", "item", "level").toArrow()
        both = pl.DataFrame(pl.from_arrow(found)).sort("user", "item")
        assert (both["level"].to_numpy() == spec.levels(here)).all()
        same(dc.Tally().fit(here, spec, seed=2).release, ds.fit(dc.Tally(), source, spec, seed=2))


def test_integers_and_their_texts_are_the_same_ids(spark: Any, small: Ratings) -> None:
    numbers = small.to_frame()
    texts = numbers.with_columns(pl.col("item").cast(pl.String))
    catalogue = dc.Items.from_frame(numbers.select("item").unique())
    scheme = dc.Tally(items=catalogue)
    here = scheme.fit(Ratings.from_frame(numbers), seed=1).release
    for other in (numbers, texts):
        same(here, ds.fit(scheme, spark.createDataFrame(other.to_arrow()), seed=1))


def test_items_solved_from_sums_are_those_solved_from_ratings(
    club: Club, source: ds.SparkRatings
) -> None:
    scheme = dc.PDPPMF(variant="stated", solver="als", factors=6, threshold=0.5)
    randomness = Randomness(3)
    used = stated.with_numbers(source, sql.with_levels(source, GROUPS), 0.5, randomness)
    people = stated.train_people(used, 6, seed=1)
    V = stated.solve_items(scheme, source, used, people, 0.5, randomness)
    # The same sample and the same people, in memory.
    kept = sample(club.ratings, GROUPS.levels(club.ratings), 0.5, Randomness(3))
    assert used.count() == len(kept)
    numbers = used.join(people, used.user_row == people.id).select(
        "user_row", "item_row", "rating", "features"
    )
    rows = pl.DataFrame(pl.from_arrow(numbers.toArrow()))
    U = np.zeros((int(rows["user_row"].max()) + 1, 6))
    U[rows["user_row"].to_numpy()] = np.stack(rows["features"].to_numpy())
    U /= np.maximum(1, np.linalg.norm(U, axis=1))[:, None]
    frame = rows.select(user="user_row", item="item_row", rating="rating")
    local = Ratings.from_frame(frame)
    data = local.with_items(Ids.of(list(range(len(source.items))), "item"))
    expected = scheme.minimise(data, U[local.users.values.to_numpy()], 0.5, Run(Randomness(3)))
    np.testing.assert_allclose(V, expected, rtol=1e-6, atol=1e-6)


def test_the_papers_scheme_fits_and_serves(club: Club, source: ds.SparkRatings) -> None:
    scheme = dc.PDPPMF(variant="stated", solver="als", factors=4)
    release = ds.fit(scheme, source, GROUPS, seed=3)
    assert release.certificate.variant == "stated"
    assert release.certificate.threshold_words == "mean of the training levels"
    assert release.item_factors.shape == (len(club.ratings.items), 4)
    with pytest.raises(ParameterError, match="variant='stated'"):
        ds.fit(dc.PDPPMF(), source, GROUPS)
    with pytest.raises(ParameterError, match="Spark fits"):
        ds.fit(dc.PMF(), source)  # type: ignore[arg-type]


def same_lists(found: pl.DataFrame, expected: pl.DataFrame) -> None:
    """Parts of other sizes may round two items past each other, and hardly ever do."""
    both = expected.join(found, on=["user", "rank"], suffix="_there", validate="1:1")
    assert both.height == found.height == expected.height
    agree = both.filter(pl.col("item") == pl.col("item_there"))
    assert agree.height >= 0.99 * both.height
    np.testing.assert_allclose(agree["score"], agree["score_there"], rtol=1e-4)


def test_lists_are_those_of_the_release(
    club: Club, source: ds.SparkRatings, tmp_path: Path
) -> None:
    model = dc.Tally(items=club.items).fit(club.ratings, GROUPS, seed=5)
    ds.recommend(model.release, source, n=5).write.parquet(str(tmp_path / "lists"))
    found = pl.read_parquet(tmp_path / "lists" / "*.parquet")
    same_lists(found, model.recommend(n=5, recency=0.0))  # a source for fitting holds no times


@pytest.mark.parametrize("events", [False, True])
def test_what_was_chosen_lately_counts_for_more_in_spark_too(
    club: Club, spark: Any, parquet: Path, events: bool
) -> None:
    table: dc.Ratings = club.ratings
    if events:
        table = dc.Events.from_frame(table.to_frame().drop("rating"))
    model = dc.Tally(items=club.items).fit(table, dc.PrivacySpec.uniform(1.0), seed=5)
    frame = spark.read.parquet(str(parquet))
    frame = frame.drop("rating") if events else frame
    mapped = frame.withColumnRenamed("timestamp", "bought")
    for given, columns in ((frame, None), (mapped, {"timestamp": "bought"})):
        lists = ds.recommend(model.release, given, n=5, columns=columns)
        found = pl.DataFrame(pl.from_arrow(lists.toArrow()))
        same_lists(found, model.recommend(n=5))
    assert not model.recommend(n=5).equals(model.recommend(n=5, recency=0.0))
    from pyspark.sql import functions as sf

    broken = frame.withColumn("timestamp", sf.lit(None).cast("bigint"))
    with pytest.raises(DataError, match="timestamp is missing or no time"):
        ds.recommend(model.release, broken, n=5)


def test_lists_are_ranked_and_filtered_as_asked(club: Club, source: ds.SparkRatings) -> None:
    model = dc.Tally(items=club.items).fit(club.ratings, GROUPS, seed=5)
    ranking = Ranking(by="likely", diversity=1.0, among={"genres": "Comedy", "year": (1980, None)})
    found = pl.DataFrame(
        pl.from_arrow(ds.recommend(model.release, source, n=4, ranking=ranking).toArrow())
    )
    comedies = club.items.frame.filter(
        pl.col("genres").list.contains("Comedy") & (pl.col("year") >= 1980)
    )["item"]
    assert set(found["item"]) <= set(comedies)
    expected = model.recommend(
        n=4,
        rank_by="likely",
        diversity=1.0,
        among={"genres": "Comedy", "year": (1980, None)},
        recency=0.0,
    )
    same_lists(found, expected)
    with pytest.raises(ParameterError, match="rank_by must be one of"):
        ds.recommend(model.release, source, ranking=Ranking(by="stars"))


def test_a_bad_table_gets_a_clear_error(spark: Any, small: Ratings, tmp_path: Path) -> None:
    frame = small.to_frame()
    text = pl.col("rating").cast(pl.String)
    cases = {
        "two ratings of one pair": pl.concat([frame, frame[:1]]),
        "within the scale": frame.with_columns(rating=pl.lit(9.0)),
        "no column 'rating'": frame.drop("rating"),
        "rating is missing": frame.with_columns(
            rating=pl.when(pl.int_range(pl.len()) > 0).then(pl.col("rating"))
        ),
        "missing or no number": frame.with_columns(
            rating=pl.when(pl.int_range(pl.len()) > 0).then(text).otherwise(pl.lit("five"))
        ),
        "user id is missing": frame.with_columns(
            user=pl.when(pl.int_range(pl.len()) > 0).then(pl.col("user"))
        ),
        "epsilon must be finite": frame.with_columns(epsilon=pl.lit(-1.0)),
        "epsilon must be a number": frame.with_columns(epsilon=pl.lit("0,050")),
        "rating must be a number": frame.with_columns(rating=pl.lit(True)),
        "item ids must be": frame.with_columns(item=pl.lit(1.5)),
        "is empty": frame[:0],
    }
    for words, bad in cases.items():
        with pytest.raises(DataError, match=words):
            ds.fit(dc.Tally(), spark.createDataFrame(bad.to_arrow()), dc.PrivacySpec.uniform(1))
    _, table = levels(spark, small)
    with pytest.raises(SpecError, match="within the declared levels"):
        ds.fit(dc.Tally(), table, dc.PrivacySpec.column(max_level=0.2, default=0.1))
    for scheme in (dc.Tally(unit="person"), dc.Chorus(delta=1e-6)):
        with pytest.raises(SpecError, match="within the declared levels"):
            ds.fit(scheme, table, dc.PrivacySpec.column(max_level=0.2, default=0.1))
    blank = "has no level, and no default was declared"
    for scheme in (dc.Tally(), dc.Chorus(delta=1e-6)):
        with pytest.raises(SpecError, match=blank):
            ds.fit(scheme, table, dc.PrivacySpec.column())
    with pytest.raises(SpecError, match=blank):
        ds.fit(dc.Tally(), table, dc.PrivacySpec.by_user({small.users.values[0]: 0.2}))
    bare = spark.createDataFrame(frame.drop("epsilon", strict=False).to_arrow())
    with pytest.raises(SpecError, match="no epsilon column"):
        ds.fit(dc.Tally(), bare)
    with pytest.raises(DataMissingError, match="no file or folder"):
        ds.read_ratings(spark, str(tmp_path / "nowhere"))


def test_blanks_around_values_of_a_csv_are_none_of_theirs(spark: Any, tmp_path: Path) -> None:
    table = tmp_path / "blanks.csv"
    table.write_text("user,item,rating\n a , 1,3\nb,1 , 4 \n")
    source = ds.read_ratings(spark, str(table))
    assert source.items.values.to_list() == dc.read_ratings(table).items.values.to_list() == ["1"]
    assert {row["user"] for row in source.frame.collect()} == {"a", "b"}


def test_decimal_commas_are_read_as_they_are_here(spark: Any, tmp_path: Path) -> None:
    table = tmp_path / "commas.csv"
    table.write_text('user,item,rating,epsilon\na,1,"3,5","0,25"\nb,1,4.5,1\n')
    source, here = ds.read_ratings(spark, str(table)), dc.read_ratings(table)
    assert here.epsilon is not None
    found = sorted((row["rating"], row["epsilon"]) for row in source.frame.collect())
    assert found == list(zip(here.rating.tolist(), here.epsilon.tolist(), strict=True))
    assert found == [(3.5, 0.25), (4.5, 1.0)]


def test_ratings_outside_the_catalogue_are_told_to_the_owner(spark: Any, small: Ratings) -> None:
    source = ds.spark_ratings(spark.createDataFrame(small.to_frame().to_arrow()))
    some = Items.from_frame(pl.DataFrame({"item": range(100, 110)}))
    assert check_tables(source, some) == check_tables(small, some)
    np.testing.assert_allclose(source.per_item.sums, small.per_item.sums)
    none = Items.from_frame(pl.DataFrame({"item": ["a"]}))
    with pytest.raises(DataError, match="no rating is of an item in the item table"):
        ds.fit(dc.Tally(items=none), source, dc.PrivacySpec.uniform(1))


def test_a_key_that_was_only_declared_is_in_the_certificate(
    spark: Any, club: Club, parquet: Path
) -> None:
    scheme = dc.Tally(items=club.items)
    source = ds.read_ratings(spark, str(parquet), unique_pairs=True)
    here = scheme.fit(club.ratings, GROUPS, seed=5).release
    there = ds.fit(scheme, source, GROUPS, seed=5)
    assert there.certificate.assumptions[:-1] == here.certificate.assumptions
    assert "declared" in there.certificate.assumptions[-1]
    assert (there.item_effects == here.item_effects).all()
    unseeded = ds.fit(scheme, source, GROUPS).certificate
    assert unseeded.status == "conditional"


def test_a_pair_that_was_declared_unique_and_is_not_is_found_where_people_are_together(
    spark: Any, small: Ratings
) -> None:
    frame = small.to_frame()
    table = spark.createDataFrame(pl.concat([frame, frame[:1]]).to_arrow())
    source = ds.spark_ratings(table, unique_pairs=True)
    with pytest.raises(DataError, match="occurs twice"):
        ds.fit(dc.Chorus(delta=1e-6, factors=2), source, dc.PrivacySpec.uniform(1), seed=1)


@pytest.mark.parametrize("loss", [losses.tally_loss, losses.chorus_loss])
def test_a_person_loses_their_smallest_level_at_most_also_given_outside_the_catalogue(
    spark: Any, loss: Any
) -> None:
    ids = losses.catalogue().ids
    sources = [
        ds.spark_ratings(spark.createDataFrame(frame.to_arrow())).over(ids)
        for frame in losses.tables()
    ]
    assert 0.5 * losses.LEAST < loss(sources) <= losses.LEAST


@pytest.mark.parametrize(
    "scheme",
    [
        dc.Tally(items=losses.catalogue(), unit="person"),
        dc.Chorus(items=losses.catalogue(), unit="person", factors=1, rounds=2, delta=1e-6),
    ],
)
def test_a_fit_with_people_takes_their_levels_before_it_drops_records(
    spark: Any, scheme: Any
) -> None:
    frame, _ = losses.tables()
    here = scheme.fit(Ratings.from_frame(frame), losses.SPEC, seed=5).release
    same(here, ds.fit(scheme, spark.createDataFrame(frame.to_arrow()), losses.SPEC, seed=5))
