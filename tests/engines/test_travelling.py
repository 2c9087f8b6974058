"""What a fit sends to where ratings are, and keeps there, is no larger than it has to be."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.data.source import OverCatalogue
from discreet.privacy.noise import Randomness
from discreet.readers.club import Club
from discreet.schemes.base import Run
from discreet.schemes.chorus.rounds import Contributions


class Watched(OverCatalogue):
    """A table of one part, whose visitors are looked at."""

    def map_parts(self, prepare: Callable[..., Any]) -> Any:
        found = prepare(self.table)
        KEPT.append(found)
        return Part(found)


class Part:
    def __init__(self, state: Any) -> None:
        self.state = state

    def sum(self, contribution: Callable[..., Any], shape: tuple[int, ...]) -> Any:
        SENT.append((contribution, shape))
        return contribution(self.state).reshape(shape)


KEPT: list[Any] = []
SENT: list[tuple[Any, tuple[int, ...]]] = []


@pytest.mark.parametrize("unit", ["rating", "person"])
def test_rounds_alone_keep_something_of_every_record_and_send_four_bytes_a_number(
    club: Club, unit: str
) -> None:
    KEPT.clear()
    SENT.clear()
    scheme = dc.Chorus(delta=1e-6, unit=unit, purpose="ratings", items=club.items)
    source = Watched(club.ratings, club.items.ids)
    scheme.release(source, dc.PrivacySpec.uniform(20.0), Run(Randomness(0)))
    per_item = 2 * 8 * len(club.items)
    rounds = [isinstance(found, Contributions) for found in KEPT]
    assert sum(rounds) == 1
    assert all(found.nbytes <= per_item for found, of_rounds in zip(KEPT, rounds, strict=True)
               if not of_rounds)  # fmt: skip
    sent = [(len(pickle.dumps(some)), shape) for some, shape in SENT if shape[-1] > 2]
    sums = [(size, shape) for size, shape in sent if shape[0] == len(club.items)]
    assert len(sums) > 3
    for size, shape in sums:
        assert size < 4 * np.prod(shape) + 2_000
