"""Chorus under attack, for both units, and Choruses broken on purpose.

The attacker hears tallies and every round, and chooses the directions: the theorem allows both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.game import Game
from discreet.audit.neighbours import Pair, copies, levels_of, one_busy_person, whole_person
from discreet.audit.tally import laplace_ratio
from discreet.privacy.certificate import Neighbours
from discreet.privacy.noise import Randomness
from discreet.privacy.spec import PrivacySpec
from discreet.ratings import Ratings
from discreet.schemes.chorus import SUM_UNIT, UNIT, ByPerson, ByRating, Chorus, Plan, Voices
from discreet.schemes.effects import Effects
from discreet.schemes.tally import count_votes
from discreet.tallies import ONE_VOTE

Array = NDArray[Any]
TALLIES = 0.1
"""The least share that `factors="auto"` spends on tallies: what adds up loosely is small."""


class _Unnormalised(Voices):
    """A voice as loud as all that was said: u_i = g_i."""

    def exact_sums(self, z: Array) -> NDArray[np.int64]:
        a, data = self.by_user / UNIT, self.data
        U = np.zeros((len(data.users), z.shape[1]))
        np.add.at(U, data.user, a[:, None] * z[data.item] / UNIT)
        V = np.zeros((len(data.items), z.shape[1]))
        np.add.at(V, data.item, a[:, None] * U[data.user])
        return np.trunc(V * SUM_UNIT).astype(np.int64)


@dataclass(frozen=True)
class ChorusRuns:
    """Outcomes are the noisy tallies and sums of the `heard` items, round by round.

    The production kernels on copies of a table side by side.
    """

    scheme: Chorus
    pair: Pair
    z: Array
    heard: tuple[int, ...]
    noise: float = 1.0
    """All noise times this: below 1 the mechanism is broken."""
    voices: type[Voices] = Voices
    exact: bool = False
    """Whether noise is drawn as releases draw it, which takes long; else with a seed."""

    def __call__(self, with_record: bool, runs: int, seed: int) -> Array:
        """So many outcomes of one side."""
        randomness, threads = Randomness(None if self.exact else seed), self.scheme.threads
        purse, voices = self._parts(copies(self.pair.side(with_record), runs))
        votes, scale = self._votes(purse, runs), self._tally_noise(purse)
        if self.scheme.unit == "person":
            outcomes = [randomness.add_gaussian(votes, scale, threads=threads) / ONE_VOTE]
        else:
            outcomes = [randomness.add_laplace(votes, scale, threads=threads) / ONE_VOTE]
        sums = self._of_heard(voices.exact_sums(self._fed(runs)), runs)
        for sigma in self._deviations(voices):
            noisy = randomness.add_gaussian(sums, sigma, threads=threads)
            outcomes.append(noisy / SUM_UNIT)
        return np.hstack(outcomes)

    def log_ratio(self, outcomes: Array) -> Array:
        """Exact: the attacker knows both tables and the noise."""
        (x, y), scale, (u, v), deviations = self._known
        first = len(x)
        if self.scheme.unit == "person":
            total = _gauss_ratio(outcomes[:, :first], x, y, scale)
        else:
            total = laplace_ratio(x, y, scale)(outcomes[:, :first])
        for sigma in deviations:
            total = total + _gauss_ratio(outcomes[:, first : first + len(u)], u, v, sigma)
            first += len(u)
        return np.asarray(total)

    @cached_property
    def _known(self) -> tuple[tuple[Array, Array], float, tuple[Array, Array], list[float]]:
        votes, sums = [], []
        for side in (True, False):
            purse, voices = self._parts(self.pair.side(side))
            votes.append(self._votes(purse, 1)[0] / ONE_VOTE)
            sums.append(self._of_heard(voices.exact_sums(self._fed(1)), 1)[0] / SUM_UNIT)
        scale = self._tally_noise(purse) / ONE_VOTE
        deviations = [sigma / SUM_UNIT for sigma in self._deviations(voices)]
        return (votes[0], votes[1]), scale, (sums[0], sums[1]), deviations

    def _parts(self, table: Ratings) -> tuple[ByRating | ByPerson, Voices]:
        spec = PrivacySpec.column(max_level=self.scheme.threshold or 1.0)
        purse = self.scheme.purse(table, spec, levels_of(table), Randomness(None))
        flat = Effects(table.scale.middle, np.zeros(len(table.items)), np.ones(len(table.items)))
        plan = Plan(0.0, TALLIES, self.z.shape[1], self.scheme.rounds)
        return purse, self.voices(self.scheme, table, flat, plan, purse)

    def _votes(self, purse: ByRating | ByPerson, runs: int) -> Array:
        votes = np.stack(count_votes(purse.data, purse.units, self.scheme.threads), axis=1)
        if self.scheme.neighbours == Neighbours.REPLACE:
            votes = votes[:, 1:]  # counts are public, so votes in favour tell all
        return self._of_heard(votes, runs)

    def _tally_noise(self, purse: ByRating | ByPerson) -> float:
        if isinstance(purse, ByPerson):
            return self.noise * purse.scale(TALLIES)
        return self.noise * ONE_VOTE / (TALLIES * purse.t)

    def _deviations(self, voices: Voices) -> list[float]:
        return [voices.deviation(float(mu)) * self.noise for mu in voices.mus]

    def _fed(self, runs: int) -> Array:
        return np.asarray(np.trunc(np.tile(self.z, (runs, 1)) * UNIT))

    def _of_heard(self, rows: Array, runs: int) -> Array:
        table: Array = rows.reshape(runs, len(self.z), -1)[:, list(self.heard)]
        return np.ascontiguousarray(table.reshape(runs, -1))


def _gauss_ratio(outcomes: Array, x: Array, y: Array, sigma: float) -> Array:
    squares = (outcomes - y) ** 2 - (outcomes - x) ** 2
    return np.asarray(squares.sum(axis=1) / (2 * sigma**2))


def chorus_game(case: str, runs: ChorusRuns, *, control: bool = False) -> Game:
    """The claim of a rating's or a person's level, with the scheme's delta."""
    level = min(runs.pair.level, runs.scheme.threshold or 1.0)
    unit = runs.scheme.unit
    return Game(
        "Chorus", f"unit {unit}", case, level, runs, runs.log_ratio, runs.scheme.delta,
        proven=not control, control=control,
    )  # fmt: skip


