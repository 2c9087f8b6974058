"""Releases over time under attack: several publications of one ledger, together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.attacks import Score
from discreet.audit.game import Game
from discreet.audit.neighbours import Pair, copies, four_people, levels_of
from discreet.audit.tally import laplace_ratio
from discreet.privacy.lifetime import Spends
from discreet.privacy.noise import Randomness
from discreet.privacy.personalise import weigh
from discreet.privacy.spec import PrivacySpec
from discreet.progress import silent
from discreet.ratings import Ratings
from discreet.release import Release
from discreet.schemes.chorus import Chorus
from discreet.schemes.tally import Tally, count_votes
from discreet.tallies import ONE_VOTE

Array = NDArray[Any]


@dataclass(frozen=True)
class LedgerRuns:
    """Outcomes are the noisy tallies that each publication adds, of all items.

    The schemes' own `publish_batch` on copies of a table, with what each pair has spent kept in
    memory as the ledger would. Chorus without factors: its rounds are attacked on their own.
    """

    scheme: Tally | Chorus
    pair: Pair
    t: float
    times: int
    forgetful: bool = False
    """A ledger that forgets what was spent: broken on purpose."""

    def __call__(self, with_record: bool, runs: int, seed: int) -> Array:
        """So many histories of one side, with the noise that releases use."""
        del seed
        batches = self._publish(copies(self.pair.side(with_record), runs))[0]
        return np.hstack([batch.reshape(runs, -1) for batch in batches])

    def log_ratio(self, outcomes: Array) -> Array:
        """The publications' noises are independent, so their ratios add up."""
        width = 2 * len(self.pair.table.items)
        parts = [
            ratio(outcomes[:, k * width : (k + 1) * width]) for k, ratio in enumerate(self._ratios)
        ]
        return np.asarray(np.sum(parts, axis=0))

    @cached_property
    def _ratios(self) -> list[Score]:
        sides = []
        for side in (True, False):
            table = self.pair.side(side)
            sides.append([
                np.stack(count_votes(table, weigh(costs, self.t)), axis=1).ravel() / ONE_VOTE
                for costs in self._publish(table)[1]
            ])  # fmt: skip
        return [laplace_ratio(x, y, 1 / self.t) for x, y in zip(*sides, strict=True)]

    def _publish(self, table: Ratings) -> tuple[list[Array], list[Array]]:
        """Every publication's noisy votes, and what it cost each record."""
        spec = PrivacySpec.column(max_level=max(self.t, float(levels_of(table).max())))
        nothing = np.zeros(len(table))
        spends, before, shown = Spends(nothing, nothing, nothing), None, []
        costs: list[Array] = []
        for number in range(self.times):
            randomness = Randomness(None, run=number)
            batch = self.scheme.publish_batch(table, spec, spends, before, randomness, silent)
            shown.append(_added(batch.model.release, before))
            costs.append(batch.epsilons)
            before = batch.model.release
            if not self.forgetful:
                counted = np.where(batch.epsilons > 0, levels_of(table), spends.level)
                spends = Spends(
                    counted, spends.epsilon + batch.epsilons, spends.delta + batch.deltas
                )
        return shown, costs


def _added(release: Release, before: Release | None) -> Array:
    """What a release added to the tallies of the one before."""
    assert release.tallies is not None
    votes = np.stack(release.tallies.votes(), axis=1)
    if before is not None:
        assert before.tallies is not None
        votes = votes - np.stack(before.tallies.votes(), axis=1)
    return votes


def _game(runs: LedgerRuns, case: str, *, control: bool = False) -> Game:
    tally = isinstance(runs.scheme, Tally)
    return Game(
        "Tally" if tally else "Chorus", "incremental", case, runs.pair.level, runs, runs.log_ratio,
        proven=not control, control=control,
    )  # fmt: skip


def tally_game(t: float, personalisation: str = "weigh") -> Game:
    """A rating that is published three times is counted once."""
    scheme = Tally(threshold=t, personalisation=personalisation)
    return _game(LedgerRuns(scheme, four_people(t), t, 3), "record at t, 3 publications")


def chorus_game(t: float, n: int) -> Game:
    """A level above t, in parts: the sum of all publications is within it."""
    scheme = Chorus(threshold=t, publications=n, factors=0)
    pair = four_people(t).at_level(2 * t)
    return _game(
        LedgerRuns(scheme, pair, t, n + 1), f"record above t, tallies of {n + 1} publications"
    )


def control() -> Game:
    """A ledger that forgets."""
    known = tally_game(1.0).play
    assert isinstance(known, LedgerRuns)
    return _game(replace(known, forgetful=True), "a ledger that forgets", control=True)
