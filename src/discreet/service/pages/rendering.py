"""Templates: everything that is shown is escaped; times are UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fastapi.templating import Jinja2Templates
from starlette.requests import Request
from starlette.responses import HTMLResponse

from discreet.database.connection import utc_time
from discreet.database.people import Bearer
from discreet.privacy.lifetime import Loss
from discreet.service import charts
from discreet.service.pages.taps import taps_of
from discreet.service.plain_language import MAKING, digits, percent, surest
from discreet.service.state import service_of
from discreet.service.words import words_of

templates = Jinja2Templates(Path(__file__).parent.parent / "templates")


def _machine_time(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="seconds")


def _number(value: float) -> str:
    return f"{value:,.0f}"


def exact(value: float) -> str:
    """A number in as few digits as say it exactly: of what a form sends back nothing may change.

    >>> exact(24.0), exact(0.1), exact(1 / 3)
    ('24', '0.1', '0.3333333333333333')
    """
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def _surest(loss: Loss) -> str:
    return percent(surest(loss))


templates.env.filters |= {
    "utc_time": utc_time,
    "machine_time": _machine_time,
    "number": _number,
    "exact": exact,
    "level": digits,
    "surest": _surest,
}
templates.env.globals |= {"frame": charts.frame(), "MAKING": MAKING}
templates.env.trim_blocks = templates.env.lstrip_blocks = True


def render(
    request: Request, name: str, *, visitor: Bearer | None = None, status: int = 200, **values: Any
) -> HTMLResponse:
    """A page, or a part of one."""
    declared = service_of(request).declared
    values |= {"visitor": visitor, "declared": declared, "things": declared.things}
    values |= {"w": words_of(declared), "taps": taps_of(declared)}
    answer = templates.TemplateResponse(
        request, name, {"status": status, **values}, status_code=status
    )
    assert isinstance(answer, HTMLResponse)
    return answer


def wants_page(request: Request) -> bool:
    """Whether a person looks at the answer in a browser; our script asks for parts alone."""
    if request.headers.get("x-part") == "yes":
        return False
    api = request.url.path.startswith(("/api/", "/metrics", "/healthz", "/openapi"))
    return not api and "text/html" in request.headers.get("accept", "")
