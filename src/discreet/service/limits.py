"""Limits: sizes, and how often one person or address may ask."""

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


@dataclass(frozen=True)
class Rate:
    """A token bucket: so many requests a second in the long run, so many at once."""

    per_second: float
    burst: int


@dataclass(frozen=True)
class Limits:
    """What a service bears; the defaults are for one small machine."""

    person: Rate = Rate(20, 100)
    """Of one person, or the operator."""
    address: Rate = Rate(50, 300)
    """Of one address, for public pages."""
    wrong_tokens: Rate = Rate(1, 30)
    """Of one address."""
    joining: Rate = Rate(0.2, 20)
    """New people from one address."""
    body: int = 64 * 1024
    upload: int = 256 * 1024 * 1024
    """A table that the operator imports."""


@dataclass
class Buckets:
    """One bucket for everybody who asks; those who have not asked for longest are forgotten."""

    rate: Rate
    most: int = 100_000
    clock: Callable[[], float] = time.monotonic
    _state: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait(self, who: str) -> float:
        """0 if this request may go on, else the seconds after which one may."""
        at = self.clock()
        with self._lock:
            left, since = self._state.pop(who, (float(self.rate.burst), at))
            left = min(float(self.rate.burst), left + (at - since) * self.rate.per_second)
            allowed = left >= 1
            self._state[who] = (left - 1 if allowed else left, at)
            while len(self._state) > self.most:
                self._state.popitem(last=False)
        return 0.0 if allowed else (1 - left) / self.rate.per_second
