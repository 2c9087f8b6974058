"""PMF without privacy: objective (1) of the paper by its gradient steps, by SGD or by ALS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from discreet.arrays import Array
from discreet.data.edges import require_inside
from discreet.data.items import Items
from discreet.data.ratings import Ratings, RatingsSource
from discreet.data.scale import RatingScale
from discreet.errors import (
    DataError,
    ParameterError,
    require_choice,
    require_count,
    require_nonnegative,
    require_positive,
)
from discreet.kernels.threads import thread_count
from discreet.privacy.certificate import Certificate
from discreet.privacy.noise import Randomness
from discreet.privacy.spec import PrivacySpec
from discreet.progress import Progress, silent
from discreet.release.release import Release
from discreet.release.scoring import FoldIn, typical_person
from discreet.schemes.base import FactorModel, TracePoint
from discreet.schemes.certificates import recorded
from discreet.schemes.pmf.als import alternate, low_centre, spectral_start
from discreet.schemes.pmf.gradient import GradientSteps, unit_rows
from discreet.schemes.pmf.sgd import descend

DTYPES = {"float32": np.float32, "float64": np.float64}


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
"""What each solver takes where nothing else is said: the paper's for "gradient", for the others
measured in docs/constants.md."""


@dataclass(frozen=True, kw_only=True)
class PMF:
    """Probabilistic matrix factorization: min 1/2 sum (r - u.v)^2 + lambda_u/2 |U|^2 + ...

    `solver="als"` minimises exactly, half by half, and is a good factoriser with these defaults.
    `solver="sgd"` steps rating by rating, for r - c with c low on the scale: often a better one.
    `solver="gradient"` takes the paper's steps with its parameters (gamma = 50, lambda = 0.01,
    50 passes over mini-batches of 100,000, step gamma/|batch|, |u| <= 1).

    >>> PMF(factors=8).factors
    8
    """

    factors: int = 20
    solver: str = "als"
    lambda_u: float | None = None
    """Regularisation of people: by default 0.05 per rating for ALS, 0.04 per rating for SGD, 0.01
    for gradient steps."""
    lambda_v: float | None = None
    """Regularisation of items: likewise."""
    weighted: bool | None = None
    """Whether a row's regularisation is multiplied by its number of ratings: a choice for ALS
    (default: yes), always so for SGD, never for gradient steps."""
    sweeps: int = 10
    """Of ALS."""
    gamma: float | None = None
    """The length of steps: 50 for gradient steps, over the number of ratings in a batch; 0.025 for
    the first of SGD, on any scale."""
    passes: int | None = None
    """Over all ratings: 50 of gradient steps, 10 of SGD."""
    initial: str | None = None
    """What to start from: random unit rows with "signed" (the gradient steps' default) or
    "nonnegative" entries, or "spectral" (the others'), leading directions of the ratings."""
    dtype: str = "float32"
    items: Items | None = None
    threads: int | None = None

    def fit(
        self,
        ratings: Ratings,
        spec: PrivacySpec | None = None,
        *,
        seed: int | None = None,
        progress: Progress = silent,
    ) -> FactorModel:
        """Train; a specification is accepted, for comparisons, and protects nobody."""
        del spec
        settings = self._settings()
        data = over_catalogue(ratings, self.items)
        require_inside(ratings, self.items)
        randomness = Randomness(seed)
        solve = {"als": self._by_als, "sgd": self._by_sgd, "gradient": self._by_gradient}
        mean, U, V, trace = solve[self.solver](data, settings, randomness.training, progress)
        if self.solver == "gradient":
            ridge = unit_ball_fold_in(data.scale, self.factors)
        elif settings.weighted:
            ridge = FoldIn(0.0, settings.lambda_u)
        else:
            ridge = FoldIn(settings.lambda_u)
        certificate = self._certificate(randomness)
        release = factor_release(data, self.items, V, ridge, certificate, mean=mean)
        return FactorModel(release, data, U, trace, self.threads)

    def _by_als(
        self, data: Ratings, settings: _Settings, rng: np.random.Generator, progress: Progress
    ) -> _Trained:
        trained = alternate(
            data,
            self._first_items(data, settings, rng),
            settings.ridges,
            weighted=settings.weighted,
            sweeps=self.sweeps,
            threads=self.threads,
            progress=progress,
        )
        return _Trained(0.0, *trained)

    def _by_sgd(
        self, data: Ratings, settings: _Settings, rng: np.random.Generator, progress: Progress
    ) -> _Trained:
        centre, quarter = low_centre(data.scale), data.scale.span / 4
        V = self._first_items(data, settings, rng)
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
            threads=self.threads,
            progress=progress,
        )
        return _Trained(centre, U * V.dtype.type(quarter), V, trace)

    def _by_gradient(
        self, data: Ratings, settings: _Settings, rng: np.random.Generator, progress: Progress
    ) -> _Trained:
        steps = GradientSteps(data, settings.gamma, rng, DTYPES[self.dtype], self.threads)
        U, V = steps.start(self.factors, settings.initial)
        U, V = steps.train(U, V, *settings.ridges, settings.passes, progress)
        return _Trained(0.0, U, V, tuple(steps.trace))

    def _first_items(self, data: Ratings, settings: _Settings, rng: np.random.Generator) -> Array:
        dtype, workers = np.dtype(DTYPES[self.dtype]), thread_count(self.threads)
        if settings.initial == "spectral":
            return spectral_start(data, self.factors, rng, dtype, workers)
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
            scheme="PMF",
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


def over_catalogue(ratings: Ratings, items: Items | None) -> Ratings:
    """The ratings over the public catalogue, if there is one, else over the items they name."""
    if not isinstance(ratings, Ratings):
        raise DataError(
            f"ratings must be a Ratings table: got {type(ratings).__name__}; make one with "
            "Ratings.from_frame(frame) or read_ratings(path)"
        )
    if not isinstance(items, Items | None):
        raise DataError(
            f"items must be an Items table: got {type(items).__name__}; make one with "
            "Items.from_frame(frame) or read_items(path)"
        )
    return ratings if items is None else ratings.with_items(items.ids)


def public_items(data: RatingsSource, items: Items | None) -> Items:
    """The catalogue that a release lists: the public one, else the items of the table."""
    return Items.from_frame(data.items.values.to_frame("item")) if items is None else items


def unit_ball_fold_in(scale: RatingScale, d: int) -> FoldIn:
    """For people with |u| <= 1: the ratio of the errors' variance to that of an entry of u.

    An error has about 0.05 span^2 (0.8 on a scale of five stars), an entry of a unit row 1/d.
    """
    return FoldIn(ridge=0.05 * scale.span**2 * d)


def factor_release(
    data: RatingsSource,
    items: Items | None,
    V: Array,
    fold_in: FoldIn,
    certificate: Certificate,
    *,
    mean: float = 0.0,
) -> Release:
    """The release of a factorisation without item effects: r is predicted as mean + u . v."""
    return Release(
        items=public_items(data, items),
        mean=mean,
        item_effects=np.zeros(len(V)),
        item_factors=V,
        prior=typical_person(V, data.scale.middle - mean),
        fold_in=fold_in,
        scale=data.scale,
        certificate=certificate,
    )
