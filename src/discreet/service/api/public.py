"""Public: the catalogue, the declaration, releases and their certificates."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import Response

from discreet import __version__
from discreet.database import ledger
from discreet.privacy import encoding
from discreet.release.format import CERTIFICATE
from discreet.service import immutable
from discreet.service.access import address, anyone, authenticator_of
from discreet.service.api import shapes
from discreet.service.limits import HEAVY
from discreet.service.problems import Problem, described
from discreet.service.search import Card
from discreet.service.state import service_of

router = APIRouter(
    prefix="/api", tags=["public"], dependencies=[Depends(anyone)], responses=described(422, 429)
)
Number = Annotated[int, Path(ge=1, le=2**31 - 1, description="The release's number.")]


def item_out(card: Card) -> shapes.ItemOut:
    """A card as JSON."""
    return shapes.ItemOut(item=card.id, title=card.title, year=card.year, genres=list(card.genres))


@router.post("/catalogue/search", responses=described(400, 413))
def search_catalogue(request: Request, body: shapes.SearchIn) -> shapes.ItemsOut:
    """Search the public catalogue by title, genre and year. The words are in the body: proxies log
    URLs."""
    found = service_of(request).public.search(body.words)
    page = [item_out(card) for card in found[body.offset : body.offset + body.limit]]
    return shapes.ItemsOut(total=len(found), items=page)


@router.get("/declaration")
def read_declaration(request: Request) -> shapes.DeclarationOut:
    """Scale, offered levels and schedule: fixed before the first rating."""
    service = service_of(request)
    declared = service.declared
    levels = [
        shapes.LevelOut(epsilon=level.epsilon, name=level.name, explained=level.explained)
        for level in service.levels()
    ]
    return shapes.DeclarationOut(
        scale=declared.scale,
        levels=levels,
        max_epsilon=declared.levels[-1],
        default_epsilon=declared.usual_level,
        delta=declared.delta,
        publish_every_hours=declared.publish_every_hours,
        events=declared.events,
        changes=[change.words for change in declared.changes],
    )


def release_out(entry: ledger.ReleaseEntry) -> shapes.ReleaseOut:
    """An entry as JSON."""
    return shapes.ReleaseOut(
        number=entry.number,
        digest=entry.digest,
        scheme=entry.scheme,
        threshold=entry.threshold,
        published_at=entry.published_at,
    )


@router.get("/releases")
def list_releases(request: Request) -> list[shapes.ReleaseOut]:
    """All releases, oldest first."""
    with service_of(request).database.reading() as connection:
        return [release_out(entry) for entry in ledger.entries(connection)]


def _files(request: Request, number: int) -> dict[str, bytes]:
    with service_of(request).database.reading() as connection:
        return ledger.files(connection, number)


def _entry(request: Request, number: int) -> ledger.ReleaseEntry:
    latest = service_of(request).public.model
    if latest is not None and latest.entry.number == number:
        return latest.entry
    with service_of(request).database.reading() as connection:
        found = [entry for entry in ledger.entries(connection) if entry.number == number]
    if not found:
        raise Problem(404, "unknown_release", "there is no such release")
    return found[0]


@router.get(
    "/releases/{number}/certificate",
    response_model=shapes.Certificate,
    responses=described(404),
)
def read_certificate(request: Request, number: Number) -> Response:
    """What a release promises, by which theorem, under which assumptions: derived from how it was
    made, also where an older version wrote the release."""
    # Another version of this program may derive other words.
    etag = f"{_entry(request, number).digest}-{__version__}"
    known = immutable.unchanged(request, etag, immutable.ASK_AGAIN)
    if known is not None:
        return known
    written = _files(request, number)[CERTIFICATE].decode()
    found = encoding.write(encoding.read(written))
    headers = immutable.headers(etag, immutable.ASK_AGAIN)
    return Response(found, media_type="application/json", headers=headers)


@router.get(
    "/releases/{number}/model",
    response_class=Response,
    responses={200: {"content": {"application/zip": {}}}, **described(404, 503)},
)
def download_release(request: Request, number: Number) -> Response:
    """A release as a zip: unpacked, a folder for discreet inspect and discreet recommend. It counts
    as ten requests, unless one has it already."""
    digest = _entry(request, number).digest
    known = immutable.unchanged(request, digest, immutable.FOR_EVER)
    if known is not None:
        return known
    authenticator = authenticator_of(request)
    authenticator.limit(authenticator.addresses, address(request), HEAVY - 1)
    archives = service_of(request).public.archives
    content = archives.get(digest, number, lambda: _files(request, number))
    headers = {
        **immutable.headers(digest, immutable.FOR_EVER),
        "Content-Disposition": f'attachment; filename="release-{number}.zip"',
    }
    return Response(content, media_type="application/zip", headers=headers)


@router.post("/people", status_code=201, responses=described(403))
def join(request: Request) -> shapes.NewPerson:
    """Join: a new person, with a token that is shown this once."""
    authenticator = authenticator_of(request)
    authenticator.limit(authenticator.joining, address(request))
    person, token = service_of(request).join()
    return shapes.NewPerson(person=person, token=token)
