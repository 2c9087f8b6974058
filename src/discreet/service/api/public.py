"""Public: the catalogue, the declaration, releases and their certificates."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import Response

from discreet.database import ledger
from discreet.privacy import encoding
from discreet.release.format import CERTIFICATE
from discreet.service.access import address, anyone, authenticator_of
from discreet.service.api import shapes
from discreet.service.problems import Problem, described
from discreet.service.public_cache import Card
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
    """Search the public catalogue by title. The words are in the body: proxies log URLs."""
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
        max_epsilon=declared.max_level,
        default_epsilon=declared.usual_level,
        delta=declared.delta,
        publish_every_hours=declared.publish_every_hours,
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
        files = ledger.files(connection, number)
    if not files:
        raise Problem(404, "unknown_release", "there is no such release")
    return files


@router.get("/releases/{number}/certificate", responses=described(404))
def read_certificate(request: Request, number: Number) -> shapes.Certificate:
    """What a release promises, by which theorem, under which assumptions: derived from how it was
    made, also where an older version wrote the release."""
    written = _files(request, number)[CERTIFICATE].decode()
    return dict(json.loads(encoding.write(encoding.read(written))))


@router.get(
    "/releases/{number}/model",
    response_class=Response,
    responses={200: {"content": {"application/zip": {}}}, **described(404)},
)
def download_release(request: Request, number: Number) -> Response:
    """A release as a zip: unpacked, a folder for discreet inspect and discreet recommend."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(_files(request, number).items()):
            archive.writestr(f"release-{number}/{name}", content)
    name = f'attachment; filename="release-{number}.zip"'
    return Response(
        buffer.getvalue(), media_type="application/zip", headers={"Content-Disposition": name}
    )


@router.post("/people", status_code=201, responses=described(403))
def join(request: Request) -> shapes.NewPerson:
    """Join: a new person, with a token that is shown this once."""
    authenticator = authenticator_of(request)
    authenticator.limit(authenticator.joining, address(request))
    person, token = service_of(request).join()
    return shapes.NewPerson(person=person, token=token)