def games(
    t: float = 1.0, delta: float = 0.1, unit: str = "rating", *, exact: bool = False
) -> list[Game]:
    """Chorus as it is. delta is large: what happens once in a million runs no audit can see."""
    if unit == "person":
        scheme = Chorus(delta=delta, factors=1, rounds=1, threshold=t, unit="person")
        return [
            chorus_game(
                f"person {place} t",
                ChorusRuns(
                    scheme,
                    whole_person(9, share * t),
                    np.ones((9, 1)),
                    tuple(range(9)),
                    exact=exact,
                ),
            )
            for place, share in (("below", 0.25), ("at", 1.0))
        ]
    scheme = Chorus(delta=delta, factors=1, rounds=3, threshold=t)
    busy = one_busy_person(30, t)  # who has said much has a voice of full length
    return [
        chorus_game(
            f"record {place} t",
            ChorusRuns(scheme, busy.at_level(share * t), np.ones((30, 1)), (0,), exact=exact),
        )
        for place, share in (("below", 0.25), ("at", 1.0))
    ]


def replaced_game(t: float, delta: float) -> Game:
    """Under REPLACE: one of a busy person's values goes from one end of the scale to the other."""
    scheme = Chorus(delta=delta, factors=1, rounds=3, threshold=t, neighbours=Neighbours.REPLACE)
    runs = ChorusRuns(scheme, one_busy_person(30, t).replaced(), np.ones((30, 1)), (0,))
    return chorus_game("value replaced, at t", runs)


def controls(*, exact: bool = False) -> list[Game]:
    """Choruses broken on purpose, each of which the audit must refute."""
    rating, person = (games(unit=unit, exact=exact)[-1].play for unit in ("rating", "person"))
    assert isinstance(rating, ChorusRuns)
    assert isinstance(person, ChorusRuns)
    # Two items that pull in opposite directions, rated fifty times each by one person.
    twice = replace(
        rating, pair=one_busy_person(2, times=50), z=np.array([[1.0], [-1.0]]), heard=(0, 1)
    )
    return [
        chorus_game("noise times 0.8", replace(rating, noise=0.8), control=True),
        chorus_game("noise times 0.8", replace(person, noise=0.8), control=True),
        chorus_game(
            "without self-normalisation", replace(rating, voices=_Unnormalised), control=True
        ),
        chorus_game("duplicate pairs", twice, control=True),
    ]
