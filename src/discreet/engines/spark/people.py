"""Tables in order of people: cut where one person ends and the next begins, runs are parts.

Whoever exports a table often has it in that order, and then nobody's records have to be brought
together. That nobody is in two parts is what a person's sensitivity stands on, so it is checked
twice: by the driver of all runs, and by every task of the run it reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

Id = int | str


class Rows(NamedTuple):
    """Some rows of a file, one after the other."""

    path: str
    first: int
    number: int

    def goes_on(self, other: Rows) -> bool:
        """Whether the other rows are the next ones of the same file."""
        return other[:2] == (self.path, self.first + self.number)


class Order(NamedTuple):
    """Whose rows these are, where people ascend: secret."""

    first: Id
    lead: int
    """Rows of the first person."""
    second: Id | None
    """None where nobody else has rows here."""
    last: Id


class PeopleRun(NamedTuple):
    """Rows of people who have none elsewhere, in order: from the first person to the last."""

    rows: Rows
    first: Id
    last: Id


def order_of(users: pl.Series) -> Order | None:
    """Whose rows these are; None where people do not ascend."""
    if users.null_count() or not users.is_sorted():
        return None
    first = users[0]
    lead = users.search_sorted(first, side="right")
    return Order(first, lead, users[lead] if lead < len(users) else None, users[-1])


def runs_of_people(rows: Sequence[Rows], orders: Sequence[Order | None]) -> list[PeopleRun] | None:
    """The same rows, cut anew so that nobody is in two runs; None where people are in no order.

    Rows of somebody who is in the run before as well go there.
    """
    known = [(order, some) for order, some in zip(orders, rows, strict=True) if order is not None]
    if len(known) < len(rows):
        return None
    runs: list[PeopleRun] = []
    for order, some in sorted(known, key=lambda each: (each[0].first, each[1])):
        first: Id | None = order.first
        before = runs[-1] if runs else None
        if before is not None and before.last >= order.first:  # type: ignore[operator]
            if before.last != order.first or not before.rows.goes_on(some):
                return None
            longer = before.rows._replace(number=before.rows.number + order.lead)
            runs[-1] = before._replace(rows=longer)
            some = Rows(some.path, some.first + order.lead, some.number - order.lead)
            first = order.second
        if first is not None:
            runs.append(PeopleRun(some, first, order.last))
    return runs
