"""Releases over time under attack: several publications with one ledger, together."""

from __future__ import annotations

from collections.abc import Callable

from discreet.audit.game import Game
from discreet.audit.heard import CopiedRuns, SampledRuns
from discreet.audit.neighbours import four_people
from discreet.audit.routes import ThroughDatabase, ThroughLedger
from discreet.schemes.chorus import Chorus
from discreet.schemes.tally import Tally

SHARE = 0.25
"""Of the runs: every one of them writes to ledgers or databases."""


def _game(scheme: str, variant: str, case: str, claimed: float, runs: CopiedRuns) -> Game:
    return Game(
        scheme, variant, case, claimed, runs, runs.log_ratio, proven=True, learned=True, share=SHARE
    )


def tally_game(t: float = 1.0, personalisation: str = "weigh") -> Game:
    """A rating that is published several times is counted, or drawn, once."""
    scheme, pair = Tally(threshold=t, personalisation=personalisation), four_people(t)
    if personalisation == "weigh":
        weighed = CopiedRuns(ThroughLedger(scheme, 3, t), pair)
        return _game("Tally", "incremental", "record at t, 3 publications", t, weighed)
    drawn = SampledRuns(ThroughLedger(scheme, 4, t), pair.at_level(t / 4), t=t)
    return _game("Tally", "sampled over time", "record below t, 4 publications", t / 4, drawn)


def chorus_game(t: float, n: int) -> Game:
    """A level above t, in parts: the sum of all publications is within it."""
    route = ThroughLedger(Chorus(threshold=t, publications=n, factors=0), n + 1, 2 * t)
    runs = CopiedRuns(route, four_people(t).at_level(2 * t))
    case = f"record above t, tallies of {n + 1} publications"
    return _game("Chorus", "incremental", case, 2 * t, runs)


def database_game(delta: float = 0.0) -> Game:
    """Three publications from a database; with a delta by Chorus, whose tables have no factors."""
    runs = CopiedRuns(ThroughDatabase(3, 1.0, delta), four_people(1.0))
    scheme = "Chorus" if delta else "Tally"
    return _game(scheme, "from a database", "record at t, 3 publications", 1.0, runs)


def database_games() -> list[Callable[[], Game]]:
    """By both schemes that a database can declare."""
    return [database_game, lambda: database_game(1e-6)]
