"""Folders and zip archives: the places in which data sets of original files are published."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from discreet.errors import DataError


def is_archive(path: Path) -> bool:
    """Whether a path is named as a zip archive."""
    return path.suffix.lower() == ".zip"


def is_container(path: Path) -> bool:
    """Whether a path can hold several files: a folder or a zip archive."""
    return path.is_dir() or is_archive(path)


def names_in(archive: Path) -> list[str]:
    """The names of all files in a zip archive, with their folders."""
    try:
        with zipfile.ZipFile(archive) as opened:
            return opened.namelist()
    except (zipfile.BadZipFile, OSError) as error:
        raise DataError(f"{archive} is not a readable zip archive: {error}") from None


@contextmanager
def naming_errors(path: Path) -> Iterator[None]:
    """While an original file is read: what goes wrong becomes an error that names the file."""
    try:
        yield
    except (pl.exceptions.PolarsError, zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {path}: {str(error).splitlines()[0]}") from None
