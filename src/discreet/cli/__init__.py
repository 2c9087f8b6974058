"""The command line: parse, call, show; no mathematics, and nothing heavy imported before use."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperGroup

from discreet.cli import (
    access,
    audit,
    copies,
    data,
    demo,
    evaluate,
    fit,
    inspect,
    ledger,
    operate,
    operate_events,
    recommend,
    reproduce,
    serve,
    sweep,
)
from discreet.cli.schemes import mentioned, with_options
from discreet.errors import DiscreetError

_SETTINGS: dict[str, Any] = {
    "no_args_is_help": True,
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"], "max_content_width": 100},
}
_FITTING: dict[str, Callable[..., None]] = {"fit": fit.fit, "evaluate": evaluate.evaluate}
"""Commands with the options of every scheme, which are read when one of them is called."""


class _Commands(TyperGroup):
    """Commands, those that fit with the options of the schemes that their line may mean."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if name in _FITTING:
            whole = typer.Typer(**_SETTINGS)
            whole.command(name)(with_options(_FITTING[name], mentioned(rest)))
            command = typer.main.get_command(whole)
            command.name = name
        return name, command, rest


app = typer.Typer(
    name="discreet",
    help="A recommender that keeps every rating as private as the person who gave it asked for.",
    cls=_Commands,
    **_SETTINGS,
)
app.command("demo")(demo.demo)
for _name, _command in _FITTING.items():
    app.command(_name)(with_options(_command, ()))
app.command("recommend")(recommend.recommend)
app.command("inspect")(inspect.inspect)
app.command("audit")(audit.audit)
app.command("reproduce")(reproduce.reproduce)
app.command("sweep")(sweep.sweep)
app.command("serve")(serve.serve)
operate.app.command("begin")(operate_events.begin)
operate.app.command("events")(operate_events.events)
operate.app.command("export")(operate_events.export)
operate.app.command("person")(access.person)
operate.app.command("token")(access.token)
operate.app.command("revoke")(access.revoke)
operate.app.command("erase")(access.erase)
operate.app.command("backup")(copies.backup)
operate.app.command("restored")(copies.restored)
operate.app.command("moved")(copies.moved)
app.add_typer(operate.app, name="operate")
app.add_typer(ledger.app, name="ledger")
app.add_typer(data.app, name="data")


def _version(wanted: bool) -> None:
    if wanted:
        from discreet import __version__

        typer.echo(f"discreet {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", help="Show the version and stop.", callback=_version, is_eager=True
    ),
) -> None:
    del version


def main() -> None:
    """Run the command line; a refusal is one line on standard error, never a traceback."""
    try:
        app()
    except DiscreetError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(1)
