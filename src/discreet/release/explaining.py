"""Explaining: why an item is in somebody's list, and which items are alike.

What speaks for an item is read off the release and the person's own history, nothing else: so an
explanation is public or one's own, like the list itself (docs/proofs/fold-in.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from discreet.arrays import Array
from discreet.errors import ParameterError, require_count
from discreet.release.choice_columns import POPULARITY_COLUMNS
from discreet.release.choices import POPULARITY_POWER, ChoiceModel, choosers
from discreet.release.ranking import RECENCY, check_recency
from discreet.release.recommending import choice_values
from discreet.release.scoring import Own

if TYPE_CHECKING:
    from discreet.release.release import Release

_ALIKE_COUNT = 10.0
"""Items with fewer choices than about so many are alike by chance, and rank lower."""


class Explanation(NamedTuple):
    """Why an item is recommended to somebody."""

    because: pl.DataFrame
    """Frame item, title, share: one's own items that speak for it, most telling first. The shares
    of all of one's items and of `popularity` add up to 1; one that speaks against it is negative.
    """
    popularity: float
    """The share that everybody's choices have in it, whoever asks."""
    features: pl.DataFrame
    """Frame feature, mine, typical: the item's public features, how much of one's history has each,
    and how much of what all people choose; those that stand out first."""


def explain(release: Release, own: Own, item: Any, recency: float = RECENCY) -> Explanation:
    """Which of one person's own items speak for an item, by how much, and what they have in common.

    In the linear reading of choices an item's score is a sum over one's history: each term is what
    one own item adds, beyond that whoever chooses much chooses what is popular. Where times are
    known, it adds the more the later it was chosen, as in the list.
    """
    model = _model(release)
    row = int(release.item_ids.rows([item], strict=True)[0])
    check_recency(recency)
    values = choice_values(release, own, recency)
    person = choosers(model, own, values, threads=1)
    rows = model.rows[own.items].astype(np.float64)
    rows[:, model.public] *= float(person.trust[0])
    weighed = (values * model.weight[own.items])[:, None] * rows
    target = model.inverse @ model.rows[row].astype(np.float64)
    terms = weighed[:, 1:] @ target[1:]
    total = float(terms.sum() + weighed[:, 0].sum() * target[0] + model.newcomer @ target)
    shares = terms / total if total > 0 else np.zeros(len(terms))
    because = _named(release, own.items).with_columns(share=shares).sort("share", descending=True)
    return Explanation(because, float(1 - shares.sum()), _features(release, own, row))


def similar_items(release: Release, item: Any, n: int = 10) -> pl.DataFrame:
    """The items most like one, by who chooses them and by what is publicly known: a frame.

    Columns item, title, rank, similarity: how much more often than by popularity alone one person
    chooses both, on a scale where an item is 1 to itself.
    """
    require_count("n", n)
    model = _model(release)
    row = int(release.item_ids.rows([item], strict=True)[0])
    columns = model.rows[:, 1 + POPULARITY_COLUMNS :].astype(np.float64)
    norms = np.sqrt(np.einsum("jk,jk->j", columns, columns)) + 1e-9
    alike = columns @ columns[row] / (norms * norms[row])
    for codes in release.families.values():
        if codes[row] >= 0:
            alike = np.where(codes == codes[row], (1 + np.maximum(alike, 0.0)) / 2, alike)
    counts = np.exp(model.popularity / POPULARITY_POWER)
    rank = alike * counts / (counts + _ALIKE_COUNT)
    rank[row] = -np.inf
    best = np.argsort(-rank, kind="stable")[: min(n, len(rank) - 1)]
    return _named(release, best).with_columns(
        rank=np.arange(1, len(best) + 1), similarity=alike[best]
    )


def _named(release: Release, rows: Array) -> pl.DataFrame:
    """Items of the catalogue with their titles."""
    ids = release.item_ids.take(rows)
    titles = pl.Series("title", release.items.titles(ids), dtype=pl.String)
    return pl.DataFrame([ids.alias("item"), titles])


def _features(release: Release, own: Own, row: int) -> pl.DataFrame:
    """The item's flags: the share of one's own items that have each, and of all choices."""
    flags = {name: x for name, x in release.features.flags.items() if x[row] > 0}
    counts = np.exp(release.choice_model.popularity / POPULARITY_POWER)
    mine = [float(np.mean(x[own.items])) if len(own.items) else 0.0 for x in flags.values()]
    typical = [float(counts @ x / counts.sum()) for x in flags.values()]
    table = pl.DataFrame(
        {"feature": list(flags), "mine": mine, "typical": typical},
        schema={"feature": pl.String, "mine": pl.Float64, "typical": pl.Float64},
    )
    return table.sort(pl.col("mine") - pl.col("typical"), descending=True)


def _model(release: Release) -> ChoiceModel:
    if release.tallies is None:
        raise ParameterError(
            "explanations and similar items need a release of Tally or Chorus, which says how "
            f"often items are chosen: got one of {release.certificate.scheme}"
        )
    return release.liked_choices
