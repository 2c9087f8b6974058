"""Tally under attack, through the public `fit`. One fit on many copies is as many runs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from discreet.audit.breaking import all_noise_times, broken
from discreet.audit.game import Game
from discreet.audit.heard import CopiedRuns, SampledRuns
from discreet.audit.neighbours import Pair, four_people, whole_person
from discreet.audit.routes import ThroughFit
from discreet.audit.search import climb, starts
from discreet.kernels.compute import Compute
from discreet.privacy.provenance import Neighbours
from discreet.schemes.tally import Tally


def tally_game(scheme: Tally, pair: Pair, case: str, *, t: float = 1.0) -> Game:
    """Tally on small tables: all its tallies are heard."""
    route = ThroughFit(replace(scheme, threshold=t), max(t, pair.level))
    runs = CopiedRuns(route, pair)
    if scheme.personalisation == "sample":
        runs = SampledRuns(route, pair, t=t)
    return Game(
        "Tally",
        scheme.personalisation,
        case,
        min(pair.level, t),
        runs,
        runs.log_ratio,
        proven=True,
    )


def games(t: float = 1.0, personalisation: str | None = None, unit: str = "rating") -> list[Game]:
    """Tally as it is: records below, at and above t; both personalisations unless one is named."""
    if unit == "person":
        return [
            tally_game(Tally(unit="person"), whole_person(4, share * t), f"person {place} t", t=t)
            for place, share in (("below", 0.25), ("at", 1.0))
        ]
    return [
        tally_game(
            Tally(personalisation=how), four_people(t).at_level(share * t), f"record {place} t", t=t
        )
        for how in ((personalisation,) if personalisation else ("weigh", "sample"))
        for place, share in (("below", 0.25), ("at", 1.0), ("above", 2.0))
    ]


def searched_game(t: float = 1.0, unit: str = "rating") -> Game:
    """The worst table of three items that a search finds: ratings within the scale, any levels."""
    level, scheme = 0.6 * t, Tally(threshold=t, unit=unit)
    route = ThroughFit(scheme, t, compute=Compute(threads=1))
    begin = starts(level, t, 1, whole=unit == "person", items=3)
    worst = climb(begin, lambda person: CopiedRuns(route, person.pair).distance, steps=15)
    return tally_game(Tally(unit=unit), worst.pair, "worst table found, below t", t=t)


def replaced_game(t: float, *, quiet: bool = False) -> Game:
    """Under REPLACE: the value changes from one end of the scale to the other."""
    build = partial(
        tally_game,
        Tally(neighbours=Neighbours.REPLACE),
        four_people(t).replaced(),
        "value replaced, at t",
        t=t,
    )
    return broken(build, "noise times 0.8", all_noise_times(0.8)) if quiet else build()


def quiet(t: float, unit: str = "rating", personalisation: str = "weigh") -> Game:
    """Tally with its noise times 0.8."""
    pair = whole_person(4, t) if unit == "person" else four_people(t)
    scheme = Tally(unit=unit, personalisation=personalisation)
    build = partial(tally_game, scheme, pair, "", t=t)
    return broken(build, "noise times 0.8", all_noise_times(0.8))
