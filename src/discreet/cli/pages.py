"""discreet help: the pages of the documentation, from the installed package, without a network."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from discreet.cli import show
from discreet.cli.completion import completing
from discreet.errors import (
    DatabaseError,
    DataError,
    DataMissingError,
    DiscreetError,
    DivergenceError,
    LedgerError,
    ParameterError,
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
_EXPLAINED: tuple[tuple[type[DiscreetError], str, str], ...] = (
    (DataMissingError, "data set", "tables#data-sets"),
    (DataMissingError, "", "tables#files"),
    (DataError, r"--(?:item-)?separator|fields", "tables#separator"),
    (DataError, "--encoding|UTF-8", "tables#encoding"),
    (DataError, "to vouch|vouch for|derived", "sharp-edges#columns-made-of-ratings"),
    (DataError, "--item-columns|item table", "item-tables#what-each-column-will-be-used-for"),
    (DataError, "column|--columns", "tables#columns"),
    (DataError, "scale", "tables#scale"),
    (DataError, "epsilon|level", "tables#levels"),
    (DataError, "weight|quantit", "events#what-an-event-counts"),
    (DataError, "", "tables#what-messages-mean"),
    (SpecError, "", "tables#levels"),
    (DivergenceError, "", "paper-schemes#pmf"),
    (ReleaseError, "", "lists#when-a-release-cannot-be-read"),
    (LedgerError, "", "sharp-edges#repeated-releases-without-a-ledger-add-up"),
    (DatabaseError, "", "service#operations"),
    (SparkError, "", "spark#what-to-know"),
)
"""Which section explains an error of a kind that says so: the first line that fits."""
_HEADING = re.compile(r"^(#+) (.*)$|^\*\*(.+?)\*\*", re.MULTILINE)
"""Of a section, or of a paragraph that begins with its name in bold."""


def explained_by(error: DiscreetError) -> str | None:
    """The section of a page that explains an error; None where there is none."""
    for kind, words, section in _EXPLAINED:
        if isinstance(error, kind) and re.search(words, str(error)):
            return section
    return None


def anchor(heading: str) -> str:
    """How a section is called in a link.

    >>> anchor("What messages mean"), anchor("**Columns made of ratings.**")
    ('what-messages-mean', 'columns-made-of-ratings')
    """
    return re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-")


def section_of(text: str, name: str) -> str:
    """One section of a page: to the next heading of its rank or above, or the paragraph."""
    found = list(_HEADING.finditer(text))
    for place, match in enumerate(found):
        marks, heading, bold = match.groups()
        if anchor(heading or bold) == name:
            if bold:
                return text[match.start() :].partition("\n\n")[0] + "\n"
            ends = [m.start() for m in found[place + 1 :] if m[1] and len(m[1]) <= len(marks)]
            return text[match.start() : ends[0] if ends else len(text)]
    sections = ", ".join(anchor(match[2]) for match in found if match[2])
    raise ParameterError(f"the page has no section {name!r}: there are {sections}")


def show_page(
    page: Annotated[
        str | None,
        typer.Argument(
            metavar="PAGE",
            **completing(lambda: PAGES),
            help="Which one, or a section of it, PAGE#SECTION; without it, what there is.",
        ),
    ] = None,
) -> None:
    """Read a page of the documentation here, or list them.

    \b
    Examples:
      discreet help
      discreet help tables
      discreet help tables#separator
    """
    if page is None:
        rows = [[name, about] for name, about in PAGES.items()]
        show.console().print(show.table(None, ["page", "about"], rows, right=9))
        return
    name, _, section = page.partition("#")
    text = read_page(require_choice("PAGE", name, tuple(PAGES)))
    show.page(section_of(text, section) if section else text)


def read_page(page: str) -> str:
    """The text of a page."""
    from discreet.privacy.theorems import PLACES

    for place in PLACES:
        if (place / f"{page}.md").is_file():
            return (place / f"{page}.md").read_text(encoding="utf-8")
    raise DataMissingError(f"the page {page!r} is not part of this installation")
