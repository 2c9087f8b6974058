"""What the page says: levels in plain words that are true, charts that show the numbers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.database.declaration import Declaration
from discreet.database.ledger import ReleaseEntry
from discreet.privacy.lifetime import Loss
from discreet.service import charts
from discreet.service.plain_language import (
    Ground,
    adding_up,
    explained,
    guessing,
    offered_levels,
    surest,
)
from discreet.service.words import words_of

RATING = words_of(Declaration())


@given(st.floats(0.01, 5), st.floats(0.001, 0.999))
def test_nobody_becomes_surer_than_the_words_say(epsilon: float, likely: float) -> None:
    """Over every output that an epsilon-close pair of worlds can show: Bayes at even odds."""
    with_it, without = likely, min(1.0, likely * math.exp(epsilon))
    for one, other in ((with_it, without), (without, with_it)):
        assert one / (one + other) <= surest(Loss(epsilon)) + 1e-12


@given(st.floats(0.01, 5), st.floats(0, 0.1))
def test_with_a_delta_the_words_bound_how_often_a_guess_is_right(
    epsilon: float, delta: float
) -> None:
    """The best test at even odds: (1 + TV)/2, for the worst pair of (epsilon, delta)-close worlds.

    That pair shows the truth with chance delta, and is epsilon-close randomised response else.
    """
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    assert delta + (1 - delta) * truth <= surest(Loss(epsilon, delta)) + 1e-12
    assert surest(Loss(epsilon, delta)) <= min(1.0, truth + delta) + 1e-12


def test_levels_are_named_by_how_much_they_protect() -> None:
    names = [level.name for level in offered_levels(Declaration(), Ground.SOUND)]
    assert names == ["Very private", "Private", "Open"]
    declared = Declaration(levels=(3, 5, 10))
    crude = [level.name for level in offered_levels(declared, Ground.SOUND)]
    assert crude == ["Hardly private (3)", "Hardly private (5)", "Hardly private (10)"]


def test_the_words_hold_the_numbers_rounded_up() -> None:
    text = explained(Loss(0.1), Ground.SOUND, RATING)
    assert "at most 52.5% sure" in text
    assert "at most 55%." in text
    with_delta = explained(Loss(0.1, 1e-6), Ground.SOUND, RATING)
    assert "guess right in at most 52.5% of all cases" in with_delta
    assert "sure" not in with_delta
    assert "at most 100%" in explained(Loss(20, 0.5), Ground.SOUND, RATING)


def test_a_chart_of_bars_is_as_high_as_its_values() -> None:
    entries = [ReleaseEntry(k, "d", "Tally", "1.0", 0, 0) for k in (1, 2, 3)]
    chart = charts.timeline(entries, {1: 100, 3: 50})
    heights = [mark.height for mark in chart.marks]
    assert heights[0] == pytest.approx(2 * heights[2])
    assert heights[1] == 0
    assert [tick.label for tick in chart.x_ticks] == ["1 · 1 Jan", "2 · 1 Jan", "3 · 1 Jan"]
    assert charts.timeline([], {}).marks == []


def test_the_picture_puts_smaller_errors_lower_and_its_legend_names_them() -> None:
    assessed = {
        "mean": 1.1, "chosen": 0.94, "no_noise": 0.935,
        "uniform": [[0.1, 1.0], [1.0, 0.95], [3.0, 0.94]],
    }  # fmt: skip
    chart = charts.picture(assessed)
    assert chart is not None
    assert charts.picture({"hits": {}}) is None  # of events
    assert np.all(np.diff([mark.y for mark in chart.marks]) > 0)
    assert np.all(np.diff([mark.x for mark in chart.marks]) > 0)
    by_height = sorted(chart.lines, key=lambda line: -line.y)
    assert [line.value for line in by_height] == ["0.935", "0.940", "1.100"]
    assert {line.label for line in chart.lines} == {
        "everybody's own level", "without noise", "always the mean"
    }  # fmt: skip


def test_what_all_levels_promise_is_said_once_and_not_once_nothing_is() -> None:
    declared = Declaration(things="books")
    assert "whether you rated one of the books" in guessing(declared, Ground.SOUND)
    assert "lost in a restore" in guessing(declared, Ground.RESTORED)
    assert guessing(declared, Ground.SEEDED).startswith("Nothing is promised")
    bars = charts.certainty(offered_levels(declared, Ground.SOUND), 0.0)
    assert [bar.percent for bar in bars] == ["52.5%", "57.5%", "73.2%"]
    shares = [2 * surest(Loss(level)) - 1 for level in declared.levels]
    assert [bar.width for bar in bars] == pytest.approx([100 * s for s in shares], abs=0.05)


def test_where_people_choose_nothing_is_said_of_ratings() -> None:
    for declared in (
        Declaration(events=True, levels=(0.1, 1)),
        Declaration(events=True, levels=(0.1, 1), quantity="log:10"),
    ):
        said = " ".join(
            [guessing(declared, Ground.SOUND), adding_up(declared, Ground.SOUND)]
            + [level.explained for level in offered_levels(declared, Ground.SOUND)]
        )
        assert "rated" not in said
        assert "rating" not in said
        assert "you chose this" in said
        # What one event counts is no secret where all count the same.
        assert ("two quantities" in said) == (declared.quantity is not None)
