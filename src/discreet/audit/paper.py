"""The paper's schemes under attack: whole trainings of a tiny model, batched, from start to end."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.arrays import Array
from discreet.audit.game import Game, play_game
from discreet.audit.neighbours import Pair, four_people, levels_of, random_pair
from discreet.data.ratings import Ratings
from discreet.errors import ParameterError
from discreet.kernels import tiny
from discreet.kernels.threads import even_ranges, run_ranges, thread_count
from discreet.privacy.certificate import Certificate
from discreet.privacy.personalise import inclusion_probability
from discreet.privacy.provenance import Neighbours
from discreet.progress import Progress, silent

VARIANT_CODES = {"printed": tiny.PRINTED, "stated": tiny.STATED, "repaired": tiny.REPAIRED}


@dataclass(frozen=True)
class PaperRuns:
    """Outcomes are what is released, V, as far as it does not depend on how U was turned.

    With `fixed` U is constant and known, as the theorem assumes; else it is trained on the record.
    """

    variant: str
    pair: Pair
    t: float
    fixed: Array | None = None
    factors: int = 2
    gamma: float = 0.5
    k1: int = 50
    k2: int = 50
    lambda_u: float = 0.01
    lambda_v: float | None = None
    kappa: float = 1.0
    threads: int | None = None

    def __call__(self, with_record: bool, runs: int, seed: int) -> Array:
        """So many trainings of one side."""
        V = self.train(with_record, runs, seed)[1]
        if self.fixed is not None:
            return V.reshape(runs, -1)
        # U starts anywhere, so V is known up to a rotation: its inner products are what it says.
        gram = np.einsum("rja,rka->rjk", V, V)[:, *np.triu_indices(V.shape[1])]
        return np.hstack([gram, np.sqrt(np.einsum("rja,rja->rj", V, V))])

    def train(self, with_record: bool, runs: int, seed: int) -> tuple[Array, Array]:
        """U and V of so many trainings of one side."""
        table = self.pair.side(with_record)
        fixed = self._fixed
        U = np.empty((runs, len(table.users), fixed.shape[1]))
        V = np.empty((runs, len(table.items), fixed.shape[1]))
        centre = table.scale.middle if self.variant == "repaired" else 0.0
        workers = thread_count(self.threads)
        run_ranges(
            tiny.train_many,
            even_ranges(runs, workers, least=64),
            workers,
            seed,
            table.user,
            table.item,
            table.rating.astype(np.float64) - centre,
            inclusion_probability(levels_of(table), self.t),
            VARIANT_CODES[self.variant],
            self.gamma,
            self.lambda_u,
            self.ridge,
            0 if self.fixed is not None else self.k1,
            self.k2,
            self.scale,
            self.kappa,
            fixed,
            U,
            V,
        )
        return U, V

    @property
    def ridge(self) -> float:
        """lambda_v, by default as the schemes choose it."""
        if self.lambda_v is not None:
            return self.lambda_v
        return 1 / math.expm1(self.t / 2) if self.variant == "repaired" else 0.01

    @property
    def scale(self) -> float:
        """Of the noise, as the schemes calibrate it."""
        scale, replaced = self.pair.table.scale, self.pair.instead is not None
        if self.variant == "repaired":
            moved = min(2 * self.kappa, scale.span) if replaced else self.kappa
            return moved / (self.t - math.log1p(1 / self.ridge))
        return (scale.span if replaced else scale.largest) / self.t

    @property
    def _fixed(self) -> Array:
        if self.fixed is not None:
            return self.fixed
        return np.zeros((len(self.pair.table.users), self.factors))

    def log_ratio(self, outcomes: Array) -> Array:
        """Given U the exact minimiser's density is known: noise, and the Jacobian of its map.

        Only items of which the removed record is one have different densities.
        """
        V = outcomes.reshape(len(outcomes), len(self.pair.table.items), -1)[:, self.pair.item]
        share = float(inclusion_probability(self.pair.level, self.t))
        one, other = (self._log_density(V, self.pair.side(side)) for side in (True, False))
        ratio = one - other
        return np.log1p(share * np.expm1(ratio)) if share < 1 else ratio

    def _log_density(self, V: Array, table: Ratings) -> Array:
        """Up to a constant: log |det d eta / d v| - |eta(v)| / scale."""
        rows = table.item == self.pair.item
        U, r = self._fixed[table.user[rows]], table.rating[rows].astype(np.float64)
        if self.variant == "repaired":
            r = r - table.scale.middle
        error = r - V @ U.T
        inside = np.ones_like(error)
        if self.variant == "repaired":
            inside = np.abs(error) <= self.kappa
            error = np.clip(error, -self.kappa, self.kappa)
        eta = error @ U - self.ridge * V
        hessian = np.einsum("ni,ia,ib->nab", inside, U, U) + self.ridge * np.eye(V.shape[1])
        return np.asarray(
            np.linalg.slogdet(hessian)[1] - np.sqrt((eta**2).sum(axis=1)) / self.scale
        )


def unit_people(people: int, factors: int = 2) -> Array:
    """U held fixed: unit rows spread over the circle."""
    angle = np.pi * np.arange(people) / people
    rows = np.zeros((people, factors))
    rows[:, 0], rows[:, 1] = np.cos(angle), np.sin(angle)
    return rows


def paper_game(scheme: str, runs: PaperRuns, case: str) -> Game:
    """A claim of the paper, or of its repair, about one record."""
    given = runs.fixed is not None
    known = given and runs.variant != "printed"
    return Game(
        scheme,
        runs.variant,
        f"{case}, U {'fixed' if given else 'trained'}",
        min(runs.pair.level, runs.t),
        runs,
        runs.log_ratio if known else None,
        proven=given and runs.variant == "repaired",
        share=0.5 if runs.variant == "repaired" else 1.0,  # its solver takes many steps
    )


# Long enough steps, often enough: here the noise of single steps averages out.
_PRINTED: dict[str, Any] = {"gamma": 0.5, "k1": 200, "k2": 200}


def games(claims: tuple[float, ...] = (0.39, 1.0)) -> list[Game]:
    """All variants, with U fixed where the theorem is about that, and trained as it really is."""
    found = []
    for t in claims:
        pair = four_people(t)
        U = unit_people(len(pair.table.users))
        found += [
            paper_game("DP-PMF", PaperRuns("printed", pair, t, **_PRINTED), "record at t"),
            paper_game("DP-PMF", PaperRuns("stated", pair, t), "record at t"),
            paper_game("DP-PMF", PaperRuns("stated", pair, t, U), "record at t"),
            paper_game("DP-PMF", PaperRuns("repaired", pair, t, U), "record at t"),
            paper_game("DP-PMF", PaperRuns("repaired", pair, t), "record at t"),
        ]
    t = claims[-1]
    for place, share in (("below", 0.25), ("above", 2.0)):
        pair = four_people(t).at_level(share * t)
        U = unit_people(len(pair.table.users))
        found += [
            paper_game("PDP-PMF", PaperRuns("printed", pair, t, **_PRINTED), f"record {place} t"),
            paper_game("PDP-PMF", PaperRuns("stated", pair, t, U), f"record {place} t"),
            paper_game("PDP-PMF", PaperRuns("repaired", pair, t, U), f"record {place} t"),
        ]
    return found


def games_for(certificate: Certificate, t: float) -> list[Game]:
    """The variant and parameters that a certificate names.

    A step is gamma/|batch|: on a table of a few ratings the paper's gamma would diverge, so that
    it is lowered to what trains without doing so.
    """
    given = certificate.parameters
    known: dict[str, Any] = {n: given[n] for n in ("k1", "k2", "lambda_u") if n in given}
    known |= {
        name: given[name]
        for name in ("lambda_v", "kappa")
        if isinstance(given.get(name), int | float)
    }
    gamma = min(float(given.get("gamma", 0.5)), 0.5)
    games = []
    for place, share in (("below", 0.25), ("at", 1.0)):
        if certificate.scheme == "DP-PMF" and place == "below":
            continue
        pair = four_people(t).at_level(share * t)
        if certificate.neighbours == Neighbours.REPLACE:
            if certificate.scheme == "PDP-PMF":
                raise ParameterError("there is no audit of PDP-PMF under REPLACE, only of DP-PMF")
            pair = pair.replaced()
        fixed = [None] if certificate.variant == "printed" else [None, unit_people(4)]
        games += [
            paper_game(
                certificate.scheme,
                PaperRuns(certificate.variant, pair, t, U, gamma=gamma, **known),
                f"record {place} t",
            )
            for U in fixed
        ]
    return games


def search(
    runs: PaperRuns,
    *,
    tries: int = 40,
    each: int = 2_000,
    seed: int = 0,
    progress: Progress = silent,
) -> PaperRuns:
    """The worst of so many random tables, as few runs show it; judge it by runs of its own."""
    rng = np.random.default_rng(seed)
    best, most = runs, -1.0
    for k in range(tries):
        progress("search for a worst case", k, tries)
        candidate = replace(runs, pair=random_pair(rng, level=runs.t))
        found = play_game(paper_game("search", candidate, ""), each, 0.05, seed=seed + k)
        if found.lower_bound > most:
            best, most = candidate, found.lower_bound
    progress("search for a worst case", tries, tries)
    return best
