"""How the command line shows things: tables, certificates, progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from discreet.progress import silent

if TYPE_CHECKING:
    import polars as pl

    from discreet.data.column_use import Use
    from discreet.data.edges import Table as RatingsTable
    from discreet.data.items import Items
    from discreet.experiments.source import Source
    from discreet.privacy.certificate import Certificate
    from discreet.privacy.lifetime import Summary
    from discreet.progress import Progress
    from discreet.release.release import Release

SECRET_RESULTS = (
    "These figures were computed from the ratings themselves, outside any mechanism: they are for "
    "you. Publishing them, or parameters chosen by them, spends privacy that no certificate counts."
)
_STYLES = {"proven": "green", "conditional": "yellow", "unproven": "red"}


def console(*, error: bool = False) -> Console:
    """A console as wide as the terminal; no colour where there is none.

    What it prints is printed as it is: in people's own titles and names, brackets and colons are
    no markup. What is to have a colour is given as a `Text`.
    """
    plain = not sys.stdout.isatty()
    return Console(stderr=error, highlight=False, markup=False, emoji=False, soft_wrap=plain)


def coloured(status: str) -> str | Text:
    """A certificate's status in its colour; other words as they are."""
    return Text(status, _STYLES[status]) if status in _STYLES else status


def table(
    title: str | None, columns: list[str], rows: Sequence[Sequence[str | Text]], right: int = 1
) -> Table:
    """A plain table; columns from `right` on are numbers."""
    shown = Table(title=title, title_justify="left", header_style="bold", show_edge=False)
    for k, name in enumerate(columns):
        shown.add_column(name, justify="right" if k >= right else "left", overflow="fold")
    for row in rows:
        shown.add_row(*row)
    return shown


def compact(title: str | None = None) -> Table:
    """A table without lines between its columns, for what must fit a narrow terminal."""
    return Table(
        title=title,
        title_justify="left",
        header_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )


def uses(found: Sequence[Use], widest_name: int) -> Table:
    """What the columns of an item table are used for; reasons are wrapped between words."""
    shown = Table(header_style="bold", show_edge=False)
    shown.add_column("column", overflow="fold", max_width=widest_name)
    shown.add_column("holds", no_wrap=True)
    shown.add_column("used as", no_wrap=True)
    shown.add_column("why", overflow="fold")  # nothing is cut off: it may say what to type
    for use in found:
        shown.add_row(use.column, use.kind, use.role, use.why)
    return shown


def certificate(value: Certificate) -> Table:
    """A certificate for a human."""
    shown = Table(show_header=False, show_edge=False, padding=(0, 2, 0, 0), box=None)
    shown.add_column(style="bold", no_wrap=True)
    shown.add_column(overflow="fold")
    rows: list[tuple[str, str | Text]] = [
        ("scheme", f"{value.scheme}, {value.variant}"),
        ("status", _status(value)),
        ("statement", value.statement),
        ("theorem", f"{value.theorem.name}, {value.theorem.proof}"),
    ]
    rules = value.provenance.events
    if value.sampler != "none":  # without noise there is nothing to say about it
        rows += [
            ("unit", f"one {value.unit}. {value.about_sums}"),
            ("neighbours", value.neighbours),
            ("item columns", ", ".join(value.provenance.columns) or "none"),
            *([] if rules is None else [("events", rules)]),
            ("levels", value.levels),
            ("personalisation", value.personalisation),
            ("threshold t", value.threshold_words),
            ("delta", f"{value.delta:g}"),
            ("noise", value.sampler),
            ("entropy", value.entropy),
            *(("assumes", text) for text in value.assumptions),
        ]
    if value.parameters:
        rows.append(("parameters", ", ".join(f"{k} = {v}" for k, v in value.parameters.items())))
    if value.digest:
        rows.append(("digest", f"{value.digest} (detects damage, not forgery)"))
    for name, text in rows:
        shown.add_row(name, text)
    return shown


def page(text: str) -> None:
    """A page of documentation: set for a terminal, as it is written elsewhere."""
    if not sys.stdout.isatty():
        print(text, end="")
        return
    from rich.markdown import Markdown

    console().print(Markdown(text))


def contents(release: Release) -> str:
    """What is in a release, in a sentence or two."""
    count = release.item_factors.shape[1]
    names = release.factor_names
    hidden = sum(name.startswith("factor ") for name in names) if names else count
    factors = f"{hidden} hidden factors" if hidden != 1 else "1 hidden factor"
    public = f" and {count - hidden} public columns" if count > hidden else ""
    chosen = 0 if release.choices is None else len(release.choices.reliability)
    of_choice = (
        f"{chosen} directions of who chooses what"
        if chosen != 1
        else "1 direction of who chooses what"
    )
    if release.events:
        told = of_choice if chosen else f"{factors}{public}"
        return f"{len(release.items):,} items, how often each was chosen; {told}."
    text = f"{len(release.items):,} items, {factors}{public} each, ratings {release.scale}."
    if chosen:
        text += f" Beside them, {of_choice}."
    elif release.certificate.scheme == "Chorus" and not hidden:
        text += " There were too few ratings to tell hidden factors from noise at these levels."
    return text


