"""The folder that a release is written to, replaced whole, and read from."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import DataError, OutputError, ReleaseError
from discreet.privacy.promise import INCREMENTAL
from discreet.release.durable import make_room, put_in_place
from discreet.release.format import CERTIFICATE, FILES, ITEMS, MODEL, read_fields

if TYPE_CHECKING:
    from discreet.release.release import Release


def write_folder(release: Release, folder: str | Path) -> Path:
    """Write a release; an old one at the same place is replaced whole or left whole."""
    target = Path(folder).expanduser().resolve()
    check_target(target)
    staged = release.stage(target)
    try:
        put_in_place(staged, target)
    except OSError:
        shutil.rmtree(staged, ignore_errors=True)
        raise
    return target


def read_folder(folder: str | Path) -> dict[str, bytes]:
    """What the folder of a release holds, by name; an error unless it is all there."""
    source = Path(folder).expanduser()
    if not source.is_dir():
        told = (
            "it is a file, and a release is a folder"
            if source.exists()
            else "there is no such folder"
        )
        raise ReleaseError(f"{source} is not a release: {told}")
    return {name: _read(source, name) for name in (ITEMS, MODEL, CERTIFICATE)}


def check_target(folder: str | Path) -> None:
    """An error if a release cannot be saved there, or must not: found before any work is done."""
    target = Path(folder).expanduser().resolve()
    make_room(target, FILES).rmdir()
    with suppress(ReleaseError, DataError):
        if read_fields(read_folder(target))["certificate"].variant == INCREMENTAL:
            raise OutputError(
                f"{target} holds a release that was published with a ledger, and later ones add to "
                "it: publish there with that ledger (--ledger), or choose another folder"
            )


def _read(source: Path, name: str) -> bytes:
    try:
        return (source / name).read_bytes()
    except OSError as error:
        raise ReleaseError(
            f"{source} is not a whole release: cannot read {name}: {error}"
        ) from None
