"""What tasks keep on their executor's own disk between rounds: mapped into memory, not read.

Spark's cache would hand every part to a task through a socket, round by round, which takes longer
than the round itself. What is kept here is secret, as what Spark writes beside it is: it lies in
the application's own folder, readable by its user alone, and goes with it.
"""

from __future__ import annotations

import mmap
import os
import pickle
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

_ALIGNED = 64
"""Arrays begin where a vector of any processor may."""


@dataclass(frozen=True)
class Store:
    """A table's parts, numbered (generation 0), or what was prepared of them.

    A preparation goes when the next one comes.
    """

    run: str
    generation: int

    def keep(self, part: int, value: Any) -> bool:
        """Keep what was made of a part, whole or not at all; whether it is kept."""
        place = self._place(part)
        unfinished = place.with_suffix(f".{os.getpid()}")
        if self.generation > 1:
            Store(self.run, self.generation - 1)._place(part).unlink(missing_ok=True)
        try:
            place.parent.mkdir(mode=0o700, exist_ok=True)
            unfinished.touch(mode=0o600)
            with unfinished.open("wb") as file:
                file.writelines(_written(value))
            unfinished.replace(place)
        except OSError:  # a full disk: it is made again whenever it is needed
            with suppress(OSError):
                unfinished.unlink(missing_ok=True)
            return False
        return True

    def recall(self, part: int) -> Any:
        """What was kept; None where it is not, or on another executor."""
        try:
            with self._place(part).open("rb") as file:
                # Private to this process: arrays are writable or not as they were.
                held = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
        except OSError:
            return None
        return _read(held)

    def forget(self) -> None:
        """Remove all generations from this executor."""
        shutil.rmtree(self._folder(), ignore_errors=True)

    def _place(self, part: int) -> Path:
        return self._folder() / f"{self.generation}-{part}.part"

    def _folder(self) -> Path:
        from pyspark import SparkFiles

        return Path(SparkFiles.getRootDirectory()) / f"discreet-{self.run}"


def _written(value: Any) -> Iterator[bytes | memoryview]:
    """Sizes, what `pickle` makes of it, and its arrays as they are."""
    arrays: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=arrays.append)
    pieces = [memoryview(head), *(array.raw() for array in arrays)]
    sizes = pickle.dumps([len(piece) for piece in pieces])
    yield len(sizes).to_bytes(8, "little") + sizes
    yield bytes(-(8 + len(sizes)) % _ALIGNED)
    for piece in pieces:
        yield piece
        yield bytes(-len(piece) % _ALIGNED)


def _read(held: memoryview) -> Any:
    length = int.from_bytes(held[:8], "little")
    sizes = pickle.loads(held[8 : 8 + length])
    taken = [_aligned(8 + length), *map(_aligned, sizes)]
    head, *arrays = (
        held[at : at + size] for at, size in zip(accumulate(taken), sizes, strict=False)
    )
    return pickle.loads(head, buffers=arrays)


def _aligned(size: int) -> int:
    return size + -size % _ALIGNED
