"""Chorus under attack, for both units, and Choruses broken on purpose.

The attacker hears tallies and every round, and chooses the directions: the theorem allows both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.attacks import Score
from discreet.audit.game import Game
from discreet.audit.neighbours import Pair, copies, levels_of, one_busy_person, whole_person
from discreet.audit.tally import laplace_ratio
from discreet.privacy.accounting import gaussian_delta, gaussian_epsilon, gaussian_mu
from discreet.privacy.noise import Randomness
from discreet.privacy.provenance import Neighbours
from discreet.privacy.spec import PrivacySpec
from discreet.ratings import Integers, Ratings
from discreet.schemes.chorus import PROBE, Chorus
from discreet.schemes.effects import Effects
from discreet.schemes.purses import ByPerson, ByRating, Plan
from discreet.schemes.voices import SUM_UNIT, UNIT, Contributions, Voices
from discreet.tallies import ONE_VOTE

Array = NDArray[Any]
BUSY = 16
"""So many ratings has somebody whose voice has nearly its full length."""


class _Unnormalised(Voices):
    """A voice as loud as all that was said: u_i = g_i."""

    @staticmethod
    def sums_of(z: Array, threads: int, some: Contributions) -> Integers:
        del threads
        a, data = some.by_user / UNIT, some.data
        U = np.zeros((len(data.users), z.shape[1]))
        np.add.at(U, data.user, a[:, None] * z[data.item] / UNIT)
        V = np.zeros((len(data.items), z.shape[1]))
        np.add.at(V, data.item, a[:, None] * U[data.user])
        return np.trunc(V * SUM_UNIT).astype(np.int64)


class _Quiet(Randomness):
    """All noise times 0.8."""

    times = 0.8

    def add_laplace(self, sums: Any, scale: float, *, threads: int | None = None) -> Any:
        return super().add_laplace(sums, self.times * scale, threads=threads)

    def add_gaussian(self, sums: Any, scale: float, *, threads: int | None = None) -> Any:
        return super().add_gaussian(sums, self.times * scale, threads=threads)


class _Halved(_Quiet):
    """All noise times 0.5."""

    times = 0.5


@dataclass(frozen=True)
class ChorusRuns:
    """Outcomes are the noisy counts, tallies and sums of the `heard` items, round by round.

    Drawn by the scheme's own code on copies of a table side by side: all of it is item by item.
    """

    scheme: Chorus
    pair: Pair
    z: Array
    heard: tuple[int, ...]
    voices: type[Voices] = Voices
    noise: type[Randomness] = Randomness
    exact: bool = False
    """Whether noise is drawn as releases draw it, which takes long; else with a seed."""

    def __call__(self, with_record: bool, runs: int, seed: int) -> Array:
        """So many outcomes of one side."""
        randomness = self.noise(None if self.exact else seed)
        purse, voices, plan = self.parts(copies(self.pair.side(with_record), runs), randomness)
        counts, _ = purse.probe(plan.probe)
        against, in_favour = purse.tallies(plan.tallies).votes()
        outcomes = [counts, against, in_favour]
        fed = np.trunc(np.tile(self.z, (runs, 1)) * UNIT)
        for mu in voices.mus:
            outcomes += list(voices.noisy_sums(fed, float(mu), randomness)[0].T)
        kept = [column.reshape(runs, -1)[:, list(self.heard)] for column in outcomes]
        return np.hstack(kept)

    def log_ratio(self, outcomes: Array) -> Array:
        """What the noise should be, from the claim; both tables are known."""
        total, first = np.zeros(len(outcomes)), 0
        for ratio in self._ratios:
            total += ratio(outcomes[:, first : first + len(self.heard)])
            first += len(self.heard)
        return total

    @cached_property
    def _ratios(self) -> list[Score]:
        """One for every column of a transcript, in its order."""
        sides = []
        for side in (True, False):
            purse, voices, plan = self.parts(self.pair.side(side), Randomness(0))
            against, in_favour = purse.exact
            votes = [(against + in_favour), against, in_favour]
            fed = np.trunc(self.z * UNIT)
            sums = list(voices.exact_sums(fed).T)
            sides.append([column[list(self.heard)] for column in (*votes, *sums)])
        ratios: list[Score] = []
        for k, share in enumerate((plan.probe, plan.tallies, plan.tallies)):
            x, y = (columns[k] / ONE_VOTE for columns in sides)
            if isinstance(purse, ByPerson):
                ratios.append(gauss_ratio(x, y, purse.scale(share) / ONE_VOTE))
            elif share == 0 or (k == 1 and self.scheme.neighbours == Neighbours.REPLACE):
                ratios.append(_says_nothing)  # public counts, and tallies with one noise for both
            else:
                ratios.append(laplace_ratio(x, y, 1 / (share * purse.t)))
        for mu in voices.mus:
            sigma = voices.deviation(float(mu)) / SUM_UNIT
            for k in range(self.z.shape[1]):
                x, y = (columns[3 + k] / SUM_UNIT for columns in sides)
                ratios.append(gauss_ratio(x, y, sigma))
        return ratios

    def parts(
        self, table: Ratings, randomness: Randomness
    ) -> tuple[ByRating | ByPerson, Voices, Plan]:
        """What draws counts and tallies, what sings, and how the budget is spent."""
        spec = PrivacySpec.column(max_level=max(self.scheme.threshold or 1.0, self.pair.level))
        purse = self.scheme.purse(table, spec, levels_of, randomness)
        flat = Effects(table.scale.middle, np.zeros(len(table.items)), np.ones(len(table.items)))
        voices = self.voices(
            table, flat, self.plan, purse, neighbours=self.scheme.neighbours,
            threads=self.scheme.threads,
        )  # fmt: skip
        return purse, voices, self.plan

    @property
    def plan(self) -> Plan:
        """As `factors="auto"` makes it where there are votes enough; counts are public in REPLACE.

        The share of the tallies is the least there is: pure and Gaussian parts add up loosely.
        """
        probe = 0.0 if self.scheme.neighbours == Neighbours.REPLACE else PROBE
        return Plan(probe, 0.1 * (1 - probe), self.z.shape[1], self.scheme.rounds)


def _says_nothing(outcomes: Array) -> Array:
    return np.zeros(len(outcomes))


def gauss_ratio(x: Array, y: Array, sigma: float) -> Score:
    """log p(outcome | x) - log p(outcome | y) for Gaussian noise on every number."""

    def ratio(outcomes: Array) -> Array:
        squares = (outcomes - y) ** 2 - (outcomes - x) ** 2
        return np.asarray(squares.sum(axis=1) / (2 * sigma**2))

    return ratio


def chorus_game(case: str, runs: ChorusRuns, *, control: bool = False) -> Game:
    """The claim of a rating's or a person's level, with the scheme's delta."""
    level = min(runs.pair.level, runs.scheme.threshold or 1.0)
    unit = runs.scheme.unit
    return Game(
        "Chorus", f"unit {unit}", case, level, runs, runs.log_ratio, runs.scheme.delta,
        proven=not control, control=control,
    )  # fmt: skip


