"""PMF without privacy: objective (1) of the paper by its gradient steps, by SGD or by ALS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from discreet.arrays import Array
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.data.tables import Table, as_ratings
from discreet.errors import (
    ParameterError,
    require_choice,
    require_count,
    require_nonnegative,
    require_positive,
)
from discreet.kernels.compute import Compute
from discreet.privacy.certificate import Certificate
from discreet.privacy.noise import Randomness
from discreet.privacy.spec import PrivacySpec
from discreet.progress import Progress, silent
from discreet.release.scoring import FoldIn
from discreet.schemes.base import About, Option, Run, option
from discreet.schemes.catalogue import to_train_on
from discreet.schemes.certificates import recorded
from discreet.schemes.model import FactorModel, TracePoint
from discreet.schemes.options import FACTORS
from discreet.schemes.parameters import Parameters
from discreet.schemes.pmf.als import alternate, low_centre, spectral_start
from discreet.schemes.pmf.factors import DTYPES, factor_release, unit_ball_fold_in
from discreet.schemes.pmf.gradient import GradientSteps, unit_rows
from discreet.schemes.pmf.sgd import descend


class _Settings(NamedTuple):
    """What a solver is given."""

    lambda_u: float
    lambda_v: float
    weighted: bool
    initial: str
    gamma: float = 1.0  # of no use to ALS
    passes: int = 1

    @property
    def ridges(self) -> tuple[float, float]:
        """The regularisations of both sides."""
        return self.lambda_u, self.lambda_v


USUAL = {
    "als": _Settings(0.05, 0.05, weighted=True, initial="spectral"),
    "sgd": _Settings(0.04, 0.04, weighted=True, initial="spectral", gamma=0.025, passes=10),
    "gradient": _Settings(0.01, 0.01, weighted=False, initial="signed", gamma=50.0, passes=50),
}
"""What each solver takes where nothing else is said: docs/constants.md."""
SOLVER = Option(
    "--solver",
    "How factors are trained without noise (pmf: als by default; the paper's schemes: gradient).",
    metavar="als|sgd|gradient",
)
GAMMA = Option("--gamma", "Learning rate (50; a step is gamma/|batch|), or of SGD (0.025).", float)
PASSES = Option("--k1", "Passes without noise (50), passes of SGD or sweeps of ALS (10).", int)
LAMBDA = Option("--lambda", "Regularisation of both sides (default: the scheme's own).", float)
INITIAL = Option(
    "--initial",
    "What to start from: random vectors of length 1, or singular vectors of the ratings (PMF).",
    metavar="signed|nonnegative|spectral",
)


@dataclass(frozen=True, kw_only=True)
class PMF(Parameters):
    """Probabilistic matrix factorization: min 1/2 sum (r - u.v)^2 + lambda_u/2 |U|^2 + ...

    `solver="als"` minimises exactly, half by half, and is a good factoriser with these defaults.
    `solver="sgd"` steps rating by rating, for r - c with c low on the scale: often a better one.
    `solver="gradient"` takes the paper's steps with its parameters (gamma = 50, lambda = 0.01,
    50 passes over mini-batches of 100,000, step gamma/|batch|, |u| <= 1).

    >>> PMF(factors=8).factors
    8
    """

    about: ClassVar[About] = About(
        name="PMF",
        promise="no privacy: plain matrix factorisation, for comparisons",
        units=(),
        audited=({"factors": 2},),
    )
    factors: int = option(20, FACTORS)
    solver: str = option("als", SOLVER)
    lambda_u: float | None = option(None, LAMBDA)
    """Regularisation of people: by default 0.05 per rating for ALS, 0.04 per rating for SGD, 0.01
    for gradient steps."""
    lambda_v: float | None = option(None, LAMBDA)
    """Regularisation of items: likewise."""
    weighted: bool | None = option(
        None,
        Option(
            "--weighted/--unweighted",
            "ALS: multiply regularisation by the row's count or not.",
            bool,
        ),
    )
    """Whether a row's regularisation is multiplied by its number of ratings: a choice for ALS
    (default: yes), always so for SGD, never for gradient steps."""
    sweeps: int = option(10, PASSES)
    """Of ALS."""
    gamma: float | None = option(None, GAMMA)
    """The length of steps: 50 for gradient steps, over the number of ratings in a batch; 0.025 for
    the first of SGD, on any scale."""
    passes: int | None = option(None, PASSES)
    """Over all ratings: 50 of gradient steps, 10 of SGD."""
    initial: str | None = option(None, INITIAL)
    """What to start from: random unit rows with "signed" (the gradient steps' default) or
    "nonnegative" entries, or "spectral" (the others'), leading directions of the ratings."""
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
        """Train; a specification is accepted, for comparisons, and protects nobody."""
        del spec
        settings = self._settings()
        data = to_train_on(as_ratings(ratings), self.items)
        run = Run(Randomness(seed), compute, progress)
        solve = {"als": self._by_als, "sgd": self._by_sgd, "gradient": self._by_gradient}
        mean, U, V, trace = solve[self.solver](data, settings, run)
        if self.solver == "gradient":
            ridge = unit_ball_fold_in(data.scale, self.factors)
        elif settings.weighted:
            ridge = FoldIn(0.0, settings.lambda_u)
        else:
            ridge = FoldIn(settings.lambda_u)
        certificate = self._certificate(run.randomness)
        release = factor_release(data, self.items, V, ridge, certificate, mean=mean)
        return FactorModel(release, data, U, trace, compute)

    def _by_als(self, data: Ratings, settings: _Settings, run: Run) -> _Trained:
        trained = alternate(
            data,
            self._first_items(data, settings, run),
            settings.ridges,
            weighted=settings.weighted,
            sweeps=self.sweeps,
            threads=run.compute.threads,
            progress=run.progress,
        )
        return _Trained(0.0, *trained)

    def _by_sgd(self, data: Ratings, settings: _Settings, run: Run) -> _Trained:
        rng = run.randomness.training
        centre, quarter = low_centre(data.scale), data.scale.span / 4
        V = self._first_items(data, settings, run)
        if (
            settings.initial == "spectral"
        ):  # everybody's first prediction is the middle of the scale
            U = np.zeros((len(data.users), self.factors), dtype=V.dtype)
            U[:, 0] = (data.scale.middle - centre) / quarter
        else:
            U = unit_rows(rng, len(data.users), self.factors, settings.initial).astype(V.dtype)
        trace = descend(
            data,
            U,
            V,
            settings.ridges,
            gamma=settings.gamma,
            passes=settings.passes,
            centre=centre,
            rng=rng,
            threads=run.compute.threads,
            progress=run.progress,
        )
        return _Trained(centre, U * V.dtype.type(quarter), V, trace)

    def _by_gradient(self, data: Ratings, settings: _Settings, run: Run) -> _Trained:
        steps = GradientSteps(
            data, settings.gamma, run.randomness.training, DTYPES[self.dtype], run.compute.threads
        )
        U, V = steps.start(self.factors, settings.initial)
        U, V = steps.train(U, V, *settings.ridges, settings.passes, run.progress)
        return _Trained(0.0, U, V, tuple(steps.trace))

    def _first_items(self, data: Ratings, settings: _Settings, run: Run) -> Array:
        rng, dtype = run.randomness.training, np.dtype(DTYPES[self.dtype])
        if settings.initial == "spectral":
            return spectral_start(data, self.factors, rng, dtype, run.compute.workers)
        return unit_rows(rng, len(data.items), self.factors, settings.initial).astype(dtype)

    def _settings(self) -> _Settings:
        """What was asked for, and the solver's usual settings for the rest."""
        require_count("factors", self.factors)
        require_choice("solver", self.solver, USUAL)
        require_count("sweeps", self.sweeps)
        require_choice("initial", self.initial, (None, "signed", "nonnegative", "spectral"))
        require_choice("dtype", self.dtype, DTYPES)
        usual = USUAL[self.solver]
        asked = {name: getattr(self, name) for name in usual._fields}
        settings = usual._replace(**{k: v for k, v in asked.items() if v is not None})
        settings = settings._replace(
            lambda_u=require_nonnegative("lambda_u", settings.lambda_u),
            lambda_v=require_nonnegative("lambda_v", settings.lambda_v),
            gamma=require_positive("gamma", settings.gamma),
            passes=require_count("passes", settings.passes),
        )
        if settings.initial == "spectral" and self.solver == "gradient":
            raise ParameterError("initial='spectral' goes with solver='als' and 'sgd' only")
        if settings.weighted != usual.weighted and self.solver != "als":
            raise ParameterError(f"weighted={settings.weighted} goes with solver='als' only")
        return settings

    def _certificate(self, randomness: Randomness) -> Certificate:
        made = recorded(
            "pmf",
            items=self.items,
            randomness=randomness,
            scheme=self.about.name,
            variant=self.solver,
            threshold_rule="none",
            parameters={"factors": self.factors},
        )
        return Certificate(made)


class _Trained(NamedTuple):
    """Ratings are predicted as mean + u . v."""

    mean: float
    U: Array
    V: Array
    trace: tuple[TracePoint, ...]
