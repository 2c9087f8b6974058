"""The zoo: how far the schemes are behind the best of what costs nothing, on every kind of table.

    python -m benchmarks.zoo                                     # all of it, hours on two cores
    python -m benchmarks.zoo --generated --draws 4               # without the real tables
    python -m benchmarks.zoo --tables sparse ml-100k --levels 0.1 1 --protect rating
    python -m benchmarks.zoo --fresh                             # draws that chose no constant

Prints a Markdown table, worst first: the excess over the best reference in quarters of the scale
(stars of five), with its standard error from draw to draw; what a reference knows is said in
tests/accuracy/judge.py. `--tables` takes words that a name contains, or =name for one name. What is
promised, and a short form of the result, is in docs/accuracy.md.
"""

from __future__ import annotations

import os

# Cells run side by side, one a core: more threads inside each would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import NamedTuple

from tests.accuracy import judge, zoo

DRAWS = 6
"""Of a kind that counts once; a small table has more."""
FRESH = 1000
"""Where draws begin that nobody looked at when choosing a constant."""


class Cell(NamedTuple):
    """What is measured at once: a kind of table, at some levels, with something protected."""

    table: str
    levels: str
    protected: str


class Row(NamedTuple):
    """A line of the result."""

    cell: Cell
    scheme: str
    error: float
    free: judge.Finding
    strong: judge.Finding
    seconds: float


def measure(cell: Cell, draws: int, first: int, chorus: bool) -> list[Row]:
    """All schemes' findings in a cell."""
    began = time.perf_counter()
    kind = zoo.kinds()[cell.table]
    spec = judge.levels_of(kind)[cell.levels]
    seeds = range(first, first + draws * kind.draws)
    found = [judge.measure(kind, spec, seed, cell.protected, chorus) for seed in seeds]
    seconds = time.perf_counter() - began
    return [
        Row(
            cell,
            scheme,
            sum(errors[scheme] for errors in found) / len(found),
            judge.judge(found, scheme),
            judge.judge(found, scheme, judge.STRONG),
            seconds,
        )
        for scheme in ("Tally", "Chorus")
        if scheme in found[0]
    ]


def cells(asked: argparse.Namespace) -> Iterator[Cell]:
    """What was asked for, the costly ones first, so that no core waits for the last."""
    chosen = {
        name: kind
        for name, kind in zoo.kinds().items()
        if (not asked.generated or name in zoo.GENERATED)
        and (not asked.cheap or not kind.large)
        and (not asked.tables or any(_means(word, name) for word in asked.tables))
    }
    for name, kind in sorted(chosen.items(), key=lambda pair: not pair[1].large):
        for levels in judge.levels_of(kind):
            if not asked.levels or levels in asked.levels:
                for protected in asked.protect:
                    yield Cell(name, levels, protected)


def _means(word: str, name: str) -> bool:
    return word[1:] == name if word.startswith("=") else word in name


def show(rows: Sequence[Row], least: int) -> None:
    """The table, worst first: whatever breaks the promise, and at least so many lines."""
    rows = sorted(rows, key=lambda row: -row.free.excess)
    print(
        "| table | levels | protects | scheme | RMSE | excess | ± | beside | "
        "excess, strong | ± | beside |"
    )
    print("|---|---|---|---|---:|---:|---:|---|---:|---:|---|")
    for k, row in enumerate(rows):
        if k >= least and row.free.excess <= judge.PROMISED:
            break
        free, strong = (
            f"{x.excess:+.4f} | {x.error:.4f} | {x.reference}" for x in (row.free, row.strong)
        )
        told = " | ".join(row.cell)
        if zoo.kinds()[row.cell.table].because:
            told = f"({row.cell.table}) | " + " | ".join(row.cell[1:])
        print(f"| {told} | {row.scheme} | {row.error:.4f} | {free} | {strong} |")
    promised = [row for row in rows if not zoo.kinds()[row.cell.table].because]
    broken = [row for row in promised if row.free.excess > judge.PROMISED]
    sure = sum(row.free.at_least > judge.PROMISED for row in broken)
    print(
        f"\n{len(promised)} findings on tables with a promise (the others are in brackets): "
        f"{len(broken)} beyond {judge.PROMISED}, {sure} of them by more "
        "than three standard errors."
    )


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.zoo")
    parser.add_argument("--tables", nargs="*", default=[], metavar="WORD")
    parser.add_argument("--generated", action="store_true", help="no real tables")
    parser.add_argument("--cheap", action="store_true", help="small tables alone")
    parser.add_argument("--levels", nargs="*", default=[], metavar="LEVEL")
    parser.add_argument("--protect", nargs="*", default=list(judge.SETTINGS), metavar="WHAT")
    parser.add_argument("--tally", action="store_true", help="without Chorus")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--fresh", action="store_true", help="draws that chose no constant")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--rows", type=int, default=25, help="lines to show at least")
    asked = parser.parse_args(words)
    wanted, first = list(cells(asked)), FRESH if asked.fresh else 0
    rows: list[Row] = []
    with ProcessPoolExecutor(asked.jobs, mp_context=get_context("spawn")) as pool:
        work = [pool.submit(measure, cell, asked.draws, first, not asked.tally) for cell in wanted]
        for done, future in enumerate(as_completed(work), 1):
            rows += future.result()
            cell, seconds = rows[-1].cell, rows[-1].seconds
            told = ", ".join(cell)
            print(f"{done}/{len(wanted)} {told}: {seconds:.1f} s", file=sys.stderr, flush=True)
    show(rows, asked.rows)


if __name__ == "__main__":
    main(sys.argv[1:])
