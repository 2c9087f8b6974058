"""What the rivals' hyper-parameters rest on: every declared cell was searched."""

import math

import numpy as np
import pytest
from benchmarks.field_tuning import declared

from discreet.field import find_field
from discreet.field.roster import (
    NEAR,
    ROSTER,
    SAMPLED,
    SEARCHED,
    cells_of,
    nearest,
    tuned,
    tuned_cells,
    tuned_sampling,
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


@pytest.mark.parametrize("entry", ROSTER, ids=lambda entry: entry.key)
def test_all_that_was_found_near_a_signal_is_tried_and_the_nearest_first(entry):
    for unit in entry.units:
        cells = [c for table in SEARCHED for c in cells_of(entry.key, unit, table)]
        for signal in np.geomspace(100, 3e5, 20):
            tried = [abs(math.log(c["signal"] / signal)) for c in nearest(entry, unit, signal)]
            away = sorted(abs(math.log(c["signal"] / signal)) for c in cells)
            near = [distance for distance in away if distance <= math.log(NEAR)]
            assert tried == (near or away[:1])


def test_parameters_are_those_of_the_cells():
    entry = BY_KEY["mcsherry-mironov"]
    for cell in cells_of(entry.key, "person", "ml-1m"):
        people = cell["signal"] / entry.signal(1.0, 1e-5, 1)
        assert tuned(entry, "person", 1.0, 1e-5, people)[0] == cell["parameters"]


def test_sampling_knows_its_thresholds_from_either_table():
    found = tuned_sampling(1e-5, 6_000)
    assert {label for label, _, _ in found} == set(SAMPLED.values())
    assert all(options["threshold"] > 0 for _, _, options in found)
