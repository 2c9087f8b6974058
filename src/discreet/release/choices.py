"""Choices: what somebody is likely to choose next, from their own history and public values alone.

Two readings of the same columns are multiplied. The *linear* one asks how every item would be
predicted from all others by least squares, were the table of all choices known: its Gram matrix is
taken to be that of the columns, diagonal plus low rank, so that the regression has a closed form
(EASE: Steck, 2019). The *log-linear* one is a step towards the most likely coefficients of a
multinomial choice of this person's own. Nobody else's choices are read: docs/proofs/fold-in.md.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Array, Floats
from discreet.kernels.choices import history_sums
from discreet.kernels.sorting import read_only
from discreet.kernels.threads import row_ranges, run_ranges, thread_count
from discreet.release.choice_columns import ChoiceColumns, bent
from discreet.release.scoring import Own, whole_tiles
from discreet.release.tallies import Tallies

# The same for every data set: docs/constants.md.
HISTORY = 100.0
"""How many items people have chosen, typically: results hardly depend on it."""
OTHERWISE, LEAST_OWN = 0.9, 0.1
"""Of an item's choices the share that its row explains if no other does; at least so much is its
own."""
RIDGE_ITEMS = 0.4
"""Of the linear reading, in counts of the item that a choice typically falls on."""
NEWCOMER = 2.0
"""Everybody begins as if they had chosen so many typical items."""
PERSON_RIDGE, RIDGE_WITH_HIDDEN = 1.5, 0.6
"""Of the log-linear reading, with public columns alone and with hidden directions, whose noise is
taken off already: times sqrt(1 + n/100) for n choices."""
PERSON_SPREAD, LONG_HISTORY = 0.4, 100.0
"""Its columns are divided by the root of this; the length of a long history."""
POPULARITY_POWER = 0.7
"""In the log-linear reading popularity counts less than it is: one's history has it already."""
LEAST_LINEAR, MOST_LINEAR, MANY_DIRECTIONS = 0.5, 0.9, 10.0
"""How much the linear reading counts: with public columns alone, with hidden directions without
number, and how many of these are half of the way."""
FAMILIAR = 2.0
"""In counts of the item that a choice typically falls on: of an item chosen more often, hidden
directions without number tell whom its series draws."""
TASTE, TASTE_PRECISION, TASTE_ENOUGH = 0.4, 11.0, 0.1
"""How strongly people's choices follow public columns before anything is seen, how firmly that is
believed, and from how much on they are trusted in full."""
TASTE_DEVIATIONS = 2.0
"""So many deviations of what chance would show are taken off what somebody's choices show."""
LIKED_FLOOR = 0.2
"""A rating counts as a choice from this much, for the lowest, to 1 for the highest."""
_LEAST_NOISE = 1.0


def choice_counts(tallies: Tallies, *, liked: bool) -> Floats:
    """How often every item was chosen, above zero although the noise is not; or chosen and liked.

    The larger root of m^2 = C m + v for a noisy count C with variance v: near C where that is
    large, near the noise where nothing is known.
    """
    counts, variance = tallies.counts, tallies.count_variance
    if liked and not tallies.events:
        against, in_favour = tallies.votes()
        counts = in_favour + LIKED_FLOOR * against
        variance = (1 + LIKED_FLOOR**2) * tallies.noise_variance
    variance = np.maximum(variance, _LEAST_NOISE)
    # The larger part of the root, which does not cancel; the two roots' product is -v.
    larger = (np.abs(counts) + np.sqrt(counts**2 + 4 * variance)) / 2
    return np.where(counts > 0, larger, variance / larger)


class ChoiceModel(NamedTuple):
    """Public values by which anybody's own history becomes scores of all items.

    With e_j = (1, row j of the columns) the readings are scale_j e_j . h and e_j . a, for vectors
    h and a of the person.
    """

    rows: Array
    """e_j for every item, in 32 bits."""
    tiles: Array
    """The same, turned and padded to whole tiles."""
    scale: Array
    popularity: Array
    """Of the log-linear reading, before any taste."""
    weight: Array
    """What one choice of an item counts in the linear reading."""
    newcomer: Floats
    inverse: Floats
    """From sums over a history to h."""
    centre: Floats
    axes: Floats
    sizes: Floats
    """The log-linear reading's axes and the variance of the columns along each."""
    public: slice
    """Of e, which are public features."""
    lift: float
    """How much of a lift these are taken to explain."""
    evidence: float
    """What two choices tell of whether somebody follows them."""
    hidden: int
    """How many hidden directions there are."""
    unfamiliar: Array
    """How much it counts for every item that one knows others of its series, from 0 to 1."""


class Choosers(NamedTuple):
    """People's vectors in both readings, and how much the linear one counts: secret."""

    linear: Array
    loglinear: Array
    share: Array
    trust: Array
    """How far the linear reading goes by public features, from 0 to 1."""


