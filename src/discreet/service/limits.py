"""Limits: sizes, and how often one person or address may ask, all processes together."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

MOST_RECOMMENDATIONS = 100
MOST_ITEMS = 100
"""Items that one search shows at a time."""
LONGEST_SEARCH = 100
MOST_ROWS = 1000
"""Ratings or events that a front end may send at once."""
MOST_LISTS = 100
"""People for whom it may ask at once."""
ROWS_A_REQUEST = 50
"""So many rows count as a request."""
HEAVY = 10.0
"""As many requests a heavy one counts: all of one's own rows, with what each may still tell, or a
whole release. It takes five times the processor time of a list (benchmarks/service.py), and must
leave time over."""


@dataclass(frozen=True)
class Rate:
    """A token bucket: so many requests a second in the long run, so many at once."""

    per_second: float
    burst: float


@dataclass(frozen=True)
class Limits:
    """What a service bears; the defaults are for one small machine."""

    person: Rate = Rate(20, 100)
    """Of one person, or the operator."""
    address: Rate = Rate(50, 300)
    """Of one address, for public pages."""
    signed_in: Rate = Rate(200, 1000)
    """Of one address, by all who are signed in there."""
    wrong_tokens: Rate = Rate(1, 30)
    """Of one address."""
    joining: Rate = Rate(0.2, 20)
    """New people from one address."""
    front_end: Rate = Rate(100, 500)
    """Of one front end; every so many rows that it sends count as a request more."""
    body: int = 64 * 1024
    bulk: int = 1024 * 1024
    """What a front end may send at once."""
    upload: int = 256 * 1024 * 1024
    """A table that the operator imports."""


Pool = Callable[[str, Rate, float], float]
"""What all processes share of somebody's bucket: takes so much of it, and gives what there was."""
_ROUNDING = 1e-9
MOST_DRY_SECONDS = 1.0
"""So long at most a pool that had nothing is not asked again."""


@dataclass
class Buckets:
    """One bucket for everybody who asks; those who have not asked for longest are forgotten.

    With a pool a process has the share `own` of everybody's bucket for itself, without asking;
    the rest is in the pool, for all processes, and taken from there by the eighth of a bucket.
    Most people never ask that often.
    """

    rate: Rate
    most: int = 100_000
    clock: Callable[[], float] = time.monotonic
    pool: Pool | None = None
    own: float = 0.25
    _state: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)
    _dry: dict[str, float] = field(default_factory=dict)
    """Until when there is nothing in the pool for somebody."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait(self, who: str, cost: float = 1.0) -> float:
        """0 if this request may go on, else the seconds after which one may."""
        missing = self._take(who, cost)
        if missing and self.pool is not None and self.clock() >= self._dry.get(who, 0.0):
            others = Rate(self.rate.per_second * (1 - self.own), self.rate.burst * (1 - self.own))
            self._take(who, -self.pool(who, others, max(missing, self.rate.burst / 8)))
            missing = self._take(who, cost)
            if missing:
                # To ask is to write: whoever asks far too often must not make us do it every time.
                self._note_dry(who, min(missing / others.per_second, MOST_DRY_SECONDS))
        return missing / self.rate.per_second

    def _note_dry(self, who: str, seconds: float) -> None:
        if len(self._dry) >= self.most:
            self._dry.clear()
        self._dry[who] = self.clock() + seconds

    def _take(self, who: str, cost: float) -> float:
        """Take so much, or nothing; what is missing."""
        at, share = self.clock(), 1.0 if self.pool is None else self.own
        most = self.rate.burst * share
        with self._lock:
            left, since = self._state.pop(who, (most, at))
            filled = left + (at - since) * self.rate.per_second * share
            left = max(left, min(most, filled))  # what was taken from the pool comes on top
            allowed = left >= cost - _ROUNDING
            self._state[who] = (left - cost if allowed else left, at)
            while len(self._state) > self.most:
                self._state.popitem(last=False)
        return 0.0 if allowed else cost - left
