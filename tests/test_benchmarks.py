"""What benchmarks measure on: a made-up table that is no easier than a real one."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks"


def _loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("count", "users", "items"), [(60_000, 480_000, 17_770), (5_000, 10, 3_000)]
)
def test_people_of_a_made_up_table_rate_different_items_and_none_twice(
    count: int, users: int, items: int
) -> None:
    data = _loaded("common").synthetic(count, users, items)
    assert len(data) == count
    assert data.item.min() >= 0
    assert data.item.max() < items
    pairs = data.user.astype(np.int64) * items + data.item
    assert len(np.unique(pairs)) == count
    assert len(np.unique(data.item)) > 0.5 * items
    one, two = (set(data.item[data.ptr[k] : data.ptr[k + 1]]) for k in (0, 1))
    assert len(one & two) < 0.9 * len(one)
    # What is popular: the first tenth of the catalogue has several times its part.
    assert np.bincount(data.item, minlength=items)[: items // 10].sum() > 0.2 * count
