"""A scheme in a file of its own, as the documentation shows it, through every command."""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.audit.fits import games_of
from discreet.audit.suite import alarms, audit
from discreet.data.ratings import Ratings
from discreet.errors import ParameterError
from discreet.privacy.history import History
from discreet.privacy.lifetime import Spends
from discreet.privacy.noise import Randomness
from discreet.privacy.spec import PrivacySpec
from discreet.privacy.theorems import THEOREMS, Status
from discreet.release.release import Release
from discreet.schemes import SCHEMES, find_scheme, usual_scheme
from discreet.schemes.base import LedgerState, Run, build_scheme, options_of
from discreet.schemes.certificates import certified
from discreet.schemes.chorus.plan import Plan
from discreet.schemes.chorus.rounds import prepare_rounds
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.chorus.values import Liking
from discreet.schemes.tally import Tally

PAGE = (Path(__file__).parents[2] / "docs" / "own-mechanism.md").read_text()
[CODE] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
[COMMANDS] = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
FIT, EVALUATE, SWEEP, AUDIT = COMMANDS.strip().splitlines()


def run(command: str, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    program, *words = shlex.split(command)
    assert program == "discreet"
    return subprocess.run(
        [sys.executable, "-m", "discreet", *words, *more],
        cwd=folder, env={**os.environ, "COLUMNS": "200"}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


def ok(command: str, folder: Path, *more: str) -> str:
    result = run(command, folder, *more)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "noisy_means.py").write_text(CODE)
    return tmp_path


def test_it_is_fitted_with_its_own_option(folder: Path) -> None:
    assert "proven" in ok(FIT, folder)
    release = Release.load(folder / "release")
    assert release.certificate.scheme == "Noisy means"
    assert str(release.certificate.status) == "proven"
    help_text = ok("discreet fit --scheme noisy_means:NoisyMeans --help", folder)
    assert "--shrink" in help_text
    assert "[noisy_means:NoisyMeans]" in help_text
    assert "--shrink" not in ok("discreet fit --help", folder)


def test_it_runs_by_itself(folder: Path) -> None:
    shown = subprocess.run(
        [sys.executable, "noisy_means.py"], cwd=folder, capture_output=True, text=True, check=True
    ).stdout
    assert "Release(Noisy means, proven" in shown


def test_it_is_evaluated_beside_others(folder: Path) -> None:
    shown = ok(EVALUATE, folder)
    assert "noisy_means:NoisyMeans" in shown
    assert "tally" in shown


def test_it_is_swept_in_processes_of_their_own(folder: Path) -> None:
    shown = ok(SWEEP, folder)
    assert "Noisy means" in shown
    assert "0 cells" not in shown
    assert (folder / "sweep" / "sweep.csv").read_text().count("Noisy means") == 2


def test_it_is_attacked_by_a_command(folder: Path) -> None:
    """With so few runs little is proven; an alarm by chance, if there is one, is told as one."""
    found = run(AUDIT, folder, "--fits", "20")
    assert found.stdout.count("Noisy means means") >= 2
    assert found.returncode == ("A proven guarantee was refuted" in found.stdout)


def test_what_is_broken_in_it_is_found_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong with a chance of at most 1e-9 where it holds; an eighth of the noise loses 8 for 1."""
    quiet = CODE.replace("ONE_VOTE / Fraction(t)", "ONE_VOTE / Fraction(8 * t)")
    assert quiet != CODE
    (folder / "quiet_means.py").write_text(quiet)
    monkeypatch.syspath_prepend(str(folder))
    for name, broken in (("noisy_means", False), ("quiet_means", True)):
        games = games_of(find_scheme(f"{name}:NoisyMeans"))
        assert all(game.proven for game in games)
        findings = audit(games, fits=400, false_alarms=1e-9)
        assert bool(alarms(findings)) == broken


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nothing", "there is no scheme 'nothing': there are tally, chorus"),
        ("missing:Scheme", "cannot import the scheme missing:Scheme"),
        ("noisy_means:Missing", "cannot import the scheme noisy_means:Missing"),
        ("empty_module:Nothing", "empty_module:Nothing is no scheme"),
        ("broken_module:Scheme", "cannot import the scheme broken_module:Scheme: division by zero"),
        ("publishing_module:NoisyMeans", "says `publishes` but has no require_publishable"),
        ("streaming_module:NoisyMeans", "says `engines` but has no checked, release"),
    ],
)
def test_what_is_no_scheme_is_named(
    name: str, words: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = 'name="Noisy means",'
    modules = {
        "empty_module": "Nothing = 1\n",
        "broken_module": "1 / 0\n",
        "publishing_module": CODE.replace(named, f"{named} publishes=True,"),
        "streaming_module": CODE.replace(named, f'{named} engines=("local", "stream"),'),
    }
    for module, code in modules.items():
        (folder / f"{module}.py").write_text(code)
    monkeypatch.syspath_prepend(str(folder))
    with pytest.raises(ParameterError, match=re.escape(words)):
        find_scheme(name)


def test_a_command_names_it_in_a_line(folder: Path) -> None:
    for command in ("fit club --scheme nothing", "audit --scheme missing:Scheme"):
        result = run(f"discreet {command}", folder)
        assert result.returncode == 1
        assert result.stderr.startswith("error: ")
        assert "Traceback" not in result.stderr


def test_every_scheme_of_the_table_describes_itself() -> None:
    names = {name: find_scheme(name).about for name in SCHEMES}
    assert [about.name.lower() for about in names.values()] == list(names)
    assert len({about.promise for about in names.values()}) == len(names)
    for name, about in names.items():
        scheme = build_scheme(find_scheme(name))
        assert set(about.engines) <= {"local", "stream", "spark"}
        assert "local" in about.engines
        assert set(about.units) <= {"rating", "person"}
        offered = {"prepare", "allowances", "publish_batch"}
        assert about.publishes == (offered <= set(dir(scheme)))
        for field, option in options_of(find_scheme(name)).items():
            assert hasattr(scheme, field)
            assert option.flag.startswith("--")
    assert usual_scheme(None) is find_scheme("tally")
    assert usual_scheme(1e-6) is find_scheme("chorus")
    with pytest.raises(ParameterError, match="there is no scheme"):
        find_scheme("als")


def test_no_theorem_over_time_is_borrowed_from_the_others(small: Ratings) -> None:
    """A ledger's certificate speaks of Tally and Chorus, each rating by itself."""
    unproven = replace(THEOREMS["tally"], name="my own", backing=Status.UNPROVEN)
    made = replace(Tally().fit(small).release.certificate.provenance, theorem=unproven)
    nothing = Spends.none(len(small))
    state = LedgerState(nothing, None, History(release=1, generation=""), earlier=0)
    with pytest.raises(ParameterError, match="no theorem covers releases of Tally over time"):
        certified(made, state)
    for scheme in (Tally(unit="person"), Chorus(unit="person", delta=1e-6)):
        with pytest.raises(ParameterError, match="unit='rating' only"):
            scheme.publish_batch(small, PrivacySpec.column(), state, Run(Randomness(0)))


def test_secret_sums_are_in_no_text_about_a_value(small: Ratings) -> None:
    spec, run = PrivacySpec.column(), Run(Randomness(0))
    scheme = Chorus(delta=1e-6, factors=2)
    budget = scheme.budget(small, spec, spec.levels, run)
    flat, part = np.full(len(small.items), small.scale.middle), Plan(0.0, 0.35, 2, 2).liking_part
    rounds = prepare_rounds(
        small, Liking(flat, 1.0), part, budget, neighbours=scheme.neighbours, run=run
    )
    for value in (budget, rounds, rounds.contributions):
        assert "array" not in repr(value).replace("typical=array", "")