def choice_model(columns: ChoiceColumns, counts: Floats, weights: Floats) -> ChoiceModel:
    """The closed forms. `counts` say how often items were chosen, `weights` what is ranked.

    With U_j = c_j e_j / sqrt(N), D the diagonal, A = U/D and M = (1 + A'U)^-1, least squares
    predicts item j from item k by A_k' M A_j / pi_j, pi_j = 1/D_j - A_j' M A_j.
    """
    c, total = weights, weights.sum()
    e = np.hstack([np.ones((len(c), 1)), columns.values])
    U = (c / np.sqrt(total / HISTORY))[:, None] * e
    own = np.maximum(OTHERWISE * c - np.einsum("jk,jk->j", U, U), LEAST_OWN * c)
    D = own + RIDGE_ITEMS * (c @ c) / total
    A = U / D[:, None]
    M = np.linalg.inv(np.eye(e.shape[1]) + A.T @ U)
    pi = 1 / D - np.einsum("jk,kl,jl->j", A, M, A, optimize=True)
    weight = c / (np.sqrt(total / HISTORY) * D)
    p = bent(counts)
    values = columns.values / np.sqrt(PERSON_SPREAD)
    centre = p @ values
    sizes, axes = np.linalg.eigh(((values - centre) * p[:, None]).T @ (values - centre))
    public = columns.values[:, columns.public] / np.sqrt(columns.lift)
    square = (public * (c / total)[:, None]).T @ public
    return ChoiceModel(
        rows=np.ascontiguousarray(e, dtype=np.float32),
        tiles=_tiles(e),
        scale=(weight / pi).astype(np.float32),
        popularity=(POPULARITY_POWER * np.log(c)).astype(np.float32),
        weight=weight.astype(np.float32),
        newcomer=NEWCOMER * (c * weight) @ e / total,
        inverse=M,
        centre=centre,
        axes=axes,
        sizes=np.maximum(sizes, 0.0),
        public=slice(columns.public.start + 1, columns.public.stop + 1),
        lift=columns.lift,
        evidence=float((square * square).sum()),
        hidden=columns.hidden,
        unfamiliar=_unfamiliar(counts, columns.hidden).astype(np.float32),
    )


def _unfamiliar(counts: Floats, hidden: int) -> Floats:
    """Less for what many chose, as far as hidden directions have learned it already."""
    typical = (counts @ counts) / counts.sum()
    return np.asarray(1 / (1 + _told(hidden) * counts / (FAMILIAR * typical)))


def _told(hidden: int) -> float:
    """How much of what there is to tell so many hidden directions do: from 0 to 1."""
    return hidden / (hidden + MANY_DIRECTIONS)


def _tiles(rows: Floats) -> Array:
    tiles = np.zeros((rows.shape[1], whole_tiles(len(rows))), dtype=np.float32)
    tiles[:, : len(rows)] = rows.T
    return tiles


def choosers(model: ChoiceModel, own: Own, values: Array, threads: int | None = None) -> Choosers:
    """Everybody's vectors, from what each of their own choices counts: `values` from 0 to 1."""
    n = np.diff(own.ptr).astype(np.float64)
    weighed, plain, squares = _history(model, own, values, thread_count(threads))
    trust = _trust(model, plain[:, model.public], squares, n)
    weighed[:, model.public] *= trust[:, None]
    linear = (weighed + model.newcomer) @ model.inverse
    b = plain[:, 1:] / np.sqrt(PERSON_SPREAD) - n[:, None] * model.centre
    least = RIDGE_WITH_HIDDEN if model.hidden else PERSON_RIDGE
    ridge = least * np.sqrt(1 + n / LONG_HISTORY)
    b = (b @ model.axes) / (ridge[:, None] + n[:, None] * model.sizes)
    a = b @ model.axes.T / np.sqrt(PERSON_SPREAD)
    most = LEAST_LINEAR + (MOST_LINEAR - LEAST_LINEAR) * _told(model.hidden)
    share = most * (np.ones(len(n)) if model.hidden else trust)
    loglinear = np.hstack([np.zeros((len(n), 1)), a])
    return Choosers(*(x.astype(np.float32) for x in (linear, loglinear, share, trust)))


def _history(
    model: ChoiceModel, own: Own, values: Array, workers: int
) -> tuple[Floats, Floats, Floats]:
    """Sums over each person's own items: of weighed rows, of rows, and of their squares."""
    people, d = len(own.ptr) - 1, model.rows.shape[1]
    weighed, plain = np.empty((2, people, d), dtype=np.float32)
    squares = np.empty(people, dtype=np.float32)
    weights = np.asarray(values, dtype=np.float32) * model.weight[own.items]
    inputs: tuple[Array, ...] = (own.ptr, own.items, weights, model.rows)
    run_ranges(
        history_sums,
        row_ranges(own.ptr, workers),
        workers,
        *map(read_only, inputs),
        model.public.start,
        *(weighed, plain, squares),
    )
    return weighed.astype(np.float64), plain.astype(np.float64), squares.astype(np.float64)


def _trust(model: ChoiceModel, sums: Floats, squares: Floats, n: Floats) -> NDArray[np.float64]:
    """How far to go by public columns, from 0 to 1: as far as one's own choices agree in them.

    The sum of products of two different choices' columns, |sum|^2 - sum of squares, is zero on
    average where somebody does not care for them, with a known variance, and grows with how much
    they do. What chance may show is taken off: without evidence, popularity is the better guide.
    """
    shown = (np.einsum("pk,pk->p", sums, sums) - squares) / (2 * model.lift)
    known = n * (n - 1) * model.evidence / 2
    taste = TASTE * TASTE_PRECISION + shown - TASTE_DEVIATIONS * np.sqrt(known)
    return np.asarray(np.clip(taste / (TASTE_PRECISION + known) / TASTE_ENOUGH, 0.0, 1.0))
