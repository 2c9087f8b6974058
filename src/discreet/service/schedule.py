"""When to publish: by the declared schedule, whether or not anything is new, or because an
operator says so; of all processes one does."""

from __future__ import annotations

import asyncio

from sqlalchemy.engine import Connection
from starlette.concurrency import run_in_threadpool

from discreet.database import acts, ledger
from discreet.database.connection import now, utc_time
from discreet.database.publications import Publication
from discreet.service import logs
from discreet.service.problems import Problem
from discreet.service.state import Service

LOOK_SECONDS = 10.0
"""How often the schedule is looked at; a failed publication is tried again after as long."""
AGAIN_MS = 600_000
"""After a failed one, so long: what failed may fail for long."""


async def keep(service: Service) -> None:
    """Publish whenever the declared time has come."""
    while True:
        missing = LOOK_SECONDS
        try:
            missing = await run_in_threadpool(_seconds_to_next, service)
            if missing <= 0:
                await run_in_threadpool(service.programs.publish, lambda c: _is_due(service, c))
        except Problem:
            pass  # one is running already, or another process was first
        except Exception:
            logs.failure("schedule")  # a database that is away for a while must not end it
        await asyncio.sleep(min(missing, LOOK_SECONDS) if missing > 0 else LOOK_SECONDS)


def publish(service: Service, operator: str, *, off_schedule: bool = False) -> Publication:
    """Begin a publication that an operator asks for.

    Beside a declared schedule they must say so: later certificates will. The first release may
    come at any time.
    """
    with service.database.reading() as connection:
        planned = service.declared.publish_every_hours > 0 and ledger.latest(connection) > 0
        early = planned and not _is_due(service, connection)
        due = _due(service, connection)
    if early and not off_schedule:
        raise Problem(
            409,
            "off_schedule",
            f"by the declared schedule the next release comes at {utc_time(due)}. Say "
            "off_schedule to publish now: all later certificates will name this release, and the "
            "schedule counts on from it",
        )
    begun = service.programs.publish()
    with service.database.writing() as connection:
        acts.note(connection, operator, "publish", "off schedule" if early else "")
    return begun


def _seconds_to_next(service: Service) -> float:
    if not service.public.catalogue.cards or not service.declared.publish_every_hours:
        return LOOK_SECONDS
    with service.database.reading() as connection:
        due = _due(service, connection)
    failed = service.programs.publication
    if failed.state == "failed":
        due = max(due, (failed.ended_at or 0) + AGAIN_MS)
    return (due - now()) / 1000


def _is_due(service: Service, connection: Connection) -> bool:
    return now() >= _due(service, connection)


def _due(service: Service, connection: Connection) -> int:
    """When the schedule wants the next release, as the database has it at this moment."""
    entries = ledger.entries(connection)
    return service.declared.due_after(entries[-1].begun_at if entries else None)
