"""Processes that answer: one, or several on the same port, which are started anew if they end."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Any, cast

import uvicorn
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from discreet.database.connection import Database
from discreet.database.declaration import establish
from discreet.service import logs
from discreet.service.app import create_app
from discreet.service.connections import Watch, allow_many_files, protocol
from discreet.service.front_doors import BY_TOKEN, FrontDoors
from discreet.service.limits import Limits
from discreet.service.proxied import NotePeer

STOP_SECONDS = 60
"""A publication that runs gets 20, answers as many."""
SHORTEST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Seconds before a process that has ended is started anew: each time twice as many."""
LASTING_SECONDS = 60.0
"""One that has lasted so long began well: without a database it gives up within 10 seconds."""


@dataclass(frozen=True)
class Serving:
    """What a process needs to know to answer."""

    url: str
    host: str
    port: int
    doors: FrontDoors = BY_TOKEN
    limits: Limits = field(default_factory=Limits)
    images: Path | None = None
    """A folder with the operator's pictures of items."""


def listen(host: str, port: int, *, shared: bool) -> socket.socket:
    """A socket on this address; where it is shared, the system deals connections out."""
    if shared and port:
        _listen(host, port, shared=False).close()  # or another service would share it unnoticed
    return _listen(host, port, shared=shared)


def _listen(host: str, port: int, *, shared: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listening.bind((host, port))
    except OSError:
        listening.close()
        raise
    return listening


def answer(serving: Serving, listening: socket.socket) -> None:
    """Answer until a signal says to stop."""
    logs.set_up()
    allow_many_files()
    database = Database(serving.url)
    establish(database, begin=False)
    app = create_app(
        database,
        limits=serving.limits,
        doors=serving.doors,
        images=serving.images,
    )
    proxy = serving.doors.trusted_proxy
    answering: Any = app if proxy is None else ProxyHeadersMiddleware(cast("Any", app), proxy)
    config = uvicorn.Config(
        NotePeer(answering),
        log_config=None,
        access_log=False,
        server_header=False,
        # Watched for requests that never end, and for lines that do not.
        http=protocol(Watch(proxy)),
        proxy_headers=False,  # done above, where the other end's own address is still known
        timeout_graceful_shutdown=20,
        timeout_keep_alive=30,
        limit_concurrency=10_000,
    )
    # Uvicorn stops gracefully, then passes the signal on to the handlers there were.
    uvicorn.Server(config).run(sockets=[listening])


class Worker:
    """One process of several, started anew whenever it has ended, after a pause."""

    def __init__(
        self, start: Callable[[], BaseProcess], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._start, self._clock = start, clock
        self.process: BaseProcess | None = None
        self._since = self._pause = 0.0

    def look(self) -> None:
        """Start it, note that it has ended, start it anew once it has paused; this never waits."""
        now = self._clock()
        if self.process is None:
            if now >= self._since + self._pause:
                self.process, self._since = self._start(), now
        elif not self.process.is_alive():
            if now >= self._since + LASTING_SECONDS:
                self._pause = 0.0
            self._pause = min(max(2 * self._pause, SHORTEST_PAUSE), LONGEST_PAUSE)
            logs.event("worker ended", code=self.process.exitcode, pause=self._pause)
            self.process, self._since = None, now


class Workers:
    """Several processes on one port."""

    def __init__(self, serving: Serving, count: int) -> None:
        self.serving, self.count = serving, count
        self._context = multiprocessing.get_context("spawn")
        self._stopping = False

    def run(self) -> None:
        """Keep so many running until a signal says to stop."""
        for name in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(name, self._stop)
        workers = [Worker(self._start) for _ in range(self.count)]
        while not self._stopping:
            for worker in workers:
                worker.look()
            wait([w.process.sentinel for w in workers if w.process is not None], timeout=0.5)
        running = [worker.process for worker in workers if worker.process is not None]
        for process in running:
            process.terminate()
        end = time.monotonic() + STOP_SECONDS
        for process in running:
            process.join(max(end - time.monotonic(), 0))
            if process.is_alive():
                process.kill()

    def _start(self) -> BaseProcess:
        process = self._context.Process(target=_work, args=(self.serving,), daemon=False)
        process.start()
        return process

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._stopping = True


def _work(serving: Serving) -> None:
    """One of several: it ends when the one that started it does."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=follow, daemon=True).start()
    for name in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(name, lambda *_: os._exit(0))  # before the server has its own
    answer(serving, _listen(serving.host, serving.port, shared=True))
