"""Groups of commands: a list in which every command is explained by a whole sentence."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from typer.core import TyperGroup

CHOSEN = "discreet.chosen"
PATH = "discreet.path"
"""Where a context keeps the command that its line means, and its name."""
_OPTION = re.compile(r"(, |\()(--[a-z][a-z-]*)(?: [^,()]*)?(?=[,)])")
"""An option in a remedy: it stands in brackets, after what one says in Python or alone."""


class Group(TyperGroup):
    """Commands whose sentences are wrapped in a narrow terminal, not cut off."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        """Which command a line means; the context remembers it."""
        found = super().resolve_command(ctx, args)
        ctx.meta[CHOSEN] = found[1]
        ctx.meta[PATH] = f"{ctx.meta.get(PATH, '')} {found[0]}".strip()
        return found

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        rows = [
            (name, command.get_short_help_str(limit=10**4))
            for name, command in commands.items()
            if command is not None and not command.hidden
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def offered(message: str, options: Collection[str]) -> str:
    """A message without remedies in brackets that are options, and none of these.

    >>> offered("declare it (scale=(lo, hi), --scale lo:hi)", ["--keep"])
    'declare it (scale=(lo, hi))'
    >>> offered("of another encoding (--encoding latin-1)", ["--encoding"])
    'of another encoding (--encoding latin-1)'
    """

    def kept(found: re.Match[str]) -> str:
        return found[0] if found[2] in options else found[1].removesuffix(", ")

    return _OPTION.sub(kept, message).replace(" ()", "")
