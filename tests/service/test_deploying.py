"""What deploying rests on: settings in the environment, and examples that name what is there."""

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer.main

from discreet.cli import app
from discreet.database.connection import Database
from discreet.service import programs
from discreet.service.guard import OWN
from discreet.service.limits import Limits
from discreet.service.monitoring import Metrics
from tests.cli.running import refused
from tests.service.clubs import OUR_PAGE, Club
from tests.service.test_access import signed_in

DEPLOY = Path(__file__).parents[2] / "deploy"


def options() -> set[str]:
    command = typer.main.get_command(app).commands["serve"]  # type: ignore[attr-defined]
    return {name.upper().replace("-", "_") for name in (p.name for p in command.params)}


def contexts() -> Iterator[tuple[str, Any]]:
    """The commands whose options can stand in the environment, as one would call them."""
    root = typer.main.get_command(app)
    outer = root.context_class(root, info_name="discreet", **root.context_settings)
    serve, group = root.commands["serve"], root.commands["operate"]  # type: ignore[attr-defined]
    yield "DISCREET", inside(serve, outer)
    for name, command in group.commands.items():
        words = name.upper().replace("-", "_")
        yield f"DISCREET_OPERATE_{words}", inside(command, inside(group, outer))


def inside(command: Any, outer: Any) -> Any:
    settings = command.context_settings
    return command.context_class(command, info_name=command.name, parent=outer, **settings)


def test_every_option_can_stand_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = 0
    for prefix, context in contexts():
        for param in context.command.params:
            if param.param_type_name != "option" or param.is_eager:
                continue
            variable = f"{prefix}_{param.name.upper()}"
            if param.name == "database":
                variable = "DISCREET_DATABASE"
            monkeypatch.setenv(variable, "x")
            assert param.resolve_envvar_value(context) == "x", variable
            monkeypatch.delenv(variable)
            assert param.resolve_envvar_value(context) is None
            seen += 1
    assert seen > 60


def test_a_value_in_the_environment_counts(tmp_path: Path) -> None:
    given = {"DISCREET_DATABASE": str(tmp_path / "x.db"), "DISCREET_PORT": "nonsense"}
    for words, name in ((["serve"], "port"), (["operate", "person", "ann"], "days")):
        given |= {"DISCREET_OPERATE_PERSON_DAYS": "nonsense"}
        ended = subprocess.run(
            [sys.executable, "-m", "discreet", *words],
            env={**os.environ, **given}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert ended.returncode == 2
        assert f"'--{name}'" in ended.stderr


def test_what_the_service_starts_is_told_by_the_service_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A seed that an operator tries out by hand must not get into the releases on schedule."""
    monkeypatch.setenv("DISCREET_OPERATE_PUBLISH_SEED", "1")
    monkeypatch.setenv("DISCREET_VECTOR_BYTES", "16")
    given: list[dict[str, str]] = []

    def start(_words: list[str], *, env: dict[str, str], **_: object) -> Any:
        given.append(env)
        return SimpleNamespace(pid=2**30)

    monkeypatch.setattr(subprocess, "Popen", start)
    programs.Programs(Database("club.db"), Metrics(), lambda: None)._start("publish")
    assert given[0]["DISCREET_DATABASE"].endswith("club.db")
    assert given[0]["DISCREET_VECTOR_BYTES"] == "16"
    assert not any(name.startswith("DISCREET_OPERATE_") for name in given[0])


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
    assert len(blocks) == 4
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

    caddy = (DEPLOY / "Caddyfile").read_text()
    assert re.findall(r"max_size (\S+)", caddy) == [f"{Limits.upload // 1024**2}MiB"]


def test_the_service_reaches_an_openid_provider_and_nobody_but_the_proxy_reaches_it() -> None:
    text = (DEPLOY / "compose.yaml").read_text()
    services, networks = text.split("\nnetworks:\n")
    internal = set(re.findall(r"^  (\w+):\s*(?:\n    |\{)internal: true", networks, re.MULTILINE))
    assert internal == {"inside", "proxied"}
    of = dict(re.findall(r"\n  (\w+):\n(.*?)(?=\n  \w+:\n|$)", services, re.DOTALL))
    [mine] = re.findall(r"networks: \[(.*)\]", of["service"])
    assert set(mine.split(", ")) - internal == {"egress"}
    assert "egress" not in of["proxy"] + of["database"]  # the proxy has one address, which counts
    assert "ports:" not in of["service"] + of["database"]


def test_only_what_holds_no_secret_is_compressed(small_club: Club) -> None:
    """What a signed-in person gets, or a token's page, is nowhere in the proxies' lists."""
    [pattern] = re.findall(r"location ~ (\S+) \{[^}]*gzip on", (DEPLOY / "nginx.conf").read_text())
    [places] = re.findall(r"@public path (.*)", (DEPLOY / "Caddyfile").read_text())
    app = small_club.app
    paths = {getattr(route, "path", "") for route in app.routes} | set(app.openapi()["paths"])
    paths |= {"/static/page.css", "/signin", "/join", *OWN}
    compressed = {path for path in paths if re.match(pattern, path)}
    assert compressed == {
        path for path in paths if any(map(partial(fnmatch, path), places.split()))
    }
    assert {"/static/page.css", "/openapi.json", "/api/releases"} <= compressed
    assert not any(path.startswith((*OWN, "/operator", "/signin", "/back")) for path in compressed)
    signed_in(small_club, "u1")
    for path in ("/model", "/proof", "/api"):
        page = small_club.client.get(path, headers=OUR_PAGE).text
        assert page
        assert small_club.tokens["u1"] not in page
        assert small_club.client.cookies["discreet-session"] not in page
        assert "u1" not in re.findall(r">([^<]*)<", page)


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
    assert "nobody has such a token" in refused(*gone)
    assert (act.operator, act.act, act.detail) == ("command line", "make a token: operator", "ann")
    database.close()
