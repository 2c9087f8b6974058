"""Recency: what one chose lately says more of what one chooses next; of one's own times alone."""

from __future__ import annotations

import numpy as np

from discreet.arrays import Floats
from discreet.release.scoring import Own

HALF_LIFE = 10.0
"""So many records later one counts half of what recency takes away: docs/constants.md."""


def recent(own: Own, recency: float) -> Floats:
    """What every own record counts by its place in time: 1 for the latest, at least 1 - recency.

    1 - recency (1 - 2^(-m/10)), with m of the same person's records later. Days do not matter, only
    the order; records of one moment count alike. Where times are unknown, everything counts 1.

    >>> mine = Own(np.array([0, 3]), np.arange(3), np.ones(3), times=np.array([70, 20, 70]))
    >>> recent(mine, 0.5).round(3)  # two are later than the second
    array([1.   , 0.935, 1.   ])
    """
    if own.times is None or not recency or not len(own.times):
        return np.ones(len(own.items))
    who = np.repeat(np.arange(len(own.ptr) - 1), np.diff(own.ptr))
    order = np.lexsort((~own.times, who))  # the latest first; unlike -t, ~t never overflows
    times, first = own.times[order], own.ptr[who]
    new = np.append(True, (times[1:] != times[:-1]) | (who[1:] != who[:-1]))
    later = np.empty(len(order))
    later[order] = np.flatnonzero(new)[np.cumsum(new) - 1] - first
    return np.asarray(1 - recency * (1 - np.exp2(-later / HALF_LIFE)))
