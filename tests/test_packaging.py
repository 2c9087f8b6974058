"""The package: what an index shows of it, what it installs, and lists of versions that agree."""

import re
import runpy
import sys
import tomllib
import zipfile
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

import discreet as dc
from discreet.cli import extras
from discreet.errors import MissingExtraError

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HEAVY = {
    "pyspark",
    "selenium",
    "opendp",
    "matplotlib",
    "scipy",
    "scikit-learn",
    "pandas",
    "pyarrow",
}


def lower_bounds() -> dict[str, str]:
    """The lowest version of every package that users may install, by name."""
    extras = PROJECT["optional-dependencies"]
    wanted = [*PROJECT["dependencies"], *(w for name in extras for w in extras[name])]
    found = (re.match(r"([\w-]+)(?:\[\w+\])?>=([\d.]+)", line) for line in wanted)
    return {one[1].lower(): one[2] for one in found if one}


def pinned(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text().splitlines()
    return dict(line.lower().replace("_", "-").split("==") for line in lines if "==" in line)


def as_numbers(version: str) -> tuple[int, ...]:
    return (*map(int, re.findall(r"\d+", version)), 0, 0)


def test_the_lowest_versions_tested_are_the_lowest_declared() -> None:
    lowest = {name: as_numbers(v)[:3] for name, v in pinned("lowest.txt").items()}
    assert lowest == {name: as_numbers(v)[:3] for name, v in lower_bounds().items()}


def test_versions_for_development_are_within_what_is_declared() -> None:
    develop = pinned("constraints.txt")
    for name, least in lower_bounds().items():
        assert as_numbers(develop[name]) >= as_numbers(least), name


def test_a_plain_install_has_nothing_heavy() -> None:
    plain = {re.split(r"[<>=\[]", line)[0] for line in PROJECT["dependencies"]}
    assert not plain & HEAVY


def test_the_version_is_the_same_everywhere() -> None:
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited is not None
    assert {PROJECT["version"], cited[1]} == {dc.__version__}


@pytest.mark.parametrize("address", ["", "https://example.org/discreet"])
def test_no_link_of_the_readme_leads_nowhere_on_an_index(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hatchling is there when a package is built, not when it is tested."""
    stub = SimpleNamespace(MetadataHookInterface=object)
    monkeypatch.setitem(sys.modules, "hatchling.metadata.plugin.interface", stub)
    shown = runpy.run_path(str(ROOT / "hatch_build.py"))["absolute"]
    text = (ROOT / "README.md").read_text()
    readme = shown(text, address)
    links = re.findall(r"\]\(([^)]+)\)", readme)
    assert ("![" in readme) == bool(address)  # a picture is shown from somewhere, or not at all
    assert all(link.startswith("https://") for link in links)
    assert len(links) == (text.count("](") if address else text.count("](http"))


def test_noise_by_opendp_without_opendp_names_the_extra_before_any_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(MissingExtraError, match=r"discreet\[opendp\]"):
        dc.Tally(noise="opendp").checked(None)


def test_what_is_looked_for_is_what_an_extra_installs() -> None:
    for extra, modules in extras.EXTRAS.items():
        wanted = {re.split(r"[<>=\[]", line)[0] for line in PROJECT["optional-dependencies"][extra]}
        assert set(modules.values()) == wanted, extra
        assert all(find_spec(module) for module in modules), extra  # under the names of modules
    declared = {re.split(r"\W", line)[0] for line in PROJECT["optional-dependencies"]["all"]}
    assert declared == {"discreet"}
    [every] = PROJECT["optional-dependencies"]["all"]
    assert set(re.findall(r"\w+", every.partition("[")[2])) == set(extras.EXTRAS)


HELD = {
    "discreet/__main__.py",
    "discreet/py.typed",
    "discreet/cli/__init__.py",
    "discreet/kernels/signatures.txt",
    "discreet/database/migrations/env.py",
    "discreet/service/templates/base.html",
    "discreet/docs/proofs/tally.md",
    "discreet/docs/proofs/chorus.md",
    "discreet/docs/tables.md",
}
"""What a wheel would be no use without, a file of every kind."""


def test_a_wheel_holds_what_it_must_and_nothing_else(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="hatchling builds the package: it is not installed")
    from hatchling.builders.wheel import WheelBuilder

    built = next(iter(WheelBuilder(str(ROOT)).build(directory=str(tmp_path))))
    with zipfile.ZipFile(built) as wheel:
        names = set(wheel.namelist())
        [metadata] = [name for name in names if name.endswith(".dist-info/METADATA")]
        about = wheel.read(metadata).decode()
        [scripts] = [name for name in names if name.endswith("entry_points.txt")]
        command = wheel.read(scripts).decode()
    assert names >= HELD
    assert any(name.endswith("licenses/LICENSE") for name in names)
    inside = {path.relative_to(ROOT / "src") for path in (ROOT / "src/discreet").rglob("*.*")}
    kept = {path for path in inside if path.suffix not in (".pyc", ".nbi", ".nbc")}
    assert names >= {str(path) for path in kept if (ROOT / "src" / path).is_file()}
    strange = {n for n in names if not n.startswith(("discreet/", "discreet-"))}
    assert not strange
    assert not [n for n in names if n.endswith((".pyc", ".nbi", ".nbc", ".db", ".parquet"))]
    assert "Name: discreet\n" in about
    assert "# Discreet" in about
    assert "discreet = discreet.__main__:main" in command
    assert Path(built).stat().st_size < 2e6  # it is 0.9 MB: no data set has slipped in
