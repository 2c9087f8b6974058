"""What executors keep between rounds: as it was, until it is lost or the fit ends."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
import discreet.engines.spark as ds
from discreet.engines.spark.parts import KeptParts, KeptPeople
from discreet.engines.spark.store import Store
from discreet.readers.club import Club
from tests.engines.test_stream import same

pytestmark = pytest.mark.xdist_group("spark")
CHORUS = dc.Chorus(delta=1e-6, factors=2, rounds=3, purpose="ratings")
SPEC = dc.PrivacySpec.uniform(1.0)


def kept_files() -> set[Path]:
    """Of all fits of the session; some tests ask for sums without one, and nobody forgets them."""
    from pyspark import SparkFiles

    return set(Path(SparkFiles.getRootDirectory()).glob("discreet-*/*"))


def test_what_is_kept_comes_back_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "_folder", lambda self: tmp_path / self.run)
    frozen = np.arange(5, dtype=np.int32)
    frozen.flags.writeable = False
    value = {"frozen": frozen, "free": np.linspace(0, 1, 7), "none": np.zeros(0), "word": "a"}
    first, second = Store("run", 1), Store("run", 2)
    assert first.recall(3) is None
    first.keep(3, value)
    found = first.recall(3)
    for name in ("frozen", "free", "none"):
        assert (found[name] == value[name]).all()
        assert found[name].flags.writeable == value[name].flags.writeable
        assert found[name].flags.aligned
    found["free"][:] = 9  # in this process alone
    assert first.recall(3)["free"][0] == 0
    [place] = (tmp_path / "run").iterdir()
    assert place.stat().st_mode & 0o077 == 0
    second.keep(3, "another")
    assert first.recall(3) is None
    assert second.recall(3) == "another"
    second.forget()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("in_order", [False, True])
def test_parts_that_are_lost_between_rounds_are_prepared_again(
    in_order: bool, club: Club, spark: Any, parquet: Path, tmp_path: Path
) -> None:
    if in_order:
        parquet = tmp_path / "people.parquet"
        club.ratings.to_frame().sort("user").write_parquet(parquet)
    lost: list[Path] = []
    before = kept_files()

    def lose_some(phase: str, done: int, total: int) -> None:
        if re.search("round|factor", phase) and done == total - 1:
            for place in sorted(kept_files() - before)[::2]:
                place.unlink()
                lost.append(place)

    source = ds.spark_ratings(spark.read.parquet(str(parquet)), partitions=4)
    assert isinstance(source.kept, KeptPeople if in_order else KeptParts)
    here = CHORUS.fit(club.ratings, SPEC, seed=5).release
    same(here, ds.fit(CHORUS, source, SPEC, seed=5, progress=lose_some))
    assert len(lost) == 4  # of two parts, the table and what was prepared of it
    assert kept_files() == before  # when the fit has ended


def test_nothing_is_kept_beside_what_spark_encrypts(
    club: Club, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, seen = kept_files(), []
    settings = spark.sparkContext.getConf().set("spark.io.encryption.enabled", "true")
    monkeypatch.setattr(spark.sparkContext, "getConf", lambda: settings)
    here = CHORUS.fit(club.ratings, SPEC, seed=5).release
    club.ratings.to_frame().sort("user").write_parquet(tmp_path / "people.parquet")
    source = ds.read_ratings(spark, str(tmp_path / "people.parquet"))
    there = ds.fit(CHORUS, source, SPEC, seed=5, progress=lambda *_: seen.append(kept_files()))
    same(here, there)
    assert len(seen) > 3
    assert all(then == before for then in seen)
