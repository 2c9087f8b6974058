"""A service of our own for benchmarks: a database with people, a process, connections, answers."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.database import people
from discreet.database.connection import Database
from discreet.database.declaration import Declaration, establish
from discreet.operate.imports import add_items, add_ratings
from discreet.operate.releases import publish


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


PORT = free_port()  # two benchmarks at a time must not ask each other's service
ADDRESS = ("127.0.0.1", PORT)
GENEROUS = ("--signed-in-limit", "100000/100000", "--person-limit", "10000/10000")
"""All of the load comes from one address."""


def made_up(people_count: int, items: int, each: int) -> tuple[Items, Ratings]:
    """People who rate popular items more often; nothing is real."""
    rng = np.random.default_rng(0)
    popularity = rng.exponential(size=items)
    keys = np.log(popularity) + rng.gumbel(size=(people_count, items))
    chosen = np.argpartition(-keys, each, axis=1)[:, :each]
    user = np.repeat(np.arange(people_count), each)
    item = chosen.ravel()
    taste, quality = rng.normal(0, 0.6, people_count), rng.normal(0, 0.6, items)
    value = np.clip(
        np.rint(3.4 + taste[user] + quality[item] + rng.normal(0, 0.8, len(user))), 1, 5
    )
    names = np.array([f"item-{k:05}" for k in range(items)])
    frame = pl.DataFrame(
        {
            "user": [f"person-{k:05}" for k in user], "item": names[item], "rating": value,
            "epsilon": rng.choice([0.1, 0.3, 1.0], len(user)),
        }
    )  # fmt: skip
    table = pl.DataFrame({"item": names, "title": [f"Item number {k}" for k in range(items)]})
    return Items.from_frame(table), Ratings.from_frame(frame)


@dataclass
class Setting:
    """A database with people, and their tokens."""

    database: Database
    declared: Declaration
    tokens: dict[str, str] = field(default_factory=dict)
    operator: str = ""

    @classmethod
    def make(cls, url: str, people_count: int, items: int, each: int) -> Setting:
        database = Database(url)
        setting = cls(database, establish(database))
        catalogue, ratings = made_up(people_count, items, each)
        add_items(database, catalogue)
        add_ratings(database, setting.declared, ratings)
        with database.writing() as connection:
            for person in ratings.users.values:
                setting.tokens[person] = people.issue(connection, people.Role.PERSON, person)
            setting.operator = people.issue(connection, people.Role.OPERATOR)
        publish(database, setting.declared)
        return setting


class Service:
    """`discreet serve` as a process of its own; with `limits`, for more than one address asks."""

    def __init__(
        self, setting: Setting, log: Path, *words: str, limits: tuple[str, ...] = GENEROUS
    ) -> None:
        self.setting, self.log, self.words = setting, log, (*limits, *words)
        self.start()

    def start(self) -> None:
        url = self.setting.database.url.render_as_string(hide_password=False)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "discreet", "serve", "--port", str(PORT),
                 *self.words],
                env={**os.environ, "DISCREET_DATABASE": url}, stderr=log, start_new_session=True,
            )  # fmt: skip
        end = time.monotonic() + 300
        while time.monotonic() < end:
            with suppress(OSError):
                if asyncio.run(ask_once("GET", "/healthz", ""))[0] == 200:
                    return
            time.sleep(0.05)
        self.kill()
        raise SystemExit("the service did not start: " + self.log.read_text()[-500:])

    def kill(self) -> None:
        """All its processes at once; a publisher has a session of its own and lives on."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def cpu_seconds(self) -> float:
        """Of all its processes up to now: what a busy machine does not change."""
        ticks = 0
        for place in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                fields = place.read_text().rpartition(")")[2].split()
                ticks += (int(fields[11]) + int(fields[12])) * (int(fields[2]) == self.process.pid)
        return ticks / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)


class Connection:
    """One connection that is kept open: requests one after another."""

    async def open(self, comes_from: str = "127.0.0.1") -> Connection:
        place = {"local_addr": (comes_from, 0), "limit": 1 << 22}
        self.reader, self.writer = await asyncio.open_connection(*ADDRESS, **place)
        if self.writer.get_extra_info("sockname") == ADDRESS:
            # Where nobody listens yet, the system may give us that very port: we meet ourselves.
            self.close()
            raise ConnectionRefusedError
        return self

    async def ask(self, method: str, path: str, token: str, body: bytes = b"") -> tuple[int, bytes]:
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self.writer.write(head.encode() + body)
        answer = await self.reader.readuntil(b"\r\n\r\n")
        status = int(answer[9:12])
        lines = answer.lower().split(b"\r\n")
        length = next((int(x[15:]) for x in lines if x.startswith(b"content-length:")), 0)
        return status, await self.reader.readexactly(length)

    def close(self) -> None:
        self.writer.close()


async def ask_once(method: str, path: str, token: str) -> tuple[int, bytes]:
    connection = await Connection().open()
    try:
        return await connection.ask(method, path, token)
    finally:
        connection.close()


@dataclass
class Seen:
    """What the load saw."""

    reads: list[float] = field(default_factory=list)
    writes: list[float] = field(default_factory=list)
    errors: list[int] = field(default_factory=list)
    acknowledged: dict[tuple[str, str], float] = field(default_factory=dict)
    unanswered: dict[tuple[str, str], float] = field(default_factory=dict)
    """Sent after that, and not answered: they may be there or not."""

    def line(self, name: str, seconds: float) -> dict[str, Any]:
        row: dict[str, Any] = {"what": name, "errors": len(self.errors)}
        for kind, times in (("recommendations", self.reads), ("writes", self.writes)):
            if times:
                p50, p99 = np.percentile(times, [50, 99]) * 1000
                row[f"{kind}/s"] = round(len(times) / seconds)
                row[f"{kind} p50 ms"], row[f"{kind} p99 ms"] = round(p50, 1), round(p99, 1)
                row[f"{kind} max ms"] = round(max(times) * 1000)
        return row
