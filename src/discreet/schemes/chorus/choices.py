"""Directions of choice as a release has them: from what rounds have shown, and from tallies."""

from __future__ import annotations

import math

import numpy as np

from discreet.arrays import Array, Floats
from discreet.data.ids import Ids
from discreet.release.choice_factors import ChoiceFactors
from discreet.release.release import Release
from discreet.release.tallies import Tallies
from discreet.schemes.chorus.directions import Heard, weighted_means

TYPICAL_RECORDS = 100.0
"""Records of a typical person, for the size of directions: docs/constants.md."""
SMALLEST_CHOICE = 1e-12
"""The variance of a direction below which it is none."""


def choice_counts(tallies: Tallies, least: float) -> Floats:
    """How often every item was chosen, as the rounds weigh choices: sum of w x, from noisy tallies.

    A vote in favour says 1 and one against `least`. With noise of variance v, a noisy count c is
    taken for c^3/(c^2 + v/2): where counts are noise, chance would choose the items to hear.
    """
    against, in_favour = tallies.votes()
    carried = (1 - least) ** 2 if tallies.shared_noise else 1 + least**2
    noise = (1.0 if tallies.events else carried) * tallies.noise_variance
    c = np.maximum(in_favour + least * against, 0.0)
    return np.asarray(c**3 / np.maximum(c**2 + noise / 2, 1e-12))


def sized(heard: Heard, counts: Floats) -> ChoiceFactors | None:
    """Directions by how much of a lift each explains; None where they explain nothing.

    A direction of size s shows v = s rho in the rounds, rho = 1/sqrt(mean of s + 2/n), because the
    vector of somebody with n records is divided by its own length: solved for rho, n typical.
    """
    n, v = TYPICAL_RECORDS, float(heard.values.mean())
    rho = 2 / (
        v + math.sqrt(v**2 + 8 / n)
    )  # not as a difference, which a large v leaves nothing of
    sizes = heard.true * heard.values / rho
    told = np.argsort(-sizes, kind="stable")
    told = told[sizes[told] > SMALLEST_CHOICE]
    if not len(told):
        return None
    z = heard.z[:, told]
    z = z - weighted_means(z, counts + 1e-9)
    return ChoiceFactors(z * np.sqrt(sizes[told]), heard.true[told])


def released_choices(release: Release, catalogue: Ids) -> ChoiceFactors | None:
    """Those of an earlier release, over a catalogue that may have grown since."""
    if release.choices is None:
        return None
    columns = np.zeros((len(catalogue), len(release.choices.reliability)))
    columns[catalogue.rows(release.item_ids.values)] = release.choices.columns
    return ChoiceFactors(columns, release.choices.reliability)


def whitened(choices: ChoiceFactors, counts: Floats) -> Array:
    """Their directions, each of variance 1 over choices: where the next rounds begin."""
    sizes = _sizes(choices, counts)
    return np.asarray(choices.columns / np.sqrt(np.maximum(sizes, SMALLEST_CHOICE)))


def _sizes(choices: ChoiceFactors, counts: Floats) -> Array:
    return np.asarray(weighted_means(choices.columns**2, counts + 1e-9))
