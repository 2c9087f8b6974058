"""`discreet fit --engine spark`, in processes of its own: a command has its own session."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from discreet.engines.spark.session import require_java, require_pyspark
from discreet.errors import MissingExtraError
from discreet.release.release import Release
from tests.engines.test_stream import same

pytestmark = pytest.mark.xdist_group("spark")
COMMAND = [sys.executable, "-c", "from discreet.cli import main; main()", "fit"]


@pytest.fixture(autouse=True)
def _needs_spark() -> None:
    try:
        require_pyspark()
        require_java()
    except MissingExtraError as error:
        pytest.skip(str(error))


def options(parquet: Path, out: Path) -> list[str]:
    return [
        str(parquet), "--engine", "spark", "--master", "local[2]", "--privacy", "groups",
        "--seed", "3", "--out", str(out),
    ]  # fmt: skip


def test_the_command_makes_the_release_of_a_local_fit(parquet: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, *options(parquet, tmp_path / "there")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "Spark: tally, 1 of 2" in done.stderr
    together = tmp_path / "ratings.parquet"
    pl.read_parquet(parquet / "*.parquet").write_parquet(together)
    local = [*COMMAND, str(together), "--privacy", "groups", "--seed", "3"]
    subprocess.run([*local, "--out", str(tmp_path / "here")], check=True, capture_output=True)
    same(Release.load(tmp_path / "here"), Release.load(tmp_path / "there"))


def test_spark_that_dies_leaves_no_release(parquet: Path, tmp_path: Path) -> None:
    out = tmp_path / "release"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    running = subprocess.Popen([*COMMAND, *options(parquet, out)], text=True, **pipes)
    java = _child_with(running.pid, b"SparkSubmit")
    while running.poll() is None:  # as soon as Spark is at work
        line = running.stderr.readline() if running.stderr else ""
        if line.startswith("Spark: reading"):
            os.kill(java, signal.SIGKILL)
            break
    _, said = running.communicate(timeout=120)
    assert running.returncode == 1, said
    assert "Spark stopped in the middle, and nothing was written" in said
    assert "Traceback" not in said
    assert not out.exists()


def _child_with(pid: int, words: bytes) -> int:
    for _ in range(600):
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
                if parent == pid and words in (folder / "cmdline").read_bytes():
                    return int(folder.name)
            except OSError:
                continue
        time.sleep(0.1)
    raise AssertionError("Java did not start")


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, *options(tmp_path / "nowhere", tmp_path / "out")], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "no file or folder" in done.stderr
    assert "Traceback" not in done.stderr
