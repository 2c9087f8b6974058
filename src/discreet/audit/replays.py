"""Games in which all that a release's code hears and says is replayed, run by run."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from discreet.audit.fits import ALONE
from discreet.audit.game import Game
from discreet.audit.heard import CopiedRuns, ReplayedRuns, first_column
from discreet.audit.neighbours import Pair, events, four_people, numbered, without_record
from discreet.audit.routes import ThroughBatches, ThroughDatabase, ThroughFit, ThroughStream
from discreet.privacy.accounting import gaussian_weights
from discreet.privacy.purses import Division
from discreet.privacy.spec import PrivacySpec
from discreet.schemes.chorus.activity import FEW as FEW_RATINGS
from discreet.schemes.chorus.plan import LEAST_BEYOND
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.tally import Tally

CROWD = 52
"""So many ratings of one item, and its noisy count is now above, now below what `auto` asks for."""
ACTIVE = 100
"""People, each of whom rated so much that rounds now pay, now do not, by what noise says."""
SHARE = 0.25
"""Of the fits: each of these runs is two."""
CHOOSERS, CHOSEN = 100, 2
"""People, each of whom chose the same items: their noisy counts now pay for rounds, now do not."""
SMALL, FEW = 0.25, 0.125
"""A level that few runs can refute, where each takes long."""
FEWEST = 0.02
"""Where each takes longest: a hundred of a thorough audit."""
OUTSIDE = 5
"""Items of which the last is not in the catalogue."""


def _replayed(
    scheme: str, variant: str, case: str, claim: tuple[float, float], runs: ReplayedRuns
) -> Game:
    claimed, delta = claim
    return Game(
        scheme,
        variant,
        f"{case}, replayed",
        claimed,
        runs,
        first_column,
        delta,
        proven=True,
        slow=True,
        learned=True,
        share=SHARE,
    )


def _few(game: Game) -> Game:
    return replace(game, share=FEW)


def several_levels(t: float = 1.0) -> Pair:
    """Six people with items of their own; the record's level is a tenth of t, others' vary."""
    levels = t * np.array([0.3, 0.3, 0.3, 0.3, 1.0, 0.1])
    return without_record(numbered(range(6), range(6), [5] * 6, levels), 5)


def many_of_one_item(level: float = 1.0) -> Pair:
    """A crowd that rated one item, one of them a second one too."""
    users = [*range(CROWD), 0]
    items = [0] * CROWD + [1]
    return without_record(numbered(users, items, [5, 1] * (CROWD // 2) + [5], level), 0)


def just_active(division: Division) -> Pair:
    """People who rated enough beyond their first ratings, in all, by one record and no more."""
    levels = PrivacySpec.column(max_level=division.t).typical_levels()
    weights = gaussian_weights((1 - division.share) * levels, division.gaussian_top, division.delta)
    # Where everybody has n > c ratings of weight 1, n - c are beyond: a share of 1 - c/n.
    c = FEW_RATINGS * float(weights.mean())
    records = math.ceil(ACTIVE * c / (1 - LEAST_BEYOND))
    users = np.arange(records) % ACTIVE
    items = np.arange(records) // ACTIVE
    ratings = np.where((users + items) % 2, 5, 1)
    table = numbered(users, items, ratings, division.t)
    last = (table.user == users[-1]) & (table.item == items[-1])
    return Pair(table, last)


def just_chosen(level: float = 1.0) -> Pair:
    """People who chose the same items; one of their choices is there or not."""
    users, items = np.repeat(np.arange(CHOOSERS), CHOSEN), np.tile(np.arange(CHOSEN), CHOOSERS)
    return events(without_record(numbered(users, items, np.ones(len(users)), level), 0))


def low_outside(t: float, low: float) -> Pair:
    """Somebody whose only low level is on an item outside the catalogue is there or not."""
    users = [0] * OUTSIDE + [1]
    items = [*range(OUTSIDE), 0]
    table = numbered(users, items, [5] * (OUTSIDE + 1), [*[t] * (OUTSIDE - 1), low, t])
    return Pair(table, np.array(users) == 0)


def tally_game() -> Game:
    """Levels of all kinds: nothing but the noisy tallies tells of them."""
    runs = ReplayedRuns(ThroughFit(Tally(), compute=ALONE), several_levels())
    return _replayed("Tally", "weigh", "record below t", (0.1, 0.0), runs)


def chorus_game() -> Game:
    """Two factors and two rounds, each with the directions that the one before has shown."""
    scheme = Chorus(delta=0.1, factors=2, rounds=2)
    runs = ReplayedRuns(ThroughFit(scheme, compute=ALONE), four_people())
    return _replayed("Chorus", "unit rating", "record at t, d = 2", (1.0, 0.1), runs)


def events_game() -> Game:
    """The same of events: who chose what is all there is to hear."""
    scheme = Chorus(delta=0.1, factors=2, rounds=2)
    runs = ReplayedRuns(ThroughFit(scheme, compute=ALONE), events(four_people()))
    return _replayed("Chorus", "events", "event at t, d = 2", (1.0, 0.1), runs)


def auto_events_game() -> Game:
    """Events of which noisy counts decide how many directions there are, and whether any."""
    runs = ReplayedRuns(ThroughFit(Chorus(delta=0.1, rounds=2), compute=ALONE), just_chosen())
    return _replayed("Chorus", "events", "event at t, factors auto", (1.0, 0.1), runs)


def database_events_game() -> Game:
    """The same from a database, as the service's publisher makes it: minutes."""
    runs = ReplayedRuns(ThroughDatabase(1, 1.0, 0.1), just_chosen())
    found = _replayed(
        "Chorus", "events, from a database", "event at t, factors auto", (1.0, 0.1), runs
    )
    return replace(found, share=FEWEST)


