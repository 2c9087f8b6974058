"""What deploying rests on: settings in the environment, and examples that name what is there."""

import ast
import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer.main

from discreet.cli import app
from discreet.errors import DataError
from discreet.service.limits import Limits

DEPLOY = Path(__file__).parents[2] / "deploy"


def options() -> set[str]:
    command = typer.main.get_command(app).commands["serve"]  # type: ignore[attr-defined]
    return {name.upper().replace("-", "_") for name in (p.name for p in command.params)}


def test_every_option_can_stand_in_the_environment(tmp_path: Path) -> None:
    assert len(options()) > 12
    given = {"DISCREET_DATABASE": str(tmp_path / "x.db"), "DISCREET_PORT": "nonsense"}
    ended = subprocess.run(
        [sys.executable, "-m", "discreet", "serve"],
        env={**os.environ, **given}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 2
    assert "'--port'" in ended.stderr


def test_the_compose_file_sets_options_that_there_are() -> None:
    text = (DEPLOY / "compose.yaml").read_text()
    named = set(re.findall(r"DISCREET_(\w+):", text))
    assert len(named) >= 5
    assert named <= options()
    assert (DEPLOY / re.findall(r"\./(\w+):/etc/caddy", text)[0]).is_file()


def test_the_proxy_lets_through_what_the_service_takes() -> None:
    text = (DEPLOY / "nginx.conf").read_text()
    blocks = dict(re.findall(r"location (\S+|~ \S+) \{(.*?)\n    \}", text, re.DOTALL))
    rest = re.sub(r"location .*?\n    \}", "", text, flags=re.DOTALL)
    assert len(blocks) == 3
    for place, most in (
        (rest, Limits.body),
        (blocks["/api/service/"], Limits.bulk),
        (blocks["~ ^/(api/)?operator/"], Limits.upload),
    ):
        [(number, unit)] = re.findall(r"client_max_body_size (\d+)([km]);", place)
        assert int(number) * {"k": 1024, "m": 1024**2}[unit] == most
    # What nginx does not replace a client may say of itself.
    for block in blocks.values():
        assert set(re.findall(r"proxy_set_header (\S+)", block)) == {
            "Host", "X-Forwarded-For", "X-Forwarded-Proto",
        }  # fmt: skip


def test_the_container_warms_what_there_is() -> None:
    """Its build runs a program of several lines: its modules must be where it looks for them."""
    text = (DEPLOY / "Containerfile").read_text().replace("\\\n", "")
    [program] = re.findall(r'python -c "(from .*?)"\n', text)
    modules = [
        node.module for node in ast.walk(ast.parse(program)) if isinstance(node, ast.ImportFrom)
    ]
    assert len(modules) >= 3
    assert all(module and find_spec(module) for module in modules)


def test_an_operator_has_a_name_where_it_is_written_what_they_did(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from discreet.database import acts, people
    from discreet.database.connection import Database
    from discreet.database.declaration import establish

    database = Database(tmp_path / "x.db")
    establish(database)
    words = ["operate", "token", "operator", "--name", "ann", "--json"]
    app([*words, "--database", str(tmp_path / "x.db")], standalone_mode=False)
    token = json.loads(capsys.readouterr().out)["token"]
    with database.reading() as connection:
        holder = people.bearer(connection, token)
        [act] = acts.latest(connection, 10)
    assert holder is not None
    assert holder.operator == "ann"
    at = ["--database", str(tmp_path / "x.db")]
    app(["operate", "token", "operator", "--name", "bob", *at], standalone_mode=False)
    gone = ["operate", "revoke", "--role", "operator", "--name", "ann", *at]
    app(gone, standalone_mode=False)
    with database.reading() as connection:
        assert people.bearer(connection, token) is None
        assert people.operator_exists(connection)  # bob goes on
    with pytest.raises(DataError, match="nobody"):
        app(
            ["operate", "revoke", "--role", "operator", "--name", "ann", *at], standalone_mode=False
        )
    assert (act.operator, act.act, act.detail) == ("command line", "make a token: operator", "ann")
    database.close()
