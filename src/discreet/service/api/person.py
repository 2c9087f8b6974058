"""One's own: ratings, recommendations, what leaves, export, erasure. No path names a person."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from discreet.database import opinions, people
from discreet.database.opinions import Opinion
from discreet.service.access import Person
from discreet.service.api import shapes
from discreet.service.disclosure import Disclosure
from discreet.service.limits import MOST_RECOMMENDATIONS
from discreet.service.problems import Problem, described
from discreet.service.state import Service, service_of

router = APIRouter(
    prefix="/api/me", tags=["one's own"], responses=described(400, 401, 403, 422, 429)
)
Item = Annotated[str, Path(max_length=500, description="The item's id in the catalogue.")]


def _rating(service: Service, opinion: Opinion) -> shapes.RatingOut:
    return shapes.RatingOut(title=service.title(opinion.item), **opinion._asdict())


def _disclosure(found: Disclosure) -> shapes.DisclosureOut:
    return shapes.DisclosureOut(**vars(found))


@router.get("")
def read_me(request: Request, person: Person) -> shapes.MeOut:
    """Oneself, in short."""
    service = service_of(request)
    with service.database.reading() as connection:
        count, joined = len(opinions.of(connection, person)), people.joined_at(connection, person)
    return shapes.MeOut(person=person, joined_at=joined, ratings=count)


@router.get("/ratings")
def list_ratings(request: Request, person: Person) -> list[shapes.RatingOut]:
    """One's ratings, latest first."""
    service = service_of(request)
    return [_rating(service, opinion) for opinion in service.own(person)]


@router.get("/ratings/{item:path}", responses=described(404))
def read_rating(request: Request, person: Person, item: Item) -> shapes.RatedOut:
    """One rating, and what has left or will leave of it."""
    service = service_of(request)
    service.card(item)
    with service.database.reading() as connection:
        opinion = opinions.one(connection, person, item)
    if opinion is None:
        raise Problem(404, "not_rated", "you have not rated this")
    return _rated(service, person, opinion)


@router.put("/ratings/{item:path}", responses=described(404, 413))
def put_rating(
    request: Request, person: Person, item: Item, body: shapes.RatingIn
) -> shapes.RatedOut:
    """Give or change a rating: it counts for one's recommendations at once, and for the public
    model at the next release, within its epsilon."""
    service = service_of(request)
    opinion = service.rate(person, item, body.rating, body.epsilon)
    return _rated(service, person, opinion)


@router.delete("/ratings/{item:path}", status_code=204, responses=described(404))
def delete_rating(request: Request, person: Person, item: Item) -> Response:
    """Delete a rating. What was released of it cannot be recalled, nor its budget won back."""
    service = service_of(request)
    service.card(item)
    service.take_back(person, item)
    return Response(status_code=204)


def _rated(service: Service, person: str, opinion: Opinion) -> shapes.RatedOut:
    [found] = service.disclosures(person, [opinion])
    return shapes.RatedOut(rating=_rating(service, opinion), disclosure=_disclosure(found))


@router.get("/recommendations", responses=described(404))
def read_recommendations(
    request: Request,
    person: Person,
    n: Annotated[int, Query(ge=1, le=MOST_RECOMMENDATIONS)] = 10,
) -> shapes.RecommendationsOut:
    """One's recommendations, from one's own ratings as they are now and the latest release."""
    service = service_of(request)
    model, picks = service.recommend(person, n)
    listed = [
        shapes.RecommendationOut(
            rank=rank, item=pick.item, title=service.title(pick.item), score=pick.score
        )
        for rank, pick in enumerate(picks, start=1)
    ]
    return shapes.RecommendationsOut(release=model.entry.number, recommendations=listed)


@router.get("/disclosures")
def list_disclosures(request: Request, person: Person) -> list[shapes.DisclosureOut]:
    """What has left this server about oneself, or will, deleted ratings included."""
    service = service_of(request)
    found = service.disclosures(person, service.own(person), deleted=True)
    return [_disclosure(one) for one in found]


@router.get("/export")
def export(request: Request, person: Person, response: Response) -> shapes.ExportOut:
    """All that is stored about oneself."""
    service = service_of(request)
    own = service.own(person)
    found = service.disclosures(person, own, deleted=True)
    with service.database.reading() as connection:
        joined = people.joined_at(connection, person)
    response.headers["Content-Disposition"] = 'attachment; filename="my-data.json"'
    return shapes.ExportOut(
        person=person, joined_at=joined,
        ratings=[_rating(service, opinion) for opinion in own],
        disclosures=[_disclosure(one) for one in found],
    )  # fmt: skip


@router.post("/token")
def renew_token(request: Request, person: Person) -> shapes.NewToken:
    """A new token in place of all others, and of all sessions; shown this once."""
    return shapes.NewToken(token=service_of(request).new_token(person))


@router.delete("", status_code=204)
def erase(request: Request, person: Person) -> Response:
    """Erase oneself: ratings, tokens, everything but keyed hashes of what was released."""
    service_of(request).erase(person)
    return Response(status_code=204)
