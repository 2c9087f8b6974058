"""discreet help: the pages of the documentation, from the installed package, without a network."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli import show
from discreet.errors import (
    DatabaseError,
    DataError,
    DataMissingError,
    DiscreetError,
    DivergenceError,
    LedgerError,
    ReleaseError,
    SparkError,
    SpecError,
    require_choice,
)

PAGES = {
    "tables": "your own table of ratings: files, columns, scale, levels, and what messages mean",
    "item-tables": "what each column of an item table is used for",
    "events": "who chose what, without ratings",
    "lists": "recommendations: ranking, filters, explanations, similar items",
    "evaluation": "errors, lists and baselines: how good is it?",
    "python": "frames in and out, parameters, search",
    "sharp-edges": "what is easily done wrong",
    "threat-model": "who is protected from whom",
    "audit": "how to read an audit",
    "service": "the service, and what its operator does",
    "spark": "tables larger than memory: streams and Spark",
    "paper-schemes": "the paper's schemes, and their parameters",
}
"""Every page that is shipped, and what it is about; pyproject.toml has the same list."""
_EXPLAINED: dict[type[DiscreetError], str] = {
    DataError: "tables",
    DataMissingError: "tables",
    SpecError: "tables",
    DivergenceError: "paper-schemes",
    ReleaseError: "sharp-edges",
    LedgerError: "sharp-edges",
    DatabaseError: "service",
    SparkError: "spark",
}


def explained_by(error: DiscreetError) -> str | None:
    """The page that explains an error of this kind."""
    return next((page for kind, page in _EXPLAINED.items() if isinstance(error, kind)), None)


def show_page(
    page: Annotated[
        str | None, typer.Argument(metavar="PAGE", help="Which one; without it, what there is.")
    ] = None,
) -> None:
    """Read a page of the documentation here, or list them.

    \b
    Examples:
      discreet help
      discreet help tables
    """
    if page is None:
        rows = [[name, about] for name, about in PAGES.items()]
        show.console().print(show.table(None, ["page", "about"], rows, right=9))
        return
    show.page(read_page(require_choice("PAGE", page, tuple(PAGES))))


def read_page(page: str) -> str:
    """The text of a page."""
    from discreet.privacy.theorems import PLACES

    for place in PLACES:
        if (place / f"{page}.md").is_file():
            return (place / f"{page}.md").read_text(encoding="utf-8")
    raise DataMissingError(f"the page {page!r} is not part of this installation")
