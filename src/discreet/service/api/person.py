"""One's own: ratings, recommendations, what leaves, export, erasure.

No URL names a person, or an item: proxies log URLs. An item is named in the body, so reading and
deleting one rating are POSTs.
"""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter
from fastapi.responses import Response
from sqlalchemy.engine import Connection

from discreet.database import acts, own_ratings, people, tastes
from discreet.database.own_ratings import OwnRating
from discreet.database.tastes import Taste
from discreet.privacy.lifetime import Loss
from discreet.service import plain_language
from discreet.service.api import shapes
from discreet.service.api.wishes import Count, Diversity, ListIn, RankBy
from discreet.service.disclosure import Disclosure, Record
from discreet.service.giving import Told
from discreet.service.limits import HEAVY
from discreet.service.person_request import Ask
from discreet.service.problems import Problem, described
from discreet.service.public_cache import Pick
from discreet.service.state import Service
from discreet.service.words import words_of

router = APIRouter(
    prefix="/api/me", tags=["one's own"], responses=described(400, 401, 403, 422, 429, 503)
)


@router.get("", response_model=shapes.MeOut)
async def read_me(ask: Ask) -> Response:
    """Oneself, in short."""

    def me(service: Service, person: str) -> shapes.MeOut:
        with service.database.reading() as connection:
            count = len(own_ratings.of(connection, person))
            joined = people.joined_at(connection, person)
        return shapes.MeOut(person=person, joined_at=joined, ratings=count)

    return await ask(me)


@router.get("/ratings", response_model=list[shapes.RatingOut])
async def list_ratings(ask: Ask) -> Response:
    """One's ratings, latest first."""
    return await ask(lambda service, person: [_rating(service, o) for o in service.own(person)])


@router.put("/ratings", response_model=shapes.RatedOut, responses=described(404, 409, 413))
async def put_rating(ask: Ask, body: shapes.RatingIn) -> Response:
    """Give or change a rating: it counts for one's recommendations at once. A new one enters the
    public model at the next release, within its epsilon; a change of one that has entered does not,
    unless its epsilon is raised. Without an epsilon a change keeps the one chosen before."""

    def to_put(service: Service, person: str) -> Callable[[Connection], Told]:
        return service.giving.to_rate_and_tell(person, body.item, body.rating, body.epsilon)

    return await ask.write(to_put, _rated)


@router.post("/events", response_model=shapes.RatedOut, responses=described(404, 409, 413))
async def add_event(ask: Ask, body: shapes.EventIn) -> Response:
    """Where a service holds events: one chose this, once more. What a pair counts follows the
    declared rules; its level is the smallest of its events'."""

    def to_add(service: Service, person: str) -> Callable[[Connection], Told]:
        add = service.giving.to_add_event(person, body.item, body.weight, body.epsilon)

        def put(connection: Connection) -> Told:
            [told] = service.giving.told(connection, [(person, add(connection))])
            return told

        return put

    return await ask.write(to_add, _rated)


@router.post("/ratings/read", response_model=shapes.RatedOut, responses=described(404, 413))
async def read_rating(ask: Ask, body: shapes.ItemIn) -> Response:
    """One rating, what has left of it and what still can."""

    def rated(service: Service, person: str) -> shapes.RatedOut:
        service.card(body.item)
        with service.database.reading() as connection:
            own_rating = own_ratings.one(connection, person, body.item)
            if own_rating is None:
                raise Problem(404, "not_rated", "you have not rated this")
            [told] = service.giving.told(connection, [(person, own_rating)])
            return _rated(service, told)

    return await ask(rated)


@router.post("/ratings/delete", status_code=204, responses=described(404, 413))
async def delete_rating(ask: Ask, body: shapes.ItemIn) -> Response:
    """Delete a rating. What was released of it cannot be recalled, nor its budget won back."""

    def delete(service: Service, person: str) -> None:
        service.take_back(person, body.item)  # also what was taken down

    return await ask(delete)


@router.get("/recommendations", response_model=shapes.RecommendationsOut, responses=described(404))
async def read_recommendations(
    ask: Ask, n: Count = 10, rank_by: RankBy = "best", diversity: Diversity = 0.0
) -> Response:
    """One's recommendations, from one's own ratings or events as they are now and the latest
    release. They are ranked by what one would choose and would like. The score is the predicted
    rating; of events, how likely the item is beside the first."""
    wanted = ListIn(n=n, rank_by=rank_by, diversity=diversity)
    return await ask.for_lists(_recommendations(wanted))


@router.post(
    "/recommendations", response_model=shapes.RecommendationsOut, responses=described(404, 413)
)
async def read_filtered_recommendations(ask: Ask, body: ListIn) -> Response:
    """The same, filtered: what one looks for is in no URL. Columns are those of the catalogue, and
    a range's ends belong to it."""
    return await ask.for_lists(_recommendations(body))


