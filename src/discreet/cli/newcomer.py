"""A newcomer of the demo: a list before any rating, some ratings, and the list after them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich.text import Text

from discreet.cli import show

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from discreet.release.explaining import Explanation
    from discreet.release.release import Release

LOVED, DISLIKED = "Mystery", "Comedy"
"""The newcomer's taste."""
_STARS = (5, 5, 4, 5, 4, 5)
_DISLIKED_FILMS, _LISTED = 2, 8
_MOSTLY = 0.5
"""From this share of popularity on, that is the reason which is given."""


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
    stars = [film.stars for film in rated]
    after = release.recommend(ids, stars, n=_LISTED)
    console = show.console()
    told = ", of whom the release knows nothing, is shown:"
    console.print(Text.assemble("\n", ("A newcomer", "bold"), told))
    _print_list(films, release.item_ids.rows(before["item"]), [""] * before.height)
    console.print(f"\nThen rates some films, being fond of {LOVED} and not of {DISLIKED}:")
    rows = [
        [str(films["title"][film.row]), ", ".join(films["genres"][film.row]), "★" * film.stars]
        for film in rated
    ]
    _print(["title", "genres", "stars"], rows)
    console.print("\nFrom these ratings and the release alone, the list becomes:")
    whys = [_why(release, release.explain(ids, stars, item), item) for item in after["item"]]
    _print_list(films, release.item_ids.rows(after["item"]), whys)


def _seen(release: Release) -> list[Rated]:
    """What most people have seen of what the newcomer loves, and of what not: by noisy counts."""
    assert release.tallies is not None  # a Tally's release holds them
    counts = np.sum(release.tallies.votes(), axis=0)
    genres = [set(of) for of in release.items.frame["genres"]]
    order = [int(row) for row in np.argsort(-counts)]
    loved = [row for row in order if LOVED in genres[row] and DISLIKED not in genres[row]]
    disliked = [row for row in order if DISLIKED in genres[row] and LOVED not in genres[row]]
    return [
        *(Rated(row, stars) for row, stars in zip(loved, _STARS, strict=False)),
        *(Rated(row, 1) for row in disliked[:_DISLIKED_FILMS]),
    ]


def _why(release: Release, told: Explanation, item: Any) -> str:
    """In a few words: an own film of the same series, or the one that speaks most for it."""
    row = int(release.item_ids.rows([item])[0])
    own = release.item_ids.rows(told.because["item"])
    for codes in release.families.values():
        kin = told.because["title"].filter((codes[own] == codes[row]) & (codes[row] >= 0))
        if len(kin):
            return f"goes with {kin[0]}"
    if told.popularity >= _MOSTLY:
        return "widely seen"
    return f"like {told.because['title'][0]}"


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
