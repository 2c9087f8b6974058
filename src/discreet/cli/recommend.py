"""discreet recommend: top-n for one person or many, from a release and their own ratings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options as o
from discreet.cli import parse, show
from discreet.cli.bundles import Showing, TextTable
from discreet.cli.completion import one_of
from discreet.errors import ParameterError

if TYPE_CHECKING:
    import polars as pl

    from discreet.data.ratings import Ratings
    from discreet.release.ranking import Ranking
    from discreet.release.release import Release

_SHOWN = 20
"""People whose lists a terminal shows: more are for a file."""
_HOW = (
    "Ranked by what one would choose and like; the score is the predicted rating\n"
    "(--rank-by liked ranks by it)."
)


def recommend(
    *,
    release: Annotated[Path, typer.Argument(metavar="DIR", help="A release folder.")],
    ratings: Annotated[
        Path | None,
        typer.Option(
            help="Own ratings: a table with item and rating (and user, for several people). Of a "
            "release of events, own events: item alone will do. A timestamp column makes what was "
            "chosen lately count for more."
        ),
    ] = None,
    n: Annotated[int, typer.Option("-n", help="How many items for each person.")] = 10,
    user: Annotated[
        str | None, typer.Option(help="Only this person of a table with several.")
    ] = None,
    include_rated: Annotated[
        bool, typer.Option("--include-rated", help="Also list what was rated already.")
    ] = False,
    rank_by: Annotated[
        str,
        typer.Option(
            **one_of("best|likely|liked"),
            help="By what one would choose and like (best), choose (likely), or rate highest "
            "(liked).",
        ),
    ] = "best",
    diversity: Annotated[
        float, typer.Option(help="How much likeness to items above counts against one; try 0.5.")
    ] = 0.0,
    among: Annotated[
        list[str] | None,
        typer.Option(help="Only items with this: genres=Comedy, year=1990..1999; repeatable."),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(help="No items with this, written likewise.")
    ] = None,
    recency: Annotated[
        float,
        typer.Option(
            help="How much less old choices count than late ones, where their times are "
            "known; 0: all alike."
        ),
    ] = 0.7,
    errors: Annotated[
        bool, typer.Option("--errors", help="Also the standard error of every predicted rating.")
    ] = False,
    columns: o.ColumnsOption = None,
    keep: o.KeepOption = None,
    text: TextTable,
    out: Annotated[
        Path | None,
        typer.Option(help="Write a .csv, .parquet or .json file instead: the way for many people."),
    ] = None,
    showing: Showing,
) -> None:
    """Recommend items from a release and one's own ratings; nothing else is read.

    Items that the release does not know are passed over. Without ratings, everybody gets the
    same list. Ranked is what one would choose and would like; the score is the predicted rating,
    so scores need not fall from rank to rank. Of a release of events, it is how likely the item
    is beside the first.

    \b
    Examples:
      discreet recommend release --ratings mine.csv -n 10
      discreet recommend release --ratings mine.csv --among genres=Comedy
      discreet recommend release --ratings everyone.parquet --out lists.parquet
    """
    from discreet.release.ranking import Ranking
    from discreet.release.release import Release

    if out is not None:
        parse.output_file(out)
    ranking = Ranking(
        by=rank_by,
        diversity=diversity,
        among=parse.item_filter(among, "--among"),
        without=parse.item_filter(without, "--without"),
        exclude_rated=not include_rated,
        recency=recency,
    )
    ranking.check()
    show.compiling_ahead(silent=showing.silent)
    loaded = Release.load(release)
    people = None
    if ratings is not None:
        from discreet.readers.tables import read_people

        people = read_people(
            ratings,
            loaded.scale,
            parse.mapping(columns),
            separator=text.delimiter,
            encoding=text.encoding,
            events=loaded.events,
            keep=keep,
        )
        if user is None and out is None and not showing.as_json and len(people.users) > _SHOWN:
            raise ParameterError(
                f"{ratings} holds {len(people.users):,} people: write their lists to a file with "
                "--out lists.csv, or ask for one with --user"
            )
    table = _recommendations(loaded, people, n, user, ranking, with_error=errors)
    if out is not None:
        show.save_table(table, out)
    if showing.as_json:
        typer.echo(table.write_json())
    if showing.silent:
        return
    if out is not None:
        typer.echo(f"{table.height:,} recommendations written to {out}")
        return
    _show(table, loaded, ranking)


def _show(table: pl.DataFrame, release: Release, ranking: Ranking) -> None:
    """The lists as a table, without titles where there are none."""
    titles = ["title"] if "title" in release.items.frame.columns else []
    shown = ["user", "rank", "item", *titles, "score", "error"]
    heads = [c for c in shown if c in table.columns]
    rows = [
        [f"{v:.2f}" if isinstance(v, float) else str(v) for v in row]
        for row in table.select(heads).iter_rows()
    ]
    console = show.console()
    if not rows:
        console.print(_why_empty(release, ranking))
        return
    console.print(show.table(None, heads, rows, right=heads.index("score")))
    if ranking.by == "best" and not release.events:
        console.print(_HOW, style="dim")


def _why_empty(release: Release, ranking: Ranking) -> str:
    allowed = ranking.allowed(release.items)
    if allowed is not None and not allowed.any():
        return "No item of the release is what --among and --without ask for."
    what = "chosen" if release.events else "rated"
    return f"No item is left: all that could be listed are {what} already (--include-rated)."


def _recommendations(
    release: Release,
    people: Ratings | None,
    n: int,
    user: str | None,
    ranking: Ranking,
    *,
    with_error: bool,
) -> pl.DataFrame:
    import polars as pl

    from discreet.data.edges import match
    from discreet.release.own import read_own
    from discreet.release.scoring import Own

    if people is None:
        nobody = read_own(release)
        table = release.recommend_rows(nobody, n, ranking, with_error=with_error).drop("person")
    else:
        if user is not None:
            who = people.users.rows([user], strict=True)[0]
            people = people.subset(people.user == who)
        matched = people.with_items(release.item_ids)
        if len(matched) < len(people):
            typer.echo(str(match(people.per_item, release.items, events=people.events)), err=True)
        known = matched.by_user
        own = Own(known.ptr, known.cols, known.values, matched.timestamp)
        table = release.recommend_rows(own, n, ranking, with_error=with_error)
        ids = people.users.take(table["person"])
        table = table.drop("person").insert_column(0, ids.alias("user"))
        if user is not None or len(people.users) == 1:
            table = table.filter(pl.col("user") == people.users.values[int(people.user[0])]).drop(
                "user"
            )
    return table.with_columns(
        pl.Series("title", release.items.titles(table["item"]), dtype=pl.String)
    )
