"""The service under load, and under kill -9: real processes on loopback, bounded.

python benchmarks/service.py load     10,000 people, 2,000 items: recommendations a second and p99,
                                      alone, and with writes and publications beside; lost writes
python benchmarks/service.py kills    kill -9 under write load, 20 times: every rating that was
                                      acknowledged is there, and every release's spends
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import sqlalchemy as sa

from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.database import ledger, people, schema
from discreet.database.connection import Database
from discreet.database.declaration import Declaration, establish
from discreet.operate.imports import add_items, add_ratings
from discreet.operate.releases import publish
from discreet.release.release import Release

PORT = 8765
ADDRESS = ("127.0.0.1", PORT)


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
    """`discreet serve` as a process of its own."""

    def __init__(self, setting: Setting, log: Path) -> None:
        self.setting, self.log = setting, log
        self.start()

    def start(self) -> None:
        url = self.setting.database.url.render_as_string(hide_password=False)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "discreet", "serve", "--port", str(PORT)],
                env={**os.environ, "DISCREET_DATABASE": url}, stderr=log,
            )  # fmt: skip
        for _ in range(600):
            try:
                if asyncio.run(ask_once("GET", "/healthz", ""))[0] == 200:
                    return
            except OSError:
                time.sleep(0.05)
        raise SystemExit("the service did not start: " + self.log.read_text()[-500:])

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)


class Connection:
    """One connection that is kept open: requests one after another."""

    async def open(self) -> Connection:
        self.reader, self.writer = await asyncio.open_connection(*ADDRESS)
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


async def load(
    setting: Setting, seen: Seen, seconds: float, clients: int, write_share: float, seed: int
) -> None:
    """So many connections, each asking for a random person at a time."""
    end = time.perf_counter() + seconds
    names, items = list(setting.tokens), [f"item-{k:05}" for k in range(200)]

    async def client(number: int) -> None:
        chance = random.Random(1000 * seed + number)
        connection = await Connection().open()
        # Each client writes for people of its own, so that the latest value of a pair is known.
        own = names[number::clients]
        while time.perf_counter() < end:
            person, began = chance.choice(own), time.perf_counter()
            if chance.random() < write_share:
                item, value = chance.choice(items), float(chance.randint(1, 5))
                body = json.dumps({"item": item, "rating": value, "epsilon": 0.3}).encode()
                seen.unanswered[person, item] = value
                token = setting.tokens[person]
                status, _ = await connection.ask("PUT", "/api/me/ratings", token, body)
                del seen.unanswered[person, item]
                if status == 200:
                    seen.acknowledged[person, item] = value
                    seen.writes.append(time.perf_counter() - began)
            else:
                path = "/api/me/recommendations?n=10"
                status, _ = await connection.ask("GET", path, setting.tokens[person])
                seen.reads.append(time.perf_counter() - began)
            if status != 200:
                seen.errors.append(status)
        connection.close()

    await asyncio.gather(*(client(k) for k in range(clients)))


async def publish_beside(setting: Setting, seconds: float) -> int:
    """Publish again and again; how many releases came out."""
    end, before = time.perf_counter() + seconds, await releases()
    while time.perf_counter() < end:
        await ask_once("POST", "/api/operator/releases", setting.operator)
        await asyncio.sleep(0.5)
    while True:
        _, body = await ask_once("GET", "/api/operator/publication", setting.operator)
        if json.loads(body)["state"] != "running":
            return await releases() - before
        await asyncio.sleep(0.2)


async def releases() -> int:
    return len(json.loads((await ask_once("GET", "/api/releases", ""))[1]))


def lost(setting: Setting, seen: Seen) -> int:
    """Ratings that were acknowledged and are not there, nor a later one that was not answered."""
    c = schema.ratings.c
    with setting.database.reading() as connection:
        rows = connection.execute(sa.select(c.person, c.item, c.rating)).all()
    stored = {(row.person, row.item): row.rating for row in rows}
    return sum(
        stored.get(pair) not in (value, seen.unanswered.get(pair, value))
        for pair, value in seen.acknowledged.items()
    )


def show(row: dict[str, Any]) -> None:
    print("  ".join(f"{name}: {value}" for name, value in row.items()), flush=True)


def run_load(folder: Path, words: argparse.Namespace) -> None:
    url = words.database or str(folder / "load.db")
    setting = Setting.make(url, 10_000, 2_000, 60)
    print(f"{setting.database!r}: 10,000 people, 2,000 items, 600,000 ratings", flush=True)
    service = Service(setting, folder / "service.log")

    async def both(seen: Seen) -> int:
        _, made = await asyncio.gather(
            load(setting, seen, words.seconds, words.clients, 0.05, 2),
            publish_beside(setting, words.seconds - 5),
        )
        return int(made)

    asyncio.run(load(setting, Seen(), 3, words.clients, 0, 0))  # warm
    alone, beside = Seen(), Seen()
    asyncio.run(load(setting, alone, words.seconds, words.clients, 0, 1))
    show(alone.line("recommendations alone", words.seconds))
    made = asyncio.run(both(beside))
    show(beside.line(f"5% writes, {made} releases published beside", words.seconds))
    service.stop()
    print(f"{len(beside.acknowledged)} ratings acknowledged, lost: {lost(setting, beside)}")


def run_kills(folder: Path, words: argparse.Namespace) -> None:
    url = words.database or str(folder / "kills.db")
    setting = Setting.make(url, 500, 300, 40)
    service = Service(setting, folder / "service.log")
    chance, seen = random.Random(7), Seen()

    async def until_killed(after: float, round_: int) -> None:
        async def killer() -> None:
            await asyncio.sleep(after)
            service.kill()

        async def publisher() -> None:
            await ask_once("POST", "/api/operator/releases", setting.operator)

        jobs = (load(setting, seen, 30, 8, 0.9, round_), publisher(), killer())
        await asyncio.gather(*jobs, return_exceptions=True)  # connections break: that is the point

    for round_ in range(words.kills):
        asyncio.run(until_killed(chance.uniform(0.5, 4.0), round_))
        time.sleep(3)  # a publisher that outlived the service may still record
        service.start()
        with setting.database.reading() as connection:
            entries, totals = ledger.entries(connection), ledger.summary(connection)
            last = connection.scalar(sa.select(sa.func.max(schema.spends.c.release)))
            whole = [Release.from_files(ledger.files(connection, e.number)) for e in entries]
        assert [r.certificate.digest for r in whole] == [e.digest for e in entries]
        assert last <= len(entries)
        show(
            {
                "kill": round_ + 1, "acknowledged": len(seen.acknowledged),
                "lost": lost(setting, seen), "releases": len(entries),
                "latest release in the ledger": last, "pairs that spent": int(totals["pairs"]),
                "most spent": round(totals["largest"], 6),
            }
        )  # fmt: skip
    service.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=["load", "kills"])
    parser.add_argument("--database", help="a PostgreSQL URL; SQLite by default")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--kills", type=int, default=20)
    words = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        {"load": run_load, "kills": run_kills}[words.what](Path(folder), words)


if __name__ == "__main__":
    main()
