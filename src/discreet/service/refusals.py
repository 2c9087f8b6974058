"""Refusals: who was told to wait, and asks the same again before, is told the same, cheaply.

To find out anew who it is and how often they ask takes as long as to answer: programs that do not
wait would keep everybody else from being answered.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from starlette.types import Message, Scope, Send

from discreet.service.limits import MOST_DRY_SECONDS

MOST_HELD = 1000
"""Answers; there are as many more once these are over."""
_Key = tuple[Any, ...]


class Refusal(NamedTuple):
    """One, as it was sent."""

    until: float
    route: Any
    start: Message
    body: Message

    async def again(self, scope: Scope, send: Send) -> None:
        """Send the same."""
        scope["route"] = self.route  # for the log
        await send({**self.start})
        await send(self.body)


class Refusals:
    """Those of a process, for as long as they said, and a second at most.

    Of GETs alone: all that these are refused for stands in their heads, which are compared whole.
    Who they are from may stand in any line, as a trusted proxy says it.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._held = clock, dict[_Key, Refusal]()

    def of(self, scope: Scope) -> Refusal | None:
        """The one that still holds for this request."""
        if not self._held or scope["method"] != "GET":
            return None
        key = _key(scope)
        found = self._held.get(key)
        if found is not None and found.until <= self._clock():
            del self._held[key]
            return None
        return found

    def hold(self, scope: Scope, start: Message, body: Message) -> None:
        """Keep what was sent, if it was whole and said how long to wait."""
        wait = next((value for name, value in start["headers"] if name == b"retry-after"), None)
        if wait is None or scope["method"] != "GET" or body.get("more_body"):
            return
        if len(self._held) >= MOST_HELD:
            self._held.clear()
        until = self._clock() + min(float(wait), MOST_DRY_SECONDS)
        self._held[_key(scope)] = Refusal(until, scope.get("route"), start, body)


def _key(scope: Scope) -> _Key:
    client = scope.get("client")
    return (client and client[0], scope["path"], scope["query_string"], *scope["headers"])
