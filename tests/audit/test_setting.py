"""The paper's setting is refused by whole numbers, before anything is trained."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.audit.setting import PrintedLoss, Setting, paper_setting
from discreet.data.ratings import Ratings
from discreet.errors import DivergenceError


def even_table(items: int, each: int) -> Ratings:
    """So many ratings of every item, by as many people."""
    places = np.arange(items * each)
    return Ratings.from_frame(
        pl.DataFrame(
            {
                "user": [f"u{k}" for k in places % each],
                "item": places // each,
                "rating": 1.0 + places * 7 % 5,
            }
        )
    )


def test_what_can_diverge_is_refused_before_anything_is_trained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("trained")

    monkeypatch.setattr(Setting, "train", never)
    with pytest.raises(
        DivergenceError,
        match=r"gamma = 50 .* has 10\.0% of the ratings, .* by -4\.13\. .* as much as 4\.0%",
    ):
        paper_setting(even_table(10, 40))


@pytest.mark.parametrize(("items", "converges"), [(20, False), (30, True)])
def test_the_share_of_the_most_rated_item_decides(items: int, converges: bool) -> None:
    assert Setting().converges(even_table(items, 100)) == converges


def test_at_the_largest_eigenvalue_there_is_the_loss_is_still_a_number() -> None:
    data = even_table(30, 100)
    limit = 2 / (Setting(gamma=1.0).step(data) * (101 + 0.01))
    safe = Setting(factors=3, gamma=limit * (1 - 1e-5))
    assert safe.converges(data)
    assert not Setting(factors=3, gamma=limit * (1 + 1e-5)).converges(data)
    U = np.tile([1.0, 0.0, 0.0], (100, 1))  # everybody alike: an eigenvalue of all ratings
    V = np.ones((30, 3))
    losses = PrintedLoss(data, safe, U, V).of(
        np.arange(30), np.zeros(30, dtype=np.int64), np.full(30, 5.0), added=True
    )
    assert np.isfinite(losses).all()


def test_settings_that_could_diverge_are_left_out_and_no_loss_is_nan() -> None:
    losses = paper_setting(even_table(100, 10), Setting(factors=2, k1=3), sample=20)
    assert set(losses["gamma"]) == {10.0, 25.0, 50.0, 100.0}
    assert set(losses["k2"]) == {10, 25, 50, 100, 200}
    assert np.isfinite(losses["loss"].to_numpy()).all()
