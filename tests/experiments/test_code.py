"""Digests of code: what a result depends on is followed, and nothing else."""

from pathlib import Path

import pytest

from discreet.evaluate.baselines import find_method
from discreet.experiments import code
from discreet.experiments.code import code_of, modules_of


def test_a_scheme_depends_on_its_own_rounds_and_not_on_those_of_others():
    chorus, dpals = (modules_of(find_method(n).__module__) for n in ("chorus", "dpals"))
    assert "discreet.schemes.chorus.rounds" in chorus
    assert "discreet.schemes.chorus.rounds" not in dpals
    assert {"discreet.field.alternating", "discreet.kernels.moments"} <= dpals
    assert "discreet.field.alternating" not in chorus
    assert not any(name.startswith(("discreet.cli", "discreet.service")) for name in chorus | dpals)


def test_what_is_imported_by_a_table_when_it_is_asked_for_is_followed():
    assert "discreet.field.mcsherry_mironov" in modules_of("discreet.field.jorgensen")


def test_a_changed_file_changes_the_digest_of_what_imports_it(monkeypatch: pytest.MonkeyPatch):
    read = Path.read_bytes
    before = {name: code_of(find_method(name)) for name in ("chorus", "dpals")}

    def changed(path: Path) -> bytes:
        return read(path) + (b"#" if path.name == "alternating.py" else b"")

    monkeypatch.setattr(Path, "read_bytes", changed)
    code._digest.cache_clear()
    try:
        assert code_of(find_method("chorus")) == before["chorus"]
        assert code_of(find_method("dpals")) != before["dpals"]
    finally:
        code._digest.cache_clear()


def test_a_scheme_of_somebody_elses_has_a_digest_as_well():
    class Mine:
        pass

    assert len(code_of(Mine)) == 16
