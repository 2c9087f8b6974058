"""The session: the caller's own, or one that the command line starts; what it needs, checked."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import (
    DataError,
    DataMissingError,
    DiscreetError,
    MissingExtraError,
    SparkError,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17


def require_pyspark() -> None:
    """PySpark and PyArrow are here, or an error that names the extra."""
    try:
        import pyarrow  # noqa: F401
        import pyspark  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            f"Spark needs PySpark and PyArrow ({error.name} is missing): install the extra with: "
            "pip install 'discreet[spark]'"
        ) from None


def require_java() -> None:
    """A Java that Spark runs on, or an error that says which."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    remedy = f"install Java {OLDEST_JAVA} or newer, and set JAVA_HOME if it is not found"
    if java is None or not Path(java).exists():
        raise MissingExtraError(f"Spark needs Java, and none is here: {remedy}")
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    if found is None or int(found[1]) < OLDEST_JAVA:
        version = found[1] if found else "of an unknown version"
        raise MissingExtraError(f"Spark needs Java {OLDEST_JAVA}: {java} is {version}; {remedy}")


@contextmanager
def open_session(master: str | None = None, **settings: str) -> Iterator[SparkSession]:
    """A session of our own, stopped at the end; settings are Spark's: spark.driver.memory.

    Without a master it is the one that the environment sets up (spark-submit), else this machine's
    cores.
    """
    require_pyspark()
    require_java()
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master is not None and master.startswith("local"):
        # Nobody else has business with the ports of a Spark on this machine.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    running = SparkSession.getActiveSession()
    if running is not None:  # the caller's own: not ours to stop
        yield running
        return
    builder = SparkSession.builder.appName("discreet")
    if master is not None:
        builder = builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        session = builder.getOrCreate()
    except Exception as error:
        raise SparkError(
            f"Spark does not start at {master or 'its default'}: {first_line(error)}"
        ) from None
    try:
        with reported():
            session.sparkContext.setLogLevel("ERROR")
        yield session
    finally:
        with suppress(*connection_lost()):
            session.stop()


def connection_lost() -> tuple[type[Exception], ...]:
    """What PySpark may raise where its Java is gone."""
    from py4j.protocol import Py4JError

    return Py4JError, OSError, EOFError


@contextmanager
def reported() -> Iterator[None]:
    """Errors of Spark and of its tasks as errors of ours, without a wall of Java."""
    from pyspark.errors import PySparkException

    wrong: tuple[type[Exception], ...] = (PySparkException, *connection_lost())
    try:
        yield
    except wrong as error:
        if isinstance(error, DiscreetError):
            raise
        if "PATH_NOT_FOUND" in str(error):
            raise DataMissingError(
                f"no file or folder that Spark can read: {first_line(error)}"
            ) from None
        ours = re.search(r"discreet\.errors\.DataError: (.*)", str(error))
        if ours:
            raise DataError(ours[1].strip()) from None
        raise SparkError(
            f"Spark stopped in the middle, and nothing was written: {first_line(error)}"
        ) from None


def first_line(error: Any) -> str:
    """What an error says first."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
