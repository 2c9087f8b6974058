"""What schemes of the field have in common: one level for everybody, one budget, one certificate.

They are here to be compared with, as their papers describe them. None is offered for publishing:
sums and noise are those of real numbers, computed in floating point.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.data.tables import Table, as_ratings
from discreet.errors import ParameterError, SpecError, require_choice
from discreet.field.budget import GaussianBudget
from discreet.kernels.compute import Compute
from discreet.privacy.certificate import Certificate
from discreet.privacy.noise import Randomness
from discreet.privacy.provenance import Neighbours
from discreet.privacy.spec import PrivacySpec, require_spec
from discreet.privacy.theorems import Status, Theorem
from discreet.progress import Progress, silent
from discreet.schemes.base import About, Run
from discreet.schemes.catalogue import to_train_on
from discreet.schemes.certificates import recorded
from discreet.schemes.model import FactorModel
from discreet.schemes.parameters import Parameters

REAL_NUMBERS = (
    "The proof is about real numbers; sums are computed in 64-bit floating point, and rounded to a "
    "grid of 2^-24 deviations of the noise before it is added."
)
TUNED = "All hyper-parameters were chosen on other people's ratings, and then fixed."
_PERSON = (
    "For every data set D and every person p in it, what is released from D and from D without all "
    "of p's ratings is (epsilon, delta)-close, both ways."
)
_RATING = (
    "For every data set D and every rating z in it, what is released from D and from D without z "
    "is (epsilon, delta)-close, both ways."
)


def gaussian_theorem(name: str, unit: str, *assumptions: str) -> Theorem:
    """What a budget of Gaussian releases proves, of persons or of ratings."""
    return Theorem(
        name=f"field-{name}-{unit}",
        statement=_PERSON if unit == "person" else _RATING,
        proof=f"field.md#{name}",
        backing=Status.CONDITIONAL,
        assumptions=(*assumptions, REAL_NUMBERS, TUNED),
    )


@dataclass(frozen=True, kw_only=True)
class FieldScheme(Parameters, ABC):
    """A scheme that serves everybody at one level, the smallest that a specification offers."""

    about: ClassVar[About]
    items: Items | None = None
    delta: float = 1e-5

    def fit(
        self,
        ratings: Table,
        spec: PrivacySpec | None = None,
        *,
        seed: int | None = None,
        compute: Compute = Compute(),
        progress: Progress = silent,
    ) -> FactorModel:
        """Spend the whole budget on one release; people are served from it and their own ratings.

        With the person as unit, the level is that of everything that the person rated.
        """
        epsilon, spec = self.level(spec)
        given = as_ratings(ratings)
        spec.levels(given)  # refuses a level below the declared smallest
        data = to_train_on(given, self.items)
        run = Run(Randomness(seed), compute, progress)
        budget = self.budget(epsilon, run.randomness)
        return self.learn(data, budget, self.certificate(spec, epsilon, run.randomness), run)

    @abstractmethod
    def learn(
        self, data: Ratings, budget: GaussianBudget, certificate: Certificate, run: Run
    ) -> FactorModel:
        """The mechanism: everything that is released of the ratings goes through the budget."""

    def budget(self, epsilon: float, randomness: Randomness) -> GaussianBudget:
        """What epsilon and delta are worth."""
        return GaussianBudget.of(epsilon, self.delta, randomness)

    def theorem(self) -> Theorem:
        """What is proven of it."""
        return gaussian_theorem(self.about.name.lower().replace(" ", "-"), self.protected)

    def variant(self) -> str:
        """In which of its ways it runs, as certificates and audits name it."""
        return "biases removed first" if getattr(self, "biases", False) else "as published"

    @property
    def protected(self) -> str:
        """The unit of its promise."""
        unit = getattr(self, "unit", self.about.units[0])
        return str(require_choice("unit", unit, self.about.units))

    def level(self, spec: PrivacySpec | None) -> tuple[float, PrivacySpec]:
        """The one level for everybody."""
        if spec is None or require_spec(spec).min_level is None:
            raise SpecError(
                f"{self.about.name} needs one level for everybody: give PrivacySpec.uniform(1.0), "
                "or a specification that declares its smallest level (min_level)"
            )
        if not 0 <= self.delta < 1:
            raise ParameterError(f"delta must be between 0 and 1: got {self.delta!r}")
        return float(spec.min_level or 0.0), spec

    def certificate(
        self, spec: PrivacySpec, epsilon: float, randomness: Randomness, **facts: Any
    ) -> Certificate:
        """What is promised, and what the proof assumes."""
        given = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "items"}
        shown = {n: v for n, v in given.items() if isinstance(v, str | int | float)}
        usual: dict[str, Any] = {
            "variant": self.variant(),
            "unit": self.protected,
            "neighbours": Neighbours.ADD_REMOVE,
            "delta": self.delta,
            "personalisation": "none: one level for everybody",
            "sampler": f"Gaussian, rounded to 2^-24 deviations, {randomness.grid_sampler}",
            "parameters": shown,
        }
        made = recorded(
            self.theorem(),
            items=self.items,
            spec=spec,
            threshold=epsilon,
            randomness=randomness,
            scheme=self.about.name,
            **(usual | facts),
        )
        return Certificate(made)
