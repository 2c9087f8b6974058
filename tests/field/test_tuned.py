"""What the rivals' hyper-parameters rest on: every declared cell was searched."""

import math

import pytest
from benchmarks.field_tuning import declared

from discreet.field import find_field
from discreet.field.roster import (
    ROSTER,
    SAMPLED,
    SEARCHED,
    cells_for,
    searched_on,
    tuned,
    tuned_cells,
)

BY_KEY = {entry.key: entry for entry in ROSTER}


def key_of(cell):
    return cell["entry"], cell["unit"], cell["data"], cell["signal"]


def test_every_entry_unit_and_signal_was_searched():
    found = {key_of(cell) for cell in tuned_cells() if cell["entry"] in BY_KEY}
    assert found == set(declared())


@pytest.mark.parametrize("cell", tuned_cells(), ids=lambda cell: "/".join(map(str, key_of(cell))))
def test_every_cell_had_two_hundred_evaluations_and_three_draws(cell):
    assert cell["draws"] == 3
    if cell["entry"].startswith("sampled"):
        return  # one number, of a short list, three draws each
    assert cell["evaluations"] >= 200
    entry = BY_KEY[cell["entry"]]
    assert cell["unit"] in entry.units
    kind = find_field(entry.name)
    assert set(cell["parameters"]) <= set(kind.__dataclass_fields__)
    assert set(cell["parameters"]) == set(entry.space)


def test_what_is_called_adaptive_weighs_by_a_power():
    for cell in tuned_cells():
        if cell["entry"] in ("dpals", "dpals-biases"):
            assert cell["parameters"]["power"] in (0.25, 0.5)


@pytest.mark.parametrize(
    "data", ["ml-100k", "ml-1m", "netflix-7128", "netflix-10m", "books", "club"]
)
def test_no_table_is_judged_with_what_was_searched_on_it(data):
    assert searched_on(data)
    assert data not in searched_on(data)
    assert set(searched_on(data)) <= set(SEARCHED)
    for entry in ROSTER:
        for unit in entry.units:
            assert all(cell["data"] != data for cell in cells_for(entry.key, unit, data))
            assert cells_for(entry.key, unit, data)
    for inner in SAMPLED:
        assert cells_for(f"sampled {inner}", "rating", data)


def test_the_nearest_signal_is_taken():
    entry = BY_KEY["mcsherry-mironov"]
    for cell in cells_for(entry.key, "person", "ml-1m"):
        epsilon = 1.0
        people = cell["signal"] / entry.signal(epsilon, 1e-5, 1)
        given = tuned(entry, "person", epsilon, 1e-5, people, "ml-1m")
        assert given == cell["parameters"]
        assert math.isclose(entry.signal(epsilon, 1e-5, people), cell["signal"])
