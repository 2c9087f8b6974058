"""DP-PMF (Algorithm 2 of the paper): item factors from a perturbed objective, in three variants."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.arrays import Array
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.data.scale import RatingScale
from discreet.data.tables import Table, as_ratings
from discreet.errors import (
    ParameterError,
    SpecError,
    require_choice,
    require_count,
    require_nonnegative,
    require_positive,
)
from discreet.kernels.compute import Compute
from discreet.kernels.gradients import project_rows
from discreet.privacy.certificate import Certificate
from discreet.privacy.noise import Randomness
from discreet.privacy.personalise import (
    DATA_THRESHOLDS,
    Threshold,
)
from discreet.privacy.provenance import Neighbours
from discreet.privacy.spec import PrivacySpec, require_spec
from discreet.progress import Progress, silent
from discreet.schemes.base import About, Option, Run, option
from discreet.schemes.catalogue import to_train_on
from discreet.schemes.certificates import recorded
from discreet.schemes.model import FactorModel, TracePoint
from discreet.schemes.options import FACTORS, NEIGHBOURS
from discreet.schemes.parameters import Parameters
from discreet.schemes.pmf.als import alternate, solve_side
from discreet.schemes.pmf.factors import DTYPES, factor_release, unit_ball_fold_in
from discreet.schemes.pmf.gradient import GradientSteps, unit_rows
from discreet.schemes.pmf.huber import minimise_huber
from discreet.schemes.pmf.pmf import GAMMA, INITIAL, LAMBDA, PASSES, SOLVER

VARIANTS = ("printed", "stated", "repaired")


@dataclass(frozen=True, kw_only=True)
class DPPMF(Parameters):
    """DP-PMF: train people's factors without privacy, keep them, and perturb the items' objective.

    `variant="printed"` is Algorithm 2 to the letter: k2 passes with fresh noise in every step.
    `"stated"` is Theorem 1 to the letter: one noise vector per item and the exact minimiser.
    `"repaired"` is what objective perturbation needs to be true given U: a Huber loss of slope
    kappa, regularisation that bounds the Jacobian, noise for what is left of the budget.

    >>> DPPMF(variant="stated").k1
    50
    """

    about: ClassVar[About] = About(
        name="DP-PMF",
        promise="one epsilon for everybody; as printed unproven, repaired given people's factors",
        personal=False,
        audited=tuple({"factors": 2, "gamma": 0.5, "variant": v} for v in VARIANTS),
    )
    variant: str = option(
        "printed",
        Option(
            "--variant",
            "The paper's scheme as printed (default), as its theorem states, or repaired.",
            metavar="printed|stated|repaired",
        ),
    )
    factors: int = option(20, FACTORS)
    solver: str = option("gradient", SOLVER)
    """How people's factors are trained: the paper's "gradient", or "als" and a projection."""
    gamma: float = option(50.0, GAMMA)
    k1: int = option(50, PASSES)
    k2: int = option(50, Option("--k2", "Passes with noise (50; printed).", int))
    lambda_u: float = option(0.01, LAMBDA)
    lambda_v: float | None = option(None, LAMBDA)
    """0.01, but for `repaired` the least that leaves half of the budget: 1/(e^(t/2) - 1)."""
    kappa: float | None = option(
        None, Option("--kappa", "Slope of the Huber loss (repaired).", float)
    )
    """Slope of the Huber loss (`repaired` only): a quarter of the scale by default."""
    neighbours: Neighbours = option(Neighbours.ADD_REMOVE, NEIGHBOURS)
    initial: str = option("signed", INITIAL)
    dtype: str = "float32"
    items: Items | None = None

    def fit(
        self,
        ratings: Table,
        spec: PrivacySpec | None = None,
        *,
        seed: int | None = None,
        compute: Compute = Compute(),
        progress: Progress = silent,
    ) -> FactorModel:
        """Train at one level for everybody: the smallest that the specification offers."""
        self.check()
        if spec is not None:
            require_spec(spec)
        if spec is None or spec.min_level is None:
            raise SpecError(
                "DP-PMF needs one level for everybody: give PrivacySpec.uniform(0.1), or a "
                "specification that declares its smallest level (min_level)"
            )
        data = to_train_on(as_ratings(ratings), self.items)
        spec.levels(data)  # refuses a level below the declared smallest
        t = float(spec.min_level)
        run = Run(Randomness(seed), compute, progress)
        return self._perturbed(data, data, t, t, spec, run)

    def check(self) -> None:
        """Refuse parameters that are out of range or do not go together."""
        require_choice("variant", self.variant, VARIANTS)
        require_choice("solver", self.solver, ("gradient", "als"))
        require_choice("initial", self.initial, ("signed", "nonnegative"))
        require_choice("dtype", self.dtype, DTYPES)
        require_choice("neighbours", self.neighbours, tuple(Neighbours))
        for name in ("factors", "k1", "k2"):
            require_count(name, getattr(self, name))
        require_positive("gamma", self.gamma)
        require_nonnegative("lambda_u", self.lambda_u)
        if self.lambda_v is not None:
            require_positive("lambda_v", self.lambda_v)
        if self.kappa is not None:
            require_positive("kappa", self.kappa)

    def sensitivity(self, scale: RatingScale) -> float:
        """Delta of Theorem 1, and of the Remark for replaced values."""
        return scale.largest if self.neighbours == Neighbours.ADD_REMOVE else scale.span

    def _perturbed(
        self,
        data: Ratings,
        used: Ratings,
        t: float,
        chosen: Threshold,
        spec: PrivacySpec,
        run: Run,
    ) -> FactorModel:
        """S2 on the records in `used`; the model knows everybody's own records in `data`."""
        centre = data.scale.middle if self.variant == "repaired" else 0.0
        # The non-private first phase; the printed scheme goes on from its item factors.
        steps = GradientSteps(
            used,
            self.gamma,
            run.randomness.training,
            DTYPES[self.dtype],
            run.compute.threads,
            centre,
        )
        U, V, trace = self._people(used, steps, centre, run)
        if self.variant == "printed":
            scale = self.sensitivity(data.scale) / t
            lambda_v = self.ridge(t)
            V = steps.perturb(U, V, lambda_v, scale, self.k2, run.randomness, run.progress)
            trace = tuple(steps.trace)
        elif self.variant == "stated":
            V = self.minimise(used, U, t, run)
        else:
            V = self.minimise_huber(used, U, t, run)
        certificate = self.certificate(spec, chosen, run.randomness)
        fold_in = unit_ball_fold_in(data.scale, self.factors)
        release = factor_release(data, self.items, V, fold_in, certificate, mean=centre)
        return FactorModel(release, data, U.astype(V.dtype, copy=False), trace, run.compute)

    def _people(
        self, used: Ratings, steps: GradientSteps, centre: float, run: Run
    ) -> tuple[Array, Array, tuple[TracePoint, ...]]:
        if self.solver == "gradient":
            U, V = steps.start(self.factors, self.initial)
            lambda_v = 0.01 if self.lambda_v is None else self.lambda_v
            U, V = steps.train(U, V, self.lambda_u, lambda_v, self.k1, run.progress)
            return U, V, tuple(steps.trace)
        V = unit_rows(run.randomness.training, len(used.items), self.factors, self.initial)
        U, V, trace = alternate(
            used,
            V.astype(DTYPES[self.dtype]),
            (0.05, 0.05),
            centre=centre,
            weighted=True,
            sweeps=10,
            threads=run.compute.threads,
            progress=run.progress,
        )
        project_rows(0, len(U), U)
        return U, V, trace

    def ridge(self, t: float) -> float:
        """lambda_v, as given or by default."""
        if self.lambda_v is not None:
            return self.lambda_v
        return 1 / math.expm1(t / 2) if self.variant == "repaired" else 0.01

    def minimise(self, used: Ratings, U: Array, t: float, run: Run) -> Array:
        """The exact minimiser of objective (7): a ridge regression per item, shifted by noise."""
        scale = self.sensitivity(used.scale) / t
        eta = run.randomness.spherical(len(used.items), self.factors, scale)
        order = used.by_item
        return solve_side(
            order,
            order.values.astype(np.float64),
            U.astype(np.float64),
            self.ridge(t),
            linear=eta,
            threads=run.compute.workers,
        )

    def minimise_huber(self, used: Ratings, U: Array, t: float, run: Run) -> Array:
        """One record moves the gradient by at most kappa and log det of the Hessian by the rest."""
        ridge, kappa = self.ridge(t), self._slope(used.scale)
        left = t - math.log1p(1 / ridge)
        if left <= 0:
            raise ParameterError(
                f"lambda_v = {ridge:g} leaves nothing of t for the noise: it must be above "
                f"1/(e^t - 1) = {1 / math.expm1(t):g}"
            )
        moved = kappa
        if self.neighbours == Neighbours.REPLACE:
            moved = min(2 * kappa, used.scale.span)
        eta = run.randomness.spherical(len(used.items), self.factors, moved / left)
        return minimise_huber(used, U, eta, ridge, kappa, run.compute)

    def _slope(self, scale: RatingScale) -> float:
        return scale.span / 4 if self.kappa is None else self.kappa

    def certificate(
        self, spec: PrivacySpec, chosen: Threshold, randomness: Randomness
    ) -> Certificate:
        """What a release promises; `chosen` is t, or how it was computed, which is no secret."""
        parameters: dict[str, str | int | float] = {
            name: getattr(self, name) for name in ("factors", "gamma", "k1", "lambda_u", "solver")
        }
        if self.variant == "printed":
            parameters["k2"] = self.k2
        usual = "1/(e^(t/2) - 1)" if self.variant == "repaired" else 0.01
        parameters["lambda_v"] = usual if self.lambda_v is None else self.lambda_v
        if self.variant == "repaired":
            parameters["kappa"] = "span/4" if self.kappa is None else self.kappa
        declared = None if isinstance(chosen, str) else chosen
        made = recorded(
            self._theorem(chosen),
            items=self.items,
            spec=spec,
            randomness=randomness,
            scheme=self.about.name,
            variant=self.variant,
            neighbours=self.neighbours,
            threshold=declared,
            threshold_rule="declared" if declared else f"{chosen} of the training levels",
            personalisation="sample" if self.about.personal else "none: one level for everybody",
            coins=self.about.personal,
            parameters=parameters,
            sampler="uniform direction times Gamma(d), in 64-bit floating point",
        )
        return Certificate(made)

    def _theorem(self, chosen: Threshold) -> str:
        replaced = self.neighbours == Neighbours.REPLACE
        if self.variant == "repaired":
            if chosen in DATA_THRESHOLDS:
                return "paper-data-threshold"
            return "paper-repaired-replace" if replaced else "paper-repaired"
        twice = replaced and self.about.personal  # for a replaced value the paper claims 2 epsilon
        return f"pdp-{self.variant}-replace" if twice else f"paper-{self.variant}"
