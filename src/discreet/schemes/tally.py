"""Tally: every rating casts a vote weighted by its own epsilon; noise is added once; proven."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers
from discreet.data.edges import require_inside
from discreet.data.features import Features, encode
from discreet.data.ids import Ids
from discreet.data.items import Items
from discreet.data.ratings import Ratings, RatingsSource
from discreet.errors import ParameterError, require_choice, require_positive
from discreet.kernels.sums import add_votes
from discreet.kernels.threads import even_ranges, run_ranges, thread_count
from discreet.privacy.certificate import Certificate
from discreet.privacy.fixedpoint import rounded_up
from discreet.privacy.history import History
from discreet.privacy.lifetime import Spends
from discreet.privacy.noise import Randomness
from discreet.privacy.personalise import (
    inclusion_probability,
    keep_records,
    levelled,
    share_among_own,
    weigh,
)
from discreet.privacy.provenance import Neighbours, Provenance
from discreet.privacy.spec import PrivacySpec, require_spec
from discreet.progress import Progress, silent
from discreet.release.release import Release
from discreet.release.scoring import FoldIn
from discreet.release.tallies import ONE_VOTE, Tallies
from discreet.schemes.base import Batch, FactorModel
from discreet.schemes.certificates import certified, recorded
from discreet.schemes.effects import Directions, Effects, design, estimate
from discreet.schemes.pmf.pmf import over_catalogue, public_items

PERSONALISATIONS = ("weigh", "sample")
UNITS = ("rating", "person")
PERSON_VOTES = 256
"""Of a whole person: somebody with as many ratings gives each a vote, as a rating would have.