def at_visible_delta(game: Game) -> Game:
    """The same claim where an audit can see it.

    Events that happen once in 10^8 runs prove nothing. But the rounds are mu-GDP, a whole curve of
    guarantees, and the theorem claims all of it: counts and tallies cost their share of epsilon,
    and the rounds (epsilon', delta') for every delta'.
    """
    runs = game.play
    assert isinstance(runs, ChorusRuns)
    purse, _, plan = runs.parts(runs.pair.table, Randomness(0))
    level = float(min(runs.pair.level, runs.scheme.threshold or 1.0))
    if isinstance(purse, ByPerson):
        mu, pure = gaussian_mu(level, runs.scheme.delta), 0.0
    else:
        weights = purse.weights(runs.pair.table, plan.share)[runs.pair.removed]
        mu, pure = float(weights[0]) * purse.rounds(plan.share), (1 - plan.share) * level
    delta = 0.3 * gaussian_delta(mu, 0.0)
    return replace(game, claimed=pure + gaussian_epsilon(mu, delta), delta=delta)


def games(
    t: float = 1.0, delta: float = 0.1, unit: str = "rating", *, exact: bool = False
) -> list[Game]:
    """Chorus as it is. delta is large: what happens once in a million runs no audit can see."""
    below, at, above = ("below", 0.25), ("at", 1.0), ("above", 2.0)
    if unit == "person":
        scheme = Chorus(delta=delta, factors=1, rounds=1, threshold=t, unit="person")
        return [
            chorus_game(
                f"person {place} t",
                ChorusRuns(
                    scheme, whole_person(9, share * t), np.ones((9, 1)), tuple(range(9)),
                    exact=exact,
                ),
            )
            for place, share in (below, at)
        ]  # fmt: skip
    scheme = Chorus(delta=delta, factors=1, rounds=3, threshold=t)
    # Who has said much has a voice of full length.
    busy, z = one_busy_person(BUSY, t), np.ones((BUSY, 1))
    return [
        chorus_game(
            f"record {place} t", ChorusRuns(scheme, busy.at_level(share * t), z, (0,), exact=exact)
        )
        for place, share in (below, at, above)
    ]


