"""Uses: what every column of an item table is used for, and why, by rules that see no rating.

`decide_uses` alone decides. `features.encode` hands the features to the schemes and `discreet
inspect` shows the words, so that the two cannot differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from discreet.arrays import Array
from discreet.data.column_use import Role, Use, describe_families, kind_of, left_out, use_column
from discreet.data.families import TITLE_FAMILY, number_families, title_family
from discreet.data.items import Items, how_to_vouch
from discreet.errors import ParameterError


def decide_uses(items: Items, family_columns: tuple[str, ...] | None = None) -> tuple[Use, ...]:
    """The use of every column, in the order of the table, then of those that were left out of it.

    `family_columns` names the columns that hold families (series, author, brand); by default they
    are cut out of the titles, if there are any, and found in text with many values.

    >>> books = Items.from_frame(pl.DataFrame({"item": [1, 2], "pages": [90, 310], "lang": "en"}))
    >>> for use in decide_uses(books):
    ...     print(f"{use.column}: {use.role}, {use.why}")
    item: id, names the items
    pages: number, numbers from 90 to 310
    lang: left out, the same for all items
    """
    _require_groupable(items, family_columns)
    first, *others = items.frame.columns
    uses = [Use(first, kind_of(items.frame[first]), Role.ID, "names the items")]
    uses += [_use(items, name, family_columns) for name in others]
    for name in items.left_out:
        why = f"looks derived from ratings; if it is not, {how_to_vouch(name)}"
        uses.append(Use(name, "", Role.UNPUBLISHED, why))
    return _without_copies(uses, named=family_columns is not None)


def _use(items: Items, name: str, family_columns: tuple[str, ...] | None) -> Use:
    """The use of a column by itself, and what its name or the owner adds to that."""
    column = items.frame[name]
    if name == "title" and column.dtype == pl.String:
        return _titles(column, family_columns)
    by_itself = use_column(column, vouched=name in items.vouched)
    if family_columns is None:
        return by_itself
    if name in family_columns:
        return _named(column, by_itself)
    if by_itself.role == Role.FAMILIES:
        return left_out(column, _others_named(family_columns))
    return by_itself


def _titles(column: pl.Series, family_columns: tuple[str, ...] | None) -> Use:
    if family_columns is None:
        stems = column.map_elements(title_family, return_dtype=pl.String).replace("", None)
        why = describe_families(stems)
        families = {TITLE_FAMILY: number_families(stems)}
        return Use(column.name, kind_of(column), Role.TITLES, why, families=families)
    if column.name in family_columns:
        return _named(column, left_out(column, ""))
    return left_out(column, _others_named(family_columns))


def _named(column: pl.Series, by_itself: Use) -> Use:
    """A column that its owner named as one of families; what it is by itself it stays."""
    names = column.cast(pl.String).replace("", None)
    why = f"as was asked for: {describe_families(names)}"
    if by_itself.numbers or by_itself.flags:
        why += f"; and {by_itself.role}: {by_itself.why}"
    families = {column.name: number_families(names)}
    return replace(by_itself, role=Role.FAMILIES, why=why, families=families)


def _others_named(family_columns: tuple[str, ...]) -> str:
    chosen = ", ".join(family_columns)
    return f"the families that were asked for are others: {chosen}" if chosen else "no families"


def _without_copies(uses: list[Use], *, named: bool) -> tuple[Use, ...]:
    """The uses without features that an earlier one has; families that were named stay."""
    seen: dict[bytes, str] = {}

    def first_of(kind: str, features: Mapping[str, Array]) -> dict[str, Any]:
        return {
            name: values
            for name, values in features.items()
            if seen.setdefault(_fingerprint(kind, values), name) == name
        }

    kept = []
    for use in uses:
        families = use.families if named else first_of("families", use.families)
        rest = replace(
            use,
            numbers=first_of("numbers", use.numbers),
            flags=first_of("flags", use.flags),
            families=families,
        )
        kept.append(_explained(use, rest, seen))
    return tuple(kept)


def _explained(use: Use, rest: Use, seen: Mapping[bytes, str]) -> Use:
    """What is left of a use, and the reason where something is missing."""
    copies = [
        f"{name!r} as {seen[_fingerprint(kind, values)]!r}"
        for kind in ("numbers", "flags", "families")
        for name, values in getattr(use, kind).items()
        if name not in getattr(rest, kind)
    ]
    if not copies:
        return use
    why = f"the same values: {copies[0]}"
    if rest.numbers or rest.flags or rest.families:
        return replace(rest, why=f"{use.why}; {len(copies)} left out, {why}")
    return replace(rest, role=Role.LEFT_OUT, why=why)


def _fingerprint(kind: str, values: Array) -> bytes:
    """The same for features that no scheme could tell apart: numbers are standardised by all."""
    if kind == "numbers":
        centred = values - values.mean()
        same = np.round(centred / max(float(centred.std()), 1e-300), 9) + 0.0  # no minus zero
    elif kind == "families":
        _, first, codes = np.unique(values, return_index=True, return_inverse=True)
        same = np.where(values < 0, -1, first[codes])
    else:
        same = values
    return kind.encode() + bytes(same.tobytes())


def _require_groupable(items: Items, family_columns: tuple[str, ...] | None) -> None:
    """An error that names the first column that cannot hold families, and why."""
    if isinstance(family_columns, str):
        raise ParameterError(f"families must be a tuple of columns: got {family_columns!r}")
    known = items.frame.columns
    for name in family_columns or ():
        if name in items.left_out:
            raise ParameterError(
                f"column {name!r} was left out, for it looks derived from ratings: if it is "
                f"public by itself, vouch for it: {how_to_vouch(name)}"
            )
        if name not in known:
            raise ParameterError(
                f"no column {name!r} to group items by: the item table has "
                f"{', '.join(map(repr, known))}"
            )
        dtype = items.frame[name].dtype
        if dtype.is_nested() or dtype in (pl.Object, pl.Binary):
            raise ParameterError(
                f"column {name!r} cannot group items: it holds {dtype}, and an item belongs to "
                "one family"
            )