Measured in docs/constants.md."""


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Item effects from noisy tallies, pure epsilon for every single rating.

    A rating adds w (hi - r)/(hi - lo) to its item's votes against and w (r - lo)/(hi - lo) to those
    in favour, w = min(1, epsilon/t); every tally of the catalogue gets Laplace noise of scale 1/t.
    People are folded in from their own ratings.

    >>> Tally(threshold=0.5).personalisation
    'weigh'
    """

    items: Items | None = None
    """The public catalogue; without one, the list of rated items is assumed to be public."""
    families: tuple[str, ...] | None = None
    """Columns that hold families (series, author, brand); by default cut out of the titles."""
    threshold: float | None = None
    """t, declared: by default the largest level offered, which is also the best choice."""
    personalisation: str = "weigh"
    unit: str = "rating"
    """What is protected: one "rating", or all ratings of a "person" together, at the smallest level
    that the person gave to any of them."""
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    threads: int | None = None

    def fit(
        self,
        ratings: Ratings,
        spec: PrivacySpec | None = None,
        *,
        seed: int | None = None,
        progress: Progress = silent,
    ) -> FactorModel:
        """Tally, add noise, estimate; without a specification, the table's epsilon column."""
        spec, data = self.prepare(ratings, spec)
        require_inside(ratings, self.items)
        # A rating's level is its own; a person's may be on a record that is dropped.
        whole = ratings.over(data.items) if self.unit == "person" else data
        release = self.release(whole, spec, seed=seed, progress=progress)
        return FactorModel(release, data, threads=self.threads)

    def release(
        self,
        data: RatingsSource,
        spec: PrivacySpec,
        *,
        seed: int | None = None,
        progress: Progress = silent,
    ) -> Release:
        """The release alone, of ratings counted over the catalogue, wherever they are."""
        t, randomness = self.declared_threshold(spec), Randomness(seed)
        progress("tally", 0, 2)
        tallies = self.noisy_tallies(self.votes(data, spec.levels, t, randomness), t, randomness)
        progress("tally", 1, 2)
        certificate = certified(self.made(data, spec, t, randomness))
        release = self.concluded(data, tallies, spec, t, certificate)
        progress("tally", 2, 2)
        return release

    def prepare(self, ratings: Ratings, spec: PrivacySpec | None) -> tuple[PrivacySpec, Ratings]:
        """The specification, and the ratings over the catalogue."""
        return self.checked(spec), over_catalogue(ratings, self.items)

    def checked(self, spec: PrivacySpec | None) -> PrivacySpec:
        """The specification (by default the table's epsilon column), if all parameters are fit."""
        require_choice("personalisation", self.personalisation, PERSONALISATIONS)
        require_choice("neighbours", self.neighbours, tuple(Neighbours))
        require_choice("unit", self.unit, UNITS)
        if self.unit == "person" and (
            self.neighbours == Neighbours.REPLACE or self.personalisation == "sample"
        ):
            raise ParameterError("unit='person' goes with add/remove neighbours and 'weigh' only")
        if isinstance(self.threshold, str):
            raise ParameterError(
                f"Tally's threshold is a declared number, or None for the largest level offered: "
                f"got {self.threshold!r}, which would be computed from the ratings"
            )
        if self.neighbours == Neighbours.REPLACE and self.personalisation == "sample":
            raise ParameterError("sampling amplifies nothing under REPLACE: use 'weigh'")
        return require_spec(spec or PrivacySpec.column())

    def declared_threshold(self, spec: PrivacySpec) -> float:
        """t as it was declared, never computed from the ratings."""
        if self.threshold is None:
            return spec.max_level
        return require_positive("threshold", self.threshold)

    def units(
        self, data: Ratings, levels: NDArray[np.float64], t: float, randomness: Randomness
    ) -> NDArray[np.int32]:
        """Each record's weight in units of 2^-20 votes: weighed, or kept whole or not at all.

        With the person as unit `levels` are those of people (`levelled`), and a person has
        PERSON_VOTES votes, shared among their records.
        """
        if self.unit == "person":
            omega = np.minimum(1.0, levels / t)
            return share_among_own(data, omega, PERSON_VOTES, norm=1)
        if self.personalisation == "weigh":
            return weigh(levels, t)
        kept = keep_records(
            data, inclusion_probability(levels, t), randomness, threads=self.threads
        )
        return np.where(kept, np.int32(ONE_VOTE), np.int32(0))

    def votes(
        self,
        data: RatingsSource,
        levels_of: Callable[[Ratings], NDArray[np.float64]],
        t: float,
        randomness: Randomness,
    ) -> Integers:
        """Exact votes against and in favour of every item: secret."""
        if self.personalisation == "sample":
            randomness.key("sample")  # drawn once, before any set of people asks for it

        catalogue = data.items  # not the crowd itself: this runs where its parts are

        def of_some(part: Ratings) -> Integers:
            counted = levelled(part, levels_of(part), self.unit, catalogue)
            assert counted.epsilon is not None
            units = self.units(counted, counted.epsilon, t, randomness)
            return np.stack(count_votes(counted, units, self.threads))

        return data.map_parts(_themselves).sum(of_some, (2, len(catalogue)))

    def noisy_tallies(self, votes: Integers, t: float, randomness: Randomness) -> Tallies:
        """The mechanism: integer sums, and discrete Laplace noise on every item there is."""
        against, in_favour = votes
        # Rounded up: a hair more noise, never less.
        whole = PERSON_VOTES if self.unit == "person" else 1
        scale = rounded_up(whole * ONE_VOTE / Fraction(t))
        variance = np.full(len(against), 2 * (scale / ONE_VOTE) ** 2)
        if self.neighbours == Neighbours.REPLACE:
            noisy = randomness.add_laplace(in_favour, scale, threads=self.threads)
            return Tallies(against + in_favour - noisy, noisy, variance, shared_noise=True)
        against, in_favour = randomness.add_laplace(votes, scale, threads=self.threads)
        return Tallies(against, in_favour, variance)

    def concluded(
        self,
        data: RatingsSource,
        tallies: Tallies,
        spec: PrivacySpec,
        t: float,
        certificate: Certificate,
    ) -> Release:
        """Everything after the noise: it reads the tallies and public values alone."""
        known = self.estimates(data, tallies, spec, t)
        return effects_release(data, self.items, tallies, known, certificate)

    def made(
        self, data: RatingsSource, spec: PrivacySpec, t: float, randomness: Randomness
    ) -> Provenance:
        """What bears on the promise of a release."""
        theorem = "tally-person" if self.unit == "person" else "tally"
        if self.neighbours == Neighbours.REPLACE:
            theorem = "tally-replace"
        return recorded(
            theorem,
            items=self.items,
            data=data,
            spec=spec,
            threshold=t,
            randomness=randomness,
            scheme="Tally",
            variant="whole table",
            unit=self.unit,
            neighbours=self.neighbours,
            personalisation=self.personalisation,
            coins=self.personalisation == "sample",
            sampler=f"discrete Laplace on a grid of 2^-20 votes, {randomness.grid_sampler}",
        )

    def allowances(self, data: Ratings, spec: PrivacySpec, spends: Spends) -> NDArray[np.float64]:
        """What every record may spend in the next publication: secret."""
        return spends.allowance(spec.levels(data), self.declared_threshold(spec))

    def publish_batch(
        self,
        data: Ratings,
        spec: PrivacySpec,
        spends: Spends,
        before: Release | None,
        randomness: Randomness,
        progress: Progress,
        *,
        history: History | None = None,
    ) -> Batch:
        """One publication: every pair is counted once, and again only if its level was raised."""
        del progress
        t, budgets = self.declared_threshold(spec), self.allowances(data, spec, spends)
        units = self.units(data, budgets, t, randomness)
        votes = np.stack(count_votes(data, units, self.threads))
        tallies = added_up(self.noisy_tallies(votes, t, randomness), before, data.items)
        certificate = certified(self.made(data, spec, t, randomness), history, before)
        release = self.concluded(data, tallies, spec, t, certificate)
        weighed = self.personalisation == "weigh"
        costs = units.astype(np.float64) * (t / ONE_VOTE) if weighed else np.minimum(budgets, t)
        model = FactorModel(release, data, threads=self.threads)
        return Batch(model, costs, np.zeros_like(costs))

    def estimates(
        self, data: RatingsSource, tallies: Tallies, spec: PrivacySpec, t: float
    ) -> tuple[Features, Effects]:
        """What is publicly known of the items, and what the tallies say of them."""
        features = encode(self.items, len(tallies), self.families)
        weights = np.minimum(1.0, spec.typical_levels() / t)
        whole = self.personalisation == "sample" or self.unit == "person"
        ratio = 1.0 if whole else weight_ratio(weights)
        return features, estimate(tallies, data.scale, features, ratio)


