"""Where a ratings table meets an item table: what its owner is told, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.data.edges import FEWEST, PerItem, check_tables, match, require_inside
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.engines import fit_release
from discreet.engines.stream import open_stream
from discreet.errors import DataError
from discreet.privacy.spec import PrivacySpec
from discreet.publishing.publish import publish
from discreet.schemes.bias import Bias
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.pmf.dp import DPPMF
from discreet.schemes.pmf.pdp import PDPPMF
from discreet.schemes.pmf.pmf import PMF
from discreet.schemes.tally import Tally

ELSEWHERE = Items.from_frame(pl.DataFrame({"item": ["a", "b"], "title": ["A", "B"]}))


def of_items(ids: list[Any]) -> Ratings:
    """One rating of each."""
    columns = {"user": ["ann"] * len(ids), "item": ids, "rating": [3] * len(ids)}
    return Ratings.from_frame(pl.DataFrame(columns))


def catalogue(ids: list[Any], **columns: Any) -> Items:
    return Items.from_frame(pl.DataFrame({"item": ids, **columns}))


def test_counts_and_sums_are_the_table_s(small: Ratings) -> None:
    truth = small.to_frame().group_by("item").agg(
        pl.len().alias("count"), pl.col("rating").cast(pl.Float64).sum().alias("sum")
    )  # fmt: skip
    for found in (small.per_item, PerItem.of(truth.sample(fraction=1, shuffle=True, seed=1))):
        for row in truth.iter_rows(named=True):
            place = found.ids.rows([row["item"]])[0]
            assert (found.counts[place], found.sums[place]) == (row["count"], row["sum"])


def test_ratings_inside_and_outside_are_counted(small: Ratings) -> None:
    items = catalogue([100, 101, 102, 999])
    found = check_tables(small, items)
    inside = small.to_frame().filter(pl.col("item") < 103).height
    assert (found.inside, found.outside) == (inside, 400 - inside)
    assert found.strangers == (103, 104, 105)
    assert found.known == (100, 101, 102)
    assert found.many
    assert f"{400 - inside} of 400 ratings" in str(found)
    assert not check_tables(small, catalogue(list(range(100, 130)))).outside


def test_a_few_outside_are_told_without_ado() -> None:
    found = check_tables(of_items([*range(99), 1000]), catalogue(list(range(99))))
    assert not found.many
    assert "1000" not in str(found).replace("100 ratings", "")
    assert str(found).startswith("1 of 100 ratings")


@pytest.mark.parametrize(
    ("ours", "theirs", "difference"),
    [
        (["007", "012", "13"], [7, 12, 13], "leading zeros"),
        (["a1", "b2", "c3"], ["A1", "B2", "c3"], "upper and lower case"),
        ([" a", "b ", "c"], ["a", "b", "c"], "blanks"),
        (["1.0", "2.0", "3"], ["1", "2", "3"], "a decimal point"),
    ],
)
def test_a_difference_in_writing_is_named(ours: Any, theirs: Any, difference: str) -> None:
    found = check_tables(of_items(ours), catalogue(theirs))
    assert (found.inside, found.outside) == (1, 2)
    assert found.differences == (difference,)
    assert f"differ by {difference}" in str(found)


def test_ids_that_have_nothing_in_common_get_no_hint() -> None:
    assert check_tables(of_items(["x", "y", "c"]), catalogue(["a", "b", "c"])).differences == ()


@pytest.mark.parametrize(
    "scheme",
    [
        Tally(items=ELSEWHERE), Chorus(items=ELSEWHERE, delta=1e-6), PMF(items=ELSEWHERE),
        Bias(items=ELSEWHERE), DPPMF(items=ELSEWHERE), PDPPMF(items=ELSEWHERE),
    ],
)  # fmt: skip
def test_no_rating_inside_is_an_error_for_every_scheme(small: Ratings, scheme: Any) -> None:
    words = "no rating is of an item in the item table.*100, 101, 102; in the catalogue: 'a', 'b'"
    with pytest.raises(DataError, match=words):
        scheme.fit(small, PrivacySpec.uniform(0.5))


def test_no_rating_inside_is_an_error_with_a_ledger_and_in_a_stream(
    small: Ratings, tmp_path: Path
) -> None:
    scheme, spec = Tally(items=ELSEWHERE), PrivacySpec.uniform(1.0)
    with pytest.raises(DataError, match="no rating is of an item"):
        publish(scheme, small, spec, out=tmp_path / "out", ledger=tmp_path / "ledger.db")
    assert not (tmp_path / "out").exists()
    small.to_frame().write_parquet(tmp_path / "r.parquet")
    with open_stream(tmp_path / "r.parquet", rows=150) as stream:
        with pytest.raises(DataError, match="no rating is of an item"):
            fit_release(scheme, stream, spec)
        assert match(stream.per_item, ELSEWHERE) == match(small.per_item, ELSEWHERE)
        np.testing.assert_allclose(stream.per_item.sums, small.per_item.sums)


def test_a_table_without_any_rating_is_no_mistake(small: Ratings) -> None:
    nothing = small.subset(np.zeros(len(small), dtype=bool))
    require_inside(nothing, ELSEWHERE)
    Tally(items=ELSEWHERE).fit(nothing, PrivacySpec.uniform(1.0))


def made_of(values: Any, per_item: PerItem, **options: Any) -> Items:
    frame = pl.DataFrame({"item": per_item.ids.values, "weight": values})
    return Items.from_frame(frame, **options)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("what", ["number", "mean"])
def test_a_column_that_orders_items_as_their_ratings_do_is_refused(
    small: Ratings, what: str, sign: int
) -> None:
    per_item = small.per_item
    truth = per_item.counts if what == "number" else per_item.sums / per_item.counts
    values = sign * np.exp(truth)  # another scale, the same order
    with pytest.raises(
        DataError, match=f"'weight' .* as the {what} of their ratings.*--public-col"
    ):
        check_tables(small, made_of(values, per_item))
    check_tables(small, made_of(values, per_item, public_columns=["weight"]))


def test_numbers_written_as_text_are_refused_likewise(small: Ratings) -> None:
    per_item = small.per_item
    texts = [f"{1000 * count:,} g" for count in per_item.counts]
    with pytest.raises(DataError, match=r"'weight' .* as the number of their ratings"):
        check_tables(small, made_of(texts, per_item))
    check_tables(small, made_of([f"box {text}" for text in texts], per_item))


def test_an_innocent_column_is_not_refused(small: Ratings) -> None:
    per_item = small.per_item
    alternating = np.arange(len(per_item.ids)) % 7
    for values in (alternating, np.full(len(per_item.ids), 3.0), [None] * len(per_item.ids)):
        check_tables(small, made_of(values, per_item))
    # Of a few items anything may stand in any order.
    few = per_item.ids.values.head(FEWEST - 1)
    check_tables(small, catalogue(list(few), weight=per_item.counts[: FEWEST - 1]))
