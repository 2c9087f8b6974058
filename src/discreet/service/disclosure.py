"""What leaves this server about one person: from that person's own pairs in the ledger alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import polars as pl
from sqlalchemy.engine import Connection

from discreet.database import ledger
from discreet.database.declaration import Declaration
from discreet.database.ledger import Spend
from discreet.database.opinions import Opinion
from discreet.database.pairs import hashes_of_one
from discreet.privacy.lifetime import Spends


class State(StrEnum):
    """Where a rating stands."""

    WAITING = "waiting"
    """It enters the model at the next release."""
    COUNTED = "counted"
    """It has entered; changes at this level stay with its owner."""
    RAISED = "raised"
    """It has entered at a lower level; the difference enters at the next release."""
    DELETED = "deleted"
    """It has entered and was deleted since; what was released cannot be recalled."""


@dataclass(frozen=True)
class Disclosure:
    """What has left, or will leave, about one pair."""

    item: str
    state: State
    epsilon: float | None
    """The level now; None for a deleted rating."""
    spent: float
    next: float
    """What the next release may spend on it."""
    release: int | None
    """The latest release that has counted it."""
    changed_since: bool
    """Whether it was changed after that release read it."""
    can_be_raised: bool
    """Whether a more open level would let something more of it enter."""


def disclosures(
    connection: Connection,
    declared: Declaration,
    person: str,
    own: Sequence[Opinion],
    catalogue: pl.Series | None = None,
) -> list[Disclosure]:
    """One entry for every rating; with a catalogue, also for those that were deleted."""
    items = pl.Series("item", [o.item for o in own], dtype=pl.String)
    if catalogue is not None:
        items = pl.concat([items, catalogue.filter(~catalogue.is_in(items.implode()))])
    if len(items) == 0:
        return []
    hashes = hashes_of_one(connection, person, items)
    found = ledger.spends_of(connection, hashes)
    by_item = dict(zip(items, zip(*(h.tolist() for h in hashes), strict=True), strict=True))
    listed = [_of_rating(o, found.get(by_item[o.item]), declared) for o in own]
    deleted = [
        Disclosure(
            item,
            State.DELETED,
            None,
            spend.spent,
            0.0,
            spend.release,
            changed_since=True,
            can_be_raised=False,
        )
        for item in items[len(own) :]
        if (spend := found.get(by_item[item])) is not None
    ]
    return listed + deleted


def _of_rating(opinion: Opinion, spend: Spend | None, declared: Declaration) -> Disclosure:
    past = spend or Spend(0.0, 0.0, 0.0, None, 0)
    spends = Spends(*(np.array([value]) for value in past[:3]))

    def coming_at(level: float) -> float:
        most = declared.max_level
        return float(spends.allowance(np.array([level]), most, delta=declared.delta)[0])

    coming = coming_at(opinion.epsilon)
    if spend is None:
        return Disclosure(
            opinion.item, State.WAITING, opinion.epsilon, 0.0, coming, None, changed_since=False,
            can_be_raised=True,
        )  # fmt: skip
    return Disclosure(
        opinion.item,
        State.RAISED if coming > 0 else State.COUNTED,
        opinion.epsilon,
        spend.spent,
        coming,
        spend.release,
        changed_since=opinion.revision != spend.revision,
        can_be_raised=coming_at(declared.max_level) > 0,
    )
