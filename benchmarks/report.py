"""Figures in the documents, from one file of results: they cannot disagree.

    python benchmarks/report.py

Benchmarks keep their tables in docs/measured.json, and what they say of accuracy in
docs/results/paper-levels.csv (`python -m benchmarks.paper_levels`); this writes them between the
marks `<!-- measured: NAME -->` and `<!-- measured -->` of every document. tests/test_measured.py
holds documents against the files.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
MEASURED = ROOT / "docs" / "measured.json"
ACCURACY = ROOT / "docs" / "results" / "paper-levels.csv"
DOCUMENTS = ("README.md", "docs/speed.md", "docs/spark.md", "docs/results/figures.md")
_MARKED = re.compile(r"(<!-- measured: (\S+) -->\n).*?(<!-- measured -->)", re.DOTALL)
Measured = dict[str, dict[str, Any]]


def keep(
    name: str, columns: list[str], rows: list[list[str]], note: str = "", *, add: bool = False
) -> None:
    """Keep a table in the file of results, and print it.

    With `add` rows of other names stay, of a table that is measured in parts.
    """
    measured: Measured = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    if add and measured.get(name, {}).get("columns") == columns:
        known = {row[0]: row for row in (*measured[name]["rows"], *rows)}
        rows = list(known.values())
    measured[name] = {"columns": columns, "rows": rows, "note": note}
    MEASURED.write_text(json.dumps(measured, indent=1, ensure_ascii=False) + "\n")
    print(table(measured[name]))


def table(found: dict[str, Any]) -> str:
    """In Markdown, with what is to be said about all of it."""
    lines = [found["columns"], ["---"] * len(found["columns"]), *found["rows"]]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{text}\n\n{found['note']}" if found["note"] else text


def cell(found: dict[str, Any], row: str, column: str) -> str:
    """One figure, by the beginning of its row's name and its column's; without what is in brackets.

    >>> peers = {"columns": ["library", "ms"], "rows": [["libmf 0.9", "265 (9.9x)"]]}
    >>> cell(peers, "libmf", "ms")
    '265'
    """
    line = next(line for line in found["rows"] if line[0].startswith(row))
    place = next(k for k, name in enumerate(found["columns"]) if name.startswith(column))
    return re.sub(r" \(.*", "", line[place])


def in_a_nutshell(measured: Measured) -> str:
    """What the README says of speed."""
    peers, scale = measured["peers-ml-1m"], measured["scale"]
    ours, libmf, cmfrec, cornac = (
        cell(peers, name, "from arrays") for name in ("discreet 0", "libmf", "cmfrec", "cornac")
    )
    sweep = cell(scale, "PMF", "100 million").partition(" s")[0]
    return (
        f"To a test RMSE of 0.86 on MovieLens 1M, 20 factors, two cores, from arrays in memory: "
        f"{ours} ms; the fastest peers\ntake {libmf} ms (LIBMF), {cmfrec} ms (cmfrec) and {cornac} "
        f"ms (cornac, of which {cell(peers, 'cornac', 'RMSE')} are training).\nOne sweep of least "
        f"squares over 100 million ratings takes {sweep} seconds. [More](docs/speed.md)."
    )


DATA = {
    "ml-100k": "MovieLens 100K",
    "ml-1m": "MovieLens 1M",
    "netflix-7128": "Netflix, 7,128 users",
    "netflix-10m": "Netflix, 48,000 users",
    "book-ratings": "Book-Crossing, 1 to 10",
}
_ERRORS = {
    "Tally, no item table": ("Tally, no item table", "paper"),
    "Tally, item table": ("Tally", "paper"),
    "Tally, item table, epsilon = 0.1 for all": ("Tally", "0.1"),
    "PDP-PMF `printed`": ("PDP-PMF printed", "paper"),
    "PMF with the paper's parameters, no privacy": ("PMF, the paper's", "none"),
    "PMF by ALS, no privacy": ("PMF by ALS", "none"),
    "PMF by SGD, no privacy": ("PMF by SGD", "none"),
}
_CHORUS = {
    "the paper's levels": ("Chorus", "paper"),
    **{f"epsilon = {level}": ("Chorus", level) for level in ("0.1", "1", "4")},
    **{f"whole person, epsilon = {level}": ("Chorus", f"person {level}") for level in ("1", "5")},
}
_LISTS = {
    "popularity, no privacy": ("popularity", "none"),
    "EASE, no privacy": ("EASE", "none"),
    "Tally, the paper's levels": ("Tally", "paper"),
    "Tally, epsilon = 0.1": ("Tally", "0.1"),
    "Chorus, the paper's levels": ("Chorus", "paper"),
    **{f"Chorus, epsilon = {level}": ("Chorus", level) for level in ("1", "4")},
    **{f"whole person, {level}": ("Chorus", f"person {level}") for level in ("1", "5", "10")},
}
"""Columns of the tables of accuracy: method and level."""
_BEST = {"errors": ("PMF by ALS", "PMF by SGD"), "lists": ("EASE",)}
"""Without privacy: the best of these is shown."""
Accuracy = dict[tuple[str, str, str, str], float]


def accuracy() -> Accuracy:
    """What was measured, by kind, data, method and level."""
    with ACCURACY.open() as file:
        return {
            (row["kind"], row["data"], row["method"], row["level"]): float(row["value"])
            for row in csv.DictReader(file)
        }


def by_data(kind: str, columns: dict[str, tuple[str, str]]) -> str:
    """A row for each table of which any of the columns was measured."""
    found = accuracy()
    rows = []
    for data, name in DATA.items():
        cells = [_told(found.get((kind, data, *column))) for column in columns.values()]
        if any(cells):
            rows.append([name, *cells])
    return table({"columns": ["", *columns], "rows": rows, "note": ""})


def at_the_paper_s_levels(measured: Measured) -> str:
    """What the README says of accuracy."""
    del measured
    found = accuracy()
    asked = [("errors", d) for d in ("ml-100k", "ml-1m", "netflix-7128")]
    asked += [("lists", d) for d in ("ml-1m", "netflix-7128")]
    rows = {
        "PMF with the paper's parameters, no privacy": ("PMF, the paper's", "none"),
        "PDP-PMF as printed": ("PDP-PMF printed", "paper"),
        "**Tally**": ("Tally", "paper"),
        "**Chorus**": ("Chorus", "paper"),
        "popularity, no privacy": ("popularity", "none"),
    }
    lines = [
        [name, *(_told(found.get((*where, *what)), bold="*" in name) for where in asked)]
        for name, what in rows.items()
    ]
    best = [
        [v for m in _BEST[kind] if (v := found.get((kind, data, m, "none"))) is not None]
        for kind, data in asked
    ]
    told = [_told(min(some) if some else None) for some in best]
    lines.append(["the best model here without privacy", *told])
    names = ("MovieLens 100K", "MovieLens 1M", "Netflix\\*", "MovieLens 1M", "Netflix\\*")
    heads = [
        f"{name}, {'error' if kind == 'errors' else kind}"
        for name, (kind, _) in zip(names, asked, strict=True)
    ]
    return table({"columns": ["", *heads], "rows": lines, "note": ""})


def _told(value: float | None, *, bold: bool = False) -> str:
    if value is None:
        return ""
    return f"**{value:.3f}**" if bold else f"{value:.3f}"


WRITTEN: dict[str, Callable[[Measured], str]] = {
    "nutshell": in_a_nutshell,
    "accuracy": at_the_paper_s_levels,
    "paper-errors": lambda _: by_data("errors", _ERRORS),
    "chorus-errors": lambda _: by_data("errors", _CHORUS),
    "paper-lists": lambda _: by_data("lists", _LISTS),
}
"""What is told in words, or made of the file of accuracy; all else are tables."""


def filled(text: str, measured: Measured) -> str:
    """A document with its figures."""

    def fill(mark: re.Match[str]) -> str:
        name = mark[2]
        if name not in WRITTEN and name not in measured:
            return mark[0]  # says how it is measured
        shown = WRITTEN[name](measured) if name in WRITTEN else table(measured[name])
        return f"{mark[1]}{shown}\n{mark[3]}"

    return _MARKED.sub(fill, text)


def main() -> None:
    measured = json.loads(MEASURED.read_text())
    for name in DOCUMENTS:
        path = ROOT / name
        path.write_text(filled(path.read_text(), measured))


if __name__ == "__main__":
    main()
