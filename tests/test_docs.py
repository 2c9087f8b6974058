"""The documentation runs: code blocks, links, and the table of proofs."""

import ast
import importlib
import inspect
import re
import tomllib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from discreet.errors import MissingExtraError
from discreet.privacy.theorems import THEOREMS, Theorem, read_proof

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    try:
        for block in blocks:
            exec(compile(block, str(page), "exec"), {})
    except MissingExtraError as error:  # Java, for the page on Spark
        pytest.skip(str(error))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_no_command_of_a_tutorial_can_fail_unnoticed() -> None:
    """After `!` a notebook goes on whatever happens; a cell of `%%bash` stops it."""
    for page in (ROOT / "docs/tutorials").glob("*.md"):
        cells = re.findall(r"```\{code-cell\}\n(.*?)```", page.read_text(), re.DOTALL)
        assert not [c for c in cells if re.search(r"^\s*!", c, re.MULTILINE)], page.name


def test_every_page_has_its_place_on_the_site() -> None:
    """`make docs` would warn; this tells whoever adds a page without building the site."""
    docs = ROOT / "docs"
    placed = {
        docs / "index.md",
        *(docs / "proofs").glob("*.md"),
    }  # proofs are placed by their table
    for page in docs.rglob("*.md"):
        for tree in re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(), re.DOTALL):
            names = [line for line in tree.split() if not line.startswith(":")]
            placed |= {(page.parent / f"{name}.md").resolve() for name in names}
    missing = {page for page in docs.rglob("*.md") if page.resolve() not in placed}
    assert not missing, f"add them to a toctree, such as that of docs/howto/index.md: {missing}"


def test_the_rooms_on_the_page_are_the_packages_there_are() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    rooms = re.findall(r"^\| `(\w+)` \|.*\(src/discreet/(\w+)/\w+\.py\) \|$", text, re.MULTILINE)
    packages = sorted(p.parent.name for p in (ROOT / "src/discreet").glob("*/__init__.py"))
    assert sorted(name for name, _ in rooms) == packages
    assert all(name == folder for name, folder in rooms)
    drawn = (ROOT / "docs/figures/house.svg").read_text()
    assert sorted(re.findall(r'class="name"[^>]*>(\w+)<', drawn)) == packages


def test_layers_in_the_drawing_are_those_of_the_contract() -> None:
    """From top to bottom as the linter has them from the last to the first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = [set(re.findall(r"\.(\w+)", row)) for row in contracts["contracts"][0]["layers"]]
    drawn = (ROOT / "docs/figures/house.svg").read_text()
    names = re.findall(r'class="name" x="\d+" y="(\d+)"[^>]*>(\w+)<', drawn)
    rows = [{name for y, name in names if y == height} for height in dict(names)]
    packages = set().union(*rows)
    assert rows == [layer for layer in layers[::-1] if layer <= packages]


@pytest.mark.parametrize("theorem", THEOREMS.values(), ids=lambda theorem: theorem.name)
def test_every_theorem_s_proof_is_a_section_that_the_wheel_holds(theorem: Theorem) -> None:
    page, section = theorem.proof.split("#")
    assert section in anchors_of(read_proof(theorem))
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    held = wheel["targets"]["wheel"]["force-include"]
    assert any(
        f"docs/{page}".startswith(ours) and theirs == f"discreet/{ours}"
        for ours, theirs in held.items()
    )


def anchors_of(page: str) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page, re.MULTILINE)
    return {heading.lower().replace(" ", "-") for heading in headings}


def test_every_section_of_a_proof_that_is_cited_exists() -> None:
    """In code, tests and other pages: by path, by link, or, in the tests of a page, by section."""
    proofs = ROOT / "docs/proofs"
    sources = [s for folder in ("src", "tests") for s in (ROOT / folder).rglob("*.py")]
    cited = {
        found
        for source in [*sources, *PAGES]
        for found in re.findall(r"([\w-]+\.md)#([\w-]+)", source.read_text())
    }
    for name in ("privacy/test_fixedpoint.py", "schemes/test_margins_of_noise.py"):
        sections = re.findall(r"#([a-z-]+)\b[:,]", (ROOT / "tests" / name).read_text())
        cited |= {("margins.md", section) for section in sections}
    assert len(cited) > 20
    for page, section in cited:
        if (proofs / page).exists():
            assert section in anchors_of((proofs / page).read_text()), f"{page}#{section}"
    for page in ("weighing", "sampling", "tally", "chorus", "incremental", "fold-in"):
        assert "theorem" in anchors_of((proofs / f"{page}.md").read_text()), page


def test_every_proof_names_tests_that_exist() -> None:
    table = (ROOT / "docs/proofs/README.md").read_text()
    named = re.findall(r"`(tests/[^`]+)`", table)
    assert named
    for path in named:
        assert (ROOT / path).exists(), path
    for proof in (ROOT / "docs/proofs").glob("*.md"):
        assert proof.name == "README.md" or f"({proof.name})" in table


def constants_on_the_page(section: str) -> list[tuple[ModuleType, str, str]]:
    """Module, name and value of every row in a section of docs/constants.md."""
    text = (ROOT / "docs/constants.md").read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \| `([\w/]+)\.py` \| `([^`]+)` \|", text, re.MULTILINE)
    return [
        (importlib.import_module(f"discreet.{path.replace('/', '.')}"), name, value)
        for name, path, value in rows
    ]


def test_constants_have_the_values_that_their_page_states() -> None:
    stated = constants_on_the_page("By name")
    assert len(stated) > 40
    for module, name, value in stated:
        assert eval(name, vars(module)) == eval(value), f"{module.__name__}: {name}"


def test_numbers_inside_functions_stand_where_their_page_says() -> None:
    stated = constants_on_the_page("Inside functions")
    assert len(stated) > 10
    for module, name, code in stated:
        assert code in inspect.getsource(eval(name, vars(module))), f"{module.__name__}: {name}"


def test_no_constant_of_these_modules_is_missing_from_the_page() -> None:
    stated = {(module, name) for module, name, _ in constants_on_the_page("By name")}
    for module in {module for module, _ in stated}:
        for name in numbers_of(module):
            assert (module, name) in stated, f"{module.__name__}: {name}"


def numbers_of(module: ModuleType) -> list[str]:
    """The names that a module gives to numbers, as the first thing it does with them."""
    targets = [
        target
        for statement in ast.parse(inspect.getsource(module)).body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
    ]
    names = [node.id for t in targets for node in ast.walk(t) if isinstance(node, ast.Name)]
    return [name for name in names if np.asarray(vars(module)[name]).dtype.kind in "if"]


def test_every_public_name_has_its_place_in_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add it to GROUPS in docs/_extensions/python_pages.py."""
    pytest.importorskip("sphinx", reason="the site is not built here")
    monkeypatch.syspath_prepend(str(ROOT / "docs/_extensions"))
    pages = importlib.import_module("python_pages")
    assert pages._names(pages.NEWER) == []
    for group in pages.GROUPS:
        page = ROOT / "docs/reference/python" / f"{group}.md"
        assert f"<!-- generated: python {group} -->" in page.read_text()
