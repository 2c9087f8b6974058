"""Games through the public `fit`, run by run, with the noise that releases use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.arrays import Array
from discreet.audit.game import Game
from discreet.audit.neighbours import Pair, canary, crowd, four_people
from discreet.data.ratings import Ratings
from discreet.privacy.spec import PrivacySpec
from discreet.schemes.base import FactorModel, Scheme
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.pmf.dp import DPPMF, PDPPMF
from discreet.schemes.pmf.pmf import PMF
from discreet.schemes.tally import Tally


@dataclass(frozen=True)
class FitRuns:
    """Outcomes are what somebody sees of a fitted model."""

    scheme: Scheme
    pair: Pair
    spec: PrivacySpec | None
    view: Callable[[FactorModel, Pair], Array]

    def __call__(self, with_record: bool, runs: int, seed: int) -> Array:
        """So many fits of one side, without a seed."""
        del seed
        table = self.pair.side(with_record)
        return np.stack(
            [self.view(self.scheme.fit(table, self.spec), self.pair) for _ in range(runs)]
        )


def released(model: FactorModel, pair: Pair) -> Array:
    """The release's tallies and effect of the item under attack, and its factors' inner products.

    Factors are known up to a rotation; only inner products say something.
    """
    release = model.release
    V = np.asarray(release.item_factors, dtype=np.float64)
    parts = [V @ V[pair.item], release.item_effects[[pair.item]]]
    if release.tallies is not None:
        parts.append(np.array([votes[pair.item] for votes in release.tallies.votes()]))
    return np.concatenate(parts)


def seen_by_others(model: FactorModel, pair: Pair) -> Array:
    """The release, and what everybody but the record's owner is predicted for every item."""
    owner = int(pair.table.user[pair.removed][0])
    others = np.delete(np.arange(len(pair.table.users), dtype=np.int32), owner)
    items = np.arange(len(pair.table.items), dtype=np.int32)
    user, item = np.repeat(others, len(items)), np.tile(items, len(others))
    return np.concatenate([released(model, pair), model.predict_rows(user, item)])


def solved_by_others(model: FactorModel, pair: Pair) -> Array:
    """Inner products of the others' jointly trained factors.

    Each of them has d predictions and the released V, and so can solve for their own factors.
    """
    owner = int(pair.table.user[pair.removed][0])
    U = np.delete(np.asarray(model.user_factors, dtype=np.float64), owner, axis=0)
    return np.asarray((U @ U.T)[np.triu_indices(len(U))])


def _game(
    scheme: str, variant: str, case: str, claimed: float | None, runs: FitRuns, **more: Any
) -> Game:
    return Game(scheme, variant, f"{case}, through fit", claimed, runs, slow=True, **more)


def pmf_game() -> Game:
    """PMF claims nothing: any loss that runs can prove is there."""
    runs = FitRuns(PMF(factors=2, threads=1), crowd(), None, released)
    return _game("PMF", "no privacy", "one record of many", None, runs)


def canary_game(data: Ratings, level: float = 1.0) -> Game:
    """Tally on a table of any size, with and without a stranger's rating of its rarest item."""
    spec = PrivacySpec.column(max_level=level)
    runs = FitRuns(Tally(), canary(data, level), spec, released)
    return _game("Tally", "weigh", "canary", level, runs, proven=True, secret=True)


def games(t: float = 1.0) -> list[Game]:
    """At least one game a scheme, and what other people see of a record."""
    pair, together, uniform = four_people(t), crowd(t), PrivacySpec.uniform(t)
    column = PrivacySpec.column(max_level=t)
    tally, chorus = Tally(threads=1), Chorus(delta=0.1, factors=1, rounds=2, threads=1)
    printed = DPPMF(factors=2, gamma=0.5, threads=1)
    stated, repaired = (replace(printed, variant=v) for v in ("stated", "repaired"))
    personal = PDPPMF(factors=2, gamma=0.5, threads=1, threshold=t)
    below = pair.at_level(0.25 * t)
    served = replace(repaired, solver="als")
    rating, proven = "unit rating", {"proven": True}
    few = {"share": 0.5}  # the games that simulate these schemes have many more runs
    return [
        pmf_game(),
        *(
            _game(
                "DP-PMF",
                scheme.variant,
                "record at t",
                t,
                FitRuns(scheme, pair, uniform, released),
                **few,
            )
            for scheme in (printed, stated, repaired)
        ),
        _game(
            "PDP-PMF",
            "printed",
            "record below t",
            below.level,
            FitRuns(personal, below, column, released),
            **few,
        ),
        _game(
            "Tally",
            "weigh",
            "record at t, others' predictions",
            t,
            FitRuns(tally, together, column, seen_by_others),
            **proven,
        ),
        _game(
            "Chorus",
            rating,
            "record at t, others' predictions",
            t,
            FitRuns(chorus, together, column, seen_by_others),
            delta=0.1,
            **proven,
        ),
        _game(
            "DP-PMF",
            "repaired",
            "others served with jointly trained U",
            t,
            FitRuns(served, together, uniform, solved_by_others),
            control=True,
        ),
    ]
