"""Tally under attack, and Tallies broken on purpose. One fit on many copies is as many runs."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.attacks import Score
from discreet.audit.game import Game
from discreet.audit.neighbours import (
    Pair,
    copies,
    four_people,
    levels_of,
    numbered,
    whole_person,
    without_record,
)
from discreet.privacy.noise import Randomness
from discreet.privacy.personalise import inclusion_probability, keep_records
from discreet.privacy.provenance import Neighbours
from discreet.privacy.spec import PrivacySpec
from discreet.ratings import Crowd, Integers, Ratings
from discreet.release import Release
from discreet.schemes.tally import PERSON_VOTES, Tally, count_votes
from discreet.tallies import ONE_VOTE, Tallies

Array = NDArray[Any]


@dataclass(frozen=True)
class TallyRuns:
    """Outcomes are the noisy tallies, of which everything else in a release is computed."""

    scheme: Tally
    pair: Pair
    max_level: float

    def __call__(self, with_record: bool, runs: int, seed: int) -> Array:
        """Through the public `fit`, with the noise that releases use."""
        del seed
        spec = PrivacySpec.column(max_level=self.max_level)
        release = self.scheme.fit(copies(self.pair.side(with_record), runs), spec).release
        assert release.tallies is not None
        return np.stack(release.tallies.votes(), axis=1).reshape(runs, -1)


def votes_of(scheme: Tally, table: Ratings, t: float) -> Array:
    """The exact votes of one table, laid out as outcomes are."""
    units = scheme.units(table, levels_of(table), t, Randomness(0))
    return np.stack(count_votes(table, units), axis=1).ravel() / ONE_VOTE


def laplace_ratio(x: Array, y: Array, scale: float, scale_y: float | None = None) -> Score:
    """log p(outcome | x) - log p(outcome | y) for Laplace noise on every number."""
    other = scale if scale_y is None else scale_y
    constant = len(x) * math.log(other / scale)

    def ratio(outcomes: Array) -> Array:
        away = np.abs(outcomes - y) / other - np.abs(outcomes - x) / scale
        return np.asarray(away.sum(axis=1) + constant)

    return ratio


def taking_part(ratio: Score, share: float) -> Score:
    """The ratio where the record takes part with this probability only."""
    return lambda outcomes: np.log1p(share * np.expm1(ratio(outcomes)))


def tally_game(
    scheme: Tally, pair: Pair, case: str, *, t: float = 1.0, noise: float = 1.0,
    kept: float | None = None, control: bool = False,
) -> Game:  # fmt: skip
    """Tally on small tables; the attack knows the `noise` in units of 1/t, and `kept`'s chance."""
    scheme = replace(scheme, threshold=t)
    weighed = replace(scheme, personalisation="weigh")
    scale = noise / t * (PERSON_VOTES if scheme.unit == "person" else 1)
    if scheme.personalisation == "sample":
        kept = float(inclusion_probability(pair.level, t)) if kept is None else kept
        x, y = (votes_of(weighed, pair.at_level(t).side(side), t) for side in (True, False))
        ratio = taking_part(laplace_ratio(x, y, scale), kept)
    else:
        x, y = (votes_of(weighed, pair.side(side), t) for side in (True, False))
        ratio = laplace_ratio(x, y, scale)
    return Game(
        "Tally", scheme.personalisation, case, min(pair.level, t),
        TallyRuns(scheme, pair, max(t, pair.level)), ratio,
        proven=not control, control=control,
    )  # fmt: skip


def games(t: float = 1.0, personalisation: str | None = None, unit: str = "rating") -> list[Game]:
    """Tally as it is: records below, at and above t; both personalisations unless one is named."""
    if unit == "person":
        scheme = Tally(unit="person")
        return [
            tally_game(scheme, whole_person(4, share * t), f"person {place} t", t=t)
            for place, share in (("below", 0.25), ("at", 1.0))
        ]
    return [
        tally_game(
            Tally(personalisation=how), four_people(t).at_level(share * t), f"record {place} t", t=t
        )
        for how in ((personalisation,) if personalisation else ("weigh", "sample"))
        for place, share in (("below", 0.25), ("at", 1.0), ("above", 2.0))
    ]


