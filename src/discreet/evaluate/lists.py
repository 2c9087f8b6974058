"""Metrics of lists: whether recommended items are chosen or liked, and how varied they are.

A table names them all. A new metric is a function of `Lists` and a line in it: cross-validation,
kept results and the command line's columns follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Array
from discreet.data.features import encode
from discreet.data.items import Items

SURE = 1.96
"""Standard errors to either side of a mean that hold the true one in 95 of 100 samples."""


class Facts(NamedTuple):
    """What is known of the items of a catalogue, whoever recommends them."""

    shares: NDArray[np.float64]
    """shares[j]: of the people with training records, the share who have one of item j."""
    flags: Array | None = None
    """The public flags of each item (genres) as a row of length one, or zero without any."""

    @classmethod
    def of(cls, counts: Array, people: int, items: Items | None) -> Facts:
        """From how many of the people have each item; nobody's counts as one person's."""
        shares = np.maximum(counts, 1) / max(people, 1)
        flags = encode(items, len(counts)).flags
        if not flags:
            return cls(shares)
        rows = np.column_stack(list(flags.values()))
        length = np.sqrt((rows**2).sum(axis=1, keepdims=True))
        return cls(shares, rows / np.maximum(length, 1))


class Lists(NamedTuple):
    """Lists of recommended items, one row for each person to whom something held out is relevant.

    Relevant is what the person liked among the held-out records, or all of them: see `judge.py`. A
    recommended item that is relevant is a hit.
    """

    hits: NDArray[np.bool_]
    """hits[p, k]: whether the item at place k of person p's list, from 0, is a hit."""
    relevant: NDArray[np.int64]
    """relevant[p]: how many items are relevant to person p; at least one."""
    items: NDArray[np.int64]
    """items[p, k]: which item it is, a row of the catalogue; -1 where the list has ended."""
    facts: Facts

    @classmethod
    def of(
        cls, listed: tuple[Array, Array], relevant: tuple[Array, Array], places: int, facts: Facts
    ) -> Lists:
        """From pairs of person and item: those recommended, each person's best first, and those
        that are relevant. Both are row numbers; an item of -1 is outside the catalogue.
        """
        count = len(facts.shares)
        wanted = np.unique(relevant[0].astype(np.int64) * count + relevant[1])
        people, totals = np.unique(wanted // count, return_counts=True)
        order = np.argsort(listed[0], kind="stable")
        user, item = (column[order].astype(np.int64) for column in listed)
        place = np.arange(len(user)) - np.searchsorted(user, user)
        shown = (place < places) & np.isin(user, people)
        items = np.full((len(people), places), -1)
        items[np.searchsorted(people, user[shown]), place[shown]] = item[shown]
        hits = np.isin(people[:, None] * count + items, wanted) & (items >= 0)
        return cls(hits, totals, items, facts)

    def first(self, places: int) -> Lists:
        """The same lists, ended after so many places."""
        return self._replace(hits=self.hits[:, :places], items=self.items[:, :places])


def precision(lists: Lists) -> Array:
    """How much of a list is relevant: hits / places in the list."""
    return np.asarray(lists.hits.sum(axis=1) / lists.hits.shape[1])


def recall(lists: Lists) -> Array:
    """How much of what is relevant is in the list: hits / relevant items."""
    return np.asarray(lists.hits.sum(axis=1) / lists.relevant)


def ndcg(lists: Lists) -> Array:
    """Normalised discounted cumulative gain: like recall, but a hit counts more higher up.

    A hit at place k, from 0, gains 1 / log2(k + 2). The sum is divided by what the best possible
    list would gain, all relevant items first: 1 is perfect.

    >>> facts = Facts(np.ones(3))
    >>> liked = (np.array([0]), np.array([2]))
    >>> ndcg(Lists.of((np.array([0, 0]), np.array([1, 2])), liked, 2, facts)).round(4)  # 1/log2(3)
    array([0.6309])
    """
    gain = 1 / np.log2(np.arange(lists.hits.shape[1]) + 2)
    best = np.concatenate([[0], np.cumsum(gain)])
    gained = (lists.hits * gain).sum(axis=1)
    return np.asarray(gained / best[np.minimum(lists.relevant, len(gain))])


def distinct(lists: Lists) -> float:
    """How many different items appear in anybody's list."""
    return float(len(np.unique(lists.items[lists.items >= 0])))


def coverage(lists: Lists) -> float:
    """The share of the catalogue that appears in somebody's list."""
    return distinct(lists) / len(lists.facts.shares)


def novelty(lists: Lists) -> Array:
    """How seldom the items of a list are had, in bits: mean of -log2(share of people who have it).

    An item that half of all people have a training record of tells 1 bit, one that an eighth have
    3. One that nobody has counts as if one person had it.
    """
    bits = -np.log2(lists.facts.shares)
    return _mean(np.where(lists.items >= 0, bits[lists.items], np.nan))


def diversity(lists: Lists) -> Array:
    """How different the items of a list are: 1 - mean cosine of the public flags of any two.

    Of n unit rows x the mean over pairs is (|sum x|^2 - n)/(n (n - 1)). Items without a flag are
    left out; NaN for somebody with fewer than two others, and where no item has a flag.
    """
    flags = lists.facts.flags
    if flags is None:
        return np.full(len(lists.items), np.nan)
    flagged = np.asarray(flags.any(axis=1))
    known = (lists.items >= 0) & flagged[lists.items]
    total = np.zeros((len(lists.items), flags.shape[1]))
    for place in range(lists.items.shape[1]):
        total += known[:, place, None] * flags[lists.items[:, place]]
    n = known.sum(axis=1).astype(np.float64)
    pairs = np.where(n > 1, n * (n - 1), np.nan)
    return np.asarray(1 - ((total**2).sum(axis=1) - n) / pairs)


def _mean(rows: Array) -> Array:
    """The mean of every row's numbers, NaN where it has none."""
    known = ~np.isnan(rows)
    count = known.sum(axis=1).astype(np.float64)
    count[count == 0] = np.nan
    return np.asarray(np.where(known, rows, 0.0).sum(axis=1) / count)


@dataclass(frozen=True)
class ListMetric:
    """A figure of lists, and the heading of its column in a table for people."""

    measure: Callable[[Lists], Any]
    """A number for each person, whose mean is shown, or one number for all lists together."""
    heading: str
    longer: int = 1
    """Over lists so many times as long as was asked for: recall@20 stands beside NDCG@10."""
    of_places: bool = True
    """Whether the heading says how long the lists are."""


RANKINGS: dict[str, ListMetric] = {
    "ndcg": ListMetric(ndcg, "NDCG"),
    "recall": ListMetric(recall, "recall", longer=2),
    "precision": ListMetric(precision, "precision"),
    "coverage": ListMetric(coverage, "coverage", of_places=False),
    "distinct": ListMetric(distinct, "items", of_places=False),
    "novelty": ListMetric(novelty, "novelty", of_places=False),
    "diversity": ListMetric(diversity, "diversity", of_places=False),
}
"""Every figure of lists; its column is called after it and after the length of the lists."""

MARGIN = "_margin"
"""How the name of a column ends that holds the half width of an interval."""


def places_for(top: int) -> int:
    """How long lists must be for all figures of the best `top` items."""
    return top * max(metric.longer for metric in RANKINGS.values())


def column(name: str, top: int) -> str:
    """The column of a figure.

    >>> column("ndcg", 10), column("recall", 10)
    ('ndcg@10', 'recall@20')
    """
    return f"{name}@{RANKINGS[name].longer * top}"


def summary(lists: Lists, top: int) -> dict[str, float]:
    """All figures of lists by the names of their columns; NaN where there is nothing to say.

    A figure of people is their mean m, with the half width of its 95% interval in a column of its
    own, 1.96 s / sqrt(n) for n people among whom it varies by s: the normal interval of a mean. It
    says how far another sample of people may be off, not what another draw of the noise does.
    """
    found: dict[str, float] = {}
    for name, metric in RANKINGS.items():
        nothing = len(lists.relevant) == 0
        values = np.nan if nothing else metric.measure(lists.first(metric.longer * top))
        each = np.atleast_1d(np.asarray(values, dtype=np.float64))
        each = each[~np.isnan(each)]
        found[column(name, top)] = float(each.mean()) if len(each) else np.nan
        if np.ndim(values) > 0:
            spread = each.std(ddof=1) if len(each) > 1 else np.nan
            found[column(name, top) + MARGIN] = float(SURE * spread / np.sqrt(max(len(each), 1)))
    return found


def headings(top: int) -> dict[str, str]:
    """What to write above each column of figures, by the column's name.

    >>> headings(10)["recall@20"], headings(10)["novelty@10"]
    ('recall@20', 'novelty')
    """
    return {column(name, top): _heading(metric, top) for name, metric in RANKINGS.items()}


def _heading(metric: ListMetric, top: int) -> str:
    return f"{metric.heading}@{metric.longer * top}" if metric.of_places else metric.heading
