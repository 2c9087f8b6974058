"""Folders that are replaced whole: written beside their target, then exchanged with it.

A reader sees the old folder or the new one, never a mixture, also after a crash or a power cut.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
from pathlib import Path

from discreet.errors import OutputError

_STAGED = ".staged-"


def remove_leftovers(target: Path, names: set[str]) -> None:
    """Remove what a killed writer left beside target: our staging folders, our files alone."""
    for folder in target.parent.glob(f".{target.name}{_STAGED}????????"):
        if folder.is_dir() and {file.name for file in folder.iterdir()} <= names:
            shutil.rmtree(folder, ignore_errors=True)


def make_room(target: Path, names: set[str]) -> Path:
    """An empty temporary sibling of target; an error if a new folder cannot take its place.

    Target may be replaced if it is absent, or a folder that holds no other files than `names`.
    """
    if target.exists() and not _replaceable(target, names):
        raise OutputError(
            f"{target} exists and holds other things than a release: nothing was written; choose "
            "another folder, or empty it first"
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f".{target.name}{_STAGED}", dir=target.parent))
    except OSError as error:
        raise OutputError(f"cannot write the release to {target}: {error}") from None


def stage(files: dict[str, bytes], target: Path) -> Path:
    """Write files durably into a temporary sibling of target, to be put in place later.

    Until then only its owner can read it: it may never be put in place at all.
    """
    fresh = make_room(target, set(files))
    try:
        for name, content in files.items():
            with (fresh / name).open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        shutil.rmtree(fresh, ignore_errors=True)
        raise OutputError(f"cannot write the release to {target}: {error}") from None
    return fresh


def _replaceable(folder: Path, names: set[str]) -> bool:
    return folder.is_dir() and {file.name for file in folder.iterdir()} <= names


def put_in_place(fresh: Path, target: Path) -> None:
    """Put a staged release in target's place, so that target is whole at any time."""
    try:
        fresh.chmod(0o755)
        _swap(fresh, target)
    except OSError as error:
        raise OutputError(f"cannot write the release to {target}: {error}") from None
    shutil.rmtree(fresh, ignore_errors=True)  # now the old one, if there was any


def _swap(fresh: Path, target: Path) -> None:
    if not target.exists():
        fresh.rename(target)
    elif not _exchange(fresh, target):
        # Without an atomic exchange there is a moment in which only the hidden copy exists.
        old = fresh.with_name(fresh.name + "-old")
        target.rename(old)
        try:
            fresh.rename(target)
        except OSError:
            old.rename(target)
            raise
        shutil.rmtree(old, ignore_errors=True)
    descriptor = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step, where the system can; Python has no call for it."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(renameat2(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)
