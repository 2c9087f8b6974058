"""The NumPy twins of `effects`: slow, obvious, and the specification of each."""

from __future__ import annotations

import numpy as np

from discreet.arrays import Array
from discreet.kernels.effects import LEAST_MASS, LEAST_VARIANCE


def count_beliefs(
    lo: int,
    hi: int,
    order: Array,
    first: Array,
    ptr: Array,
    C: Array,
    s: Array,
    edges: Array,
    odds: Array,
    reach: float,
    per: float,
    n: Array,
    base: Array,
    noise: Array,
    popularity: Array,
    means: Array,
) -> None:
    """A bin's odds times the likelihood averaged over it, the mean count there, the noise of S."""
    for g in range(lo, hi):
        own = slice(ptr[g], ptr[g + 1])
        bins = slice(first[g], first[g] + ptr[g + 1] - ptr[g])
        left, right = edges[:-1][bins, None], edges[1:][bins, None]
        x, scale = C[order[g]], s[order[g]]
        a, b = (np.abs(x - edge) / scale for edge in (left, right))
        upper, lower = (0.25 * (2 + z) * np.exp(-z) for z in (a, b))
        mass = np.where(x > right, lower - upper, np.where(x > left, 1 - upper - lower, 0.0))
        mass = np.maximum(np.where(x > left, mass, upper - lower), LEAST_MASS)
        near, far = (0.25 * scale * (3 + z * (3 + z)) * np.exp(-z) for z in (a, b))
        n[own] = np.clip(x - (far - near) / mass, left, right)
        mass = np.where(np.maximum(x - right, left - x) <= reach * scale, mass, LEAST_MASS)
        base[own] = odds[bins, None] * mass / (right - left)
        away = np.abs(x - n[own])
        cubes = away**2 * (away / 3 + scale) + 2 * scale**2 * (away + scale)
        noise[own] = 4 * cubes / (away + scale)
        popularity[own] = np.log1p(per * n[own])
        means[order[g]] = (base[own] * n[own]).sum(axis=0) / base[own].sum(axis=0)


def effect_moments(
    lo: int,
    hi: int,
    order: Array,
    ptr: Array,
    n: Array,
    base: Array,
    noise: Array,
    popularity: Array,
    chance: float,
    S: Array,
    prior: Array,
    slope: float,
    spread: float,
    out: Array,
) -> None:
    """Averages over counts, by how likely each makes the sum S of an item's ratings."""
    for g in range(lo, hi):
        own, j = slice(ptr[g], ptr[g + 1]), order[g]
        x, q = n[own], popularity[own]
        v, m = np.maximum(chance * x + noise[own], LEAST_VARIANCE), prior[j] + slope * q
        variance, miss = spread * x**2 + v, S[j] - x * m
        exponent = -0.5 * miss**2 / variance
        p = base[own] * np.exp(exponent - exponent.max(axis=0)) / np.sqrt(variance)
        p /= p.sum(axis=0)
        w, y, effect = x**2 / variance, x * S[j] / variance, m + spread * x * miss / variance
        explained = (x * miss / variance) ** 2 - x**2 * v / variance**2
        square = effect**2 + spread * v / variance
        averages = (x, q, q**2, w, w * q, w * q**2, y, y * q, explained, w**2, effect, square)
        out[:, j] = [(p * values).sum(axis=0) for values in averages]


def improve_odds(
    steps: int,
    first: Array,
    ptr: Array,
    likelihood: Array,
    weight: Array,
    start: Array,
    odds: Array,
) -> None:
    """EM: a bin's odds become the share of items that are in it, and of one more item, `start`."""
    items = weight.reshape(-1) > 0
    whole = np.zeros((weight.size, len(odds)))
    for g, lanes in enumerate(np.arange(weight.size).reshape(weight.shape)):
        bins = slice(first[g], first[g] + ptr[g + 1] - ptr[g])
        whole[lanes, bins] = likelihood[ptr[g] : ptr[g + 1]].T
    for _ in range(steps):
        shares = whole[items] * odds / (whole[items] @ odds)[:, None]
        counted = (weight.reshape(-1)[items, None] * shares).sum(axis=0)
        odds[:] = (start + counted) / (1 + weight.sum())
