"""What goes in and out, for validation and for the OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from discreet.service.disclosure import Entered, State
from discreet.service.limits import LONGEST_SEARCH, MOST_ITEMS


class Strict(BaseModel):
    """Nothing unknown, nothing converted."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class ItemOut(BaseModel):
    """An item of the public catalogue."""

    item: str
    title: str
    year: int | None
    genres: list[str]


class SearchIn(Strict):
    """Words of a title, all of which must be in it; none for the whole catalogue."""

    words: Annotated[str, Field(max_length=LONGEST_SEARCH)] = ""
    offset: Annotated[int, Field(ge=0, le=10**9)] = 0
    limit: Annotated[int, Field(ge=1, le=MOST_ITEMS)] = 20


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
    """What was fixed before the first rating, or declared anew since."""

    scale: tuple[float, float]
    levels: list[LevelOut]
    max_epsilon: float
    default_epsilon: float
    delta: float
    publish_every_hours: float
    events: bool = Field(description="Whether people choose here, and do not rate.")
    changes: list[str] = Field(description="What was declared anew since the first rating.")


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


Item = Annotated[
    str,  # PostgreSQL stores no NUL
    Field(max_length=500, pattern=r"^[^\x00]*$", description="Its id.", examples=["film-0001"]),
]


class ItemIn(Strict):
    """An item of the catalogue."""

    item: Item


class RatingIn(ItemIn):
    """A rating, and how private it is; a new one without an epsilon gets the declared default."""

    rating: Annotated[float, Field(examples=[4])]
    epsilon: Annotated[float | None, Field(gt=0, examples=[0.1])] = None


class EventIn(ItemIn):
    """Something that one chose: bought, played, borrowed."""

    weight: Annotated[
        float | None,
        Field(ge=0, description="How much, where quantities were declared.", examples=[2.5]),
    ] = None
    epsilon: Annotated[float | None, Field(gt=0, examples=[0.1])] = None


Person = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]


class RatingOut(BaseModel):
    """One's own rating; where a service holds events, what one counts, from 0 to 1."""

    item: str
    title: str
    rating: float
    epsilon: float
    changed_at: int


class LossOut(BaseModel):
    """What releases tell: smaller is less."""

    epsilon: float
    delta: float


class ChoiceOut(BaseModel):
    """What it would mean to choose a level for this rating, given what was spent on it."""

    level: float
    next: LossOut = Field(description="What the next release may add at this level.")
    most: LossOut = Field(description="The most that all releases will ever have told then.")
    explained: str


class DisclosureOut(BaseModel):
    """What has left about one rating, and what still can."""

    item: str
    state: State
    entered: Entered = Field(
        description="Whether it has entered a release; maybe: the database was restored from a "
        "backup, so it is charged in full."
    )
    release: int | None = Field(description="The latest that has counted it, where one is known.")
    changed_since: bool
    epsilon: float | None = Field(description="Its level now; null for a deleted rating.")
    spent: LossOut
    next: LossOut = Field(description="What the next release may add, as things are.")
    most: LossOut = Field(description="The most that all releases will ever have told, likewise.")
    explained: str = Field(description="The same in plain words.")
    can_be_raised: bool
    choices: list[ChoiceOut] = Field(description="For every level on offer.")


class RecordOut(BaseModel):
    """All that has left about oneself."""

    protected: bool = Field(
        description="False if a release was made with a seed: then the numbers promise nothing."
    )
    restored: bool = Field(
        description="Whether the database was ever restored from a backup: what was rated after "
        "that and lost may have entered all the same, and twice if it was rated again."
    )
    spent: LossOut = Field(description="For somebody who asks about all ratings at once.")
    most: LossOut = Field(description="The most that it will ever be, as things are.")
    ratings: list[DisclosureOut]


class RatedOut(BaseModel):
    """A rating as it was taken, and what will leave of it."""

    rating: RatingOut
    disclosure: DisclosureOut


class RecommendationOut(BaseModel):
    """One recommendation."""

    rank: int
    item: str
    title: str
    score: float = Field(
        description="The predicted rating; of events, how likely it is beside the first."
    )
    error: float | None = Field(None, description="The score's standard error, where asked for.")


class RecommendationsOut(BaseModel):
    """Computed from one's own ratings, or events, and this release alone."""

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
    made_by: str | None
    """The operator who made it, if one did."""


class ExportOut(BaseModel):
    """All that is stored about oneself."""

    person: str
    joined_at: int
    accesses: list[AccessOut]
    acts: list[ActOut]
    """What operators did that concerns oneself."""
    usual_level: float | None = Field(
        description="The epsilon chosen for all ratings of which none is said; null: the default."
    )
    not_interested: list[str] = Field(description="Items left out of one's lists.")
    ratings: list[RatingOut]
    disclosures: RecordOut


class PersonIn(Strict):
    """The person that is meant."""

    person: Person


class ActOut(BaseModel):
    """What an operator did."""

    at: int
    operator: str
    act: str
    detail: str
    person: str | None
    """Whom it concerns."""


Certificate = dict[str, Any]
