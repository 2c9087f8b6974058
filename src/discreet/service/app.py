"""The application: routes, authenticator and what starts and stops with them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from discreet import __version__
from discreet.database import ledger
from discreet.database.connection import Database
from discreet.database.hashes import hashes_of_one
from discreet.database.writer import Writer
from discreet.errors import DatabaseError
from discreet.service import logs, pages, schedule
from discreet.service.access import Authenticator, require_monitor
from discreet.service.api import front_end, operator, person, public
from discreet.service.front_doors import BY_TOKEN, ForeignPages, FrontDoors
from discreet.service.guard import Guard
from discreet.service.limits import Limits
from discreet.service.monitoring import Metrics
from discreet.service.problems import described
from discreet.service.programs import Programs
from discreet.service.public_cache import PublicCache
from discreet.service.sealing import Seal
from discreet.service.state import Service, service_of
from discreet.service.uploads import keep_tidy

if TYPE_CHECKING:
    from fastapi.telemetry import TelemetryConfig

    from discreet.service.openid import Provider

HERE = Path(__file__).parent
UNTOLD: TelemetryConfig = {
    "tracing": False,
    "metrics": False,
    "logs": False,
    "auto_configure": False,
}
"""The framework would tell whoever the environment names of every request: when each person did
what, and with which error. To ask each time whether it should takes a twentieth of a rating."""


def create_app(
    database: Database,
    *,
    limits: Limits | None = None,
    doors: FrontDoors = BY_TOKEN,
    images: Path | None = None,
) -> FastAPI:
    """The service on one database, in which something was declared."""
    limits, metrics = limits or Limits(), Metrics()
    cache, writer = PublicCache(database), Writer(database)
    service = Service(
        database=database,
        writer=writer,
        public=cache,
        metrics=metrics,
        authenticator=Authenticator(
            writer, limits, named=doors.named, admit=lambda person: service.admit(person)
        ),
        programs=Programs(database, metrics, cache.look_now),
        seal=Seal.of(database),
        open_to_all=doors.open_to_all,
        images=images,
        provider=_provider(doors),
    )
    app = FastAPI(
        title="Discreet",
        version=__version__,
        lifespan=_lifespan,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=UNTOLD,
        description="A recommender that keeps every rating as private as the person who gave it "
        "asked for. People send their personal token, the operator another: Authorization: "
        "Bearer TOKEN.",
    )
    app.state.service, app.state.authenticator = service, service.authenticator
    if doors.origins:
        app.add_middleware(ForeignPages, origins=doors.origins)
    app.add_middleware(Guard, limits=limits, metrics=metrics)
    app.add_exception_handler(HTTPException, pages.refused)
    app.add_exception_handler(DatabaseError, pages.refused)
    app.add_exception_handler(OperationalError, pages.refused)
    app.add_exception_handler(NoConnectionError, pages.refused)
    app.add_exception_handler(RequestValidationError, pages.refused)
    for routes in (person.router, public.router, front_end.router, operator.router, pages.router):
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


def _provider(doors: FrontDoors) -> Provider | None:
    """Imported when there is one: it needs a package that others do without."""
    if doors.openid is None:
        return None
    from discreet.service.openid import Provider

    return Provider(doors.openid)


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
    keepers = [asyncio.create_task(schedule.keep(service)), asyncio.create_task(keep_tidy())]
    logs.event("started", version=__version__)
    yield
    for keeper in keepers:
        keeper.cancel()
        with suppress(asyncio.CancelledError):
            await keeper
    await run_in_threadpool(service.public.end)
    await run_in_threadpool(service.programs.stop)
    await run_in_threadpool(service.writer.close)
    await run_in_threadpool(service.reader.close)
    service.database.close()
    logs.event("stopped")


def _warm(service: Service) -> None:
    """Load release and compiled code now: the first visitor need not wait for them."""
    service.public.begin()
    if service.public.model is None:
        logs.event("no release yet")
    with service.database.reading() as connection:
        hashes_of_one(connection, "nobody", ["nothing"])
