"""discreet evaluate: what accuracy a scheme has, and what privacy costs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import options as o
from discreet.cli import parse, schemes, show
from discreet.cli.schemes import Given
from discreet.errors import ParameterError

if TYPE_CHECKING:
    import polars as pl

    from discreet.data.ratings import Ratings
    from discreet.evaluate.splits import Split
    from discreet.schemes.base import Scheme


def evaluate(
    *,
    ratings: o.RatingsArgument,
    scheme: Annotated[
        list[str] | None,
        typer.Option(
            metavar=o.SCHEME_NAMES,
            help="What to evaluate (tally; with --delta chorus); more than once to compare.",
        ),
    ] = None,
    folds: Annotated[int | None, typer.Option(help="Cross-validate with so many folds.")] = None,
    hold_out: Annotated[
        float | None, typer.Option(help="Test on a random share of the ratings (default 0.1).")
    ] = None,
    by_time: Annotated[
        float | None, typer.Option(help="Test on the latest share of the ratings instead.")
    ] = None,
    clip: Annotated[
        bool, typer.Option("--clip", help="Clip predictions to the scale; the paper does not.")
    ] = False,
    top: Annotated[
        int | None, typer.Option(help="Also precision, recall and NDCG of so many items.")
    ] = None,
    privacy: o.PrivacyOption = None,
    max_level: o.MaxLevelOption = None,
    min_level: o.MinLevelOption = None,
    default_level: o.DefaultLevelOption = None,
    items: o.ItemsOption = None,
    public_column: o.PublicColumnsOption = None,
    columns: o.ColumnsOption = None,
    scale: o.ScaleOption = None,
    keep: o.KeepOption = None,
    separator: o.SeparatorOption = None,
    encoding: o.EncodingOption = "utf-8",
    seed: Annotated[int, typer.Option(help="Seed of splits and noise.")] = 0,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Folds side by side (default: one a core).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Also write all rows to a .csv, .parquet or .json file.")
    ] = None,
    given: Given,
) -> None:
    """Measure the error of one or more schemes on held-out ratings.

    The results depend on the ratings and are for their owner.

    \b
    Examples:
      discreet evaluate club --scheme tally --scheme pdp-pmf --scheme pmf --privacy groups
      discreet evaluate ml-1m --scheme pdp-pmf --privacy groups --folds 10
      discreet evaluate ml-1m --scheme pmf --solver als --lambda 0.06 --top 10
    """
    import polars as pl

    from discreet.evaluate.crossval import cross_validate

    if out is not None:
        parse.output_file(out)
    data = parse.read(ratings, columns, scale, keep, separator, encoding)
    catalogue = parse.read_items(items, public_column, encoding)
    show.tables(data, catalogue)
    spec = parse.privacy(privacy, data.epsilon is not None, max_level, min_level, default_level)
    splits, how = _splits(data, folds, hold_out, by_time, seed)
    names = scheme or [schemes.usual(given)]
    results = []
    for name, chosen in zip(names, schemes.build(names, given, catalogue), strict=True):
        with show.progress_bar() as progress:
            frame = cross_validate(
                chosen,
                data,
                spec,
                folds=splits,
                seed=seed,
                clip=clip,
                top=top,
                workers=workers,
                progress=progress,
            )
        label = _label(name, chosen)
        results.append(frame.insert_column(0, pl.lit(label).alias("scheme")))
    _print(results, f"{ratings}, {how}", top)
    if out is not None:
        show.save_table(pl.concat(results), out)
        typer.echo(f"All rows written to {out}")


def _label(name: str, scheme: Scheme) -> str:
    """The scheme, and which variant of it, where it has some."""
    from discreet.schemes.base import options_of

    variant = getattr(scheme, "variant", "") if "variant" in options_of(type(scheme)) else ""
    return f"{name} {variant}".strip()


def _splits(
    data: Ratings, folds: int | None, hold_out: float | None, by_time: float | None, seed: int
) -> tuple[list[Split], str]:
    from discreet.evaluate import splits as s

    if sum(choice is not None for choice in (folds, hold_out, by_time)) > 1:
        raise ParameterError("choose one of --folds, --hold-out and --by-time")
    if by_time is not None:
        return [s.by_time(data, by_time)], f"the latest {by_time:.0%} held out"
    if folds is not None:
        return s.k_folds(data, folds, seed=seed), f"means over {folds} folds"
    share = 0.1 if hold_out is None else hold_out
    return [s.hold_out(data, share, seed=seed)], f"{share:.0%} held out"


def _print(results: list[pl.DataFrame], title: str, top: int | None) -> None:
    from discreet.evaluate import lists, metrics

    console = show.console()
    words = metrics.headings() | ({} if top is None else lists.headings(top))
    words["fit_seconds"] = "fit s"
    names = list(words)
    rows = []
    for frame in results:
        means = frame.select(names).mean().row(0)
        spread = frame["rmse"].std()
        numbers = [
            f"{v:.4f}" if c != "fit_seconds" else f"{v:.2f}"
            for c, v in zip(names, means, strict=True)
        ]
        if frame.height > 1 and isinstance(spread, float):
            numbers[names.index("rmse")] += f" ± {spread:.4f}"
        rows.append([frame["scheme"][0], show.status_markup(frame["mechanism"][0]), *numbers])
    console.print(show.table(title, ["scheme", "mechanism", *words.values()], rows, right=2))
    console.print(
        "These runs are seeded, to be repeatable, and protect nobody; the mechanism's status is "
        "that of a run without a seed."
    )
    console.print(show.SECRET_RESULTS, style="yellow")
