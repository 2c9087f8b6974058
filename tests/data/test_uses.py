"""What the columns of an item table are used for: odd tables, any table, and one decision only."""

from datetime import date, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from polars.testing.parametric import dataframes

from discreet.data.column_use import Role, use_column
from discreet.data.families import MOST_IN_FAMILY, TITLE_FAMILY
from discreet.data.features import encode
from discreet.data.items import Items
from discreet.data.numbers import ENOUGH_TO_TELL
from discreet.data.uses import Use, decide_uses
from discreet.errors import DataError, ParameterError

N = 240
GENRES = ["Action", "Comedy", "Drama", "War", "Romance"]
draw = np.random.default_rng(20).integers


def mixed(delimiter: str, shift: int = 0) -> list[str]:
    """One to three genres in one string."""
    rows = [range(k, k + 1 + k % 3) for k in range(shift, N + shift)]
    return [delimiter.join(GENRES[(j + j // 7) % 5] for j in row) for row in rows]


def days() -> list[date]:
    return [date(1990, 1, 1) + timedelta(days=37 * k) for k in range(N)]


ODD: dict[str, tuple[Role, list[object]]] = {
    "commas": (Role.FLAGS, mixed(", ")),
    "pipes": (Role.FLAGS, mixed("|", 1)),
    "semicolons": (Role.FLAGS, mixed("; ", 2)),
    "python list": (Role.FLAGS, [str(text.split("|")) for text in mixed("|", 3)]),
    "records": (Role.FLAGS, [f'[{{"id": 5, "name": "{GENRES[k % 5]}"}}]' for k in range(N)]),
    "list": (Role.FLAGS, [text.split("|") for text in mixed("|", 4)]),
    "list of numbers": (Role.FLAGS, [[k % 4, 9] for k in range(N)]),
    "pairs": (Role.FLAGS, [f"{GENRES[k % 5]}|{GENRES[(k + 1 + k % 2) % 5]}" for k in range(N)]),
    "language": (Role.FLAGS, ["en" if k % 5 else "de" for k in range(N)]),
    "country": (Role.FLAGS, [["Korea, South", "Korea, North", "Chile"][k % 3] for k in range(N)]),
    "boolean": (Role.FLAG, [k % 7 == 0 for k in range(N)]),
    "zeros and ones": (Role.FLAG, [int(k % 9 == 0) for k in range(N)]),
    "author": (Role.FAMILIES, [f"Author {k // 3}" for k in range(N)]),
    "last, first": (Role.FAMILIES, [f"Name{k // 4}, Ann{k // 4 % 5}" for k in range(N)]),
    "brand_id": (Role.FAMILIES, [1000 + k // 2 for k in range(N)]),
    "year": (Role.NUMBER, [1950 + k % 60 if k % 11 else None for k in range(N)]),
    "year as text": (Role.NUMBER, [str(1940 + k % 70) if k % 11 else "n/a" for k in range(N)]),
    "a typo": (Role.NUMBER, ["DK Publishing", *(str(1930 + k % 80) for k in range(N - 1))]),
    "price": (Role.NUMBER, [f"${1 + k % 90:,}.99" for k in range(N)]),
    "Preis": (Role.NUMBER, [f"{k % 31},{k % 83 % 90 + 10}" for k in range(N)]),
    "runtime": (Role.NUMBER, [f"{60 + k * k % 97} min" for k in range(N)]),
    "weight": (Role.NUMBER, [0.25 + k for k in range(N)]),
    "date": (Role.YEARS, days()),
    "time": (Role.YEARS, [datetime(1995, 1, 1) + timedelta(hours=950 * k) for k in range(N)]),
    "iso": (Role.YEARS, [f"{day + timedelta(days=5)}T12:00:00Z" for day in days()]),
    "day first": (Role.YEARS, [f"{d + timedelta(days=11):%d-%b-%Y}" for d in days()]),
    "isbn13": (Role.LEFT_OUT, [9780000000000 + int(x) for x in draw(0, 10**9, N)]),
    "isbn": (Role.LEFT_OUT, [f"0{k * 7919:08d}X" for k in range(N)]),
    "work_id": (Role.LEFT_OUT, [5 * k + 3 for k in range(N)]),
    "row": (Role.LEFT_OUT, list(range(N))),
    "constant": (Role.LEFT_OUT, [3.5] * N),
    "constant text": (Role.LEFT_OUT, ["x"] * N),
    "constant list": (Role.LEFT_OUT, [["x"]] * N),
    "nothing": (Role.LEFT_OUT, [None] * N),
    "empty": (Role.LEFT_OUT, [""] * N),
    "overview": (Role.LEFT_OUT, [f"A {k} of a film, with {k * k} cats, in Rome" for k in range(N)]),
    "image": (Role.LEFT_OUT, [f"https://example.org/{k % 20}.png" for k in range(N)]),
    "imdb": (Role.LEFT_OUT, [f"tt{k:07d}" for k in range(N)]),
    "record": (Role.LEFT_OUT, [{"a": k} for k in range(N)]),
    "bytes": (Role.LEFT_OUT, [b"x"] * N),
    "a copy": (Role.LEFT_OUT, [f"Author no. {k // 3}" for k in range(N)]),
    "price in cents": (Role.LEFT_OUT, [100 * (1 + k % 90) + 99 for k in range(N)]),
}  # fmt: skip
"""Columns by name: what they must be used as, and their values."""


def odd_table() -> Items:
    columns = {name: pl.Series(name, values, strict=False) for name, (_, values) in ODD.items()}
    titles = [f"Tale {'abcdefgh'[k % 8]}{k // 8}" for k in range(N)]
    frame = pl.DataFrame({"item": range(N), "title": titles, **columns, "popularity": range(N)})
    return Items.from_frame(frame)


def test_every_odd_column_is_used_as_it_should_be() -> None:
    uses = {use.column: use for use in decide_uses(odd_table())}
    found = {name: uses[name].role for name in ODD}
    assert found == {name: role for name, (role, _) in ODD.items()}, uses
    assert uses["item"].role == Role.ID
    assert uses["title"].role == Role.TITLES
    assert uses["popularity"].role == Role.UNPUBLISHED
    assert "--public-column popularity" in uses["popularity"].why


def test_what_is_shown_is_what_is_encoded() -> None:
    items = odd_table()
    assert_agreement(decide_uses(items), items)
    assert encode(items, N).columns == tuple(
        use.column
        for use in decide_uses(items)
        if use.role not in (Role.ID, Role.LEFT_OUT, Role.UNPUBLISHED)
    )


def assert_agreement(uses: tuple[Use, ...], items: Items) -> None:
    features = encode(items, len(items))
    for kind in ("numbers", "flags", "families"):
        shown = {name: values for use in uses for name, values in getattr(use, kind).items()}
        encoded = getattr(features, kind)
        assert set(shown) == set(encoded)
        for name, values in encoded.items():
            assert np.array_equal(values, shown[name])
            assert len(values) == len(items)
            assert np.isfinite(values).all()
    assert list(features.families)[:1] in ([], [TITLE_FAMILY]) or not any(
        use.role == Role.TITLES for use in uses
    )


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(dataframes(max_cols=4, min_size=1, max_size=12))
@example(pl.DataFrame({"a": [1e308, -1e308], "b": [5e-324, 1e99], "c": [float("nan")] * 2}))
@example(pl.DataFrame({"a": [2**63 - 1, 0], "b": ["[", "]"], "c": [[], [None]]}))
def test_no_table_of_any_types_is_too_odd(frame: pl.DataFrame) -> None:
    renamed = frame.rename({name: f"c{k}" for k, name in enumerate(frame.columns)})
    items = Items.from_frame(renamed.with_columns(item=pl.Series(range(frame.height))))
    uses = decide_uses(items)
    assert_agreement(uses, items)
    assert all(use.why for use in uses)


WORDS = ["", " ", "a", "b", "a|b", "a, b", "b, a, c", "['a']", "[", "1", "02", "1,5", "$3", "n/a",
         "1999-01-01", "03/04/2001", "https://x", "\n", "é", "\\N"]  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.none() | st.sampled_from(WORDS), min_size=1, max_size=60))
def test_any_mixture_of_texts_has_a_use_and_a_reason(texts: list[str | None]) -> None:
    frame = pl.DataFrame({"item": range(len(texts)), "text": pl.Series(texts, dtype=pl.String)})
    for table in (frame, frame.rename({"text": "title"}), frame.rename({"text": "genre_id"})):
        items = Items.from_frame(table)
        assert_agreement(decide_uses(items), items)


def test_a_long_tail_is_shortened_in_the_same_way_in_any_currency() -> None:
    euros = np.exp(draw(0, 9, N) + draw(0, 99, N) / 99)
    in_euros, in_cents = (
        use_column(pl.Series("price", prices)) for prices in (euros, np.round(100 * euros, 6))
    )
    assert "by logarithm" in in_euros.why
    difference = in_cents.numbers["price"] - in_euros.numbers["price"]
    assert np.ptp(difference) < 1e-6
    assert "logarithm" not in use_column(pl.Series("year", [1900, *range(1980, 2020)])).why


def test_a_year_0_is_a_gap_and_an_early_film_is_none() -> None:
    years = [*range(1970, 2004)] * 6
    with_zeros = use_column(pl.Series("year", [*years, 0, 0])).numbers["year"]
    assert with_zeros[-1] == pytest.approx(np.mean(years))
    assert use_column(pl.Series("year", [*years, 1896])).numbers["year"][-1] == 1896


def test_numbers_name_items_only_where_there_are_enough_to_tell() -> None:
    rows = list(range(2 * ENOUGH_TO_TELL))
    assert use_column(pl.Series("row", rows)).role == Role.LEFT_OUT
    assert use_column(pl.Series("year", rows[: ENOUGH_TO_TELL - 1])).role == Role.NUMBER
    assert use_column(pl.Series("pages", [*rows, 7])).role == Role.NUMBER
    assert use_column(pl.Series("row", rows), vouched=True).role == Role.NUMBER


def test_groups_too_large_for_a_family_are_none() -> None:
    small = [f"small {k // 5}" for k in range(20 * MOST_IN_FAMILY)]
    large = ["large"] * (MOST_IN_FAMILY + 1)
    families = use_column(pl.Series("author", small + large)).families["author"]
    assert (families[: len(small)] >= 0).all()
    assert (families[len(small) :] == -1).all()
    houses = [f"house {k % 70}" for k in range(70 * (MOST_IN_FAMILY + 1))]
    publisher = pl.Series("publisher", [*houses, *(f"own {k}" for k in range(1200))])
    assert "too many for a family" in use_column(publisher).why


def test_named_families_win_and_others_go() -> None:
    frame = pl.DataFrame(
        {
            "item": range(N),
            "title": [f"Tale {k}" for k in range(N)],
            "author": [f"Author {k // 3}" for k in range(N)],
            "series": [f"Series {k // 100}" for k in range(N)],
            "year": [1990 + k % 9 for k in range(N)],
        }
    )
    items = Items.from_frame(frame)
    assert list(encode(items, N).families) == [TITLE_FAMILY, "author"]
    assert list(encode(items, N, ("series",)).families) == ["series"]
    assert list(encode(items, N, ("year", "author")).families) == ["year", "author"]
    assert set(encode(items, N, ("year",)).numbers) == {"year"}
    assert encode(items, N, ()).families == {}
    uses = {use.column: use for use in decide_uses(items, ("series",))}
    assert uses["author"].why == "the families that were asked for are others: series"
    with pytest.raises(ParameterError, match="must be a tuple"):
        decide_uses(items, "series")  # type: ignore[arg-type]


def test_a_ratings_table_is_told_what_to_bring_instead() -> None:
    with pytest.raises(DataError, match="one row for each item and nothing about people"):
        Items.from_frame(pl.DataFrame({"user": [1], "item": [1]}))
