"""Judging lists: what people chose or liked among the held-out records, and how many were listed.

A model that is judged needs no more than `recommend`, whatever it ranks by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.errors import require_choice, require_count
from discreet.evaluate.lists import Facts, Lists, places_for, summary
from discreet.evaluate.splits import Split

TARGETS = ("liked", "consumed")
_DRAW = 0
"""The seed by which people are drawn whose lists are judged."""
LIKED_FROM = 0.75
"""A held-out rating is liked from three quarters up the scale on: 4 of 1..5."""


@runtime_checkable
class Recommends(Protocol):
    """What makes lists: all that a model needs for lists to be judged."""

    def recommend(self, users: Any, n: int) -> pl.DataFrame:
        """The best n items that each user has no record of: user, item, ..., best first."""
        ...


@runtime_checkable
class Predicts(Protocol):
    """What predicts ratings: all that a model needs for its errors to be measured."""

    def predict_ratings(self, test: Ratings, *, clip: bool = False) -> NDArray[np.float64]:
        """A rating for every pair of a table."""
        ...


@dataclass(frozen=True)
class Judging:
    """What counts as a good list: how long, and which held-out records it should have foreseen."""

    top: int = 10
    target: str = "liked"
    """"liked": held-out ratings from `relevant` on; "consumed": every held-out record."""
    relevant: float | None = None
    """By default three quarters up the scale, 4 of 1..5."""
    people: int | None = None
    """Of so many people, drawn at random, the same for every model; by default of everybody."""

    def check(self) -> Judging:
        """The same, if it makes sense."""
        require_count("top", self.top)
        require_choice("target", self.target, TARGETS)
        if self.people is not None:
            require_count("people", self.people)
        return self

    def relevant_part(self, test: Ratings) -> Ratings:
        """The held-out records that a list should have foreseen."""
        if self.target == "consumed" or not has_opinions(test):
            return test
        least = test.scale.lo + LIKED_FROM * test.scale.span
        return test.subset(test.rating >= (least if self.relevant is None else self.relevant))

    def some_of(self, user: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which of these records are of people whose lists are judged."""
        there = np.unique(user)
        if self.people is None or self.people >= len(there):
            return np.ones(len(user), dtype=bool)
        drawn = np.random.default_rng(_DRAW).choice(there, self.people, replace=False)
        return np.isin(user, drawn)


def has_opinions(table: Ratings) -> bool:
    """Whether a record says how an item was liked; an event says only that it was chosen."""
    return not table.events


def judge_lists(
    model: Recommends, split: Split, items: Items | None = None, how: Judging = Judging()
) -> dict[str, float]:
    """All metrics of a model's lists, over those to whom something held out is relevant.

    Lists leave out what a person has a training record of. The catalogue is the item table's, else
    all items of the split; held-out records outside of it are nobody's to foresee, and left out.
    """
    catalogue = split.train.items if items is None else items.ids
    good = how.check().relevant_part(split.test)
    item = catalogue.rows(good.items.values)[good.item]
    listed_for = how.some_of(good.user[item >= 0])
    user, item = good.user[item >= 0][listed_for], item[item >= 0][listed_for]
    train = split.train.with_items(catalogue)
    counts = np.bincount(train.item, minlength=len(catalogue))
    facts = Facts.of(counts, int((np.diff(train.ptr) > 0).sum()), items)
    places = min(places_for(how.top), len(catalogue))
    people = good.users.take(np.unique(user))
    listed = (np.zeros(0, np.int32), np.zeros(0, np.int32))
    if len(people):
        frame = model.recommend(people, places)
        listed = (good.users.rows(frame["user"]), catalogue.rows(frame["item"]))
    relevant = (user, item)
    return summary(Lists.of(listed, relevant, places_for(how.top), facts), how.top)