def replaced_game(t: float, delta: float, *, exact: bool = False) -> Game:
    """Under REPLACE: one of a busy person's values goes from one end of the scale to the other."""
    scheme = Chorus(delta=delta, factors=1, rounds=3, threshold=t, neighbours=Neighbours.REPLACE)
    pair = one_busy_person(BUSY, t).replaced()
    runs = ChorusRuns(scheme, pair, np.ones((BUSY, 1)), (0,), exact=exact)
    return chorus_game("value replaced, at t", runs)


def controls(
    t: float = 1.0, delta: float = 0.1, units: tuple[str, ...] = ("rating", "person"), *,
    exact: bool = False, quiet: type[_Quiet] = _Quiet,
) -> list[Game]:  # fmt: skip
    """Choruses broken on purpose, each of which the audit must refute."""
    found = []
    for unit in units:
        usual = next(g for g in games(t, delta, unit, exact=exact) if g.case.endswith("at t"))
        runs = usual.play
        assert isinstance(runs, ChorusRuns)
        case = f"noise times {quiet.times:g}"
        found.append(chorus_game(case, replace(runs, noise=quiet), control=True))
        if unit == "rating":
            loud = replace(runs, voices=_Unnormalised)
            found.append(chorus_game("without self-normalisation", loud, control=True))
            # Two items that pull in opposite directions, rated fifty times each by one person.
            twice = one_busy_person(2, t, times=50)
            pulled = replace(runs, pair=twice, z=np.array([[1.0], [-1.0]]), heard=(0, 1))
            found.append(chorus_game("duplicate pairs", pulled, control=True))
    return found


def games_for(
    t: float, delta: float, unit: str, neighbours: Neighbours, *, exact: bool
) -> list[Game]:
    """What a certificate names, where an audit can see it, and the same broken on purpose.

    At the usual deltas the rounds are a small part of what is lost, so the broken ones have half
    the noise.
    """
    if neighbours == Neighbours.REPLACE:
        whole = replaced_game(t, delta, exact=exact)
        assert isinstance(whole.play, ChorusRuns)
        half = chorus_game("noise times 0.5", replace(whole.play, noise=_Halved), control=True)
        return [at_visible_delta(game) for game in (whole, half)]
    found = games(t, delta, unit, exact=exact)
    found += controls(t, delta, (unit,), exact=exact, quiet=_Halved)
    return [at_visible_delta(game) for game in found]
