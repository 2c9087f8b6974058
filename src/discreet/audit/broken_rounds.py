"""Small patches of Chorus' code, each of which breaks a promise: for the audit's own score."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np

from discreet.arrays import Array
from discreet.audit.breaking import Change, instead
from discreet.kernels.compute import Rows
from discreet.kernels.sums import OnCPU
from discreet.privacy.fixedpoint import GRID, SUM_GRID
from discreet.privacy.lifetime import Costs, Spends
from discreet.privacy.noise import Randomness
from discreet.privacy.purses import Division
from discreet.schemes.chorus import rounds, values, weighing
from discreet.schemes.chorus.budget import PersonBudget, PurseBudget, RatingBudget
from discreet.schemes.chorus.plan import Plan
from discreet.schemes.chorus.rounds import NoisyRounds
from discreet.schemes.chorus.values import Choosing


def _vectors_of(length: Callable[[Array, Array], Array]) -> list[Change]:
    """Vectors g / length(|g|^2, h0^2): the sum of squares of what was said is left out."""

    def user_vectors(
        self: OnCPU, records: Rows, z: Array, floor: float, *, grid: int, exact: int
    ) -> Array:
        del self, exact
        people = len(records.ptr) - 1
        g = np.zeros((people, z.shape[1]))
        own = np.repeat(np.arange(people), np.diff(records.ptr))
        np.add.at(g, own, records.values[:, None] / grid**2 * z[records.cols])
        return np.asarray(g / length((g**2).sum(axis=1), np.array(floor))[:, None])

    return [(OnCPU, "user_vectors", user_vectors)]


def no_squares() -> list[Change]:
    """u = g / sqrt(|g|^2 + h0^2)."""
    return _vectors_of(lambda squares, floor: np.sqrt(squares + floor))


def no_normalisation() -> list[Change]:
    """u = g."""
    return _vectors_of(lambda squares, _: np.ones_like(squares))


def no_clipping() -> list[Change]:
    """Residuals count as they are."""
    unclipped = ModuleType("numpy")
    unclipped.__dict__.update(vars(np))
    unclipped.__dict__["clip"] = lambda values, *_: values
    return [(values, "np", unclipped)]


def quiet_rounds() -> list[Change]:
    """The rounds' noise times 0.8."""
    return instead(NoisyRounds, "deviation", lambda own: lambda self, mu: 0.8 * own(self, mu))


def quiet_person() -> list[Change]:
    """The noise on a person's counts and tallies times 0.8, and the rounds' too."""
    tallies = instead(PersonBudget, "scale", lambda own: lambda self, share: 0.8 * own(self, share))
    return tallies + quiet_rounds()


def one_part() -> list[Change]:
    """A choice is cut off as one number: another rating may move it by a step more."""

    def on_grid(self: Choosing, rating: Array, item: Array, weights: Array) -> Array:
        del item
        share = np.clip((rating - self.scale.lo) / self.scale.span, 0.0, 1.0)
        x = self.least + (self.clip - self.least) * share
        return np.asarray(np.trunc(x * weights * GRID))

    return [(Choosing, "on_grid", on_grid)]


def undoubled() -> list[Change]:
    """REPLACE with the noise of add/remove."""

    def deviation(self: NoisyRounds, mu: float) -> float:
        return float((self.values.clip + self.rho) / mu * SUM_GRID)

    return [(NoisyRounds, "deviation", deviation)]


def every_round_whole() -> list[Change]:
    """Each of the rounds spends what all of them may."""

    return [(rounds, "round_mus", lambda mu, rounds, *_: (mu,) * rounds)]


def whole_share() -> list[Change]:
    """The rounds spend the whole epsilon, whatever counts and tallies have cost."""
    return [(Plan, "share", property(lambda _: 1.0))]


def free_probe() -> list[Change]:
    """The rounds and tallies are paid as if the counts had cost nothing."""
    return [(Plan, "share", property(lambda self: 1.0 - self.tallies))]


def one_share_twice() -> list[Change]:
    """Rounds of liking and of choosing each spend what both may."""

    def whole(own: Any) -> property:
        return property(lambda self: own.fget(self)._replace(of_rounds=Fraction(1)))

    return [(Plan, name, whole(vars(Plan)[name])) for name in ("liking_part", "choosing_part")]


def exact_probe() -> list[Change]:
    """`auto` decides by exact counts."""
    return instead(RatingBudget, "probe", lambda own: lambda self, _: own(self, 0.0))


def exact_activity() -> list[Change]:
    """People are asked all but without noise whether rounds would pay, from their purses."""
    return instead(PurseBudget, "activity", lambda own: lambda self, share: own(self, 1e9 * share))


def level_blind_rounds() -> list[Change]:
    """Every rating has the weight 1 in the rounds."""
    return [(weighing, "gaussian_weights", lambda levels, *_: np.ones(len(levels)))]


def no_margin() -> list[Change]:
    """The noise leaves no room for what cutting off products moves (rho)."""

    def deviation(self: NoisyRounds, mu: float) -> float:
        moved = self.values.moved(self.neighbours)
        return float(np.nextafter(moved / mu * SUM_GRID, np.inf))

    return [(NoisyRounds, "deviation", deviation)]


def purse_forgotten() -> list[Change]:
    """The ledger looks at the pure purse alone, not at what of the other was spent."""

    def made(own: Any) -> Any:
        def allowed(self: Division, levels: Array, spends: Spends) -> Costs:
            costs: Costs = own(self, levels, spends._replace(mu2=np.zeros_like(levels)))
            return costs

        return allowed

    return instead(Division, "allowed", made)


def whole_purse_every_time() -> list[Change]:
    """Every publication makes its rounds' noise as if it alone had the Gaussian purse."""
    return [(PurseBudget, "rounds", lambda self, _: self.division.life_mu)]


def same_noise_every_round() -> list[Change]:
    """Gaussian noise is drawn once, and used again for as many numbers."""

    def made(own: Any) -> Any:
        def add(self: Randomness, sums: Array, scale: float, **more: Any) -> Array:
            kept = self.__dict__.setdefault("_drawn", {})
            if sums.shape not in kept:
                kept[sums.shape] = own(self, np.zeros_like(sums), scale, **more) / scale
            return np.asarray(sums + np.rint(kept[sums.shape] * scale).astype(np.int64))

        return add

    return instead(Randomness, "add_gaussian", made)
