"""PMF without privacy: objective (1) of the paper, by its gradient steps or exactly by ALS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import (
    DataError,
    ParameterError,
    require_choice,
    require_count,
    require_nonnegative,
    require_positive,
)
from discreet.items import Items
from discreet.kernels.threads import thread_count
from discreet.privacy.certificate import Certificate, Neighbours, Status
from discreet.privacy.noise import Randomness
from discreet.privacy.spec import PrivacySpec
from discreet.progress import Progress, silent
from discreet.ratings import Crowd, Ratings
from discreet.recommend import FoldIn, typical_person
from discreet.release import Release
from discreet.scale import RatingScale
from discreet.schemes.als import alternate, spectral_start
from discreet.schemes.gradient import GradientSteps, unit_rows
from discreet.schemes.model import FactorModel

DTYPES = {"float32": np.float32, "float64": np.float64}
Array = NDArray[Any]


@dataclass(frozen=True, kw_only=True)
class PMF:
    """Probabilistic matrix factorization: min 1/2 sum (r - u.v)^2 + lambda_u/2 |U|^2 + ...

    `solver="als"` minimises exactly, half by half, and is a good factoriser with these defaults.
    `solver="gradient"` takes the paper's steps with its parameters (gamma = 50, lambda = 0.01,
    50 passes over mini-batches of 100,000, step gamma/|batch|, |u| <= 1).

    >>> PMF(factors=8).factors
    8
    """

    factors: int = 20
    solver: str = "als"
    lambda_u: float | None = None
    """Regularisation of people: 0.05 per rating for ALS, 0.01 for gradient steps by default."""
    lambda_v: float | None = None
    """Regularisation of items: likewise."""
    weighted: bool | None = None
    """Whether a row's regularisation is multiplied by its number of ratings (ALS: yes)."""
    sweeps: int = 10
    gamma: float = 50.0
    passes: int = 50
    initial: str | None = None
    """What to start from: random unit rows with "signed" (the gradient steps' default) or
    "nonnegative" entries, or "spectral" (ALS's default), leading directions of the ratings."""
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
        self._check()
        data = over_catalogue(ratings, self.items)
        randomness = Randomness(seed)
        lambda_u, lambda_v, weighted = self._regularisation()
        dtype = np.dtype(DTYPES[self.dtype])
        initial = self.initial or ("spectral" if self.solver == "als" else "signed")
        if self.solver == "als":
            rng, workers = randomness.training, thread_count(self.threads)
            start = (
                spectral_start(data, self.factors, rng, dtype, workers)
                if initial == "spectral"
                else unit_rows(rng, len(data.items), self.factors, initial).astype(dtype)
            )
            U, V, trace = alternate(
                data,
                start,
                (lambda_u, lambda_v),
                weighted=weighted,
                sweeps=self.sweeps,
                threads=self.threads,
                progress=progress,
            )
        else:
            steps = GradientSteps(data, self.gamma, randomness.training, dtype, self.threads)
            U, V = steps.start(self.factors, initial)
            U, V = steps.train(U, V, lambda_u, lambda_v, self.passes, progress)
            trace = tuple(steps.trace)
        if self.solver == "gradient":
            ridge = unit_ball_fold_in(data.scale, self.factors)
        else:
            ridge = FoldIn(0.0, lambda_u) if weighted else FoldIn(lambda_u)
        release = factor_release(data, self.items, V, ridge, self._certificate(randomness))
        return FactorModel(release, data, U, trace, self.threads)

    def _check(self) -> None:
        require_count("factors", self.factors)
        require_choice("solver", self.solver, ("als", "gradient"))
        require_count("sweeps", self.sweeps)
        require_count("passes", self.passes)
        require_positive("gamma", self.gamma)
        require_choice("initial", self.initial, (None, "signed", "nonnegative", "spectral"))
        if self.initial == "spectral" and self.solver == "gradient":
            raise ParameterError("initial='spectral' goes with solver='als' only")
        require_choice("dtype", self.dtype, DTYPES)
        if self.weighted and self.solver == "gradient":
            raise ParameterError("weighted=True goes with solver='als' only")

    def _regularisation(self) -> tuple[float, float, bool]:
        usual = 0.05 if self.solver == "als" else 0.01
        pair = [
            require_nonnegative(name, usual if value is None else value)
            for name, value in (("lambda_u", self.lambda_u), ("lambda_v", self.lambda_v))
        ]
        weighted = self.solver == "als" if self.weighted is None else self.weighted
        return pair[0], pair[1], weighted

    def _certificate(self, randomness: Randomness) -> Certificate:
        return Certificate(
            scheme="PMF",
            variant=self.solver,
            status=Status.UNPROVEN,
            statement="No privacy: the item factors depend on every rating without any noise.",
            theorem="docs/paper-schemes.md#pmf",
            neighbours=Neighbours.ADD_REMOVE,
            personalisation="none",
            levels="none",
            threshold="none",
            parameters={"factors": self.factors},
            sampler="none",
            entropy=randomness.entropy,
        )


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


def public_items(data: Crowd, items: Items | None) -> Items:
    """The catalogue that a release lists: the public one, else the items of the table."""
    return Items.from_frame(data.items.values.to_frame("item")) if items is None else items


def unit_ball_fold_in(scale: RatingScale, d: int) -> FoldIn:
    """For people with |u| <= 1: the ratio of the errors' variance to that of an entry of u.

    An error has about 0.05 span^2 (0.8 on a scale of five stars), an entry of a unit row 1/d.
    """
    return FoldIn(ridge=0.05 * scale.span**2 * d)


def factor_release(
    data: Crowd,
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