def _status(value: Certificate) -> str | Text:
    return Text(value.summary, "red") if value.seeded else coloured(value.status)


def left_out(items: Items) -> None:
    """Tell the owner which columns are not published, and how to vouch for them."""
    if items.left_out:
        names = ", ".join(map(repr, items.left_out))
        words = " ".join(f"--public-column {quote(name)}" for name in items.left_out)
        typer.echo(
            f"Warning: left out of the item table, neither used nor published: {names}. By the "
            "name, it looks derived from ratings. If a column is public and does not come from "
            f"these ratings, vouch for it: {words}",
            err=True,
        )


def tables(ratings: RatingsTable, items: Items | None) -> None:
    """Tell the owner how many ratings are outside the catalogue, or refuse to go on."""
    from discreet.data.edges import check_tables

    if items is None:
        return
    found = check_tables(ratings, items)
    if found.outside:
        warning = "Warning, for you alone" if found.many else "For you alone"
        typer.echo(f"{warning}: {found}", err=True)


def source(data: Source) -> None:
    """Tell the owner of both tables what is left out of one, and what is outside of the other."""
    items = data.load_items()
    if items is not None:
        left_out(items)
        tables(data.load(), items)


def save_table(frame: pl.DataFrame, path: Path) -> None:
    """Write a result table in the format its name asks for."""
    from discreet.errors import OutputError

    part = path.with_name(f".{path.name}.part")
    try:
        if path.suffix.lower() == ".csv":
            frame.write_csv(part)
        elif path.suffix.lower() == ".json":
            frame.write_json(part)
        else:
            frame.write_parquet(part)
        part.replace(path)  # whole or not at all, whenever somebody interrupts
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error}") from None
    finally:
        part.unlink(missing_ok=True)


def compiling_ahead(*, silent: bool = False) -> None:
    """Start to compile what the work will need; where that is still to be done, say so."""
    from discreet.kernels import ahead

    def tell() -> None:
        typer.echo(
            "Compiling what this command needs, once after an installation: this takes some "
            "seconds.",
            err=True,
        )

    ahead.when_compiling(None if silent else tell)
    ahead.compile_ahead()


@contextmanager
def progress_bar(quiet: bool = False, every: float = 5.0) -> Iterator[Progress]:
    """A bar on a terminal, else a line every few seconds; on standard error in both cases."""
    if quiet:
        yield silent
        return
    if not sys.stderr.isatty():
        yield _Lines(every)
        return
    from rich.progress import BarColumn, TaskID, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    bars = Bars(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TimeRemainingColumn(),
        console=console(error=True),
        transient=True,
    )
    tasks: dict[str, TaskID] = {}

    def report(what: str, done: int, total: int) -> None:
        if what not in tasks:
            tasks[what] = bars.add_task(what, total=total)
        bars.update(tasks[what], completed=done, total=total)

    with bars:
        yield report


class _Lines:
    """One line at the end of each kind of work, and every few seconds on the way."""

    def __init__(self, every: float) -> None:
        self._every, self._last = every, time.monotonic()
        self._began: dict[str, tuple[float, int]] = {}

    def __call__(self, what: str, done: int, total: int) -> None:
        now = time.monotonic()
        began, first = self._began.setdefault(what, (now, done))
        if done == total or now - self._last >= self._every:
            self._last = now
            left = (now - began) / (done - first) * (total - done) if done > first else 0.0
            more = f", about {left / 60:.0f} min left" if left >= 90 else ""
            # Nobody may be listening any more: the work does not end for that.
            with suppress(BrokenPipeError):
                print(f"{what}: {done}/{total}{more}", file=sys.stderr, flush=True)


def spent(totals: Summary, share: float | None) -> str:
    """What a ledger's pairs have spent, undivided and from their two purses."""
    words = (
        f"{totals['pairs']:,.0f} pairs of user and item have spent something: epsilon "
        f"{totals['mean']:.3g} on average, {totals['largest']:.3g} at most"
    )
    if totals["largest_delta"] or share is None:
        words += f"; delta {totals['largest_delta']:.3g} at most"
    if share is None:
        return f"{words}."
    return (
        f"{words}. The ledger is divided: {share:.0%} of every epsilon pays for tallies, as told "
        f"here, and the rest, with a lifetime's delta, for rounds, of which a mu of "
        f"{totals['largest_mu']:.3g} at most is spent."
    )
