"""Without the extra, the command says what to install."""

import subprocess
import sys

import pytest

BLOCK = """
import sys
for name in ("sqlalchemy", "fastapi", "uvicorn", "alembic"):
    sys.modules[name] = None
sys.argv = ["discreet", *sys.argv[1:]]
from discreet.cli import main
main()
"""


@pytest.mark.parametrize("words", [["serve", "--demo"], ["operate", "ledger"]])
def test_a_missing_extra_is_named(words: list[str]) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", BLOCK, *words], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: ")
    assert "pip install 'discreet[serve]'" in ended.stderr


def test_the_rest_works_without_it() -> None:
    words = ["data", "list"]
    ended = subprocess.run(
        [sys.executable, "-c", BLOCK, *words], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0