def replaced_game(t: float, *, quiet: bool = False) -> Game:
    """Under REPLACE: the value changes from one end of the scale to the other."""
    kind, case = (_Quiet, "noise times 0.8") if quiet else (Tally, "value replaced, at t")
    scheme, pair = kind(neighbours=Neighbours.REPLACE, threshold=t), four_people(t).replaced()
    runs = TallyRuns(scheme, pair, t)
    x, y = (votes_of(scheme, pair.side(side), t)[1::2] for side in (True, False))
    # Counts are public, so votes in favour tell all.
    known = laplace_ratio(x, y, 1 / t)
    return Game(
        "Tally", "weigh", case, t, runs, lambda seen: known(seen[:, 1::2]),
        proven=not quiet, control=quiet,
    )  # fmt: skip


class _Quiet(Tally):
    """Noise times 0.8."""

    def noisy_tallies(self, votes: Integers, t: float, randomness: Randomness) -> Tallies:
        return super().noisy_tallies(votes, t / 0.8, randomness)


class _WrongCoins(Tally):
    """Keeps a record with probability epsilon/t."""

    def units(self, data: Ratings, levels: Any, t: float, randomness: Randomness) -> Any:
        kept = keep_records(data, np.minimum(1.0, levels / t), randomness)
        return np.where(kept, np.int32(ONE_VOTE), np.int32(0))


class _OnlyRated(Tally):
    """No noise on items that nobody rated."""

    def noisy_tallies(self, votes: Integers, t: float, randomness: Randomness) -> Tallies:
        noisy = super().noisy_tallies(votes, t, randomness)
        rated = votes.sum(axis=0) > 0
        return replace(
            noisy,
            against=np.where(rated, noisy.against, 0),
            in_favour=np.where(rated, noisy.in_favour, 0),
        )


class _MeanThreshold(Tally):
    """t is the mean of the levels in the table."""

    def release(self, data: Crowd, spec: PrivacySpec, **more: Any) -> Release:
        assert isinstance(data, Ratings)
        mean = float(np.mean(levels_of(data)))
        return Tally(threshold=mean).release(data, spec, **more)


class _Unweighted(Tally):
    """Everybody has a whole vote."""

    def units(self, data: Ratings, levels: Any, t: float, randomness: Randomness) -> Any:
        return super().units(data, np.full_like(levels, t), t, randomness)


def quiet(t: float, unit: str = "rating", personalisation: str = "weigh") -> list[Game]:
    """Tally with its noise times 0.8."""
    pair = whole_person(4, t) if unit == "person" else four_people(t)
    return [
        tally_game(
            _Quiet(unit=unit, personalisation=personalisation),
            pair,
            "noise times 0.8",
            t=t,
            noise=0.8,
            control=True,
        )
    ]


def controls() -> list[Game]:
    """Tallies broken on purpose, each of which the audit must refute."""
    pair = four_people()
    quarter = pair.at_level(0.25)
    alone = tally_game(_OnlyRated(), pair, "noise on rated items only", control=True)
    seen: Score = lambda outcomes: (outcomes[:, -2:] != 0).any(axis=1).astype(np.float64)  # noqa: E731
    # Levels that a mean moves: the record's is far below it, four others' a little.
    table = numbered(range(6), range(6), [5] * 6, [0.3, 0.3, 0.3, 0.3, 1.0, 0.1])
    mean = without_record(table, 5)
    means = [float(np.mean(levels_of(mean.side(side)))) for side in (True, False)]
    x, y = (votes_of(Tally(), mean.side(s), t) for s, t in zip((True, False), means, strict=True))
    return [
        *quiet(1.0),
        tally_game(
            _WrongCoins(personalisation="sample"), pair.at_level(0.75),
            "inclusion probability epsilon/t", t=3.0, kept=0.25, control=True,
        ),
        replace(alone, log_ratio=seen),
        Game(
            "Tally", "weigh", "t = mean of the levels", 0.1,
            TallyRuns(_MeanThreshold(), mean, 1.0),
            laplace_ratio(x, y, 1 / means[0], 1 / means[1]), control=True,
        ),
        tally_game(_Unweighted(), quarter, "unweighted votes", control=True),
    ]  # fmt: skip
