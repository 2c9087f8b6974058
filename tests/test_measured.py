"""Figures of speed in the documents are those of the file of results."""

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


def load(name: str) -> Any:
    """A program of benchmarks, which are no package of the tests."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


report = load("report")
MEASURED = json.loads(report.MEASURED.read_text())


@pytest.mark.parametrize("name", report.DOCUMENTS)
def test_a_document_shows_what_was_measured(name: str) -> None:
    text = (ROOT / name).read_text()
    assert report.filled(text, MEASURED) == text, "python benchmarks/report.py"


@pytest.mark.parametrize("name", report.DOCUMENTS)
def test_a_figure_that_was_changed_by_hand_is_found(name: str) -> None:
    text = (ROOT / name).read_text()
    marked = re.search(r"<!-- measured: \S+ -->\n.*?(\d)", text, re.DOTALL)
    assert marked is not None
    place = marked.start(1)
    other = text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1 :]
    assert report.filled(other, MEASURED) == text


def test_everything_measured_is_shown_somewhere() -> None:
    texts = [(ROOT / name).read_text() for name in report.DOCUMENTS]
    shown = {name for text in texts for name in re.findall(r"<!-- measured: (\S+) -->", text)}
    assert shown >= set(MEASURED) | set(report.WRITTEN)


def test_what_the_tables_of_accuracy_show_is_what_their_benchmark_measures() -> None:
    cases = {(c.kind, c.method, c.level) for c in load("paper_levels").CASES}
    columns = {
        "errors": [*report._ERRORS.values(), *report._CHORUS.values()],
        "lists": report._LISTS.values(),
    }
    shown = {(kind, *column) for kind, some in columns.items() for column in some}
    assert shown == cases
    assert {(kind, *what) for kind, _, *what in report.accuracy()} <= cases


def test_what_was_never_measured_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a\n<!-- measured: new -->\n`python benchmarks/new.py`\n<!-- measured -->\n"
    assert report.filled(text, {}) == text
    monkeypatch.setattr(report, "MEASURED", tmp_path / "measured.json")
    for row in (["x", "1"], ["y", "2"], ["x", "3"]):
        report.keep("new", ["", "s"], [row], add=True)
    found = json.loads(report.MEASURED.read_text())
    assert found["new"]["rows"] == [["x", "3"], ["y", "2"]]
    assert "| x | 3 |" in report.filled(text, found)
