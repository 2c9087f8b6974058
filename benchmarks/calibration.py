"""Whether predictions are as sure as they say: errors beside their stated standard errors.

    python -m benchmarks.calibration                      # all of it, minutes
    python -m benchmarks.calibration --tables book-ratings --levels 1 --draws 1

`predict(users, items, with_error=True)` says for every prediction how far a rating may be from it.
If that is right, 68% of the ratings lie within one standard error and 95% within two (ratings are
whole steps within bounds, so a few per cent beside these are no defect), the root mean square of
error over standard error is 1, and all of it holds for items of which little is known as for those
of which much is, and likewise for people. Prints a Markdown table for each.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from tests.accuracy import judge, zoo
from tests.accuracy.tables import Table

from discreet.arrays import Array
from discreet.schemes.base import Scheme
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.tally import Tally

TABLES = ("ml-100k + items", "ml-1m + items", "book-ratings + items")
SCHEMES = {"Tally": Tally, "Chorus": partial(Chorus, delta=judge.DELTA)}
LEVELS = ("0.1", "1", "groups")
DRAWS = range(1000, 1003)
"""Splits that chose no constant."""
COUNTS = (3, 10, 30, 100, 300)
"""Where bins of an item's noisy weighted count begin."""
RATINGS = (1, 3, 6, 21, 101)
"""Where bins of a person's number of training ratings begin."""


class Judged(NamedTuple):
    """Test ratings of one fit: how far off, how far off as was said, and what was known."""

    off: Array
    stated: Array
    counts: Array
    ratings: Array


def judge_errors(scheme: Scheme, table: Table, levels: str, draw: int) -> Judged:
    """Fit, and predict the test part with standard errors, in quarters of the scale."""
    train, test = table.train, table.test
    model = scheme.fit(train, judge.LEVELS[levels], seed=draw)
    users, items = test.users.take(test.user), test.items.take(test.item)
    predicted, stated = model.predict(users, items, with_error=True)
    tallies = model.release.tallies
    assert tallies is not None
    # An item or person that the model does not know is the last, of which nothing is known.
    counts = np.append(np.add(*tallies.votes()), 0.0)
    ratings = np.append(np.diff(train.ptr), 0)
    quarter = train.scale.span / 4
    return Judged(
        (test.rating - predicted) / quarter,
        stated / quarter,
        counts[model.ratings.items.rows(items)],
        ratings[train.users.rows(users)],
    )


def judge_draws(name: str, kind: zoo.Kind, levels: str, draws: Sequence[int]) -> Judged:
    """Several draws' test ratings together."""
    parts = []
    for draw in draws:
        table = kind.make(np.random.default_rng(draw))
        scheme = SCHEMES[name](items=table.items)
        parts.append(judge_errors(scheme, table, levels, draw))
    return Judged(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def bins(values: Array, edges: Sequence[int]) -> Iterator[tuple[str, Array]]:
    """What each bin is called, and what is in it."""
    place = np.searchsorted(edges, values, side="right")
    names = [f"below {edges[0]}"]
    names += [f"{lo} to below {hi}" for lo, hi in pairwise(edges)]
    for k, name in enumerate([*names, f"from {edges[-1]}"]):
        yield name, place == k


def show_all(told: str, found: Judged) -> None:
    """All test ratings, then by what is known of the item, then of the person."""
    show(told, "all", found, np.ones(len(found.off), dtype=bool))
    for what, inside in bins(found.counts, COUNTS):
        show(told, f"item: votes {what}", found, inside)
    for what, inside in bins(found.ratings, RATINGS):
        show(told, f"person: ratings {what}", found, inside)


def show(told: str, what: str, found: Judged, inside: Array) -> None:
    """A line of the result."""
    off, stated = found.off[inside], found.stated[inside]
    if len(off) == 0:
        return
    ratio = np.abs(off) / stated
    cells = (
        told,
        what,
        f"{len(off):,}",
        f"{np.mean(ratio <= 1):.1%}",
        f"{np.mean(ratio <= 2):.1%}",
        f"{np.sqrt(np.mean(ratio**2)):.3f}",
        f"{np.sqrt(np.mean(off**2)):.3f}",
        f"{np.sqrt(np.mean(stated**2)):.3f}",
    )
    print("|", " | ".join(cells), "|", flush=True)


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.calibration")
    parser.add_argument("--tables", nargs="*", default=TABLES)
    parser.add_argument("--levels", nargs="*", default=LEVELS, choices=list(judge.LEVELS))
    parser.add_argument("--draws", type=int, default=len(DRAWS))
    asked = parser.parse_args(words)
    kinds = zoo.kinds()
    absent = [name for name in asked.tables if name not in kinds]
    if absent:
        print(f"left out, for they are not here: {', '.join(absent)}", file=sys.stderr)
    print("| fit | known | ratings | within 1 | within 2 | error / stated | RMSE | stated |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for name in asked.tables:
        for levels in asked.levels if name in kinds else ():
            for scheme in ("Tally", "Chorus"):
                found = judge_draws(scheme, kinds[name], levels, DRAWS[: asked.draws])
                show_all(f"{scheme}, {name}, {levels}", found)


if __name__ == "__main__":
    main(sys.argv[1:])
