"""What Tally and Chorus have in common: declared thresholds, item effects, people folded in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from discreet.data.features import Features, encode
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.data.source import RatingsSource
from discreet.data.tables import Table, as_ratings
from discreet.errors import ParameterError, require_choice, require_positive
from discreet.kernels.compute import Compute
from discreet.privacy.certificate import Certificate
from discreet.privacy.noise import Randomness, require_sampler
from discreet.privacy.provenance import Neighbours, Provenance
from discreet.privacy.spec import PrivacySpec, require_spec
from discreet.progress import Progress, silent
from discreet.release.choice_factors import ChoiceFactors
from discreet.release.release import Release
from discreet.release.scoring import FoldIn
from discreet.release.tallies import Tallies
from discreet.schemes.base import About, Option, Run, option
from discreet.schemes.catalogue import over_catalogue, public_items, refuse_events, to_train_on
from discreet.schemes.certificates import recorded
from discreet.schemes.design import Directions, design
from discreet.schemes.effects import Effects, estimate
from discreet.schemes.model import FactorModel
from discreet.schemes.options import FAMILIES, NEIGHBOURS, NOISE, declared_threshold
from discreet.schemes.parameters import Parameters
from discreet.schemes.votes import weight_ratio

UNITS = ("rating", "person")
UNIT = Option(
    "--unit",
    "What is protected: one rating (default), or all of a person's.",
    metavar="rating|person",
)


class Known(NamedTuple):
    """What is concluded from noisy votes and from public values: all of it may be released."""

    tallies: Tallies
    features: Features
    effects: Effects


@dataclass(frozen=True, kw_only=True)
class VotingScheme(Parameters, ABC):
    """Item effects from noisy tallies of votes; people are folded in from their own ratings."""

    about: ClassVar[About]
    theorem: ClassVar[str]
    """Which of the table's theorems is about the mechanism; others are named after it."""
    items: Items | None = None
    """The public catalogue; without one, the list of rated items is assumed to be public."""
    families: tuple[str, ...] | None = option(None, FAMILIES)
    """Columns that hold families (series, author, brand); by default found in the table."""
    threshold: float | None = option(None, declared_threshold())
    """t, declared: by default the largest level offered, which is also the best choice."""
    unit: str = option("rating", UNIT)
    """What is protected: one "rating", or all ratings of a "person" together, at the smallest level
    that the person gave to any of them."""
    neighbours: Neighbours = option(Neighbours.ADD_REMOVE, NEIGHBOURS)
    """Which tables must look alike: with and without a record, or with another value in it, where
    who rated what is public."""
    noise: str = option("exact", NOISE)
    """What draws it, where there is no seed: "exact", or "opendp". Both are exact, and the
    certificate names the one."""

    def fit(
        self,
        ratings: Table,
        spec: PrivacySpec | None = None,
        *,
        seed: int | None = None,
        compute: Compute = Compute(),
        progress: Progress = silent,
    ) -> FactorModel:
        """Make a release of the ratings; without a specification, by the table's epsilon column."""
        spec = self.checked(spec)
        given = as_ratings(ratings)
        data = to_train_on(given, self.items, events=self.about.events)
        # A rating's level is its own; a person's may be on a record that is dropped.
        whole = given.over(data.items) if self.unit == "person" else data
        release = self.release(whole, spec, Run(Randomness(seed), compute, progress))
        return FactorModel(release, data, compute=compute)

    @abstractmethod
    def release(self, data: RatingsSource, spec: PrivacySpec, run: Run) -> Release:
        """The release alone, of ratings counted over the catalogue, wherever they are."""

    def prepare(self, ratings: Ratings, spec: PrivacySpec | None) -> tuple[PrivacySpec, Ratings]:
        """The specification, and the ratings over the catalogue; there may be none."""
        return self.checked(spec), over_catalogue(ratings, self.items)

    def checked(self, spec: PrivacySpec | None) -> PrivacySpec:
        """The specification, by default the table's column, if all parameters are valid."""
        require_choice("neighbours", self.neighbours, tuple(Neighbours))
        require_choice("unit", self.unit, UNITS)
        require_sampler(self.noise)
        if self.unit == "person" and self.neighbours == Neighbours.REPLACE:
            raise ParameterError("unit='person' goes with add/remove neighbours and 'weigh' only")
        if self.families and self.items is None:
            raise ParameterError(
                "families are columns of an item table: give one with items=... (--items)"
            )
        if isinstance(self.threshold, str):
            raise ParameterError(
                f"{self.about.name}'s threshold is a declared number, or None for the largest "
                f"level offered: got {self.threshold!r}, which would be computed from the ratings"
            )
        return require_spec(spec or PrivacySpec.column())

    def require_suited(self, data: RatingsSource) -> None:
        """An error for events where nothing is learned of them, or nothing would be secret."""
        if not data.events:
            return
        if not self.about.events:
            refuse_events()
        if self.neighbours == Neighbours.REPLACE:
            raise ParameterError(
                "REPLACE takes for public who chose what, and of an event nothing else is secret: "
                "use add/remove neighbours"
            )

    def require_publishable(self) -> None:
        """An error unless the theorem for releases over time covers it: proofs/incremental.md."""
        if self.neighbours != Neighbours.ADD_REMOVE or self.unit != "rating":
            raise ParameterError(
                "the ledger goes with add/remove neighbours and unit='rating' only"
            )

    def t(self, spec: PrivacySpec) -> float:
        """t as it was declared, never computed from the ratings."""
        if self.threshold is None:
            return spec.max_level
        return require_positive("threshold", self.threshold)

    def provenance(
        self, data: RatingsSource, spec: PrivacySpec, randomness: Randomness, **facts: Any
    ) -> Provenance:
        """What bears on the promise of a release: what all such schemes share, and their facts.

        The theorem goes by what is protected, and by the neighbours.
        """
        theorem = f"{self.theorem}-events" if data.events else self.theorem
        if self.unit == "person":
            theorem += "-person"
        elif self.neighbours == Neighbours.REPLACE:
            theorem += "-replace"
        return recorded(
            theorem,
            items=self.items,
            data=data,
            spec=spec,
            threshold=self.t(spec),
            randomness=randomness,
            scheme=self.about.name,
            variant="whole table",
            unit="event" if data.events and self.unit == "rating" else self.unit,
            neighbours=self.neighbours,
            **facts,
        )

    def features(self, count: int) -> Features:
        """What is publicly known of so many items."""
        return encode(self.items, count, self.families)

    def estimate_items(
        self,
        tallies: Tallies,
        data: RatingsSource,
        spec: PrivacySpec,
        run: Run,
        *,
        weighed: bool = True,
    ) -> Known:
        """What the tallies say of the items, with what is publicly known of them.

        `weighed` tells whether ratings were counted with weights of their own: then the declared
        levels say how much chance a count carries.
        """
        features = self.features(len(tallies))
        weights = np.minimum(1.0, spec.typical_levels() / self.t(spec))
        ratio = weight_ratio(weights) if weighed and self.unit == "rating" else 1.0
        threads = run.compute.threads
        effects = estimate(tallies, data.scale, features, ratio, threads)
        return Known(tallies, features, effects)

    def build_event_release(
        self,
        tallies: Tallies,
        data: RatingsSource,
        certificate: Certificate,
        choices: ChoiceFactors | None = None,
    ) -> Release:
        """The release of noisy counts: of events there is no mean, and no effect of an item."""
        count, features = len(tallies), self.features(len(tallies))
        return Release(
            items=public_items(data, self.items),
            mean=0.0,
            item_effects=np.zeros(count),
            item_factors=np.zeros((count, 0)),
            prior=np.zeros(0),
            fold_in=FoldIn(0.0),
            scale=data.scale,
            certificate=certificate,
            families=features.families,
            tallies=tallies,
            choices=choices,
        )

    def build_release(
        self,
        known: Known,
        data: RatingsSource,
        certificate: Certificate,
        directions: Directions | None = None,
        choices: ChoiceFactors | None = None,
    ) -> Release:
        """The release of item effects, and of hidden directions where there are any."""
        return release_effects(known, data, self.items, certificate, directions, choices)


def release_effects(
    known: Known,
    data: RatingsSource,
    items: Items | None,
    certificate: Certificate,
    directions: Directions | None = None,
    choices: ChoiceFactors | None = None,
) -> Release:
    """What is released of tallies: item effects, and what people are folded in on."""
    tallies, features, effects = known
    names, matrix, ridge = design(effects, data.scale, features, directions, choices)
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
        item_doubts=effects.doubts,
        choices=choices,
    )
