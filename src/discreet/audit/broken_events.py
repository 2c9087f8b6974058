"""Small patches of the code that reads and counts events, each of which breaks a promise."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.arrays import Array
from discreet.audit.breaking import Change
from discreet.data import events
from discreet.data.ids import Ids
from discreet.data.ratings import Ratings
from discreet.schemes import tally, votes


def unclipped() -> list[Change]:
    """An event of a large value counts more than one."""

    def count_votes(data: Ratings, weights: Array, compute: Any = None) -> Array:
        del compute
        total = np.zeros((2, len(data.items)), dtype=np.int64)
        np.add.at(total[1], data.item, np.floor(weights * data.rating).astype(np.int64))
        return total

    return [(votes, "count_votes", count_votes), (tally, "count_votes", count_votes)]


def repeats_counted() -> list[Change]:
    """Every event of a pair counts, not one."""

    def arrange(user: Any, item: Any, columns: Any, *, text_ids: bool) -> Any:
        (users, u), (items, i) = (Ids.factorise(ids, text=text_ids) for ids in (user, item))
        order = np.lexsort((i, u))
        for column in columns:
            if column is not None:
                column[:] = column[order]
        return users, items, np.searchsorted(u[order], np.arange(len(users) + 1)), i[order]

    return [(events, "arrange", arrange)]
