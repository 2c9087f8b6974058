import polars as pl
import pytest

from discreet.data.derived import looks_derived
from discreet.data.features import encode
from discreet.data.items import Items
from discreet.errors import DataError, ParameterError
from discreet.readers import datasets

# Columns of item tables that are published with ratings data: Goodreads, TMDB, Yelp, Amazon,
# SteamSpy, MyAnimeList, Last.fm.
DERIVED = [
    "average_rating", "ratings_count", "work_ratings_count", "work_text_reviews_count",
    "ratings_1", "ratings_5", "popularity", "vote_average", "vote_count", "stars",
    "review_count", "sales_rank", "salesRank", "rating_number", "positive", "negative",
    "owners", "average_forever", "median_playtime", "ccu_count", "scored_by", "members",
    "favorites", "playcount", "listeners", "num_ratings", "numRatings", "NumRatings",
    "n_reviews", "nReviews", "avgRating", "avg_score", "ratingcount", "nratings", "isPopular",
    "bestseller", "best_seller", "Best-Selling", "trending", "views", "viewCount", "likes",
    "rank", "meanRating", "mean", "units_sold", "number_of_ratings", "n", "count", "userscore",
]  # fmt: skip
PUBLIC = [
    "title", "original_title", "year", "release_year", "genres", "author", "authors",
    "director", "country", "county", "account", "discount", "soundtrack", "publisher",
    "language", "runtime", "duration", "price", "sale_price", "brand", "colour", "category",
    "num_pages", "page_count", "episodes", "n64", "N64", "content_rating", "mpaa_rating",
    "ageRating", "track_number", "number", "isbn_number", "overview", "series", "season",
    "studio", "platform", "watch_order", "playwright", "viewpoint", "mountain",
]  # fmt: skip


def test_names_that_look_derived_from_ratings_are_recognised_and_no_others() -> None:
    assert [name for name in DERIVED if not looks_derived(name)] == []
    assert [name for name in PUBLIC if looks_derived(name)] == []


def test_stars_are_ratings_as_numbers_and_actors_as_names() -> None:
    frame = pl.DataFrame({"item": [1, 2], "stars": [4.5, 3.0]})
    assert Items.from_frame(frame).left_out == ("stars",)
    assert Items.from_frame(frame.with_columns(stars=pl.Series(["4.5", "3"]))).left_out == (
        "stars",
    )
    actors = frame.with_columns(stars=pl.Series([["Ann"], ["Bob", "Zoe"]]))
    assert Items.from_frame(actors).left_out == ()


def goodreads() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "item": range(20), "title": [f"Book {k}" for k in range(20)],
            "year": [1990 + k % 9 for k in range(20)],
            "average_rating": [3.0 + k / 20 for k in range(20)],
            "ratings_count": [k**2 for k in range(20)], "ratings_5": range(20),
        }
    )  # fmt: skip


def test_a_column_that_looks_derived_is_neither_a_feature_nor_published() -> None:
    items = Items.from_frame(goodreads())
    assert items.frame.columns == ["item", "title", "year"]
    assert items.left_out == ("average_rating", "ratings_count", "ratings_5")
    assert items.vouched == ()
    features = encode(items, len(items))
    assert set(features.numbers) == {"year"}
    assert features.columns == ("title", "year")
    with pytest.raises(ParameterError, match=r"left out.*--public-column ratings_5"):
        encode(items, len(items), ("ratings_5",))


def test_a_column_that_was_vouched_for_is_a_feature() -> None:
    items = Items.from_frame(goodreads(), public_columns=["ratings_count"])
    assert items.frame.columns == ["item", "title", "year", "ratings_count"]
    assert items.left_out == ("average_rating", "ratings_5")
    assert items.vouched == ("ratings_count",)
    assert encode(items, len(items)).columns == ("title", "year", "ratings_count")
    with pytest.raises(DataError, match="no column 'sales' to vouch for"):
        Items.from_frame(goodreads(), public_columns=["sales"])
    with pytest.raises(ParameterError, match="must be a list"):
        Items.from_frame(goodreads(), public_columns="ratings_count")


def test_features_name_the_columns_that_they_were_made_of() -> None:
    frame = goodreads().select("item", "title", "year").with_columns(
        genres=pl.Series([[]] + [["Drama"]] * 19), same=pl.lit(3),
        seldom=pl.Series(["x"] * 19 + ["y"]), long=pl.lit("text"),
        series=pl.Series([f"s{k}" for k in range(20)]),
    )  # fmt: skip
    items = Items.from_frame(frame)
    assert encode(items, 20).columns == ("title", "year", "genres", "seldom")
    grouped = encode(items, 20, ("series",))
    assert grouped.columns == ("year", "genres", "seldom", "series")
    assert encode(None, 20).columns == ()


@pytest.mark.parametrize("name", ["user", "customer", "customer_id", "userId", "Buyer_ID"])
def test_a_column_of_people_is_never_published(name: str) -> None:
    with pytest.raises(DataError, match=f"has a column '{name}'"):
        Items.from_frame(pl.DataFrame({"item": [1, 2], name: [7, 8]}), public_columns=[name])


def test_a_rating_in_an_item_table_must_be_vouched_for() -> None:
    frame = pl.DataFrame({"item": [1, 2], "rating": [4, 5]})
    with pytest.raises(DataError, match=r"looks like a ratings table.*--public-column rating"):
        Items.from_frame(frame)
    assert Items.from_frame(frame, public_columns=["rating"]).vouched == ("rating",)
    with pytest.raises(DataError, match="looks like a ratings table"):
        Items.from_frame(frame.with_columns(user=1), public_columns=["rating", "user"])


@pytest.mark.parametrize("name", ["club", "ml-100k", "ml-1m", "netflix-7128"])
def test_the_data_sets_item_tables_come_through_whole(name: str) -> None:
    if name != "club" and datasets.find_items(name) is None:
        pytest.skip(f"the item table of {name} is not here: set DISCREET_DATA to its folder")
    items = datasets.load_items(name)
    assert items.left_out == ()
    assert {"title", "year"} <= set(items.frame.columns)


def test_items_come_out_in_canonical_order() -> None:
    items = Items.from_frame(pl.DataFrame({"title": ["B", "A"], "item": [20, 10]}))
    assert items.frame.columns == ["item", "title"]
    assert items.ids.values.to_list() == [10, 20]


def test_a_title_falls_back_to_the_id() -> None:
    items = Items.from_frame(pl.DataFrame({"item": ["x", "y"], "title": ["X", None]}))
    assert items.titles(["x", "y", "z"]) == ["X", "y", "z"]
    assert Items.from_frame(pl.DataFrame({"item": [1]})).titles([1]) == ["1"]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pl.DataFrame({"id": [1]}), "no column 'item'"),
        (pl.DataFrame({"item": []}), "empty"),
        (pl.DataFrame({"item": [1, 1]}), "item 1 stands twice"),
        (pl.DataFrame({"item": [1], "_effect": [0]}), "reserved"),
    ],
)
def test_a_bad_item_table_is_named(frame: pl.DataFrame, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Items.from_frame(frame)
