"""Parquet and Arrow: files that hold columns with their types, so nothing has to be guessed."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from discreet.readers.base import Dialect, table_format


def read_parquet(path: Path, dialect: Dialect) -> pl.DataFrame:
    """A Parquet file as a frame."""
    del dialect
    return pl.read_parquet(path)


def scan_parquet(path: Path, dialect: Dialect) -> pl.LazyFrame:
    """A Parquet file, or all Parquet files in a folder and the folders within, as one table."""
    del dialect
    return pl.scan_parquet(path / "**" / "*.parquet" if path.is_dir() else path)


def read_arrow(path: Path, dialect: Dialect) -> pl.DataFrame:
    """An Arrow (Feather, IPC) file as a frame."""
    del dialect
    return pl.read_ipc(path)


def scan_arrow(path: Path, dialect: Dialect) -> pl.LazyFrame:
    """An Arrow file as a table to be read piece by piece."""
    del dialect
    return pl.scan_ipc(path)


PARQUET = table_format(read_parquet, scan_parquet)
ARROW = table_format(read_arrow, scan_arrow)
