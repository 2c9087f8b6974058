"""Baselines: what lists and predictions are held against; most protect nobody, none is published.

They stand beside schemes in tables, so that a figure says how much of what is possible it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.field import FIELD, find_field
from discreet.privacy.spec import PrivacySpec
from discreet.schemes import find_scheme

BASELINES = {
    "own-mean": "discreet.evaluate.baselines.own_mean:OwnMean",
    "popularity": "discreet.evaluate.baselines.popularity:Popularity",
    "private-popularity": "discreet.evaluate.baselines.popularity:PrivatePopularity",
    "item-knn": "discreet.evaluate.baselines.item_knn:ItemKNN",
    "ease": "discreet.evaluate.baselines.ease:EASE",
}
"""Every baseline by its name; unlike a scheme it makes no release."""


@dataclass(frozen=True)
class Reference:
    """A row of a table of schemes: a baseline, or a scheme that serves as one."""

    label: str
    name: str
    of: str
    """Which table it belongs to: "errors" or "lists"."""
    options: tuple[tuple[str, Any], ...] = ()

    def build(self, items: Items | None) -> Any:
        """The method itself, over this catalogue."""
        return find_method(self.name)(items=items, **dict(self.options))

    def why_not(self, ratings: Ratings, spec: PrivacySpec | None, items: Items | None) -> str:
        """Why it cannot be had for this table, if so: words for a note beside the table."""
        method = self.build(items)
        return str(method.why_not(ratings, spec)) if hasattr(method, "why_not") else ""


REFERENCES = (
    Reference("own mean", "own-mean", "errors"),
    Reference("biases", "bias", "errors"),
    Reference("PMF by SGD", "pmf", "errors", (("solver", "sgd"),)),
    Reference("popularity", "popularity", "lists"),
    Reference("noisy popularity", "private-popularity", "lists"),
    Reference("item-kNN", "item-knn", "lists"),
    Reference("EASE", "ease", "lists"),
)
"""What stands beside every scheme unless it is asked not to."""


def find_method(name: str) -> Any:
    """The class of a baseline, of a scheme of the field or of a scheme, by its name.

    >>> find_method("ease").about.private
    False
    """
    if name in FIELD:
        return find_field(name)
    if name not in BASELINES:
        return find_scheme(name)
    module, _, kind = BASELINES[name].partition(":")
    return getattr(import_module(module), kind)
