"""Levels of their own by sampling, before a mechanism that knows one level only.

Jorgensen, Yu, Cormode: *Conservative or Liberal? Personalized Differential Privacy* (ICDE 2015): a
record with a level below t is kept with probability (e^epsilon - 1)/(e^t - 1), and what is kept
goes through a mechanism that is (t, delta)-private. The paper is about pure epsilon; with a delta,
(1 - p) Q + p P' <= (1 + p (e^t - 1)) Q + p delta, so a record of level epsilon is
(epsilon, delta)-protected as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, ClassVar

from discreet.data.items import Items
from discreet.data.tables import Table, as_ratings
from discreet.errors import ParameterError, SpecError
from discreet.field.base import FieldScheme, gaussian_theorem
from discreet.kernels.compute import Compute
from discreet.privacy.certificate import Certificate
from discreet.privacy.noise import Randomness
from discreet.privacy.personalise import sample
from discreet.privacy.spec import PrivacySpec, require_spec
from discreet.progress import Progress, silent
from discreet.schemes.base import About, Run
from discreet.schemes.catalogue import to_train_on
from discreet.schemes.model import FactorModel
from discreet.schemes.parameters import Parameters

INNER = {
    "mcsherry-mironov": "discreet.field.mcsherry_mironov:McSherryMironov",
    "dp-sgd": "discreet.field.dpsgd:DPSGD",
}
"""Mechanisms with the rating as unit that know one level."""


@dataclass(frozen=True, kw_only=True)
class Jorgensen(Parameters):
    """Keep each rating with a probability by its level, then run a uniform mechanism at t."""

    about: ClassVar[About] = About(
        name="Jorgensen sampling",
        promise="(epsilon, delta) for every rating at its own level, by sampling",
        units=("rating",),
        audited=(
            {"delta": 0.1, "parameters": (("factors", 2), ("least", 0.0), ("width", 0.5))},
            {
                "delta": 0.1,
                "inner": "dp-sgd",
                "parameters": (("clip", 0.02), ("factors", 2), ("steps", 2)),
            },
        ),
    )
    items: Items | None = None
    delta: float = 1e-5
    inner: str = "mcsherry-mironov"
    threshold: float | None = None
    """t; by default the largest level offered."""
    parameters: tuple[tuple[str, Any], ...] = ()
    """Of the mechanism inside."""

    def fit(
        self,
        ratings: Table,
        spec: PrivacySpec | None = None,
        *,
        seed: int | None = None,
        compute: Compute = Compute(),
        progress: Progress = silent,
    ) -> FactorModel:
        """Sample, then one release of what was kept; people are served from all they rated."""
        if spec is None:
            raise SpecError("give a specification, such as PrivacySpec.groups()")
        t = require_spec(spec).max_level if self.threshold is None else self.threshold
        data = to_train_on(as_ratings(ratings), self.items)
        run = Run(Randomness(seed), compute, progress)
        kept = sample(data, spec.levels(data), t, run.randomness, threads=compute.threads)
        inner = self.mechanism()
        budget = inner.budget(t, run.randomness)
        made = inner.learn(kept, budget, self._certificate(inner, spec, t, run.randomness), run)
        return replace(made, ratings=data)

    def mechanism(self) -> FieldScheme:
        """What runs on the sample."""
        if self.inner not in INNER:
            raise ParameterError(f"inner must be one of {', '.join(INNER)}: got {self.inner!r}")
        module, _, kind = INNER[self.inner].partition(":")
        made: FieldScheme = getattr(import_module(module), kind)(
            items=self.items, delta=self.delta, unit="rating", **dict(self.parameters)
        )
        return made

    def _certificate(
        self, inner: FieldScheme, spec: PrivacySpec, t: float, randomness: Randomness
    ) -> Certificate:
        made = inner.certificate(
            spec, t, randomness, personalisation="sample", coins=True
        ).provenance
        theorem = gaussian_theorem("jorgensen", "rating")
        theorem = replace(theorem, statement=theorem.statement.replace("(epsilon,", "(epsilon(z),"))
        named = replace(
            made, scheme=self.about.name, variant=f"then {inner.about.name}", theorem=theorem
        )
        return Certificate(named)
