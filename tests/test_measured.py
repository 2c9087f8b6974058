"""Figures of speed in the documents are those of the file of results."""

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


def _report() -> Any:
    spec = importlib.util.spec_from_file_location("report", ROOT / "benchmarks" / "report.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


report = _report()
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
    assert shown == set(MEASURED) | set(report.WRITTEN)
