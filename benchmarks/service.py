"""The service under load, under attack and under kill -9: real processes on loopback, bounded.

python benchmarks/service.py load     10,000 people, 2,000 items: recommendations a second and p99,
                                      alone, and with writes and publications beside; lost writes
python benchmarks/service.py cost     processor time of a recommendation, of which the model's own
python benchmarks/service.py writes   ratings a second over 16, 32 and 64 connections: refused, lost
python benchmarks/service.py attack   a victim's recommendations, idle and beside who asks for the
                                      dearest things as often as the limits let one address
python benchmarks/service.py kills    kill -9 under write load, 20 times: every rating that was
                                      acknowledged is there, and every release's spends

Each runs on SQLite and then on a PostgreSQL of its own (--on sqlite, --on postgresql for one of
them, --database URL for yours), with as many processes as --workers says: `load --workers 1,2,4`
runs once with each.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from discreet.database import ledger, schema, tastes
from discreet.release.release import Release
from discreet.service.public_cache import Model
from postgresql import postgresql
from report import keep
from serving import Connection, Seen, Service, Setting, ask_once, free_port


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


def run_load(url: str, folder: Path, words: argparse.Namespace) -> None:
    setting = Setting.make(url, 10_000, 2_000, 60)
    print("10,000 people, 2,000 items, 600,000 ratings", flush=True)
    for workers in words.workers:
        load_with(setting, folder, words, workers)


def load_with(setting: Setting, folder: Path, words: argparse.Namespace, workers: int) -> None:
    service = Service(setting, folder / "service.log", "--workers", str(workers))

    async def both(seen: Seen) -> int:
        _, made = await asyncio.gather(
            load(setting, seen, words.seconds, words.clients, 0.05, 2),
            publish_beside(setting, words.seconds - 5),
        )
        return int(made)

    asyncio.run(load(setting, Seen(), 3, words.clients, 0, 0))  # warm
    alone, beside, before = Seen(), Seen(), service.cpu_seconds()
    asyncio.run(load(setting, alone, words.seconds, words.clients, 0, 1))
    each = (service.cpu_seconds() - before) / max(len(alone.reads), 1) * 1000
    row = {"workers": workers, **alone.line("recommendations alone", words.seconds)}
    show({**row, "CPU ms each": round(each, 2)})
    made = asyncio.run(both(beside))
    row = beside.line(f"5% writes, {made} releases published beside", words.seconds)
    counts = {"acknowledged": len(beside.acknowledged), "lost": lost(setting, beside)}
    show({"workers": workers, **row, **counts})
    service.stop()


def own_cost(setting: Setting, chance: random.Random, asked: int = 500) -> float:
    """Milliseconds of processor time that the model takes for a list, in this process."""
    with setting.database.reading() as connection:
        entry = ledger.entries(connection)[-1]
        model = Model(entry, Release.from_files(ledger.files(connection, entry.number)))
        people = chance.sample(list(setting.tokens), asked)
    mine = [tastes.for_lists(setting.database, person)[0] for person in people]
    model.prepare()
    began = time.process_time()
    for own in mine:
        model.recommend(own, 10)
    return (time.process_time() - began) / asked * 1000


def run_cost(url: str, folder: Path, words: argparse.Namespace) -> None:
    """In turns, so that others on the machine slow down both; the least of each."""
    setting = Setting.make(url, 10_000, 2_000, 60)
    service = Service(setting, folder / "service.log", "--workers", str(words.workers[0]))
    asyncio.run(load(setting, Seen(), 2, words.clients, 0, 0))  # warm
    whole, own = [], []
    for turn in range(8):
        seen, before = Seen(), service.cpu_seconds()
        asyncio.run(load(setting, seen, words.seconds / 8, words.clients, 0, 1 + turn))
        whole.append((service.cpu_seconds() - before) / len(seen.reads) * 1000)
        own.append(own_cost(setting, random.Random(turn)))
    service.stop()
    beside = min(whole) - min(own)
    row = [f"{took:.2f} ms" for took in (min(whole), min(own), beside)]
    # The ratio holds on a busy machine as well, which slows down both.
    row.append(f"{beside / min(own):.1f}")
    columns = ["", "processor time", "the model's own", "beside it", "times the model's own"]
    kind = "PostgreSQL" if "://" in url else "SQLite"
    words.rows.append([f"ten recommendations, 2,000 items, {kind}", *row])
    keep("service", columns, words.rows)


def run_writes(url: str, folder: Path, words: argparse.Namespace) -> None:
    setting = Setting.make(url, 10_000, 2_000, 20)
    for workers in words.workers:
        write_with(setting, folder, words, workers)


def write_with(setting: Setting, folder: Path, words: argparse.Namespace, workers: int) -> None:
    service = Service(setting, folder / "service.log", "--workers", str(workers))
    asyncio.run(load(setting, Seen(), 3, 16, 1, 0))  # warm
    for clients in (16, 32, 64):
        seen, before = Seen(), service.cpu_seconds()
        asyncio.run(load(setting, seen, words.seconds, clients, 1, clients))
        each = (service.cpu_seconds() - before) / max(len(seen.writes), 1) * 1000
        row = {"workers": workers, **seen.line(f"{clients} connections write", words.seconds)}
        row |= {"CPU ms each": round(each, 2), "refused": len(seen.errors)}
        show({**row, "lost": lost(setting, seen)})
    service.stop()


DISCLOSURES = "one's disclosures"
ATTACKS: dict[str, tuple[str, str, bytes]] = {
    "a release's zip": ("GET", "/api/releases/1/model", b""),
    "search for one letter": ("POST", "/api/catalogue/search", b'{"words": "e", "limit": 100}'),
    DISCLOSURES: ("GET", "/api/me/disclosures", b""),
}


async def victim(setting: Setting, seconds: float) -> list[float]:
    """Ten recommendations a second, as somebody who looks around; how long each takes."""
    connection, taken = await Connection().open(), []
    token, end = next(iter(setting.tokens.values())), time.perf_counter() + seconds
    while time.perf_counter() < end:
        began = time.perf_counter()
        status, _ = await connection.ask("GET", "/api/me/recommendations?n=10", token)
        assert status == 200
        taken.append(time.perf_counter() - began)
        await asyncio.sleep(0.1)
    connection.close()
    return taken


async def attacker(
    what: tuple[str, str, bytes], token: str, end: float, answered: list[int]
) -> None:
    method, path, body = what
    connection = await Connection().open("127.0.0.2")
    while time.perf_counter() < end:
        status, _ = await connection.ask(method, path, token, body)
        answered.append(status)
        if status == 429:
            await asyncio.sleep(0.01)
    connection.close()


def run_attack(url: str, folder: Path, words: argparse.Namespace) -> None:
    setting = Setting.make(url, 2_000, 17_770, 50)
    # With the limits that a service has by default: they are what holds an attacker back.
    workers = ("--workers", str(words.workers[0]))
    service = Service(setting, folder / "service.log", *workers, limits=())
    fresh = list(setting.tokens.values())[1:19]

    async def attacked(what: tuple[str, str, bytes] | None, count: int) -> tuple[Any, list[int]]:
        end, answered = time.perf_counter() + words.seconds, []
        tokens = fresh if what == ATTACKS[DISCLOSURES] else [""] * count
        jobs = [attacker(what, token, end, answered) for token in tokens if what is not None]
        taken, *_ = await asyncio.gather(victim(setting, words.seconds), *jobs)
        return np.percentile(taken, [50, 99]) * 1000, answered

    asyncio.run(attacked(None, 0))  # warm
    for name, what in ATTACKS.items():
        # Idle just before: how busy the machine is with other things changes by the minute.
        (idle, _), _ = asyncio.run(attacked(None, 0))
        (p50, p99), answered = asyncio.run(attacked(what, 16))
        refused = sum(status == 429 for status in answered)
        show(
            {
                "workers": words.workers[0], "beside": name, "idle p50 ms": round(idle, 1),
                "victim p50 ms": round(p50, 1), "times": round(p50 / idle, 1),
                "p99 ms": round(p99, 1),
                "attacker's answers/s": round((len(answered) - refused) / words.seconds),
                "refused/s": round(refused / words.seconds),
            }
        )  # fmt: skip
    service.stop()


def run_kills(url: str, folder: Path, words: argparse.Namespace) -> None:
    setting = Setting.make(url, 500, 300, 40)
    service = Service(setting, folder / "service.log", "--workers", str(words.workers[0]))
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
            counted = ledger.overview(connection, []).counted
            whole = [Release.from_files(ledger.files(connection, e.number)) for e in entries]
        assert [r.certificate.digest for r in whole] == [e.digest for e in entries]
        # A release and what it spends are one transaction, and there are new ratings for each:
        # the ledger has all that releases spent, and nothing that none of them did.
        last, numbers = max(counted, default=0), [entry.number for entry in entries]
        assert last == max(numbers, default=0)
        assert set(counted) <= set(numbers)
        show(
            {
                "kill": round_ + 1, "acknowledged": len(seen.acknowledged),
                "lost": lost(setting, seen), "releases": len(entries),
                "latest release in the ledger": last, "pairs that spent": int(totals["pairs"]),
                "most spent": round(totals["largest"], 6),
            }
        )  # fmt: skip
    service.stop()


COMMANDS = {
    "load": run_load,
    "cost": run_cost,
    "writes": run_writes,
    "attack": run_attack,
    "kills": run_kills,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=list(COMMANDS))
    parser.add_argument("--on", choices=["sqlite", "postgresql"], help="one kind alone")
    parser.add_argument("--database", help="one of your own: a PostgreSQL URL, or a path")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--workers", type=counts, default=[2], help="2, or several: 1,2,4")
    words = parser.parse_args(namespace=argparse.Namespace(rows=[]))
    run = COMMANDS[words.what]
    with tempfile.TemporaryDirectory(prefix="discreet-bench-") as folder:
        if words.database is not None:
            run(words.database, Path(folder), words)
            return
        if words.on in (None, "sqlite"):
            print("== SQLite", flush=True)
            run(str(Path(folder) / f"{words.what}.db"), Path(folder), words)
        if words.on in (None, "postgresql"):
            print("== PostgreSQL", flush=True)
            with postgresql(free_port()) as url:
                run(url, Path(folder), words)


def counts(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


if __name__ == "__main__":
    main()
