"""The command line as Markdown: every command with its arguments, options and examples."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import typer

from discreet.cli import app


def write() -> str:
    """What each command is for, then a section for each, those with their own in depth."""
    root = typer.main.get_command(app)
    context = typer.Context(root, info_name="discreet")
    return "\n\n".join([_index(root, context), *_sections(root, context, depth=2)])


def _index(root: Any, context: Any) -> str:
    """A table of commands, each with the first paragraph of its help, and where it stands below."""
    rows = [
        f"| [`{name}`](#discreet-{name}) | {_escaped((found.help or '').split(chr(10) * 2)[0])} |"
        for name in root.list_commands(context)
        if (found := root.get_command(context, name))
    ]
    return "\n".join(["| command | |", "|---|---|", *rows])


def _sections(group: Any, context: Any, depth: int) -> Iterator[str]:
    for name in group.list_commands(context):
        # As when it is called: the commands that fit then have the options of every scheme.
        _, command, _ = group.resolve_command(context, [name])
        inner = typer.Context(command, info_name=name, parent=context)
        yield _section(command, inner, depth)
        if hasattr(command, "list_commands"):
            yield from _sections(command, inner, depth + 1)


def _section(command: Any, context: Any, depth: int) -> str:
    path = context.command_path
    parts = [f"{'#' * depth} {path}", _explained(command.help or "")]
    if not hasattr(command, "list_commands"):
        usage = " ".join([path, *command.collect_usage_pieces(context)])
        parts.insert(1, f"```text\n{usage}\n```")
    rows = [row for p in command.get_params(context) if (row := _row(p, context))]
    parts += rows
    return "\n\n".join(parts)


def _explained(text: str) -> str:
    """A command's help; what a \\b keeps from being wrapped is shown as it stands."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(map(_paragraph, paragraphs))


def _paragraph(text: str) -> str:
    if not text.startswith("\b"):
        return _escaped(text)
    title, *lines = text.lstrip("\b\n").splitlines()
    return f"{title}\n\n```sh\n{inspect.cleandoc(chr(10).join(['', *lines]))}\n```"


def _row(parameter: Any, context: Any) -> str:
    record = parameter.get_help_record(context)
    if record is None or "--help" in parameter.opts:
        return ""
    name, words = (" ".join(part.split()) for part in record)
    return f"`{name}`\n: {_escaped(words)}"


def _escaped(text: str) -> str:
    for sign in "\\|*_<[":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())