def auto_game() -> Game:
    """A table where the noisy counts decide now for factors, now against."""
    runs = ReplayedRuns(ThroughFit(Chorus(delta=0.1), compute=ALONE), many_of_one_item())
    return _replayed("Chorus", "unit rating", "record at t, factors auto", (1.0, 0.1), runs)


def published_game() -> Game:
    """Factors in three publications, for two of which a rating has a budget."""
    scheme = Chorus(delta=0.1, factors=1, rounds=2, publications=2)
    runs = ReplayedRuns(ThroughBatches(scheme, 3, SMALL, ALONE), four_people(SMALL))
    return _few(_replayed("Chorus", "incremental", "rounds of 3 publications", (SMALL, 0.1), runs))


def asked_game() -> Game:
    """Two publications from purses, in each of which people's activity is asked for with noise."""
    scheme = Chorus(delta=0.1, publications=2, purpose="ratings")
    division = scheme.division(PrivacySpec.column(max_level=SMALL), None)
    assert division is not None
    runs = ReplayedRuns(ThroughBatches(scheme, 2, SMALL, ALONE), just_active(division))
    case = "factors auto in 2 publications"
    return _few(_replayed("Chorus", "incremental", case, (SMALL, 0.1), runs))


def stream_chorus_game() -> Game:
    """Factors through the engine for tables on disk."""
    scheme = Chorus(delta=0.1, factors=1, rounds=1, threshold=SMALL)
    runs = ReplayedRuns(ThroughStream(scheme, ALONE), four_people(SMALL))
    return _few(_replayed("Chorus", "streamed", "record at t", (SMALL, 0.1), runs))


def stream_events_game() -> Game:
    """Directions of choice through the engine for tables on disk."""
    scheme = Chorus(delta=0.1, factors=1, rounds=1, threshold=SMALL)
    runs = ReplayedRuns(ThroughStream(scheme, ALONE), events(four_people(SMALL)))
    return _few(_replayed("Chorus", "events, streamed", "event at t", (SMALL, 0.1), runs))


def stream_tally_game() -> Game:
    """Tallies through the engine for tables on disk."""
    runs = CopiedRuns(ThroughStream(Tally()), four_people())
    return Game(
        "Tally", "streamed", "record at t", 1.0, runs, runs.log_ratio, proven=True, learned=True
    )


def outside_game(scheme: str = "Tally") -> Game:
    """A person's smallest level counts, wherever it was given."""
    t, low, delta = 4.0, 0.25, 0.001
    made = (
        Tally(unit="person") if scheme == "Tally" else Chorus(unit="person", factors=0, delta=delta)
    )
    runs = CopiedRuns(ThroughFit(made, t, OUTSIDE), low_outside(t, low))
    return Game(
        scheme,
        "unit person",
        "smallest level outside the catalogue",
        low,
        runs,
        runs.log_ratio,
        delta if scheme == "Chorus" else 0.0,
        proven=True,
        learned=True,
        share=SHARE,
    )


def games() -> list[Game]:
    """By `fit`, by publications and by the stream engine."""
    return [
        tally_game(),
        chorus_game(),
        events_game(),
        auto_game(),
        auto_events_game(),
        published_game(),
        asked_game(),
        stream_tally_game(),
        stream_chorus_game(),
        stream_events_game(),
        outside_game(),
        outside_game("Chorus"),
    ]
