"""What a message advises can be done: its options are options of the command that printed it."""

import ast
import re
from pathlib import Path

import pytest
import typer

from discreet.cli import app
from discreet.cli.groups import offered
from discreet.cli.schemes import _Known, _options
from discreet.data.ratings import Ratings
from discreet.schemes import SCHEMES
from discreet.schemes.tally import Tally
from tests.cli.running import ok, run
from tests.readers.odd_files import ODD_FILES, ODD_ITEM_TABLES, PLAIN, Odd

FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
OTHERS = {"--help", "--format"}
"""Of the command line itself, and of other programs."""
SOURCES = Path(__file__).parents[2] / "src/discreet"
ADVISED = [odd for odd in ODD_FILES if "--" in str(odd.says) or "twice" in odd.about]
ADVISED_OF_ITEMS = [odd for odd in ODD_ITEM_TABLES if "--" in str(odd.says)]
READ_RATINGS = [
    ("fit", "{}"),
    ("fit", "{}", "--engine", "stream", "--privacy", "column"),
    ("evaluate", "{}"),
    ("sweep", "{}"),
    ("compare", "--data", "{}"),
    ("plan", "{}", "--on-secret-ratings"),
    ("reproduce", "--data", "{}"),
    ("audit", "--ratings", "{}"),
    ("audit", "--paper", "{}"),
    ("data", "reduce", "{}"),
    ("recommend", "release", "--ratings", "{}"),
    ("ledger", "restored", "ledger.db", "{}"),
    ("operate", "ratings", "{}", "--database", "club.db"),
]
READ_ITEMS = [
    ("inspect", "{}"),
    ("fit", "r.csv", "--privacy", "uniform:1", "--items", "{}"),
    ("sweep", "r.csv", "--items", "{}"),
    ("reproduce", "--data", "r.csv", "--items", "{}"),
    ("operate", "items", "{}", "--database", "club.db"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, small: Ratings) -> Path:
    """A table, a release, a ledger and a database."""
    from discreet.database.connection import Database
    from discreet.database.declaration import establish
    from discreet.publishing.file_ledger import FileLedger

    here = tmp_path_factory.mktemp("remedies")
    (here / "r.csv").write_text(PLAIN)
    Tally().fit(small, seed=1).release.save(here / "release")
    FileLedger(here / "ledger.db")
    opened = Database(str(here / "club.db"))
    establish(opened, {})
    opened.close()
    return here


def options(words: tuple[str, ...]) -> set[str]:
    group = 2 if words[0] in ("data", "ledger", "operate") else 1
    return set(FLAG.findall(ok(*words[:group], "--help")))


def require_options_of_it(words: tuple[str, ...], files: list[Odd], folder: Path) -> None:
    """Every option that a refusal names is one of the command; and there are refusals."""
    known, named = options(words), set()
    for odd in files:
        odd.write(folder)
        done = run(*(word.format(odd.name) for word in words), cwd=folder)
        assert done.returncode == 1, (odd.about, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        advised = set(FLAG.findall(done.stderr))
        assert advised <= known, (odd.about, done.stderr)
        named |= advised
        if odd.name != "r.csv" or words[1] == "r.csv":
            (folder / odd.name).unlink(missing_ok=True)
    (folder / "r.csv").write_text(PLAIN)
    assert named


@pytest.mark.parametrize("words", READ_RATINGS, ids=" ".join)
def test_a_refused_table_of_ratings_gets_options_of_the_command(
    words: tuple[str, ...], folder: Path
) -> None:
    require_options_of_it(words, ADVISED, folder)


@pytest.mark.parametrize("words", READ_ITEMS, ids=" ".join)
def test_a_refused_item_table_gets_options_of_the_command(
    words: tuple[str, ...], folder: Path
) -> None:
    require_options_of_it(words, ADVISED_OF_ITEMS, folder)


def test_every_option_in_the_sources_is_one_of_some_command() -> None:
    def flags(command: object) -> set[str]:
        own = {flag for one in command.params for flag in (*one.opts, *one.secondary_opts)}
        return own.union(*map(flags, getattr(command, "commands", {}).values()))

    def said(option: _Known) -> list[str]:
        return [flag for one in option.of.values() for flag in FLAG.findall(one.flag)]

    known = flags(typer.main.get_command(app)) | {f"--{n}" for n in _options(SCHEMES)}
    known |= OTHERS | {flag for option in _options(SCHEMES).values() for flag in said(option)}
    found: list[str] = []
    for path in sorted(SOURCES.rglob("*.py")):
        tree = ast.parse(path.read_text())
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        said_in = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and id(n) not in docs]
        for node in said_in:
            strange = set(FLAG.findall(node.value if isinstance(node.value, str) else "")) - known
            found += [f"{path.relative_to(SOURCES)}:{node.lineno}: {flag}" for flag in strange]
    assert not found


def test_a_remedy_that_the_command_has_keeps_its_option() -> None:
    words = "name it with columns={'user': ...} (--columns user=... on the command line)"
    assert offered(words, ["--columns"]) == words
    assert offered(words, []) == "name it with columns={'user': ...}"
