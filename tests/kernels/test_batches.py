"""Sums of a batch's matrices: every entry is summed once, in as many passes as registers allow."""

from collections import Counter

import pytest

from discreet.kernels.simd import batches


@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
@pytest.mark.parametrize("d", [1, 2, 7, 8, 9, 15, 16, 17, 20, 23, 32, 40])
def test_every_entry_of_a_matrix_is_summed_in_one_place(d: int, lanes: int) -> None:
    places = batches.places_of.py_func(d, lanes)
    counted = Counter(places.tolist())
    rows = {c * (d + 1) + a: 1 for c in range(d + 1) for a in range(min(c + 1, d))}
    nowhere = counted.pop((d + batches.ROWS) * (d + 1), 0)
    assert counted == rows
    assert nowhere + len(rows) == lanes * len(batches.products_of(d, lanes))


@pytest.mark.parametrize("lanes", [4, 8, 16])
@pytest.mark.parametrize("d", [3, 8, 16, 20, 21])
def test_passes_hold_every_product_once_and_fit_the_registers(d: int, lanes: int) -> None:
    passes = batches._even_passes(d, lanes)
    assert [product for run in passes for product in run] == batches.products_of(d, lanes)
    for run in passes:
        assert len(run) + len({v for _, v in run}) + 1 <= batches._REGISTERS
