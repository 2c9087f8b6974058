"""Schemes on the command line: each brings its own options along, from the table or from elsewhere.

A command that fits gets the options of all schemes when it is called, not before: reading them
imports the schemes, and the other commands need not wait for that.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from discreet.cli.completion import one_of
from discreet.errors import ParameterError
from discreet.schemes import SCHEMES, find_scheme

if TYPE_CHECKING:
    from discreet.data.items import Items
    from discreet.schemes.base import Option, Scheme

Given = Mapping[str, Any]
"""Options by name (--k1 is "k1"), those alone that were given."""


class _Known(NamedTuple):
    """One option of the command line, and what it is to every scheme that has it."""

    of: dict[str, Option]

    @property
    def help(self) -> str:
        """What it means, and to whom."""
        by_words: dict[str, list[str]] = {}
        for scheme, option in self.of.items():
            by_words.setdefault(option.help, []).append(scheme)
        return " ".join(f"{words} [{', '.join(names)}]" for words, names in by_words.items())

    def parameter(self, name: str) -> inspect.Parameter:
        """The same for Typer."""
        option = next(iter(self.of.values()))
        flags = [option.flag, *([option.short] if option.short else [])]
        kind: Any = list[str] if option.kind is list else option.kind
        words: dict[str, Any] = {"metavar": option.metavar}
        if option.metavar is not None and "|" in option.metavar:
            words = one_of(option.metavar)
        how = typer.Option(*flags, help=self.help, show_default=False, **words)
        return inspect.Parameter(
            f"option_{name}",
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[kind | None, how],
        )


def _name(option: Option) -> str:
    return option.flag.split("/")[0].removeprefix("--").replace("-", "_")


def _options(names: Iterable[str]) -> dict[str, _Known]:
    """All options of these schemes by name."""
    found: dict[str, _Known] = {}
    for scheme in names:
        from discreet.schemes.base import options_of

        for option in options_of(find_scheme(scheme)).values():
            found.setdefault(_name(option), _Known({})).of.setdefault(scheme, option)
    return found


def mentioned(arguments: Sequence[str]) -> list[str]:
    """The schemes that a command line may mean: the table's, and those of one's own it names."""
    words = [word for argument in arguments for word in argument.split("=", 1)]
    own = [after for word, after in pairwise(words) if word == "--scheme"]
    own = [name for name in own if ":" in name]
    if own and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))  # a module beside the data
    return list(dict.fromkeys([*SCHEMES, *own]))


def with_options(command: Callable[..., None], names: Iterable[str]) -> Callable[..., None]:
    """A command whose parameter `given` is filled from the options of these schemes."""
    known = _options(names)
    signature = inspect.signature(command, eval_str=True)
    own = [p for p in signature.parameters.values() if p.name != "given"]

    def run(**words: Any) -> None:
        given = {name: words.pop(f"option_{name}") for name in known}
        # A list that is empty was not given either.
        command(**words, given={n: v for n, v in given.items() if v is not None and v != []})

    more = [option.parameter(name) for name, option in known.items()]
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {p.name: p.annotation for p in (*own, *more)}
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [*(p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own), *more]
    )
    return run


def build(names: Sequence[str], given: Given, items: Items | None) -> list[Scheme]:
    """The schemes that a command was asked for, each with the options that go with it."""
    from discreet.schemes.base import build_scheme, options_of

    known = _options(names)
    for option in given:
        if option not in known:
            fitting = _options([*SCHEMES, *names])[option].of
            raise ParameterError(
                f"--{option} does not go with --scheme {', '.join(names)}, only with "
                f"{', '.join(fitting)}"
            )
    made = []
    for name in names:
        kind = find_scheme(name)
        fields = {
            field: _read(option, given[_name(option)])
            for field, option in options_of(kind).items()
            if _name(option) in given
            and not (len(names) > 1 and _is_word_of_others(option, given, known))
        }
        made.append(build_scheme(kind, items, **fields))
    return made


def _is_word_of_others(option: Option, given: Given, known: Mapping[str, _Known]) -> bool:
    """Whether a word, such as t = mean, is for others of the schemes that are compared."""
    word = given[_name(option)]
    words = {w for other in known[_name(option)].of.values() for w in other.words}
    return word in words and word not in option.words if isinstance(word, str) else False


def _read(option: Option, word: Any) -> Any:
    return word if option.read is None else option.read(word)


def usual(given: Given) -> str:
    """What is fitted unless another scheme is named: with a delta one that has use for it."""
    return "tally" if given.get("delta") is None else "chorus"


def publishing() -> list[str]:
    """The schemes whose releases add up."""
    return [name for name in SCHEMES if find_scheme(name).about.publishes]
