"""Bundles: options that travel together, declared once and given to every command that has them.

A bundle is a frozen dataclass whose fields are options. A command takes it as one parameter, and
Typer sees its fields.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

import typer

from discreet.cli import options as o
from discreet.cli import parse, show
from discreet.errors import ParameterError, SpecError

if TYPE_CHECKING:
    from discreet.data.event_rules import EventRules
    from discreet.data.items import Items
    from discreet.data.ratings import Ratings
    from discreet.experiments import source
    from discreet.privacy.spec import PrivacySpec


def unbundled(command: Callable[..., None]) -> Callable[..., None]:
    """The same command with the fields of its bundles as parameters of their own."""
    parameters: list[inspect.Parameter] = []
    bundles: dict[str, Any] = {}
    for given in inspect.signature(command, eval_str=True).parameters.values():
        if not is_dataclass(given.annotation):
            parameters.append(given.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        bundles[given.name] = given.annotation
        types = get_type_hints(given.annotation, include_extras=True)
        parameters += [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=types[field.name],
            )
            for field in fields(given.annotation)
        ]

    def run(**words: Any) -> None:
        made = {
            name: kind(**{field.name: words.pop(field.name) for field in fields(kind)})
            for name, kind in bundles.items()
        }
        command(**words, **made)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


@dataclass(frozen=True)
class TextTable:
    """How a text file is read."""

    separator: o.SeparatorOption = None
    encoding: o.EncodingOption = "utf-8"

    @property
    def delimiter(self) -> str | None:
        """The separator, from the word for it."""
        return parse.delimiter(self.separator)


@dataclass(frozen=True)
class ItemText(TextTable):
    """How a text file is read that is an item table."""

    separator: o.EitherSeparatorOption = None


@dataclass(frozen=True)
class RatingsReading(TextTable):
    """How a table of ratings is read."""

    columns: o.ColumnsOption = None
    scale: o.ScaleOption = None
    keep: o.KeepOption = None

    @property
    def rules(self) -> EventRules | None:
        """By which rows of events become records; None for ratings."""
        return None

    @property
    def value(self) -> source.Reading:
        """The same, checked, in the library's words."""
        from discreet.experiments.source import Reading as Value

        return Value(
            tuple(parse.mapping(self.columns).items()),
            None if self.scale is None else parse.scale_of(self.scale),
            self.keep,
            self.delimiter,
            self.encoding,
            self.rules,
        )

    def load(self, where: str) -> Ratings:
        """The ratings, or events, that a command was given."""
        return self.value.load(where)


@dataclass(frozen=True)
class Reading(RatingsReading):
    """How a table of ratings, or of events, is read."""

    events: o.EventsOption = False
    quantity: o.QuantityOption = None
    repeats: o.RepeatsOption = None

    @property
    def rules(self) -> EventRules | None:
        """By which rows of events become records; None for ratings."""
        return parse.rules(self.events, self.quantity, self.repeats, self.scale, self.keep)


@dataclass(frozen=True)
class ItemTable:
    """The item table, and how it is read."""

    items: o.ItemsOption = None
    public_column: o.PublicColumnsOption = None
    item_columns: o.ItemColumnsOption = None
    item_separator: o.ItemSeparatorOption = None

    def value(self, text: TextTable) -> source.ItemReading:
        """How it is read, in the library's words: like the ratings where nothing else is said."""
        from discreet.experiments.source import ItemReading

        return ItemReading(
            tuple(parse.mapping(self.item_columns, "--item-columns").items()),
            tuple(self.public_column or ()),
            parse.delimiter(self.item_separator) or text.delimiter,
            text.encoding,
        )

    def load(self, text: TextTable) -> Items | None:
        """The item table, if any; its owner is told what was left out."""
        if self.items is None:
            flags = {
                "--public-column": self.public_column,
                "--item-columns": self.item_columns,
                "--item-separator": self.item_separator,
            }
            for flag, given in flags.items():
                if given:
                    raise ParameterError(f"{flag} goes with an item table: give one with --items")
            return None
        found = self.value(text).load(self.items)
        show.left_out(found)
        return found


PROTECTS_NOBODY = 20.0
"""Above it a warning is given: e^20 is half a billion, and so many times surer of a rating may
somebody be who sees the release."""


@dataclass(frozen=True)
class Levels:
    """Which privacy levels ratings have."""

    privacy: o.PrivacyOption = None
    max_level: o.MaxLevelOption = None
    min_level: o.MinLevelOption = None
    default_level: o.DefaultLevelOption = None

    def spec(self, has_levels: bool) -> PrivacySpec | None:
        """The specification; by default the table's epsilon column, if it has one."""
        found = parse.privacy(
            self.privacy, has_levels, self.max_level, self.min_level, self.default_level
        )
        if found is not None and found.max_level > PROTECTS_NOBODY:
            typer.echo(
                f"Warning: epsilon {found.max_level:g} protects nobody: whoever sees the release "
                "may be sure of any rating. Useful levels: discreet help tables#levels",
                err=True,
            )
        return found

    def spec_that_keeps(self, has_levels: bool, *, override: bool) -> PrivacySpec | None:
        """The same; one that replaces what people chose must be asked for."""
        spec = self.spec(has_levels)
        if has_levels and self.privacy not in (None, "column") and not override:
            raise SpecError(
                f"--privacy {self.privacy} would replace the levels in the table's epsilon column, "
                "which people chose: leave it away, or say --override-levels"
            )
        return spec


@dataclass(frozen=True)
class Showing:
    """How much a command says, and to whom."""

    quiet: o.QuietOption = False
    as_json: o.JsonOption = False

    @property
    def silent(self) -> bool:
        """Whether people are shown nothing but warnings."""
        return self.quiet or self.as_json
