"""Python that fits in: tables of every kind in, frames out, parameters by name, a search."""

from dataclasses import fields

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone

import discreet as dc
from discreet.data.ratings import Ratings
from discreet.errors import DataError, ParameterError, SecretsWarning
from discreet.schemes import SCHEMES, find_scheme

SPEC = dc.PrivacySpec.uniform(1.0)


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    """A table as a shop may have it."""
    rng = np.random.default_rng(4)
    who, what = np.nonzero(rng.random((40, 12)) < 0.4)
    return pl.DataFrame({"customer": who, "sku": what, "stars": rng.integers(1, 6, len(who))})


def test_a_fit_takes_any_table(frame: pl.DataFrame) -> None:
    stars = sparse.coo_array((frame["stars"], (frame["customer"], frame["sku"])), shape=(40, 12))
    given = [
        frame,
        frame.lazy(),
        pd.DataFrame(frame.to_dict(as_series=False)),
        frame.to_arrow(),
        stars,
        stars.tocsr(),
        sparse.csc_matrix(stars),
    ]
    wanted = dc.Tally().fit(Ratings.from_frame(frame), SPEC, seed=1).release.item_effects
    for table in given:
        assert (dc.Tally().fit(table, SPEC, seed=1).release.item_effects == wanted).all()
    for scheme in (dc.Bias(), dc.PMF(), dc.DPPMF(gamma=1.0), dc.PDPPMF(gamma=1.0)):
        assert scheme.fit(frame, SPEC, seed=1).release.items.ids.are_integers
    assert dc.cross_validate(dc.Bias(), frame, folds=2).height == 2


def test_a_sparse_array_s_rows_and_columns_can_be_named() -> None:
    stars = sparse.csr_array(np.array([[5.0, 0, 3], [0, 1, 0]]))
    found = dc.as_ratings(stars, users=["ann", "bob"], items=["x", "y", "z"])
    assert found.to_frame().rows() == [("ann", "x", 5.0), ("ann", "z", 3.0), ("bob", "y", 1.0)]
    with pytest.raises(DataError, match="there are 3 items in the array: got 2 names"):
        dc.as_ratings(stars, items=["x", "y"])
    with pytest.raises(DataError, match="columns and keep go with a table"):
        dc.as_ratings(stars, {"user": "who"})
    with pytest.raises(DataError, match="users and items name the rows"):
        dc.as_ratings(found.to_frame(), users=["ann"])


def test_a_scale_is_declared_and_never_looked_up(frame: pl.DataFrame) -> None:
    tens = frame.with_columns(pl.col("stars") * 2)
    with pytest.raises(DataError, match=r"within the scale 1\.\.5.*scale=\(lo, hi\)"):
        dc.Tally().fit(tens, SPEC)
    narrow = frame.with_columns(stars=pl.lit(3))
    assert str(dc.as_ratings(narrow).scale) == "1..5"
    model = dc.Tally().fit(dc.as_ratings(tens, scale=(0, 10)), SPEC)
    assert str(model.release.scale) == "0..10"


def test_pandas_columns_of_one_name_are_refused() -> None:
    table = pd.DataFrame([[1, 2, 5, 4]], columns=["user", "item", "rating", "rating"])
    with pytest.raises(DataError, match="two columns are called 'rating'"):
        dc.as_ratings(table)


def test_lists_carry_titles_and_convert(frame: pl.DataFrame) -> None:
    titles = pd.DataFrame({"item": range(12), "title": [f"Film {k}" for k in range(12)]})
    model = dc.Tally(items=dc.Items.from_frame(titles)).fit(frame, SPEC)
    for listed in (model.recommend([0], n=3), model.release.recommend([1], [5], n=3)):
        assert listed["title"].to_list() == [f"Film {item}" for item in listed["item"]]
        assert list(listed.to_pandas()["title"]) == listed["title"].to_list()
    assert "title" not in dc.Tally().fit(frame, SPEC).recommend([0], n=3).columns


def test_predicting_one_pair_without_lists_says_how(frame: pl.DataFrame) -> None:
    model = dc.Bias().fit(frame)
    for pair in ((1, 3), ([1], "3")):
        with pytest.raises(DataError, match="must come in a list: got"):
            model.predict(*pair)


@pytest.mark.parametrize("name", SCHEMES)
def test_parameters_go_by_name_and_schemes_stay_as_they_are(name: str) -> None:
    scheme = find_scheme(name)()
    params = scheme.get_params()
    assert set(params) == {field.name for field in fields(scheme)}
    assert scheme.set_params(**params) == scheme == clone(scheme) == type(scheme)(**params)
    with pytest.raises(ParameterError, match="has no parameter 'gama'"):
        scheme.set_params(gama=1)


def test_a_search_finds_the_best_and_warns_of_secrets(frame: pl.DataFrame) -> None:
    grid = {"shrink_items": [5.0, 1e9], "shrink_users": [5.0, 1e9]}
    with pytest.warns(SecretsWarning, match="computed from the ratings themselves"):
        found = dc.search(dc.Bias(), frame, grid, folds=2, workers=1)
    assert found.table.height == 4
    assert found.table["rmse"].is_sorted()
    assert found.best == dc.Bias(**found.params)
    assert "spends privacy" in repr(found)


def test_a_search_by_lists_takes_the_largest(frame: pl.DataFrame) -> None:
    grid = [{"unit": ["rating", "person"]}, {"threshold": [0.5]}]
    with pytest.warns(SecretsWarning):
        found = dc.search(dc.Tally(), frame, grid, SPEC, by="ndcg@10", folds=2, workers=1)
    assert found.table["ndcg@10"].is_sorted(descending=True)
    assert found.table.height == 3


@pytest.mark.parametrize(
    ("scheme", "grid", "by", "message"),
    [
        (dc.Tally, {"unit": ["rating"]}, "rmse", "search needs a scheme, such as"),
        (dc.Tally(), {"unit": "rating"}, "rmse", "needs a list of values for 'unit'"),
        (dc.Tally(), {"units": ["rating"]}, "rmse", "has no parameter 'units'"),
        (dc.Bias(), {"shrink_items": [1.0]}, "speed", "by must be one of"),
    ],
)
def test_a_search_that_makes_no_sense_is_refused(
    scheme: object, grid: dict[str, object], by: str, message: str, frame: pl.DataFrame
) -> None:
    with pytest.warns(SecretsWarning), pytest.raises(ParameterError, match=message):
        dc.search(scheme, frame, grid, SPEC, by=by, folds=2, workers=1)
