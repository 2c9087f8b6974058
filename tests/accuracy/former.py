"""Tally's predictions as they were at commit 03e1d9d, in plain NumPy: what to be no worse than.

It reads what every release holds, the noisy tallies, so that it meets the same draw of the noise as
whatever estimates items today. It shares no code with the product's estimator and fold-in, and does
not follow them when they change. Compared with that commit's own predictions on every generated
table of the zoo, for all that can be protected, at epsilon 0.3 and at three groups of levels, it
differed by at most 3e-12 of a quarter of the scale.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.arrays import Array
from discreet.data.features import Features
from discreet.data.ratings import Ratings
from discreet.data.scale import RatingScale
from discreet.privacy.spec import PrivacySpec
from discreet.release.tallies import Tallies


class Estimate(NamedTuple):
    """The mean rating, each item's effect, and its noisy weighted count, at least zero."""

    mean: float
    effects: Array
    counts: Array


def predict(found: Estimate, features: Features, own: Ratings, user: Array, item: Array) -> Array:
    """The former Tally's rating of every pair (user[k], item[k]), clipped to the scale.

    `own` are the training ratings over the catalogue; pairs are rows of it, -1 is unknown.
    """
    quarter = own.scale.span / 4
    matrix = design(found, features)
    base = found.mean + found.effects
    predicted = np.where(item >= 0, base[item], found.mean)
    order = np.argsort(user, kind="stable")
    order = order[(user[order] >= 0) & (item[order] >= 0)]
    starts = np.flatnonzero(np.diff(user[order], prepend=-1))
    for asked in np.split(order, starts[1:]) if len(order) else []:
        person = user[asked[0]]
        records = slice(own.ptr[person], own.ptr[person + 1])
        rated = own.item[records]
        residual = own.rating[records].astype(np.float64) - base[rated]
        X = quarter * matrix[rated]
        gram = X.T @ X + quarter**2 * np.eye(matrix.shape[1])
        u = np.linalg.solve(gram, X.T @ residual)
        residual -= X @ u
        predicted[asked] += quarter * matrix[item[asked]] @ u
        for codes in features.families.values():
            mine, wanted = codes[rated], codes[item[asked]]
            same = (mine[:, None] == mine) & (mine >= 0)
            effect = same @ residual / (same.sum(axis=1) + 1.5)
            residual -= np.where(mine >= 0, effect, 0.0)
            known = (wanted[:, None] == mine) & (mine >= 0)
            first = np.argmax(known, axis=1) if len(mine) else np.zeros(len(asked), dtype=int)
            predicted[asked] += np.where(known.any(axis=1), effect[first] if len(mine) else 0.0, 0)
    return np.asarray(own.scale.clip(predicted))


def estimate(
    tallies: Tallies, scale: RatingScale, features: Features, spec: PrivacySpec, unit: str
) -> Estimate:
    """Item means, shrunk towards a regression on noisy popularity and public features."""
    A, B = tallies.votes()
    quarter = scale.span / 4
    mean = _overall_mean(A, B, tallies, scale)
    c = np.maximum(A + B, 0.0)
    y = ((scale.lo - mean) * A + (scale.hi - mean) * B) / quarter
    noise = tallies.noise_variance * _noise_factor(tallies, scale, mean) / quarter**2
    chance = c * _chance_in_counts(spec, unit) + noise
    public = [*features.numbers.values(), *features.flags.values()]
    columns = [np.log1p(c / 10), *public]
    X = np.column_stack([np.ones(len(c)), *(_standardised(x, c) for x in columns)])
    penalty = np.full(X.shape[1], 20.0)
    penalty[0] = 1e-9
    spread = 0.3
    for _ in range(8):
        denominator = np.maximum(spread * c**2 + chance, 1e-12)
        weight = c**2 / denominator
        gram = X.T @ (weight[:, None] * X) + np.diag(penalty)
        prior = X @ np.linalg.solve(gram, X.T @ (c * y / denominator))
        excess = (c * (y - c * prior) / denominator) ** 2 - weight * chance / denominator
        spread = float(np.clip(excess.sum() / max((weight**2).sum(), 1e-12), 0.02, 1.0))
    denominator = np.maximum(spread * c**2 + chance, 1e-12)
    effects = prior + spread * c * (y - c * prior) / denominator
    return Estimate(mean, scale.clip(mean + quarter * effects) - mean, c)


def design(found: Estimate, features: Features) -> Array:
    """What a person's ratings are regressed on, item by item, each column with a ridge of one."""
    c = found.counts
    b, n = _standardised(found.effects, c), _standardised(np.log1p(c / 10), c)
    columns = [
        np.ones(len(c)) / np.sqrt(5.0),
        b / np.sqrt(12.0),
        n / np.sqrt(30.0),
        *(x / np.sqrt(300.0) for x in (b * b, b * n, n * n)),
    ]
    for values in features.numbers.values():
        x = _standardised(values, c)
        columns += [b * x / np.sqrt(300.0), n * x / np.sqrt(300.0), x / np.sqrt(25.0)]
    for values in features.flags.values():
        columns.append((values - _weighted_mean(values, c)) / np.sqrt(25.0))
    return np.column_stack(columns)


def _chance_in_counts(spec: PrivacySpec, unit: str) -> float:
    """E[w^2]/E[w] under the declared levels: how much chance a weighted count carries."""
    if unit == "person":
        return 1.0
    w = np.minimum(1.0, spec.typical_levels() / spec.max_level)
    return float((w**2).mean() / w.mean())


def _overall_mean(A: Array, B: Array, tallies: Tallies, scale: RatingScale) -> float:
    """The mean rating, drawn to the middle of the scale where the noise outweighs the votes."""
    total = max(float((A + B).sum()), 0.0)
    above = float(((scale.lo - scale.middle) * A + (scale.hi - scale.middle) * B).sum())
    noise = float(tallies.noise_variance.sum()) * _noise_factor(tallies, scale, scale.middle)
    prior = (scale.span / 4) ** 2
    shift = total * above * prior / max(total**2 * prior + noise, 1e-12)
    return float(scale.clip(scale.middle + shift))


def _noise_factor(tallies: Tallies, scale: RatingScale, mean: float) -> float:
    """The variance of a sum of r - mean over that of one tally."""
    if tallies.shared_noise:
        return scale.span**2
    return (scale.lo - mean) ** 2 + (scale.hi - mean) ** 2


def _weighted_mean(values: Array, counts: Array) -> float:
    return float(np.average(values, weights=counts + 1e-9))


def _standardised(values: Array, counts: Array) -> Array:
    centred = values - _weighted_mean(values, counts)
    return np.asarray(centred / np.sqrt(_weighted_mean(centred**2, counts) + 1e-12))
