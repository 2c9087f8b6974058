"""One Spark session for all tests here; they are skipped where Java or PySpark is missing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.engines.spark.session import open_session, require_java, require_pyspark
from discreet.errors import MissingExtraError
from discreet.readers.club import Club


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    try:
        require_pyspark()
        require_java()
    except MissingExtraError as error:
        pytest.skip(str(error))
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "3",
        "spark.driver.memory": "1g",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    with open_session("local[2]", **settings) as session:
        yield session


@pytest.fixture(scope="session")
def parquet(club: Club, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The club's ratings, shuffled, in several files."""
    folder = tmp_path_factory.mktemp("spark") / "ratings"
    folder.mkdir()
    frame = club.ratings.to_frame().sample(fraction=1.0, shuffle=True, seed=3)
    for k in range(3):
        frame[k::3].write_parquet(folder / f"{k}.parquet")
    return folder