def _recommendations(wanted: ListIn) -> Callable[[Service, Taste], shapes.RecommendationsOut]:
    def recommendations(service: Service, taste: Taste) -> shapes.RecommendationsOut:
        model = service.model()
        picks = service.recommend(
            model, taste, wanted.n, wanted.ranking, with_error=wanted.with_error
        )
        listed = listed_out(service, picks)
        return shapes.RecommendationsOut(release=model.entry.number, recommendations=listed)

    return recommendations


@router.get("/disclosures", response_model=shapes.RecordOut)
async def list_disclosures(ask: Ask) -> Response:
    """What has left this server about oneself, and what still can, deleted ratings included."""
    return await ask(lambda service, person: _record(service, service.record(person)), cost=HEAVY)


@router.get("/export", response_model=shapes.ExportOut)
async def export(ask: Ask) -> Response:
    """All that is stored about oneself."""
    name = 'attachment; filename="my-data.json"'
    return await ask(everything, headers={"Content-Disposition": name}, cost=HEAVY)


@router.post("/token", response_model=shapes.NewToken)
async def renew_token(ask: Ask) -> Response:
    """A new token in place of all others, and of all sessions; shown this once. It takes the token
    that there is: a browser's session does not do."""
    if ask.credentials is None:
        raise Problem(401, "no_token", "send your token: Authorization: Bearer ...")
    return await ask(lambda service, person: shapes.NewToken(token=service.new_token(person)))


@router.delete("", status_code=204)
async def erase(ask: Ask) -> Response:
    """Erase oneself: ratings, tokens, everything but keyed hashes of what was released."""
    return await ask(lambda service, person: service.erase(person))


def everything(service: Service, person: str) -> shapes.ExportOut:
    """All that is stored about a person, for that person."""
    found = service.record(person)
    with service.database.reading() as connection:
        joined = people.joined_at(connection, person)
        accesses = people.accesses(connection, person)
        noted = acts.concerning(connection, person)
        level, hidden = tastes.usual_level(connection, person), tastes.hidden(connection, person)
    return shapes.ExportOut(
        person=person,
        joined_at=joined,
        usual_level=level,
        not_interested=hidden,
        ratings=[_rating(service, o) for o in found.own],
        accesses=[shapes.AccessOut.model_validate(one) for one in accesses],
        acts=[shapes.ActOut(**act._asdict()) for act in noted],
        disclosures=_record(service, found),
    )


def listed_out(service: Service, picks: list[Pick]) -> list[shapes.RecommendationOut]:
    """A list as JSON."""
    return [
        shapes.RecommendationOut(
            rank=rank,
            item=pick.item,
            title=service.title(pick.item),
            score=pick.score,
            error=pick.error,
        )
        for rank, pick in enumerate(picks, start=1)
    ]


def _rating(service: Service, own_rating: OwnRating) -> shapes.RatingOut:
    return shapes.RatingOut(
        item=own_rating.item,
        title=service.title(own_rating.item),
        rating=own_rating.rating,
        epsilon=own_rating.epsilon,
        changed_at=own_rating.changed_at,
    )


def _loss(loss: Loss) -> shapes.LossOut:
    return shapes.LossOut(epsilon=loss.epsilon, delta=loss.delta)


def _disclosure(service: Service, found: Disclosure) -> shapes.DisclosureOut:
    ground, words = service.ground, words_of(service.declared)
    return shapes.DisclosureOut(
        item=found.item,
        state=found.state,
        entered=found.entered,
        release=found.release,
        changed_since=found.changed_since,
        epsilon=found.epsilon,
        spent=_loss(found.spent),
        next=_loss(found.next),
        most=_loss(found.most),
        can_be_raised=found.can_be_raised,
        explained=plain_language.told(found, ground, words),
        choices=[
            shapes.ChoiceOut(
                level=choice.level,
                next=_loss(choice.next),
                most=_loss(choice.most),
                explained=plain_language.would_mean(choice, found, ground, words),
            )
            for choice in found.choices
        ],
    )


def _record(service: Service, found: Record) -> shapes.RecordOut:
    protected = service.ground != plain_language.Ground.SEEDED
    return shapes.RecordOut(
        protected=protected,
        restored=found.restored,
        spent=_loss(found.spent),
        most=_loss(found.most),
        ratings=[_disclosure(service, one) for one in found.ratings],
    )


def _rated(service: Service, told: Told) -> shapes.RatedOut:
    own_rating, found = told
    rating = _rating(service, own_rating)
    return shapes.RatedOut(rating=rating, disclosure=_disclosure(service, found))
