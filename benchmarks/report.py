"""Figures in the documents, from one file of results: they cannot disagree.

    python benchmarks/report.py

Benchmarks keep their tables in docs/measured.json; this writes them between the marks
`<!-- measured: NAME -->` and `<!-- measured -->` of every document. tests/test_measured.py holds
documents against the file.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
MEASURED = ROOT / "docs" / "measured.json"
DOCUMENTS = ("README.md", "docs/speed.md", "docs/spark.md")
_MARKED = re.compile(r"(<!-- measured: (\S+) -->\n).*?(<!-- measured -->)", re.DOTALL)
Measured = dict[str, dict[str, Any]]


def keep(name: str, columns: list[str], rows: list[list[str]], note: str = "") -> None:
    """Keep a table in the file of results, and print it."""
    measured: Measured = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
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


WRITTEN = {"nutshell": in_a_nutshell}
"""What is told in words; all else are tables."""


def filled(text: str, measured: Measured) -> str:
    """A document with its figures."""

    def fill(mark: re.Match[str]) -> str:
        name = mark[2]
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
