"""discreet evaluate: what accuracy a scheme has, and what privacy costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from discreet.cli import options as o
from discreet.cli import parse, schemes, show
from discreet.cli.bundles import ItemTable, Levels, Reading, Showing
from discreet.cli.completion import one_of
from discreet.cli.schemes import Given
from discreet.errors import ParameterError

if TYPE_CHECKING:
    import polars as pl

    from discreet.data.items import Items
    from discreet.data.ratings import Ratings
    from discreet.evaluate.crossval import Method
    from discreet.evaluate.judge import Judging
    from discreet.evaluate.splits import Split
    from discreet.privacy.spec import PrivacySpec
    from discreet.schemes.base import Scheme


def evaluate(
    *,
    ratings: o.RatingsArgument,
    scheme: Annotated[
        list[str] | None,
        typer.Option(
            **one_of(o.SCHEME_NAMES),
            help="What to evaluate (tally; with --delta chorus); more than once to compare.",
        ),
    ] = None,
    folds: Annotated[int | None, typer.Option(help="Cross-validate with so many folds.")] = None,
    split: o.SplitOption = o.SplitName.RANDOM,
    hold_out: Annotated[
        float | None, typer.Option(help="Test on this share of the ratings (default 0.1).")
    ] = None,
    by_time: Annotated[
        float | None, typer.Option(help="The same as --split time --hold-out with this share.")
    ] = None,
    clip: Annotated[
        bool, typer.Option("--clip", help="Clip predictions to the scale; the paper does not.")
    ] = False,
    top: o.TopOption = 10,
    target: o.TargetOption = o.TargetName.LIKED,
    baselines: o.BaselinesOption = True,
    levels: Levels,
    item_table: ItemTable,
    reading: Reading,
    seed: Annotated[int, typer.Option(help="Seed of splits and noise.")] = 0,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Folds side by side (default: one a core).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Also write all rows to a .csv, .parquet or .json file.")
    ] = None,
    showing: Showing,
    given: Given,
) -> None:
    """Measure errors and lists of schemes on held-out ratings, or lists alone on events.

    The results depend on the ratings and are for their owner.

    \b
    Examples:
      discreet evaluate club --scheme tally --scheme pmf --privacy groups
      discreet evaluate ml-1m --scheme pdp-pmf --privacy groups --folds 10
      discreet evaluate ml-1m --privacy groups --split last --target consumed
      discreet evaluate ml-1m --scheme pmf --solver als --lambda 0.06
      discreet evaluate steam-events --events --privacy uniform:1
    """
    import polars as pl

    from discreet.evaluate.judge import Judging

    if out is not None:
        parse.output_file(out)
    show.compiling_ahead(silent=showing.silent)
    data = reading.load(ratings)
    catalogue = item_table.load(reading)
    show.tables(data, catalogue)
    spec = levels.spec(data.epsilon is not None)
    splits, how = _splits(data, folds, split, hold_out, by_time, seed)
    names = scheme or [schemes.usual(given)]
    built = schemes.build(names, given, catalogue)
    methods: list[_Method] = [
        _Method(_label(name, chosen), chosen) for name, chosen in zip(names, built, strict=True)
    ]
    missing = ""
    if baselines:
        more, missing = _beside(names, data, spec, catalogue, str(given.get("unit") or "rating"))
        methods += more
    judging = Judging(top, o.TargetName.CONSUMED if reading.events else target)
    run = _Run(data, spec, splits, judging, clip, seed, workers, showing.silent)
    frames = run.all(methods, asked=len(names))
    if not showing.silent:
        _print(frames, methods, f"{ratings}, {how}", run.lists, missing)
    rows = pl.concat(frames, how="diagonal")
    if out is not None:
        show.save_table(rows, out)
    if showing.as_json:
        typer.echo(rows.write_json())
    elif out is not None and not showing.quiet:
        typer.echo(f"All rows written to {out}")


class _Method(NamedTuple):
    """A scheme or baseline, and which tables it is shown in."""

    label: str
    method: Method
    tables: tuple[str, ...] = ("errors", "lists")


class _Run(NamedTuple):
    """On what, and how, every scheme is measured."""

    data: Ratings
    spec: PrivacySpec | None
    splits: list[Split]
    lists: Judging
    clip: bool
    seed: int
    workers: int | None
    silent: bool

    def all(self, methods: Sequence[_Method], asked: int) -> list[pl.DataFrame]:
        """A table for each method; one that diverges has a row that says so.

        That is refused only where nothing is left of the first so many, that were asked for.
        """
        import polars as pl

        from discreet.errors import DivergenceError

        frames: list[pl.DataFrame] = []
        diverged = 0
        for number, method in enumerate(methods):
            try:
                frames.append(self.of(method))
            except DivergenceError as error:
                diverged += 1
                if diverged == asked == number + 1:
                    raise
                typer.echo(f"{method.label} diverged: {error}", err=True)
                row = {"scheme": [method.label], "diverged": [True]}
                frames.append(pl.DataFrame(row))
        return frames

    def of(self, method: _Method) -> pl.DataFrame:
        """A row for each split."""
        import polars as pl

        from discreet.evaluate.crossval import cross_validate

        with show.progress_bar(self.silent) as bar:

            def progress(what: str, done: int, total: int) -> None:
                bar(f"{method.label}, {what}", done, total)

            frame = cross_validate(
                method.method,
                self.data,
                self.spec,
                folds=self.splits,
                seed=self.seed,
                clip=self.clip,
                top=self.lists.top if "lists" in method.tables else None,
                target=self.lists.target,
                workers=self.workers,
                progress=progress,
            )
        return frame.insert_column(0, pl.lit(method.label).alias("scheme"))


def _beside(
    names: list[str],
    data: Ratings,
    spec: PrivacySpec | None,
    items: Items | None,
    unit: str,
) -> tuple[list[_Method], str]:
    """What stands beside the schemes, and what does not, with the reason."""
    from dataclasses import replace

    from discreet.evaluate.baselines import REFERENCES
    from discreet.evaluate.judge import has_opinions

    found, missing = [], []
    for reference in REFERENCES:
        if reference.name in names and not reference.options:
            continue
        if reference.of == "errors" and not has_opinions(data):
            continue
        reason = reference.why_not(data, spec, items)
        if reason:
            missing.append(f"{reference.label} ({reason})")
            continue
        method = reference.build(items)
        if reference.name == "private-popularity":
            method = replace(method, unit=unit)
        found.append(_Method(reference.label, method, (reference.of,)))
    return found, ", ".join(missing)


def _label(name: str, scheme: Scheme) -> str:
    """The scheme, and which variant of it, where it has some."""
    from discreet.schemes.base import options_of

    variant = getattr(scheme, "variant", "") if "variant" in options_of(type(scheme)) else ""
    return f"{name} {variant}".strip()


def _splits(
    data: Ratings,
    folds: int | None,
    split: str,
    hold_out: float | None,
    by_time: float | None,
    seed: int,
) -> tuple[list[Split], str]:
    from discreet.evaluate import splits as s

    if sum(choice is not None for choice in (folds, hold_out, by_time)) > 1:
        raise ParameterError("choose one of --folds, --hold-out and --by-time")
    if by_time is not None:
        split, hold_out = o.SplitName.TIME, by_time
    if folds is not None and split != o.SplitName.RANDOM:
        raise ParameterError(f"--folds goes with --split random: got {split}")
    if split == o.SplitName.LAST:
        if hold_out is not None:
            raise ParameterError("--split last holds out one record a person: no --hold-out")
        return [s.leave_last_out(data, seed=seed)], "everybody's last held out"
    share = 0.1 if hold_out is None else hold_out
    if split == o.SplitName.TIME:
        return [s.by_time(data, share)], f"the latest {share:.0%} held out"
    if folds is not None:
        return s.k_folds(data, folds, seed=seed), f"means over {folds} folds"
    return [s.hold_out(data, share, seed=seed)], f"{share:.0%} held out"


def _print(
    frames: list[pl.DataFrame], methods: list[_Method], title: str, lists: Judging, missing: str
) -> None:
    from discreet.cli.results import Result, show_errors, show_lists

    by_table: dict[str, list[Result]] = {"errors": [], "lists": []}
    for frame, method in zip(frames, methods, strict=True):
        figures = frame.mean().row(0, named=True)
        if frame.height > 1 and "rmse" in frame.columns:
            figures["rmse_std"] = frame["rmse"].std()
        for name in method.tables:
            diverged = "diverged" in frame.columns
            row = Result(
                (method.label,), None if diverged else frame["mechanism"][0], figures, diverged
            )
            by_table[name].append(row)
    console = show.console()
    if any(row.figures.get("rmse") is not None for row in by_table["errors"]):
        show_errors(by_table["errors"], ["scheme"], f"Errors: {title}")
        console.print()
    show_lists(by_table["lists"], ["scheme"], f"Lists: {title}", lists, missing)
    console.print(
        "\nThese runs are seeded, to be repeatable, and protect nobody; the mechanism's status is "
        "that of a run without a seed."
    )
    console.print(show.SECRET_RESULTS, style="yellow")
