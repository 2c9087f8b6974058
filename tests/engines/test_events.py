"""Events on disk give the release of the same events in memory, bit for bit."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.data.event_rules import EventRules, Quantity
from discreet.data.events import Events, read_table
from discreet.data.items import Items
from discreet.engines import fit_release
from discreet.engines.stream import open_stream
from discreet.errors import DataError, ParameterError
from discreet.privacy.provenance import Neighbours
from discreet.privacy.spec import PrivacySpec
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.tally import Tally
from tests.engines.test_stream import same

RULES = [
    EventRules(),
    EventRules(Quantity(6, "log", missing=0.5)),
    EventRules(Quantity(6, missing=0.5), "last"),
    EventRules(Quantity(9, "log", missing=0.5), "sum"),
]
SPEC = PrivacySpec.column(max_level=1.0)
CATALOGUE = Items.from_frame(pl.DataFrame({"item": range(0, 50, 2)}))


def many_events(count: int = 3_000) -> pl.DataFrame:
    """Of few pairs, so that many come again; some without a quantity."""
    rng = np.random.default_rng(8)
    hours = rng.exponential(3.0, count)
    return pl.DataFrame(
        {
            "user": [f"u{k}" for k in rng.integers(0, 60, count)],
            "item": rng.integers(0, 40, count),
            "hours": pl.Series(hours).set(pl.Series(rng.random(count) < 0.2), None),
            "epsilon": rng.uniform(0.1, 1.0, count),
            "timestamp": rng.integers(0, 50, count),
        }
    )


def in_memory(rules: EventRules) -> Events:
    made = read_table(many_events(), rules=rules)
    assert isinstance(made, Events)
    return made


@pytest.fixture(scope="module", params=["parquet", "csv"])
def table(request: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("events") / f"plays.{request.param}"
    frame = many_events()
    frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_csv(path)
    return path


@pytest.mark.parametrize("rules", RULES, ids=lambda r: r.words)
@pytest.mark.parametrize(
    "scheme",
    [
        Tally(items=CATALOGUE),
        Tally(items=CATALOGUE, unit="person"),
        Tally(items=CATALOGUE, personalisation="sample"),
        Chorus(items=CATALOGUE, delta=1e-6, factors=2, rounds=2),
        Chorus(items=CATALOGUE, delta=1e-6, factors=2, rounds=2, unit="person"),
    ],
)
def test_parts_on_disk_give_the_release_of_the_table_in_memory(
    scheme: Any, rules: EventRules, table: Path
) -> None:
    here = scheme.fit(in_memory(rules), SPEC, seed=5).release
    with open_stream(table, rules=rules, rows=700) as stream:
        assert len(stream.parts) > 3
        assert stream.events
        there = fit_release(scheme, stream, SPEC, seed=5)
    same(here, there)
    assert there.events


def test_what_a_fit_refuses_an_engine_refuses(table: Path) -> None:
    with open_stream(table, rules=EventRules()) as stream:
        with pytest.raises(ParameterError, match="use add/remove"):
            fit_release(Tally(neighbours=Neighbours.REPLACE), stream, SPEC)
        with pytest.raises(ParameterError, match="events have no ratings"):
            fit_release(Chorus(delta=1e-6, purpose="ratings"), stream, SPEC)
    with (
        pytest.raises(DataError, match=r"weight is missing at row .* within one part"),
        open_stream(table, rules=EventRules(Quantity(3))) as stream,
    ):
        fit_release(Tally(), stream, SPEC)
