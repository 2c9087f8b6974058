"""Connections: nobody holds one with half a request, nor more of them than one place needs."""

from __future__ import annotations

import asyncio
import resource
import time
from collections import Counter
from ipaddress import ip_network
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from discreet.service import logs
from discreet.service.access import one_place

HEAD_SECONDS = 10.0
"""For the lines before a request's body, from its first byte, or from the connection's start."""
MOST_HEAD = 64 * 1024
"""Bytes of these lines, and of whatever else is no body: the parser itself bounds none."""
BODY_SECONDS, BODY_BYTES_A_SECOND = 20.0, 20_000
"""For a body, and for every 20 kB of it a second more: slower lines than that upload no table."""
MOST_OF_ONE_PLACE = 256
"""Connections of one address at a time, the trusted proxy's apart."""
LOG_SECONDS = 10.0


class Watch:
    """What all connections of a process share."""

    def __init__(self, proxy: str | None = None, most: int = MOST_OF_ONE_PLACE) -> None:
        self.proxy, self.most = None if proxy is None else ip_network(proxy), most
        self.places: Counter[str] = Counter()
        self._ended: Counter[str] = Counter()
        self._said = float("-inf")

    def admit(self, place: str) -> bool:
        """Whether another connection from there may be made."""
        if self.places[place] >= self.most and not self._proxies(place):
            self.note("too_many_of_one_address")
            return False
        self.places[place] += 1
        return True

    def _proxies(self, place: str) -> bool:
        return self.proxy is not None and ip_network(place, strict=False).overlaps(self.proxy)

    def release(self, place: str) -> None:
        """One has ended."""
        self.places[place] -= 1
        if self.places[place] <= 0:
            del self.places[place]

    def note(self, why: str) -> None:
        """Log how many were ended, and why: every few seconds, without saying whose."""
        self._ended[why] += 1
        if time.monotonic() - self._said >= LOG_SECONDS:
            self._said = time.monotonic()
            logs.event(
                "connections ended", **{k.replace(" ", "_"): n for k, n in self._ended.items()}
            )
            self._ended.clear()


def protocol(watch: Watch, head_seconds: float = HEAD_SECONDS) -> type[asyncio.Protocol]:
    """The HTTP protocol, watched."""

    class Watched(HttpToolsProtocol):
        """Ends what does not come to its end."""

        place: str | None = None
        timer: asyncio.TimerHandle | None = None
        received = 0
        in_head = False
        beside = 0
        """Bytes since a request began, or since the last of its body: lines that are kept."""

        def connection_made(self, transport: Any) -> None:
            """One more, unless there are too many from there."""
            super().connection_made(transport)
            # Nothing here speaks it, and what has changed its protocol is watched no longer.
            self.ws_protocol_class = None
            place = one_place(self.client[0]) if self.client else "127.0.0.1"
            if not watch.admit(place):
                transport.abort()
                return
            self.place = place
            self._expect(head_seconds)

        def on_message_begin(self) -> None:
            """A head begins."""
            super().on_message_begin()
            self.in_head, self.beside = True, 0

        def on_header(self, name: bytes, value: bytes) -> None:
            """A line of the head. One that comes after the body would count as such, too: a proxy
            that takes a name or an address out of heads does not look for it there."""
            if self.in_head:
                super().on_header(name, value)

        def on_headers_complete(self) -> None:
            """It has ended."""
            self.in_head = False
            super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            """A part of the body, whose size is bounded elsewhere."""
            self.beside = 0
            super().on_body(body)

        def on_message_complete(self) -> None:
            """All of it has come."""
            self.beside = 0
            super().on_message_complete()

        def data_received(self, data: bytes) -> None:
            """Give a request time and room to come to its end, and no more."""
            before = self._reading_body
            self.beside += len(data)
            super().data_received(data)
            if self.beside > MOST_HEAD:
                watch.note("head_too_long")
                self.transport.abort()
                return
            self.received += len(data)
            if self._waits_for_nothing:
                self._expect(None)
            elif self._reading_body and not before:
                self.received = 0
                self._expect(BODY_SECONDS)
            elif self.timer is None:
                self._expect(head_seconds)

        def connection_lost(self, exc: Exception | None) -> None:
            """One less."""
            self._expect(None)
            if self.place is not None:
                watch.release(self.place)
            super().connection_lost(exc)

        @property
        def _reading_body(self) -> bool:
            return self.cycle is not None and self.cycle.more_body

        @property
        def _waits_for_nothing(self) -> bool:
            """Whether a whole request has come, and no part of another."""
            return self.cycle is not None and not self.cycle.more_body and not self.in_head

        def _expect(self, seconds: float | None) -> None:
            if self.timer is not None:
                self.timer.cancel()
            self.timer = None if seconds is None else self.loop.call_later(seconds, self._too_slow)

        def _too_slow(self) -> None:
            earned = self.received / BODY_BYTES_A_SECOND
            if self._reading_body and earned > 1:
                self.received = 0
                self._expect(earned)
                return
            watch.note("too_slow")
            self.transport.abort()

    return Watched


def allow_many_files() -> None:
    """Every connection is an open file: as many as the system lets us have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