def _themselves(part: Ratings) -> Ratings:
    return part


def effects_release(
    data: RatingsSource,
    items: Items | None,
    tallies: Tallies,
    known: tuple[Features, Effects],
    certificate: Certificate,
    directions: Directions | None = None,
) -> Release:
    """The release of item effects, and of hidden directions where there are any."""
    features, effects = known
    names, matrix, ridge = design(effects, data.scale, features, directions)
    return Release(
        items=public_items(data, items),
        mean=effects.mean,
        item_effects=effects.item_effects,
        item_factors=matrix,
        prior=np.zeros(matrix.shape[1]),
        fold_in=FoldIn(ridge),
        scale=data.scale,
        certificate=certificate,
        factor_names=names,
        families=features.families,
        tallies=tallies,
    )


def added_up(batch: Tallies, before: Release | None, catalogue: Ids) -> Tallies:
    """A batch and what was released before, over a catalogue that may have grown since."""
    if before is None or before.tallies is None:
        return batch
    return before.tallies.over(before.item_ids, catalogue) + batch


def weight_ratio(weights: NDArray[np.float64]) -> float:
    """E[w^2]/E[w]: how much chance a weighted count carries."""
    return float((weights**2).mean() / weights.mean())


def count_votes(
    data: Ratings, units: NDArray[np.int32], threads: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Integer votes (against, in favour) per item: secret, exact, the same in any order.

    One record moves the two by exactly its units in L1.
    """
    workers = thread_count(threads)
    ranges = even_ranges(len(data), workers)
    partial = np.zeros((2, len(ranges), len(data.items)), dtype=np.int64)
    lo, span = data.scale.lo, data.scale.span

    def add(first: int, last: int) -> None:
        part = [r[0] for r in ranges].index(first)
        add_votes(
            first, last, data.item, data.rating, units, lo, span, partial[0, part], partial[1, part]
        )

    run_ranges(add, ranges, workers)
    against, in_favour = partial.sum(axis=1)
    return against, in_favour
