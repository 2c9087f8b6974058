"""What a front end sends and gets: rows of many people, for validation and the OpenAPI document."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from discreet.service.api.shapes import (
    EventIn,
    ItemIn,
    Person,
    RatingIn,
    RecommendationOut,
    Strict,
)
from discreet.service.api.wishes import ListIn
from discreet.service.limits import MOST_LISTS, MOST_ROWS


class RatingRow(RatingIn):
    """A rating that a front end sends for one of its people."""

    person: Person


class EventRow(EventIn):
    """An event that a front end sends for one of its people."""

    person: Person


class PairRow(ItemIn):
    """Whose rating, or event, and of what."""

    person: Person


class RatingsIn(Strict):
    """Ratings of many people."""

    rows: Annotated[list[RatingRow], Field(min_length=1, max_length=MOST_ROWS)]


class EventsIn(Strict):
    """Events of many people."""

    rows: Annotated[list[EventRow], Field(min_length=1, max_length=MOST_ROWS)]


class PairsIn(Strict):
    """Ratings, or events, to be deleted."""

    rows: Annotated[list[PairRow], Field(min_length=1, max_length=MOST_ROWS)]


class WrittenOut(BaseModel):
    """What became of many rows."""

    written: int
    skipped: int = Field(description="Of people who were erased, or, to delete, that are not there")


class ListsIn(ListIn):
    """Whose lists are wanted, and which."""

    people: Annotated[list[Person], Field(min_length=1, max_length=MOST_LISTS)]


class ListOut(BaseModel):
    """One person's list."""

    person: str
    recommendations: list[RecommendationOut]


class ListsOut(BaseModel):
    """Each from that person's own history and this release alone: for that person's eyes."""

    release: int
    lists: list[ListOut]
