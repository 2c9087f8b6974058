"""What several commands share: options, and how their words become values."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.errors import ParameterError, SpecError

if TYPE_CHECKING:
    from discreet.items import Items
    from discreet.privacy.spec import PrivacySpec
    from discreet.ratings import Ratings
    from discreet.schemes.model import Scheme


class SchemeName(StrEnum):
    """The schemes by their names on the command line."""

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
PrivacyOption = Annotated[
    str | None,
    typer.Option(
        metavar="SPEC",
        help="Levels: 'uniform:0.1', 'column', or 'groups' with the paper's defaults "
        "('groups:f_c=0.2,eps_m=0.5' to change some). Default: the table's epsilon column.",
    ),
]
MaxLevelOption = Annotated[
    float, typer.Option(help="The largest level on offer (for --privacy column).")
]
MinLevelOption = Annotated[
    float | None, typer.Option(help="The smallest level on offer (for --privacy column).")
]
VariantOption = Annotated[
    Variant, typer.Option(help="Of pdp-pmf and dp-pmf: as printed, as stated, or repaired.")
]
ThresholdOption = Annotated[
    str | None,
    typer.Option(metavar="T", help="t of pdp-pmf: a number, or the paper's 'mean' or 'max'."),
]
SolverOption = Annotated[
    str | None,
    typer.Option(metavar="als|gradient", help="How factors are trained without noise."),
]
FactorsOption = Annotated[int, typer.Option("--factors", "-d", help="Number of factors d.")]
GammaOption = Annotated[float, typer.Option(help="Learning rate; a step is gamma/|batch|.")]
PassesOption = Annotated[int, typer.Option("--k1", help="Passes without noise, or 10 ALS sweeps.")]
NoisyPassesOption = Annotated[int, typer.Option("--k2", help="Passes with noise (printed).")]
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
    str, typer.Option(metavar="add/remove|replace", help="Which data sets must look alike.")
]
InitialOption = Annotated[
    str, typer.Option(metavar="signed|nonnegative", help="Entries of the unit rows to start from.")
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


def read(
    source: str,
    columns: list[str] | None,
    scale: str | None,
    keep: str | None,
    separator: str | None,
    encoding: str,
) -> Ratings:
    """The ratings that a command was given."""
    from discreet.io.datasets import load_ratings

    return load_ratings(
        source,
        _pairs("--columns", columns or []),
        scale=None if scale is None else _scale(scale),
        keep=keep,
        separator={"tab": "\t", "\\t": "\t"}.get(separator or "", separator),
        encoding=encoding,
    )


def read_items(source: str | None) -> Items | None:
    """The item table that a command was given, if any."""
    from discreet.io.datasets import load_items

    return None if source is None else load_items(source)


def privacy(
    text: str | None, ratings: Ratings, max_level: float = 1.0, min_level: float | None = None
) -> PrivacySpec | None:
    """A specification from words such as 'uniform:0.1' or 'groups:f_c=0.2'."""
    from discreet.privacy.spec import PrivacySpec

    if text is None:
        if ratings.epsilon is None:
            return None
        text = "column"
    kind, _, rest = text.partition(":")
    if kind == "uniform":
        return PrivacySpec.uniform(_number("--privacy uniform", rest))
    if kind == "column" and not rest:
        return PrivacySpec.column(max_level=max_level, min_level=min_level)
    if kind == "groups":
        pairs = _pairs("--privacy groups", [p for p in rest.split(",") if p])
        allowed = {"f_c", "f_m", "eps_c", "eps_m", "eps_l", "seed"}
        for name in pairs:
            if name not in allowed:
                raise SpecError(
                    f"--privacy groups has no {name!r}: there are {', '.join(sorted(allowed))}"
                )
        values: dict[str, Any] = {
            name: int(_number(name, value)) if name == "seed" else _number(name, value)
            for name, value in pairs.items()
        }
        return PrivacySpec.groups(**values)
    raise SpecError(
        f"--privacy must be 'uniform:LEVEL', 'column' or 'groups[:NAME=VALUE,...]': got {text!r}"
    )


def scheme(
    name: SchemeName,
    *,
    variant: str,
    threshold: str | None,
    solver: str | None,
    factors: int,
    gamma: float,
    k1: int,
    k2: int,
    regularisation: float | None,
    weighted: bool | None,
    kappa: float | None,
    neighbours: str,
    initial: str,
    items: Items | None,
    threads: int | None,
) -> Scheme:
    """The scheme that a command was asked for."""
    from discreet.privacy.certificate import Neighbours
    from discreet.schemes.baseline import Bias
    from discreet.schemes.dppmf import DPPMF, PDPPMF
    from discreet.schemes.pmf import PMF

    if neighbours not in tuple(Neighbours):
        raise ParameterError(f"--neighbours must be 'add/remove' or 'replace': got {neighbours!r}")
    if name == SchemeName.BIAS:
        return Bias(items=items)
    if name == SchemeName.PMF:
        return PMF(
            factors=factors, solver=solver or "als", lambda_u=regularisation,
            lambda_v=regularisation, weighted=weighted, gamma=gamma, passes=k1,
            initial=initial, items=items, threads=threads,
        )  # fmt: skip
    shared: dict[str, Any] = {
        "variant": str(variant), "factors": factors, "solver": solver or "gradient",
        "gamma": gamma, "k1": k1, "k2": k2, "lambda_v": regularisation, "kappa": kappa,
        "neighbours": Neighbours(neighbours), "initial": initial, "items": items,
        "threads": threads,
    }  # fmt: skip
    if regularisation is not None:
        shared["lambda_u"] = regularisation
    if name == SchemeName.DP_PMF:
        return DPPMF(**shared)
    return PDPPMF(threshold=_threshold(threshold), **shared)


def _threshold(text: str | None) -> float | str | None:
    if text in (None, "mean", "max"):
        return text
    return _number("--threshold", text, " or 'mean' or 'max'")


def _number(name: str, text: str | None, more: str = "") -> float:
    try:
        return float(text or "")
    except ValueError:
        raise ParameterError(f"{name} must be a number{more}: got {text!r}") from None


def _scale(text: str) -> tuple[float, float]:
    lo, _, hi = text.partition(":")
    return _number("--scale LO:HI", lo), _number("--scale LO:HI", hi)


def _pairs(name: str, words: list[str]) -> dict[str, str]:
    pairs = {}
    for word in words:
        left, equals, right = word.partition("=")
        if not (left and equals and right):
            raise ParameterError(f"{name} needs NAME=VALUE: got {word!r}")
        pairs[left] = right
    return pairs


def output_file(path: Path) -> Path:
    """A file that can be written, checked before the work begins."""
    from discreet.errors import OutputError

    if path.suffix.lower() not in (".csv", ".parquet", ".json"):
        raise OutputError(f"cannot tell the format of {path}: use .csv, .parquet or .json")
    if not path.parent.is_dir():
        raise OutputError(f"cannot write {path}: there is no folder {path.parent}")
    return path
