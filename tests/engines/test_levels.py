"""A level counts before anything is dropped: docs/proofs/tally.md, "The whole person"."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.engines.stream import open_stream
from tests.engines.losses import LEAST, catalogue, chorus_loss, tables, tally_loss

LOSSES = pytest.mark.parametrize("loss", [tally_loss, chorus_loss])


@LOSSES
def test_in_memory_a_person_loses_their_smallest_level_at_most(
    loss: Callable[[Any], float],
) -> None:
    ids = catalogue().ids
    lost = loss([dc.Ratings.from_frame(frame).over(ids) for frame in tables()])
    assert 0.5 * LEAST < lost <= LEAST


@LOSSES
def test_in_a_stream_a_person_loses_their_smallest_level_at_most(
    loss: Callable[[Any], float], tmp_path: Path
) -> None:
    with ExitStack() as opened:
        sources = []
        for number, frame in enumerate(tables()):
            path = tmp_path / f"{number}.parquet"
            frame.write_parquet(path)
            stream = opened.enter_context(open_stream(path, rows=2))
            sources.append(stream.over(catalogue().ids))
        assert 0.5 * LEAST < loss(sources) <= LEAST


def test_fit_takes_levels_before_it_drops_records() -> None:
    whole, _ = tables()
    ratings, items = dc.Ratings.from_frame(whole), catalogue()
    careful = dc.PrivacySpec.by_user({"p": LEAST, "q": 0.5, "r": 0.7}, max_level=1.0)
    for scheme in (
        dc.Tally(items=items, unit="person"),
        dc.Chorus(items=items, unit="person", factors=1, rounds=2, delta=1e-6),
    ):
        one = scheme.fit(ratings, dc.PrivacySpec.column(max_level=1.0), seed=1).release
        other = scheme.fit(ratings, careful, seed=1).release
        assert one.tallies is not None
        assert other.tallies is not None
        assert (one.tallies.against == other.tallies.against).all()
        assert (one.item_factors == other.item_factors).all()
