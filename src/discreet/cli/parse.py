"""How the words of a command line become values: tables, specifications, schemes, files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.data.names import is_number
from discreet.errors import ParameterError, SpecError

if TYPE_CHECKING:
    from discreet.data.event_rules import EventRules
    from discreet.privacy.spec import PrivacySpec

_NEXT_COLUMN = re.compile(r",(?=[a-z]+=)")
"""Where a word maps another column: a comma alone may belong to a name."""


def rules(
    events: bool, quantity: str | None, repeats: str | None, scale: str | None, keep: str | None
) -> EventRules | None:
    """How a command was told to read events; None where it is given ratings."""
    from discreet.data.event_rules import EventRules, Quantity

    if not events:
        if quantity is not None or repeats is not None:
            raise ParameterError("--quantity and --repeats go with --events")
        return None
    if scale is not None or keep is not None:
        raise ParameterError(
            "--events goes without --scale and --keep: values are from 0 to 1 (--quantity), and "
            "--repeats says what several events of a pair are"
        )
    return EventRules(None if quantity is None else Quantity.parse(quantity), repeats or "any")


def delimiter(word: str | None) -> str | None:
    """A separator as it is typed on a command line."""
    return {"tab": "\t", "\\t": "\t"}.get(word or "", word)


def mapping(words: list[str] | None, flag: str = "--columns") -> dict[str, str]:
    """Columns as they are mapped on a command line: OURS=THEIRS, one to a word or with commas.

    >>> mapping(["user=buyer", "item=article,rating=mark, 0 to 10"])
    {'user': 'buyer', 'item': 'article', 'rating': 'mark, 0 to 10'}
    """
    return _pairs(flag, [pair for word in words or [] for pair in _NEXT_COLUMN.split(word)])


def privacy(
    text: str | None,
    has_levels: bool,
    max_level: float | None,
    min_level: float | None,
    default_level: float | None,
) -> PrivacySpec | None:
    """A specification from words such as 'uniform:0.1' or 'groups:f_c=0.2'; by default the table's
    epsilon column, if it has one."""
    from discreet.privacy.spec import PrivacySpec

    if text is None:
        if not has_levels:
            return None
        text = "column"
    kind, _, rest = text.partition(":")
    if kind == "column" and not rest:
        return PrivacySpec.column(
            max_level=1.0 if max_level is None else max_level,
            min_level=min_level,
            default=default_level,
        )
    if (max_level, min_level, default_level) != (None, None, None):
        raise SpecError(
            f"--max-level, --min-level and --default-level go with --privacy column: got {text!r}"
        )
    if kind == "uniform":
        return PrivacySpec.uniform(_number("--privacy uniform:LEVEL", rest))
    if kind == "groups":
        pairs = _pairs("--privacy groups", [p for p in rest.split(",") if p])
        allowed = {"f_c", "f_m", "eps_c", "eps_m", "eps_l", "seed"}
        for name in pairs:
            if name not in allowed:
                raise SpecError(
                    f"--privacy groups has no {name!r}: there are {', '.join(sorted(allowed))}"
                )
        values: dict[str, Any] = {
            name: int(_number(name, value)) if name == "seed" else _number(name, value)
            for name, value in pairs.items()
        }
        return PrivacySpec.groups(**values)
    meant = f"; did you mean uniform:{text}?" if is_number(text) else ""
    raise SpecError(
        "--privacy must be 'uniform:LEVEL', 'column' or 'groups[:NAME=VALUE,...]': "
        f"got {text!r}{meant}"
    )


def _number(name: str, text: str | None, more: str = "") -> float:
    try:
        return float(text or "")
    except ValueError:
        raise ParameterError(f"{name} must be a number{more}: got {text!r}") from None


def scale_of(text: str) -> tuple[float, float]:
    """A rating scale as it is typed: LO:HI."""
    lo, colon, hi = text.partition(":")
    if not colon:
        raise ParameterError(f"--scale must be LO:HI, such as 0.5:5: got {text!r}")
    return _number("--scale LO:HI", lo), _number("--scale LO:HI", hi)


def _pairs(name: str, words: list[str]) -> dict[str, str]:
    pairs = {}
    for word in words:
        left, equals, right = word.partition("=")
        if not (left and equals and right):
            raise ParameterError(f"{name} needs NAME=VALUE: got {word!r}")
        pairs[left] = right
    return pairs


def output_file(path: Path) -> Path:
    """A file that can be written, checked before the work begins."""
    from discreet.errors import OutputError

    if path.suffix.lower() not in (".csv", ".parquet", ".json"):
        raise OutputError(f"cannot tell the format of {path}: use .csv, .parquet or .json")
    if not path.parent.is_dir():
        raise OutputError(f"cannot write {path}: there is no folder {path.parent}")
    return path


def item_filter(wishes: list[str] | None, flag: str) -> dict[str, Any] | None:
    """Wishes like genres=Comedy or year=1990..1999 as a mapping from columns to values or ranges.

    >>> item_filter(["genres=Comedy", "genres=Drama", "year=1990.."], "--among")
    {'genres': ['Comedy', 'Drama'], 'year': (1990.0, None)}
    """
    if not wishes:
        return None
    found: dict[str, Any] = {}
    for wish in wishes:
        column, equals, value = wish.partition("=")
        if not (column and equals and value):
            raise ParameterError(f"{flag} must be COLUMN=VALUE or COLUMN=LOW..HIGH: got {wish!r}")
        low, dots, high = value.partition("..")
        if column in found and (dots or isinstance(found[column], tuple)):
            raise ParameterError(
                f"{flag}: one range of {column!r} or several values of it, not both: got {wish!r}"
            )
        if dots:
            try:
                found[column] = tuple(float(end) if end else None for end in (low, high))
            except ValueError:
                raise ParameterError(
                    f"{flag}: a range is two numbers, as in year=1990..1999: got {wish!r}"
                ) from None
        else:
            found.setdefault(column, []).append(value)
    return found
