"""Mutants: production code broken in one place each, and the game that should hear it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from discreet.audit import (
    broken_events,
    broken_noise,
    broken_rounds,
    broken_votes,
    chorus,
    events,
    over_time,
    replays,
    tally,
)
from discreet.audit.breaking import Change, broken
from discreet.audit.game import Game
from discreet.audit.neighbours import four_people
from discreet.audit.routes import database_missing
from discreet.schemes.tally import Tally


@dataclass(frozen=True)
class Mutant:
    """One break."""

    name: str
    patch: Callable[[], Sequence[Change]]
    """Its sentence is the function's own."""
    game: Callable[[], Game]
    """Of the usual audit the game that is played with it, searched anew in the broken code."""
    usual: bool = False
    """Whether every audit shows it."""
    caught_by: str | None = None
    """Where no attack can hear it: the test that fails."""

    @property
    def sentence(self) -> str:
        """What is broken."""
        return (self.patch.__doc__ or "").strip()

    def played(self) -> Game:
        """The game in the broken code."""
        return broken(self.game, self.name, self.patch())


_ROUNDS = partial(chorus.placed_game, "at")
_PERSON_ROUNDS = partial(chorus.placed_game, "at", unit="person")


def _counted(place: int, unit: str = "rating") -> Game:
    return tally.games(unit=unit)[place]


def _person_events() -> Game:
    return events.games(unit="person")[1]


def _coins() -> Game:
    scheme = Tally(personalisation="sample")
    return tally.tally_game(scheme, four_people(3.0).at_level(0.75), "record below t", t=3.0)


MUTANTS: tuple[Mutant, ...] = (
    Mutant("no h^2", broken_rounds.no_squares, _ROUNDS, usual=True),
    Mutant("no self-normalisation", broken_rounds.no_normalisation, _ROUNDS, usual=True),
    Mutant("no clipping", broken_rounds.no_clipping, _ROUNDS),
    Mutant("rounds' noise times 0.8", broken_rounds.quiet_rounds, _ROUNDS, usual=True),
    Mutant("noise times 0.8, person", broken_rounds.quiet_person, _PERSON_ROUNDS, usual=True),
    Mutant("every round spends all", broken_rounds.every_round_whole, _ROUNDS),
    Mutant("same noise in all rounds", broken_rounds.same_noise_every_round, _ROUNDS),
    Mutant(
        "rounds blind to levels",
        broken_rounds.level_blind_rounds,
        partial(chorus.placed_game, "below"),
    ),
    Mutant(
        "choices not clipped",
        broken_rounds.no_clipping,
        partial(chorus.placed_game, "at", purpose="lists", events=True),
        usual=True,
    ),
    Mutant(
        "choices blind to levels",
        broken_rounds.level_blind_rounds,
        partial(chorus.placed_game, "below", purpose="lists"),
    ),
    Mutant(
        "one share for both purposes",
        broken_rounds.one_share_twice,
        partial(chorus.placed_game, "at", purpose="both"),
    ),
    Mutant("wrong share", broken_rounds.whole_share, chorus.shared_game),
    Mutant("probe unpaid", broken_rounds.free_probe, chorus.shared_game),
    Mutant(
        "REPLACE with half its noise",
        broken_rounds.undoubled,
        partial(chorus.replaced_game, 1.0, 0.1),
    ),
    Mutant("Gaussian purse forgotten", broken_rounds.purse_forgotten, chorus.spent_game),
    Mutant("whole purse every time", broken_rounds.whole_purse_every_time, chorus.years_game),
    Mutant("auto by exact counts", broken_rounds.exact_probe, replays.auto_game),
    Mutant("activity without noise", broken_rounds.exact_activity, replays.asked_game),
    Mutant("person's weight undivided", broken_votes.undivided, _PERSON_ROUNDS),
    Mutant("person's votes undivided", broken_votes.undivided, partial(_counted, 1, "person")),
    Mutant("person's largest level", broken_votes.largest_level, replays.outside_game),
    Mutant("level after filter", broken_votes.filter_first, replays.outside_game, usual=True),
    Mutant(
        "level after filter, Chorus",
        broken_votes.filter_first,
        partial(replays.outside_game, "Chorus"),
    ),
    Mutant("Tally's noise times 0.8", broken_votes.quiet_tallies, partial(_counted, 1), usual=True),
    Mutant("unweighted votes", broken_votes.level_blind_votes, partial(_counted, 0), usual=True),
    Mutant("inclusion probability epsilon/t", broken_votes.wrong_coins, _coins, usual=True),
    Mutant("noise on rated items only", broken_votes.rated_only, replays.tally_game, usual=True),
    Mutant("t = mean of the levels", broken_votes.mean_threshold, replays.tally_game, usual=True),
    Mutant("random words that repeat", broken_noise.words_that_repeat, replays.tally_game),
    Mutant("noise without a sign", broken_noise.no_sign, partial(_counted, 1)),
    Mutant("rounds' noise without a sign", broken_noise.no_sign, _ROUNDS),
    Mutant("deviation for scale", broken_noise.deviation_for_scale, partial(_counted, 1)),
    Mutant("exact counts in a release", broken_votes.counts_told, replays.tally_game),
    Mutant("a seed in a real run", broken_votes.seeded, replays.tally_game),
    Mutant("double count", broken_votes.part_read_twice, replays.stream_tally_game),
    Mutant("forgetful ledger", broken_votes.forgetful_ledger, over_time.tally_game, usual=True),
    Mutant("restored ledger", broken_votes.restored_ledger, over_time.tally_game),
    Mutant(
        "same noise in all publications",
        broken_votes.same_noise_every_publication,
        over_time.tally_game,
    ),
    Mutant(
        "coins until heads",
        broken_votes.coins_until_heads,
        partial(over_time.sampled_game, share=1.0),
    ),
    Mutant("a value beyond 1 counts more", broken_events.unclipped, events.large_game, usual=True),
    Mutant("a pair's events count twice", broken_events.repeats_counted, events.repeated_game),
    Mutant("person's events undivided", broken_votes.undivided, _person_events),
    Mutant("forgetful ledger, events", broken_votes.forgetful_ledger, events.published_game),
    Mutant("forgetful database", broken_votes.forgetful_database, over_time.database_game),
    Mutant(
        "missing rho", broken_rounds.no_margin, _ROUNDS, caught_by="tests/audit/test_mutants.py"
    ),
    Mutant(
        "REPLACE's choices cut off in one part",
        broken_rounds.one_part,
        partial(chorus.replaced_game, 1.0, 0.1, "lists"),
        caught_by="tests/schemes/test_margins_of_noise.py",
    ),
    Mutant(
        "weights rounded up",
        broken_votes.rounded_up,
        partial(_counted, 0),
        caught_by="tests/schemes/test_tally.py",
    ),
)


def mutant_games(*, usual: bool = False) -> list[Game]:
    """Every mutant's game, or those that every audit shows."""
    without = database_missing() is not None
    return [
        mutant.played()
        for mutant in MUTANTS
        if (mutant.usual or not usual)
        and not (without and mutant.patch is broken_votes.forgetful_database)
    ]
