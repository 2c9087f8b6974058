"""What a column of text holds besides words: numbers, dates, or lists in one string."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

NEARLY_ALL = 0.95
"""Texts are numbers or dates if this share of them can be read so; the others are gaps."""
LEAST_RECURRING = 0.8
"""Texts are lists if in this share of those with a delimiter every piece also stands in another
text: docs/constants.md."""

_NO_VALUE = r"(?i)^(na|n/a|nan|null|none|unknown|tba|tbd|-+|\?+|\\n)$"
_NUMBER = (
    r"^(?P<sign>[$€£¥]?)\s*"
    r"(?P<number>[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:[eE][+-]?\d{1,3})?)"
    r"\s*(?P<unit>%|€|[A-Za-z]{0,12})$"
)
_DECIMAL_COMMA = r"^([$€£¥]?\s*[+-]?\d+),(\d{1,2})(\s*€?)$"
_ISO_DATE = r"^(\d{4}-\d{1,2}-\d{1,2})(?:[T ].*)?$"
# Month or day first: it moves a date by less than a year, so the first form that fits will do.
_DATES = (
    "%Y/%m/%d", "%d-%b-%Y", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%B %d, %Y", "%b %d, %Y",
    "%d %B %Y", "%d %b %Y",
)  # fmt: skip
_DELIMITERS = ("|", ";", ",")


class Lists(NamedTuple):
    """Lists that stood in one string each."""

    values: pl.Series
    delimiter: str | None
    """What stood between; None for brackets."""


def without_blanks(texts: pl.Series) -> pl.Series:
    """Texts without spaces around them; an empty one is a gap.

    >>> without_blanks(pl.Series([" a ", "", None])).to_list()
    ['a', None, None]
    """
    return texts.str.strip_chars().replace("", None)


def numbers_of(column: pl.Series) -> pl.Series | None:
    """A column of numbers as such, also where they are written as text; None for any other.

    >>> numbers_of(pl.Series(["4.5", " 3", ""])).to_list()
    [4.5, 3.0, None]
    """
    if column.dtype.is_numeric():
        return column.cast(pl.Float64)
    if column.dtype != pl.String:
        return None
    return read_numbers(without_blanks(column))


def read_numbers(texts: pl.Series) -> pl.Series | None:
    """Numbers, if nearly all texts are: with thousands, a currency, or one unit for all.

    Numbers that begin with a zero are codes.

    >>> read_numbers(pl.Series(["$1,250.50", "$8", "n/a"])).to_list()
    [1250.5, 8.0, None]
    >>> read_numbers(pl.Series(["007", "42"])) is None
    True
    """
    known = _with_a_value(texts).str.replace(_DECIMAL_COMMA, "$1.$2$3")
    parts = known.str.extract_groups(_NUMBER).struct.unnest()
    digits = parts["number"]
    numbers = digits.str.replace_all(",", "").cast(pl.Float64, strict=False)
    read = numbers.is_not_null()
    if not _is_nearly_all(read, known) or digits.filter(read).str.contains(r"^0\d").any():
        return None
    kinds = parts.filter(read).select("sign", "unit").n_unique()
    return numbers if kinds == 1 else None


def read_dates(texts: pl.Series) -> pl.Series | None:
    """Dates, if nearly all texts are in one form: ISO with or without a time, or a common one.

    >>> read_dates(pl.Series(["1995-01-31", "1999-12-24T18:00:00Z"])).dt.year().to_list()
    [1995, 1999]
    >>> read_dates(pl.Series(["01-Jan-1995", ""])).to_list()
    [datetime.date(1995, 1, 1), None]
    """
    known = _with_a_value(without_blanks(texts))
    iso = known.str.extract(_ISO_DATE).str.to_date("%Y-%m-%d", strict=False)
    if _is_nearly_all(iso.is_not_null(), known):
        return iso
    for form in _DATES:
        dates = known.str.to_date(form, strict=False)
        if _is_nearly_all(dates.is_not_null(), known):
            return dates
    return None


def read_lists(texts: pl.Series) -> Lists | None:
    """Lists, if the texts are such: in brackets, or pieces with a delimiter between.

    >>> read_lists(pl.Series(["['Action', 'Comedy']", "['Drama']"])).values.to_list()
    [['Action', 'Comedy'], ['Drama']]
    >>> rows = ["Action, Comedy", "Comedy", "Action", "Comedy, Drama", "Drama, Action, Comedy"]
    >>> read_lists(pl.Series(rows)).values.to_list()[0]
    ['Action', 'Comedy']
    >>> read_lists(pl.Series(["King, Stephen", "Stine, R. L.", "King, Laurie"])) is None
    True
    """
    if _is_nearly_all(texts.str.contains(r"(?s)^\[.*\]$"), texts):
        return Lists(_without_brackets(texts), None)
    for delimiter in _DELIMITERS:
        if _recur(texts, delimiter):
            return Lists(_pieces(texts, delimiter), delimiter)
    return None


def _with_a_value(texts: pl.Series) -> pl.Series:
    """The texts without words that say that there is none."""
    frame = texts.to_frame("text")
    return frame.select(pl.when(~pl.col("text").str.contains(_NO_VALUE)).then("text"))["text"]


def _is_nearly_all(read: pl.Series, known: pl.Series) -> bool:
    count = len(known) - known.null_count()
    return count > 0 and int(read.sum() or 0) >= NEARLY_ALL * count


def _without_brackets(texts: pl.Series) -> pl.Series:
    """The lists in texts such as "['a', 'b']", "[a, b]" and "[{'id': 1, 'name': 'a'}]"."""
    frame = texts.to_frame("text")
    text = pl.col("text")
    quote = "['\"]"
    names = text.str.extract_all(rf"{quote}name{quote}\s*:\s*(?:'[^']*'|\"[^\"]*\")")
    quoted = text.str.extract_all(r"'[^']*'|\"[^\"]*\"")
    plain = text.str.strip_chars("[]").str.split(",")
    values = (
        pl.when(text.str.contains(r"^\[\s*\{"))
        .then(names.list.eval(pl.element().str.replace(rf"^{quote}name{quote}\s*:\s*", "")))
        .when(text.str.contains(quote))
        .then(quoted)
        .otherwise(plain)
    )
    cleaned = values.list.eval(pl.element().str.strip_chars("'\" "))
    return frame.select(cleaned.list.eval(pl.element().filter(pl.element() != "")))["text"]


def _pieces(texts: pl.Series, delimiter: str) -> pl.Series:
    cleaned = texts.str.split(delimiter).list.eval(pl.element().str.strip_chars())
    return cleaned.list.eval(pl.element().filter(pl.element() != ""))


def _recur(texts: pl.Series, delimiter: str) -> bool:
    """Whether a delimiter divides the texts into pieces that stand in other texts as well.

    Of names ("King, Stephen"), places and sentences at least one piece is nearly always unique; and
    names have one comma each.
    """
    wholes = texts.drop_nulls().unique()
    table = pl.DataFrame({"whole": wholes, "piece": _pieces(wholes, delimiter)})
    like_names = delimiter == "," and bool((table["piece"].list.len() == 2).all())
    if like_names or not wholes.str.contains(delimiter, literal=True).any():
        return False
    pairs = table.explode("piece").unique()
    elsewhere = pl.len().over("piece") > 1
    recurring = (
        pairs.select("whole", elsewhere.alias("elsewhere"))
        .group_by("whole")
        .agg(pl.col("elsewhere").all())
    )
    divided = recurring.filter(pl.col("whole").str.contains(delimiter, literal=True))
    return float(divided["elsewhere"].mean() or 0.0) >= LEAST_RECURRING  # type: ignore[arg-type]
