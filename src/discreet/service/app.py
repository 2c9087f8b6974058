"""The application: routes, authenticator and what starts and stops with them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from discreet import __version__
from discreet.database import ledger
from discreet.database.connection import Database, now
from discreet.database.declaration import Declaration
from discreet.database.hashes import hashes_of_one
from discreet.errors import BusyError
from discreet.service import logs, pages
from discreet.service.access import Authenticator, require_monitor
from discreet.service.api import operator, person, public
from discreet.service.guard import Guard
from discreet.service.limits import Limits
from discreet.service.monitoring import Metrics
from discreet.service.problems import Problem, described
from discreet.service.programs import Programs
from discreet.service.public_cache import PublicCache
from discreet.service.state import Service, service_of

HERE = Path(__file__).parent
LOOK_SECONDS = 10.0
"""How often the schedule is looked at; a failed publication is tried again after as long."""


def create_app(
    database: Database,
    declared: Declaration,
    *,
    limits: Limits | None = None,
    open_to_all: bool = True,
) -> FastAPI:
    """The service on one database."""
    limits, metrics = limits or Limits(), Metrics()
    cache = PublicCache(database)
    service = Service(
        database=database,
        declared=declared,
        public=cache,
        metrics=metrics,
        authenticator=Authenticator(database, limits),
        programs=Programs(database, metrics, cache.look_again),
        open_to_all=open_to_all,
    )
    app = FastAPI(
        title="Discreet",
        version=__version__,
        lifespan=_lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        description="A recommender that keeps every rating as private as the person who gave it "
        "asked for. People send their personal token, the operator another: Authorization: "
        "Bearer TOKEN.",
    )
    app.state.service, app.state.authenticator = service, service.authenticator
    app.add_middleware(Guard, limits=limits, metrics=metrics)
    app.add_exception_handler(HTTPException, pages.refused)
    app.add_exception_handler(BusyError, pages.refused)
    app.add_exception_handler(RequestValidationError, pages.refused)
    for routes in (public.router, person.router, operator.router, pages.router):
        app.include_router(routes)
    app.get("/healthz", tags=["operations"])(healthz)
    app.get(
        "/metrics",
        tags=["operations"],
        response_class=Response,
        dependencies=[Depends(require_monitor)],
        responses={200: {"content": {"text/plain": {}}}, **described(401, 403, 429)},
    )(metrics_page)
    app.mount("/static", StaticFiles(directory=HERE / "static"))
    return app


def healthz(request: Request) -> JSONResponse:
    """Whether the service can answer; the number of the latest release."""
    try:
        with service_of(request).database.reading() as connection:
            return JSONResponse({"status": "ok", "release": ledger.latest(connection)})
    except Exception:
        logs.failure("unhealthy")
        return JSONResponse({"status": "no database"}, 503)


def metrics_page(request: Request) -> Response:
    """Numbers for Prometheus, for a monitor's token."""
    service = service_of(request)
    model = service.public.model
    if model is not None:
        service.metrics.release.set(model.entry.number)
        service.metrics.published.set(model.entry.published_at / 1000)
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    service: Service = app.state.service
    await run_in_threadpool(_warm, service)
    keeper = asyncio.create_task(_keep_schedule(service))
    logs.event("started", version=__version__)
    yield
    keeper.cancel()
    with suppress(asyncio.CancelledError):
        await keeper
    await run_in_threadpool(service.programs.stop)
    service.database.close()
    logs.event("stopped")


def _warm(service: Service) -> None:
    """Load release and compiled code now: the first visitor need not wait for them."""
    if service.public.model is None:
        logs.event("no release yet")
    with service.database.reading() as connection:
        hashes_of_one(connection, "nobody", ["nothing"])


async def _keep_schedule(service: Service) -> None:
    """Publish whenever the declared time has come, whether or not anything is new."""
    while service.declared.publish_every_hours > 0:
        missing = LOOK_SECONDS
        try:
            missing = await run_in_threadpool(_seconds_to_next, service)
            if missing <= 0:
                await run_in_threadpool(service.programs.publish)
        except Problem:
            pass  # one is running already
        except Exception:
            logs.failure("schedule")  # a database that is away for a while must not end it
        await asyncio.sleep(min(missing, LOOK_SECONDS) if missing > 0 else LOOK_SECONDS)


def _seconds_to_next(service: Service) -> float:
    if not service.public.catalogue.cards:
        return LOOK_SECONDS
    due = service.next_release_at()
    failed = service.programs.publication
    if failed.state == "failed":  # not at once again: what failed may fail for long
        due = max(due, (failed.ended_at or 0) + 600_000)
    return (due - now()) / 1000
