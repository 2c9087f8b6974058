"""What goes in and out on the operator's routes alone."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from discreet.service.api.shapes import ItemIn, ReleaseOut, Strict


class TakedownIn(ItemIn):
    """An item to take down, or to put back."""

    back: bool = False


class TakedownOut(BaseModel):
    """What it means for what is out."""

    changed: bool
    means: str


class ChangeIn(Strict):
    """What is declared anew; what is left away stays as it is."""

    levels: Annotated[list[float], Field(min_length=1, max_length=20)] | None = None
    default_epsilon: Annotated[float | None, Field(gt=0)] = None
    publish_every_hours: Annotated[float | None, Field(ge=0, le=10**6)] = None
    publications: Annotated[int | None, Field(ge=1, le=10**6)] = None
    things: Annotated[str | None, Field(min_length=1, max_length=40)] = None


class PublicationOut(BaseModel):
    """The latest publication, whichever process started it."""

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
    largest_mu: float


class PreviewOut(BaseModel):
    """What a publication would spend now, at most: secret, for the operator alone."""

    ratings: float
    spending: float
    total: float
    largest: float
    delta: float
    mu: float
    lifetime_delta: float
