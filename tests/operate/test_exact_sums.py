"""What the publisher sums up of the database: a rating moves it by its own level at most."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from discreet.data.ratings import Ratings
from discreet.database import own_ratings, people
from discreet.database.connection import Database
from discreet.database.declaration import establish
from discreet.errors import DataError
from discreet.operate.imports import add_items, add_ratings, offered
from discreet.operate.releases import declared_scheme
from discreet.operate.snapshot import Snapshot, read_snapshot
from discreet.privacy.lifetime import Spends
from discreet.privacy.noise import Randomness
from discreet.privacy.spec import PrivacySpec
from discreet.release.tallies import ONE_VOTE
from discreet.schemes.base import Run
from tests.databases import films


def exact_tallies(snapshot: Snapshot, scheme: Any, kept: Any, t: float) -> Any:
    """The votes that a publication adds, without the noise."""
    data = snapshot.ratings.subset(kept)
    spends = Spends(*(column[kept] for column in snapshot.state.spends))
    spec, state = PrivacySpec.column(max_level=t), replace(snapshot.state, spends=spends)
    batch = scheme.publish_batch(data, spec, state, Run(Randomness(0)))
    tallies = batch.model.release.tallies
    return np.stack([tallies.against, tallies.in_favour])


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_rating_moves_the_exact_sums_by_its_own_level_and_none_is_outside_the_catalogue(
    database: Database, delta: float, small: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = establish(database, {"delta": delta})
    add_items(database, films())
    with database.writing() as connection:
        people.new_person(connection, "p")
        own_ratings.put(connection, "p", "100", 5.0, 1.0)
        own_ratings.put(connection, "p", "101", 3.0, 0.1)
    # A database holds ratings of its catalogue's items alone, so no level is dropped before it
    # counts; and what it publishes protects single ratings, each at its own level.
    outside = Ratings.from_frame(
        small.to_frame()[:1].with_columns(item=small.items.values[:1] + 10_000)
    )
    with pytest.raises(DataError, match="not in the catalogue"):
        add_ratings(database, declared, outside)
    monkeypatch.setattr(Randomness, "add_laplace", lambda _, sums, *_a, **_k: sums)
    snapshot = read_snapshot(database, declared)
    scheme = declared_scheme(declared, snapshot.items)
    assert scheme.unit == "rating"
    levels = offered(declared).levels(snapshot.ratings)
    everything = exact_tallies(snapshot, scheme, np.ones(len(levels), dtype=bool), 1.0)
    for record, level in enumerate(levels):
        without = exact_tallies(snapshot, scheme, np.arange(len(levels)) != record, 1.0)
        moved = np.abs(everything - without).sum() / ONE_VOTE
        assert 0.9 * level < moved <= level
