"""A newcomer of the demo: a list before any rating, some ratings, and the list after them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.cli import show

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from discreet.release.release import Release

LOVED, DISLIKED = ("Horror", "Mystery"), "Musical"
"""The newcomer's taste."""
_LOVED_FILMS, _DISLIKED_FILMS, _LISTED = 6, 2, 8


class Rated(NamedTuple):
    """A film that the newcomer has seen."""

    row: int
    stars: int


def show_newcomer(release: Release) -> None:
    """What the release alone recommends, and what it recommends with somebody's own ratings."""
    films = release.items.frame
    rated = _seen(release)
    before = release.recommend(n=_LISTED)
    ids = [release.item_ids.values[film.row] for film in rated]
    after = release.recommend(ids, [film.stars for film in rated], n=_LISTED)
    console = show.console()
    console.print("\n[bold]A newcomer[/], of whom the release knows nothing, is shown:")
    _print_list(films, release.item_ids.rows(before["item"]), [""] * before.height)
    loved = " and ".join(LOVED)
    console.print(f"\nThen rates some films, being fond of {loved} and not of {DISLIKED}s:")
    rows = [
        [str(films["title"][film.row]), ", ".join(films["genres"][film.row]), "★" * film.stars]
        for film in rated
    ]
    _print(["title", "genres", "stars"], rows)
    console.print("\nFrom these ratings and the release alone, the list becomes:")
    listed = release.item_ids.rows(after["item"])
    _print_list(films, listed, [_why(films, int(row), rated) for row in listed])


def _seen(release: Release) -> list[Rated]:
    """What most people have seen of what the newcomer loves, and of what not: by noisy counts."""
    assert release.tallies is not None  # a Tally's release holds them
    counts = np.sum(release.tallies.votes(), axis=0)
    genres = [set(of) for of in release.items.frame["genres"]]
    order = [int(row) for row in np.argsort(-counts)]
    loved = [row for row in order if genres[row] & set(LOVED) and DISLIKED not in genres[row]]
    disliked = [row for row in order if DISLIKED in genres[row] and not genres[row] & set(LOVED)]
    stars = [5, 5, 4, 5, 4, 5]
    return [
        *(Rated(row, s) for row, s in zip(loved[:_LOVED_FILMS], stars, strict=True)),
        *(Rated(row, 1) for row in disliked[:_DISLIKED_FILMS]),
    ]


def _why(films: pl.DataFrame, row: int, rated: list[Rated]) -> str:
    """Which of one's own films has most of its genres; the public table and one's ratings tell."""
    genres = set(films["genres"][row])

    def alike(film: Rated) -> float:
        others = set(films["genres"][film.row])
        return float(len(genres & others) / np.sqrt(len(genres) * len(others)))

    best = max((film for film in rated if film.stars >= 4), key=alike)
    return f"like {films['title'][best.row]}" if alike(best) > 0 else "widely seen"


def _print_list(films: pl.DataFrame, listed: Iterable[int], whys: list[str]) -> None:
    rows = [
        [films["title"][int(row)], ", ".join(films["genres"][int(row)]), why]
        for row, why in zip(listed, whys, strict=True)
    ]
    heads = ["title", "genres", "why"] if any(whys) else ["title", "genres"]
    _print(["", *heads], [[str(k), *row[: len(heads)]] for k, row in enumerate(rows, 1)])


def _print(heads: list[str], rows: list[list[str]]) -> None:
    table = show.compact()
    for head in heads:
        table.add_column(head, overflow="fold")
    for row in rows:
        table.add_row(*row)
    show.console().print(table)
