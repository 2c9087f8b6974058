"""A quick reader for large text tables of plain numbers; it leaves any other to a general one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.columns import REQUIRED
from discreet.kernels.delimited import INTEGER, NUMBER, SKIPPED, count_lines, parse_lines
from discreet.kernels.threads import even_ranges, run_all, thread_count

LARGE = 4 << 20
"""Bytes from which on it is worth it: the kernels must be compiled once."""
_WHOLE = ("user", "item", "timestamp")
LONGEST_LINE = 1 << 16
"""Bytes that a line may have."""


def read_plain(
    path: Path,
    separator: str,
    names: Mapping[str, str],
    needed: set[str],
    required: Sequence[str] = REQUIRED,
) -> pl.DataFrame | None:
    """Read those columns of a table that `names` names in our words; ids and times are integers.

    `names` maps the file's names of columns to ours; `needed` are names that the file must have,
    `required` those of ours.

    None where a general reader must decide: small files, columns that are needed and not there,
    anything quoted or missing, an id that is not an integer in its usual writing, a number of
    unusual look, rows of other lengths.
    """
    if separator in '0123456789.-\r\n"':
        return None
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size < LARGE:
                return None
            header = _header(file.read(LONGEST_LINE), separator)
            found = [names[name] for name in header if name in names]
            there = set(required) <= set(found) and needed <= set(header)
            if not there or len(set(found)) < len(found):
                return None
            text = _whole(file.fileno())
    except OSError:
        return None
    kinds = np.array([_kind(names.get(name)) for name in header])
    slots = np.zeros(len(header), dtype=np.int64)
    for kind in (INTEGER, NUMBER):
        slots[kinds == kind] = np.arange((kinds == kind).sum())
    parsed = _parse(text, ord(separator), kinds, slots)
    if parsed is None:
        return None
    columns = zip(header, kinds.tolist(), slots.tolist(), strict=True)
    return pl.DataFrame({name: parsed[k][slot] for name, k, slot in columns if k != SKIPPED})


def _header(begin: bytes, separator: str) -> list[str]:
    """The names of the columns; none, where they are not plain."""
    line, newline, _ = begin.partition(b"\n")
    plain = newline and line.isascii() and b'"' not in line
    return line.removesuffix(b"\r").decode().split(separator) if plain else []


def _whole(file: int) -> NDArray[np.uint8]:
    """A copy of all bytes, read on all threads, with a newline at the end.

    Mapped into memory, the file could change between counting its lines and parsing them.
    """
    size = os.fstat(file).st_size
    text = np.empty(size + 1, dtype=np.uint8)
    threads = thread_count(None)

    def read(lo: int, hi: int) -> None:
        while lo < hi:
            count = os.preadv(file, [text[lo:hi].data], lo)
            if count == 0:
                raise OSError("the file became shorter")
            lo += count

    run_all([partial(read, lo, hi) for lo, hi in even_ranges(size, threads)], threads)
    text[size] = ord("\n")
    return text[:size] if size and text[size - 1] == ord("\n") else text


def _kind(name: str | None) -> int:
    return SKIPPED if name is None else INTEGER if name in _WHOLE else NUMBER


def _parse(
    text: NDArray[np.uint8], separator: int, kinds: NDArray[Any], slots: NDArray[Any]
) -> dict[int, NDArray[Any]] | None:
    """The columns of every line but the first, on all threads."""
    threads = thread_count(None)
    places = [lo for lo, _ in even_ranges(max(0, len(text) - LONGEST_LINE), 4 * threads)]
    cuts = [cut for place in places if (cut := _next_line(text, place)) is not None]
    if len(cuts) < len(places):
        return None
    pieces = list(pairwise([*cuts, len(text)]))
    words = text[: len(text) // 8 * 8].view(np.uint64)
    counts = run_all([partial(count_lines, lo, hi, text, words) for lo, hi in pieces], threads)
    *firsts, rows = np.cumsum([0, *counts]).tolist()
    for whole, number in ((np.int32, np.float32), (np.int64, np.float64)):
        integers = np.empty((int((kinds == INTEGER).sum()), rows), dtype=whole)
        numbers = np.empty((int((kinds == NUMBER).sum()), rows), dtype=number)
        calls = [
            partial(parse_lines, lo, hi, text, separator, kinds, slots, first, integers, numbers)
            for (lo, hi), first in zip(pieces, firsts, strict=True)
        ]
        done = run_all(calls, threads)
        if not all(plain for plain, _ in done):
            return None
        if all(held for _, held in done):
            break
    return {INTEGER: integers, NUMBER: numbers}


def _next_line(text: NDArray[np.uint8], place: int) -> int | None:
    """Where the first line begins that does so after place; None where lines are too long."""
    newlines = np.flatnonzero(text[place : place + LONGEST_LINE] == ord("\n"))
    return place + int(newlines[0]) + 1 if len(newlines) else None
