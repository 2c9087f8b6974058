"""The command line: parse, call, show; no mathematics, and nothing heavy imported before use."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable
from typing import Any

import typer

from discreet.cli import (
    access,
    audit,
    compare,
    copies,
    data,
    demo,
    doctor,
    evaluate,
    fit,
    inspect,
    ledger,
    operate,
    operate_changes,
    operate_events,
    operate_images,
    pages,
    plan,
    recommend,
    reproduce,
    serve,
    sweep,
)
from discreet.cli.bundles import unbundled
from discreet.cli.groups import CHOSEN, PATH, Group, offered
from discreet.cli.schemes import mentioned, with_options
from discreet.errors import DiscreetError, ParameterError

_SETTINGS: dict[str, Any] = {
    "no_args_is_help": True,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"], "max_content_width": 100},
}
_FITTING: dict[str, Callable[..., None]] = {
    "fit": unbundled(fit.fit),
    "evaluate": unbundled(evaluate.evaluate),
}
"""Commands with the options of every scheme, which are read when one of them is called."""


class _Commands(Group):
    """Commands, those that fit with the options of the schemes that their line may mean."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if name in _FITTING:
            whole = typer.Typer(add_completion=False, **_SETTINGS)
            whole.command(name)(with_options(_FITTING[name], mentioned(rest)))
            command = typer.main.get_command(whole)
            command.name = name
            ctx.meta[CHOSEN] = command
        if name == "audit":
            rest = audit.with_a_file(rest)
        return name, command, rest

    def invoke(self, ctx: Any) -> Any:
        """Run a command; refused, it says so in its own options; interrupted, that nothing lies
        about half-written."""
        try:
            return super().invoke(ctx)
        except DiscreetError as error:
            command = ctx.meta.get(CHOSEN)
            known = command.params if command is not None else ()
            flags = [flag for one in known for flag in (*one.opts, *one.secondary_opts)]
            path = f"discreet {ctx.meta[PATH]} --help" if command is not None else None
            _refuse(error, offered(str(error), flags), path)
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            typer.echo("\nInterrupted: no file was left half-written.", err=True)
            raise typer.Exit(130) from None


app = typer.Typer(
    name="discreet",
    help="A recommender that keeps every rating as private as the person who gave it asked for.",
    cls=_Commands,
    **_SETTINGS,
)
app.command("demo")(demo.demo)
for _name, _command in _FITTING.items():
    app.command(_name)(with_options(_command, ()))
app.command("recommend")(unbundled(recommend.recommend))
app.command("inspect")(unbundled(inspect.inspect))
app.command("audit")(unbundled(audit.audit))
app.command("reproduce")(unbundled(reproduce.reproduce))
app.command("sweep")(unbundled(sweep.sweep))
app.command("compare")(unbundled(compare.compare))
app.command("plan")(unbundled(plan.plan))
# Every option of it can stand in the environment as well: DISCREET_LEVELS, DISCREET_WORKERS, ...
app.command("serve", context_settings={"auto_envvar_prefix": "DISCREET"})(unbundled(serve.serve))
app.command("doctor")(doctor.doctor)
app.command("help")(pages.show_page)
operate.app.command("begin")(operate_events.begin)
operate.app.command("events")(operate_events.events)
operate.app.command("export")(operate_events.export)
operate.app.command("declare")(operate_changes.declare)
operate.app.command("takedown")(operate_changes.takedown)
operate.app.command("images")(operate_images.images)
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
    """Run the command line; a refusal is a line on standard error, and where there is more to read
    another: never a traceback."""
    try:
        app(prog_name="discreet")
    except DiscreetError as error:
        _refuse(error, str(error))
        sys.exit(1)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        typer.echo(f"error: what is printed cannot be written: {error.strerror}", err=True)
        sys.exit(1)


def _refuse(error: DiscreetError, words: str, options: str | None = None) -> None:
    """Say why, and where more is said: a section of a page, or, of a word that does not fit, what
    options there are."""
    typer.echo(f"error: {words}", err=True)
    if (section := pages.explained_by(error)) is not None:
        typer.echo(f"help: discreet help {section}", err=True)
    elif isinstance(error, ParameterError) and options is not None:
        typer.echo(f"help: {options}", err=True)
