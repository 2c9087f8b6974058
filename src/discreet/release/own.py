"""One person's own ratings as they are typed in, checked by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.columns import Where, timestamps
from discreet.data.ids import Id
from discreet.errors import DataError
from discreet.release.scoring import Own

if TYPE_CHECKING:
    from discreet.release.release import Release


def read_own(release: Release, my_items: Any = (), my_ratings: Any = (), times: Any = None) -> Own:
    """One person's ratings as rows of the catalogue; items that are not in it are passed over.

    Of events there need be no values: each is 1 then. `times` are seconds, dates or ISO texts.
    """
    scale = release.scale
    if isinstance(my_items, str):
        raise DataError(f"items must come in a list: got {my_items!r}; write [{my_items!r}]")
    ids: list[Id] = list(my_items)
    if release.events and len(my_ratings) == 0:
        my_ratings = np.ones(len(ids))
    try:
        ratings = np.array([float(r) for r in my_ratings])
    except (TypeError, ValueError) as error:
        raise DataError(f"ratings must be numbers: {error}") from None
    if len(ids) != len(ratings):
        raise DataError(f"every item needs one rating: got {len(ids)} and {len(ratings)}")
    if len(set(ids)) != len(ids):
        twice = next(i for k, i in enumerate(ids) if i in ids[:k])
        raise DataError(f"item {twice!r} is rated twice: keep one rating of it")
    inside = (ratings >= scale.lo) & (ratings <= scale.hi)
    if not inside.all():
        k = int(np.argmin(inside))
        raise DataError(
            f"rating must be within the scale {scale}: got {ratings[k]:g} for item {ids[k]!r}"
        )
    rows = release.item_ids.rows(ids)
    order = np.argsort(rows, kind="stable")  # whoever types them in another order gets the same
    known = order[rows[order] >= 0]
    when = None if times is None else _read_times(times, ids)[known]
    return Own(np.array([0, len(known)], dtype=np.int64), rows[known], ratings[known], when)


def _read_times(times: Any, ids: list[Id]) -> NDArray[np.int64]:
    """When each was given, in seconds."""
    given = list(times)
    if len(given) != len(ids):
        raise DataError(f"every item needs one time: got {len(ids)} and {len(given)}")
    try:
        column = pl.Series("timestamp", given)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        raise DataError(f"times must be all seconds, or all dates: got {given!r:.200}") from None
    return timestamps(column, Where(pl.Series(["you"] * len(ids)), pl.Series(map(str, ids))))
