"""What several commands share: their options, in one place each."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from discreet.cli.completion import completing, data_sets, one_of
from discreet.schemes import SCHEMES


class SplitName(StrEnum):
    """Which records are held out."""

    RANDOM = "random"
    TIME = "time"
    LAST = "last"


class TargetName(StrEnum):
    """Which held-out records a list should have foreseen."""

    LIKED = "liked"
    CONSUMED = "consumed"


class EngineName(StrEnum):
    """Where the ratings are."""

    LOCAL = "local"
    STREAM = "stream"
    SPARK = "spark"


SCHEME_NAMES = f"{'|'.join(SCHEMES)}|module:Class"
RatingsArgument = Annotated[
    str,
    typer.Argument(
        metavar="RATINGS",
        **completing(data_sets),
        help="A ratings table (CSV, TSV, JSON lines, also .gz or .zst; Parquet, Arrow, MovieLens "
        "or Netflix files), one of events with --events, or the name of a data set; 'club' is the "
        "embedded one.",
    ),
]
ItemsOption = Annotated[
    str | None,
    typer.Option(
        metavar="ITEMS",
        **completing(data_sets),
        help="A public item table: item, title, year, genres, ...",
    ),
]
ItemColumnsOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="OURS=THEIRS", help="Map columns of the item table, such as item=sku,title=name."
    ),
]
EitherColumnsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--item-columns",
        "--columns",
        metavar="OURS=THEIRS",
        help="Map columns of an item table, such as item=sku,title=name.",
    ),
]
ItemSeparatorOption = Annotated[
    str | None,
    typer.Option(help="The delimiter of the item table (default: that of the ratings)."),
]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Say nothing but warnings and errors.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="The result as JSON, for programs.")]
PublicColumnsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--public-column",
        metavar="NAME",
        help="Vouch for a column of the item table that looks derived from ratings: it is public, "
        "and does not come from these ratings. May be repeated; without it, such a column is left "
        "out.",
    ),
]
FamilyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--family",
        metavar="COLUMN",
        help="A column of the item table that holds families, as fit would be told. May be "
        "repeated.",
    ),
]
PrivacyOption = Annotated[
    str | None,
    typer.Option(
        metavar="SPEC",
        help="Levels: 'uniform:0.1', 'column', or 'groups' with the paper's defaults "
        "('groups:f_c=0.2,eps_m=0.5' to change some). Default: the table's epsilon column.",
    ),
]
MaxLevelOption = Annotated[
    float | None,
    typer.Option(help="The largest level on offer (for --privacy column; default 1.0)."),
]
MinLevelOption = Annotated[
    float | None, typer.Option(help="The smallest level on offer (for --privacy column).")
]
DefaultLevelOption = Annotated[
    float | None,
    typer.Option(
        help="The level of a rating without one (for --privacy column; without it, a blank is an "
        "error)."
    ),
]
ColumnsOption = Annotated[
    list[str] | None,
    typer.Option(metavar="OURS=THEIRS", help="Map columns, such as user=buyer,rating=mark."),
]
ScaleOption = Annotated[
    str | None,
    typer.Option(
        metavar="LO:HI",
        help="The rating scale, declared, never looked up (default 1:5, or the format's own).",
    ),
]
KeepOption = Annotated[
    str | None,
    typer.Option(**one_of("last"), help="Of several ratings of one pair, keep the latest."),
]
SplitOption = Annotated[
    SplitName,
    typer.Option(help="Hold out records at random, the latest of all, or everybody's last."),
]
TopOption = Annotated[
    int, typer.Option(min=1, help="How long lists are; recall is of lists twice as long.")
]
TargetOption = Annotated[
    TargetName,
    typer.Option(help="A list should hold what was liked (4 of 5), or whatever was consumed."),
]
BaselinesOption = Annotated[
    bool,
    typer.Option(
        help="Show popularity, item-kNN, EASE, own means and the like beside the schemes."
    ),
]
EventsOption = Annotated[
    bool,
    typer.Option(
        "--events",
        help="The table holds events, not ratings: who chose what (user, item, and where there are "
        "any weight, epsilon, timestamp).",
    ),
]
QuantityOption = Annotated[
    str | None,
    typer.Option(
        metavar="SHAPE:CAP",
        help="With --events: how much a weight (hours, counts) counts, up to 1 at the cap: "
        "linear:10, log:10, or log:10:0.5 where a missing weight stands for 0.5. Declare it "
        "without looking at the events. Default: every event counts 1.",
    ),
]
RepeatsOption = Annotated[
    str | None,
    typer.Option(
        **one_of("any|last|sum"),
        help="With --events: several of one pair are the largest (any, the default), the latest, "
        "or the sum of their weights.",
    ),
]
SeparatorOption = Annotated[
    str | None,
    typer.Option(help="The delimiter of a text table: ';', tab, '::' (default: by the ending)."),
]
EitherSeparatorOption = Annotated[
    str | None,
    typer.Option(
        "--item-separator",
        "--separator",
        help="The delimiter of the item table: ';', tab, '::' (default: by the ending).",
    ),
]
EncodingOption = Annotated[str, typer.Option(help="The encoding of a text table.")]
SeedOption = Annotated[
    int | None,
    typer.Option(help="Make the run repeatable. Never for a real release: it protects nobody."),
]
ThreadsOption = Annotated[int | None, typer.Option(help="Threads (default: every core).")]
