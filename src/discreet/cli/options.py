"""What several commands share: their options, in one place each."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class EngineName(StrEnum):
    """Where the ratings are."""

    LOCAL = "local"
    STREAM = "stream"
    SPARK = "spark"


class SchemeName(StrEnum):
    """The schemes by their names on the command line."""

    TALLY = "tally"
    CHORUS = "chorus"
    PDP_PMF = "pdp-pmf"
    DP_PMF = "dp-pmf"
    PMF = "pmf"
    BIAS = "bias"


class Variant(StrEnum):
    """The variants of the paper's schemes."""

    PRINTED = "printed"
    STATED = "stated"
    REPAIRED = "repaired"


RatingsArgument = Annotated[
    str,
    typer.Argument(
        metavar="RATINGS",
        help="A ratings table (CSV, TSV, Parquet, Arrow, MovieLens or Netflix files), or the name "
        "of a data set; 'club' is the embedded one.",
    ),
]
ItemsOption = Annotated[
    str | None,
    typer.Option(metavar="ITEMS", help="A public item table: item, title, year, genres, ..."),
]
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
VariantOption = Annotated[
    Variant | None,
    typer.Option(help="Of pdp-pmf and dp-pmf: as printed (default), stated, or repaired."),
]
ThresholdOption = Annotated[
    str | None,
    typer.Option(
        metavar="T",
        help="t: a declared number (tally: the largest level offered by default); for pdp-pmf "
        "also the paper's 'mean' (its default) or 'max', which are never proven.",
    ),
]
PersonaliseOption = Annotated[
    str | None,
    typer.Option(
        "--personalise", metavar="weigh|sample", help="How tally serves many epsilons (weigh)."
    ),
]
GroupsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        help="A column of the item table that holds families, such as series or author "
        "(tally; default: cut out of the titles).",
    ),
]
SolverOption = Annotated[
    str | None,
    typer.Option(
        metavar="als|sgd|gradient",
        help="How factors are trained without noise (pmf: als by default, or sgd; the paper's "
        "schemes: gradient).",
    ),
]
UnitOption = Annotated[
    str | None,
    typer.Option(
        metavar="rating|person",
        help="What tally and chorus protect: one rating (default), or all of a person's.",
    ),
]
DeltaOption = Annotated[
    float | None, typer.Option(help="delta of chorus (1e-8): well below one over the ratings.")
]
PublicationsOption = Annotated[
    int | None,
    typer.Option(
        help="With --ledger, chorus: in how many releases a rating takes part (1), each time with "
        "this part of its epsilon and of delta."
    ),
]
FactorsOption = Annotated[
    int | None,
    typer.Option("--factors", "-d", help="Number of factors d (20; chorus decides by itself)."),
]
GammaOption = Annotated[
    float | None,
    typer.Option(help="Learning rate (50; a step is gamma/|batch|), or of SGD (0.025)."),
]
PassesOption = Annotated[
    int | None,
    typer.Option("--k1", help="Passes without noise (50), passes of SGD or sweeps of ALS (10)."),
]
NoisyPassesOption = Annotated[
    int | None, typer.Option("--k2", help="Passes with noise (50; printed).")
]
LambdaOption = Annotated[
    float | None,
    typer.Option("--lambda", help="Regularisation of both sides (default: the scheme's own)."),
]
WeightedOption = Annotated[
    bool | None,
    typer.Option(
        "--weighted/--unweighted", help="ALS: multiply regularisation by the row's count or not."
    ),
]
KappaOption = Annotated[float | None, typer.Option(help="Slope of the Huber loss (repaired).")]
NeighboursOption = Annotated[
    str | None, typer.Option(metavar="add/remove|replace", help="Which data sets must look alike.")
]
InitialOption = Annotated[
    str | None,
    typer.Option(
        metavar="signed|nonnegative|spectral",
        help="What to start from: entries of unit rows, or the ratings' directions (PMF).",
    ),
]
ColumnsOption = Annotated[
    list[str] | None,
    typer.Option(metavar="OURS=THEIRS", help="Map a column, such as user=customer_id."),
]
ScaleOption = Annotated[
    str | None, typer.Option(metavar="LO:HI", help="The rating scale (default 1:5).")
]
KeepOption = Annotated[
    str | None,
    typer.Option(metavar="last", help="Of several ratings of one pair, keep the latest."),
]
SeparatorOption = Annotated[str | None, typer.Option(help="The delimiter of a text table.")]
EncodingOption = Annotated[str, typer.Option(help="The encoding of a text table.")]
SeedOption = Annotated[
    int | None,
    typer.Option(help="Make the run repeatable. Never for a real release: it protects nobody."),
]
ThreadsOption = Annotated[int | None, typer.Option(help="Threads (default: every core).")]
