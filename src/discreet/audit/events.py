"""Events under attack: Tally counts who chose what, and that it happened is the secret."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from discreet.audit.breaking import all_noise_times, broken
from discreet.audit.game import Game
from discreet.audit.heard import CopiedRuns
from discreet.audit.neighbours import Pair, events, four_people, whole_person
from discreet.audit.over_time import SHARE, SMALL_SHARE
from discreet.audit.routes import (
    ThroughDatabase,
    ThroughEvents,
    ThroughLedger,
    ThroughStream,
    database_missing,
)
from discreet.audit.tally import tally_game
from discreet.schemes.tally import Tally

LARGE = 3.0
"""A value that no reader lets pass: the mechanism clips it all the same."""


def events_game(scheme: Tally, pair: Pair, case: str, *, t: float = 1.0) -> Game:
    """Noisy counts of small tables: all of them are heard."""
    return replace(tally_game(scheme, pair, case, t=t), variant=f"events, {scheme.personalisation}")


def games(t: float = 1.0, personalisation: str | None = None, unit: str = "event") -> list[Game]:
    """Events below, at and above t; both personalisations unless one is named; or persons."""
    if unit == "person":
        return [
            events_game(
                Tally(unit="person"), events(whole_person(4, share * t)), f"person {place} t", t=t
            )
            for place, share in (("below", 0.25), ("at", 1.0))
        ]
    return [
        events_game(
            Tally(personalisation=how),
            events(four_people(t).at_level(share * t)),
            f"event {place} t",
            t=t,
        )
        for how in ((personalisation,) if personalisation else ("weigh", "sample"))
        for place, share in (("below", 0.25), ("at", 1.0), ("above", 2.0))
    ]


def large_game(t: float = 1.0) -> Game:
    """A value beyond 1 counts as 1."""
    return events_game(Tally(), events(four_people(t), LARGE), "a value beyond 1, at t", t=t)


def repeated_game() -> Game:
    """An event that a table names twice is one record."""
    runs = CopiedRuns(ThroughEvents(Tally()), events(four_people()))
    return _heard("events, weigh", "event at t, named twice", runs)


def streamed_game() -> Game:
    """Counts through the engine for tables on disk."""
    return _heard("events, streamed", "event at t", CopiedRuns(ThroughStream(Tally()), _at_one()))


def published_game(t: float = 1.0) -> Game:
    """An event that is published several times is counted once."""
    runs = CopiedRuns(ThroughLedger(Tally(threshold=t), 3, t), events(four_people(t)))
    found = _heard("events, incremental", "event at t, 3 publications", runs)
    return replace(found, claimed=t, share=SHARE)


def database_game() -> Game:
    """Three publications from a database of events."""
    runs = CopiedRuns(ThroughDatabase(3, 1.0), _at_one())
    found = _heard("events, from a database", "event at t, 3 publications", runs)
    return replace(found, share=SMALL_SHARE)


def quiet(t: float, unit: str = "event", personalisation: str = "weigh") -> Game:
    """Counts with their noise times 0.8."""
    whole = unit == "person"
    pair = events(whole_person(4, t) if whole else four_people(t))
    scheme = Tally(unit="person" if whole else "rating", personalisation=personalisation)
    build = partial(events_game, scheme, pair, "", t=t)
    return broken(build, "noise times 0.8", all_noise_times(0.8))


def every_game() -> list[Game]:
    """All of them but what is broken; through a database where what that needs is installed."""
    databases = [database_game()] if database_missing() is None else []
    return [
        *games(),
        *games(unit="person"),
        large_game(),
        repeated_game(),
        streamed_game(),
        published_game(),
        *databases,
    ]


def _at_one() -> Pair:
    return events(four_people())


def _heard(variant: str, case: str, runs: CopiedRuns) -> Game:
    return Game("Tally", variant, case, 1.0, runs, runs.log_ratio, proven=True, learned=True)
