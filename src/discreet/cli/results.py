"""How errors and lists are shown: two tables that fit a terminal, and what their words mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.measure import Measurement

from discreet.cli import show

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from discreet.evaluate.judge import Judging

_SPARED = (
    "cdf_2", "cdf_0.5", "cdf_1.5", "distinct", "precision", "fit_seconds", "mae", "cdf_1",
    "novelty",
)  # fmt: skip
"""Columns that a narrow terminal goes without, the first first; files have them all."""


class Result(NamedTuple):
    """A row: what it is called, its status, and its mean figures."""

    names: tuple[str, ...]
    """The scheme, and where they vary its level, "none" if nothing is private, and parameters."""
    mechanism: str | None
    figures: Mapping[str, Any]
    diverged: bool = False


def show_errors(results: Sequence[Result], heads: Sequence[str], title: str) -> None:
    """The table of errors: of those results that predict ratings."""
    from discreet.evaluate import metrics

    columns = {"mechanism": "mechanism", **metrics.headings(), "fit_seconds": "fit s"}
    rows = []
    for result in results:
        known = result.figures.get("rmse") is not None
        if not known and not result.diverged:
            continue
        cells: dict[str, str | Text] = {
            name: _number(name, result.figures.get(name)) for name in metrics.headings()
        }
        cells["fit_seconds"] = _number("fit_seconds", result.figures.get("fit_seconds"))
        spread = result.figures.get("rmse_std")
        if spread is not None:
            cells["rmse"] = f"{cells['rmse']} ± {spread:.4f}"
        if not known:
            cells["rmse"] = "diverged"
        cells["mechanism"] = show.coloured(result.mechanism or "-")
        rows.append((result.names, cells))
    _print(title, heads, columns, rows)


def show_lists(
    results: Sequence[Result], heads: Sequence[str], title: str, how: Judging, left_out: str = ""
) -> None:
    """The table of lists: of those results that make some."""
    from discreet.evaluate import lists
    from discreet.evaluate.crossval import NOT_PRIVATE

    columns = lists.headings(how.top)
    rows = []
    for result in results:
        if all(result.figures.get(name) is None for name in columns):
            continue
        cells = {name: _number(name, result.figures.get(name)) for name in columns}
        first = next(iter(columns))
        margin = result.figures.get(first + lists.MARGIN)
        if margin is not None and margin == margin:  # not NaN
            cells[first] += f" ± {margin:.3f}"
        name, *others = result.names
        if result.mechanism == NOT_PRIVATE and not others:
            name = f"{name}, {NOT_PRIVATE}"
        rows.append(((name, *others), cells))
    _print(title, heads, columns, rows)
    console = show.console()
    if left_out:
        console.print(f"Left out: {left_out}.")
    relevant = "what people liked among" if how.target == "liked" else "all of"
    words = (
        f"Lists should hold {relevant} the held-out records; ± is the 95% interval of a mean over "
        "people. Coverage: the share of the catalogue in anybody's list. Novelty: in bits, 1 for "
        "what half of all people have."
    )
    diverse = lists.column("diversity", how.top)
    if any(cells[diverse] != "-" for _, cells in rows):
        words += " Diversity: 1 - how alike a list's genres, or other flags, are."
    console.print(words, style="dim")


def _number(name: str, value: float | None) -> str:
    if value is None or value != value:
        return "-"
    kind = name.partition("@")[0]
    if kind == "coverage" or kind.startswith("cdf_"):
        return f"{value:.1%}"
    if kind == "distinct":
        return f"{value:,.0f}"
    if "@" in name or kind == "fit_seconds":
        return f"{value:.2f}" if kind in ("novelty", "diversity", "fit_seconds") else f"{value:.3f}"
    return f"{value:.4f}"


def _print(
    title: str,
    heads: Sequence[str],
    columns: Mapping[str, str],
    rows: Sequence[tuple[tuple[str, ...], Mapping[str, str | Text]]],
) -> None:
    """Every column that says something, as far as they fit."""
    console = show.console()
    shown = [name for name in columns if any(cells[name] != "-" for _, cells in rows)]
    table = _table(title, heads, columns, rows, shown)
    for spared in _SPARED:
        if _width(console, table) <= console.width:
            break
        shown = [name for name in shown if name.partition("@")[0] != spared]
        table = _table(title, heads, columns, rows, shown)
    console.print(table)


def _table(
    title: str,
    heads: Sequence[str],
    columns: Mapping[str, str],
    rows: Sequence[tuple[tuple[str, ...], Mapping[str, str | Text]]],
    shown: Sequence[str],
) -> Table:
    table = show.compact(title)
    for place, head in enumerate(heads):
        table.add_column(head, justify="right" if place else "left", no_wrap=True)
    shares = [name for name in shown if name.startswith("cdf_")]
    for name in shown:
        head = f"|error| {columns[name]}" if name in shares[:1] else columns[name]
        table.add_column(head, justify="left" if name == "mechanism" else "right")
    for names, cells in rows:
        table.add_row(*names, *(cells[name] for name in shown))
    return table


def _width(console: Console, table: Table) -> int:
    return Measurement.get(console, console.options.update(width=10**4), table).maximum
