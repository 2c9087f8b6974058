"""What goes in and out, for validation and for the OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from discreet.service.disclosure import State


class Strict(BaseModel):
    """Nothing unknown, nothing converted."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class ItemOut(BaseModel):
    """An item of the public catalogue."""

    item: str
    title: str
    year: int | None
    genres: list[str]


class ItemsOut(BaseModel):
    """A page of the catalogue."""

    total: int
    items: list[ItemOut]


class LevelOut(BaseModel):
    """A privacy level that is offered."""

    epsilon: float
    name: str
    explained: str


class DeclarationOut(BaseModel):
    """What was fixed before the first rating."""

    scale: tuple[float, float]
    levels: list[LevelOut]
    max_epsilon: float
    default_epsilon: float
    delta: float
    publish_every_hours: float


class ReleaseOut(BaseModel):
    """A release: anybody may have it."""

    number: int
    digest: str
    scheme: str
    threshold: str
    published_at: int = Field(description="To the minute, in milliseconds since 1970, UTC.")


class NewPerson(BaseModel):
    """A new person's token: shown this once."""

    person: str
    token: str


class NewToken(BaseModel):
    """A new token: shown this once; the old ones have ended."""

    token: str


class RatingIn(Strict):
    """A rating, and how private it is; a new one without an epsilon gets the declared default."""

    rating: Annotated[float, Field(examples=[4])]
    epsilon: Annotated[float | None, Field(gt=0, examples=[0.1])] = None


class RatingOut(BaseModel):
    """One's own rating."""

    item: str
    title: str
    rating: float
    epsilon: float
    changed_at: int


class DisclosureOut(BaseModel):
    """What has left, or will leave, about one rating."""

    item: str
    state: State
    epsilon: float | None
    spent: float
    next: float
    release: int | None
    changed_since: bool
    can_be_raised: bool


class RatedOut(BaseModel):
    """A rating as it was taken, and what will leave of it."""

    rating: RatingOut
    disclosure: DisclosureOut


class RecommendationOut(BaseModel):
    """One recommendation."""

    rank: int
    item: str
    title: str
    score: float


class RecommendationsOut(BaseModel):
    """Computed from one's own ratings and this release alone."""

    release: int
    recommendations: list[RecommendationOut]


class MeOut(BaseModel):
    """Oneself."""

    person: str
    joined_at: int
    ratings: int


class AccessOut(BaseModel):
    """A token or a browser's session; of the token itself only a hash is stored."""

    kind: str
    created_at: int
    expires_at: int


class ExportOut(BaseModel):
    """All that is stored about oneself."""

    person: str
    joined_at: int
    accesses: list[AccessOut]
    ratings: list[RatingOut]
    disclosures: list[DisclosureOut]


class PersonIn(Strict):
    """The person that a token is for."""

    person: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]


class PublicationOut(BaseModel):
    """The latest publication that this service started."""

    state: str
    begun_at: int | None
    ended_at: int | None
    number: int | None
    message: str


class ItemsImported(BaseModel):
    """What became of an item table."""

    new: int
    left_out: list[str]
    """Columns that look derived from ratings, and that nobody vouched for."""


class LedgerOut(BaseModel):
    """What was spent: secret, for the operator alone."""

    releases: list[ReleaseOut]
    pairs: float
    total: float
    mean: float
    largest: float
    largest_delta: float


class PreviewOut(BaseModel):
    """What a publication would spend now, at most: secret, for the operator alone."""

    ratings: float
    spending: float
    total: float
    largest: float
    delta: float


Certificate = dict[str, Any]
