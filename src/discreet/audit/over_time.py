"""Releases over time under attack: several publications with one ledger, together."""

from __future__ import annotations

from discreet.audit.game import Game
from discreet.audit.heard import CopiedRuns, SampledRuns
from discreet.audit.neighbours import four_people, numbered, without_record
from discreet.audit.routes import ThroughDatabase, ThroughLedger, database_missing
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.tally import Tally

SHARE, SMALL_SHARE = 0.25, 0.15
"""Of the runs: every one of them writes to ledgers; often, or to databases, takes longer."""


def _game(
    scheme: str, variant: str, case: str, claimed: float, runs: CopiedRuns, share: float = SHARE
) -> Game:
    return Game(
        scheme, variant, case, claimed, runs, runs.log_ratio, proven=True, learned=True, share=share
    )


def tally_game(t: float = 1.0) -> Game:
    """A rating that is published several times is counted once."""
    runs = CopiedRuns(ThroughLedger(Tally(threshold=t), 3, t), four_people(t))
    return _game("Tally", "incremental", "record at t, 3 publications", t, runs)


def sampled_game(t: float = 2.5, share: float = SMALL_SHARE) -> Game:
    """A rating that is published often is drawn once: a second coin would show in 24."""
    scheme = Tally(threshold=t, personalisation="sample")
    pair = without_record(numbered([0, 1], [0, 0], [5, 5], t), 1).at_level(0.35 * t)
    runs = SampledRuns(ThroughLedger(scheme, 24, t), pair, t=t)
    return _game(
        "Tally", "incremental", "record below t, sampled, 24 publications", 0.35 * t, runs, share
    )


def chorus_game(t: float, n: int) -> Game:
    """A level above t, in parts: the sum of all publications is within it."""
    route = ThroughLedger(Chorus(threshold=t, publications=n, factors=0), n + 1, 2 * t)
    runs = CopiedRuns(route, four_people(t).at_level(2 * t))
    case = f"record above t, tallies of {n + 1} publications"
    return _game("Chorus", "incremental", case, 2 * t, runs, SMALL_SHARE)


def database_game(delta: float = 0.0) -> Game:
    """Three publications from a database; with a delta by Chorus, whose tables have no factors."""
    runs = CopiedRuns(ThroughDatabase(3, 1.0, delta), four_people(1.0))
    scheme = "Chorus" if delta else "Tally"
    case = "record at t, 3 publications"
    return _game(scheme, "from a database", case, 1.0, runs, SMALL_SHARE)


def games() -> list[Game]:
    """Ledgers in files, and databases where what they need is installed."""
    found = [tally_game(), sampled_game(), chorus_game(1.0, 4)]
    if database_missing() is None:
        found += [database_game(), database_game(1e-6)]
    return found
