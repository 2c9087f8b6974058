"""PDP-PMF (Algorithm 1 of the paper): every rating kept with its own probability, then DP-PMF."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.data.scale import RatingScale
from discreet.data.tables import Table, as_ratings
from discreet.errors import (
    ParameterError,
)
from discreet.kernels.compute import Compute
from discreet.privacy.noise import Randomness
from discreet.privacy.personalise import (
    DATA_THRESHOLDS,
    Threshold,
    check_threshold,
    resolve_threshold,
    sample,
)
from discreet.privacy.provenance import Neighbours
from discreet.privacy.spec import PrivacySpec, require_spec
from discreet.progress import Progress, silent
from discreet.schemes.base import About, Run, option
from discreet.schemes.catalogue import to_train_on
from discreet.schemes.model import FactorModel
from discreet.schemes.options import declared_threshold
from discreet.schemes.pmf.dp import DPPMF


@dataclass(frozen=True, kw_only=True)
class PDPPMF(DPPMF):
    """PDP-PMF: Algorithm 1 keeps each rating with its own probability, then DP-PMF at level t.

    >>> PDPPMF(threshold=0.5).threshold
    0.5
    """

    about: ClassVar[About] = About(
        name="PDP-PMF",
        promise="every rating at its own epsilon by sampling; as printed unproven",
        engines=("local", "spark"),
        audited=({"factors": 2, "gamma": 0.5, "threshold": 1.0},),
    )
    threshold: Threshold | None = option(None, declared_threshold(*DATA_THRESHOLDS))
    """t: a number, or the paper's "mean" or "max" over the training levels, which are never
    proven. By default "mean" as in the paper; for `repaired` the largest level offered."""

    def fit(
        self,
        ratings: Table,
        spec: PrivacySpec | None = None,
        *,
        seed: int | None = None,
        compute: Compute = Compute(),
        progress: Progress = silent,
    ) -> FactorModel:
        """Train with each rating at its own level; without a specification, the table's column."""
        self.check()
        spec = require_spec(spec or PrivacySpec.column())
        data = to_train_on(as_ratings(ratings), self.items)
        levels = spec.levels(data)
        threshold = self.chosen_threshold(spec)
        t = resolve_threshold(threshold, levels)
        run = Run(Randomness(seed), compute, progress)
        used = sample(data, levels, t, run.randomness, threads=compute.threads)
        return self._perturbed(data, used, t, threshold, spec, run)

    def check(self) -> None:
        """Refuse parameters that are out of range or do not go together."""
        super().check()
        if self.threshold is not None:
            check_threshold(self.threshold)
        if self.variant == "repaired" and self.neighbours == Neighbours.REPLACE:
            raise ParameterError(
                "PDP-PMF 'repaired' goes with add/remove neighbours only: sampling amplifies "
                "nothing for a mechanism that is private only when values are replaced"
            )

    def sensitivity(self, scale: RatingScale) -> float:
        """Delta of Theorem 1."""
        # The Remark's 2 epsilon for a replaced value needs Theorem 1's Delta for both.
        return scale.largest

    def chosen_threshold(self, spec: PrivacySpec) -> Threshold:
        """t, or how it follows from the levels."""
        if self.threshold is not None:
            return self.threshold
        return spec.max_level if self.variant == "repaired" else "mean"
