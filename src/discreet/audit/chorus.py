"""Chorus' counts, tallies and rounds under attack, on tables and directions that were searched for.

The attacker hears every noisy number, and chooses the directions: the theorem allows both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from discreet.arrays import Array
from discreet.audit.breaking import all_noise_times, broken
from discreet.audit.game import Game
from discreet.audit.heard import by_copy, distance, ratio_of
from discreet.audit.neighbours import Pair, as_events, copies, levels_of
from discreet.audit.search import Person, climb, starts
from discreet.audit.transcript import Draw, listening
from discreet.data.ratings import Ratings
from discreet.kernels.compute import Compute
from discreet.privacy.accounting import gaussian_delta, gaussian_epsilon, gaussian_mu
from discreet.privacy.fixedpoint import GRID
from discreet.privacy.lifetime import Spends
from discreet.privacy.noise import Randomness
from discreet.privacy.provenance import Neighbours
from discreet.privacy.purses import PURE_SHARE
from discreet.privacy.spec import PrivacySpec
from discreet.schemes.base import Run
from discreet.schemes.chorus.budget import Budget
from discreet.schemes.chorus.plan import PROBE, PURPOSES, Plan, apart_plan
from discreet.schemes.chorus.rounds import prepare_rounds
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.chorus.values import Liking, choosing

AT_ONCE = 5_000
"""Copies side by side: their arrays stay small."""
PLACES = {"below": (0.25, 1), "at": (1.0, 2), "above": (2.0, 3)}
"""Levels as shares of t, and with how many factors each is played."""
_HEARD = {"ratings": "", "lists": ", choices", "both": ", liking and choices"}
"""What rounds are about, in the words of a case."""
LITTLE = 0.03
"""The tallies' share where the rounds are under attack: pure and Gaussian parts add up loosely."""


@dataclass(frozen=True)
class ChorusRuns:
    """Outcomes are log ratios of likelihoods, one for every time that noise was added.

    Drawn by the scheme's own code on copies of a table side by side: all of it is item by item.
    Item effects are taken to be zero and directions are the attacker's, the opposite ones in every
    other round, so that copies do not hear each other.
    """

    scheme: Chorus
    begin: tuple[Person, ...]
    """Where the search begins."""
    plan: Plan
    events: bool = False
    """Whether the ratings are taken for values of events: beyond 1, which no reader lets pass."""
    times: int = 0
    """So many publications of a ledger; 0 for a fit without one."""
    steps: int = 90
    """Of the search."""
    compute: Compute = Compute()

    @cached_property
    def person(self) -> Person:
        """The worst table and directions that the search finds, through the scheme's own code."""
        base = replace(self, compute=Compute(threads=1), steps=0)
        if self.steps == 0:
            return self.begin[0]
        return climb(
            self.begin, lambda person: replace(base, begin=(person,)).distance, steps=self.steps
        )

    @cached_property
    def pair(self) -> Pair:
        """The two tables."""
        pair = self.person.pair
        return replace(pair, table=as_events(pair.table)) if self.events else pair

    def __call__(self, with_record: bool, runs: int, seed: int) -> Array:
        """So many outcomes of one side; noise is drawn as releases draw it."""
        del seed
        found = []
        for first in range(0, runs, AT_ONCE):
            table = copies(self.pair.side(with_record), min(AT_ONCE, runs - first))
            found.append(self._ratios(self.heard(table)))
        return np.concatenate(found)

    def _ratios(self, heard: list[Draw]) -> Array:
        """What the noise should be is known, and so are both tables."""
        columns = [
            ratio_of(by_copy(draw.noisy, x.exact), x, y)
            for draw, x, y in zip(heard, *self._sides, strict=True)
        ]
        return np.stack(columns, axis=1)

    @property
    def distance(self) -> float:
        """How far apart the two tables' exact sums are."""
        return distance(*self._sides)

    @cached_property
    def _sides(self) -> tuple[list[Draw], list[Draw]]:
        one, other = (self.heard(self.pair.side(side)) for side in (True, False))
        return one, other

    def heard(self, table: Ratings) -> list[Draw]:
        """Everything that noise was added to, in its order."""
        draws: list[Draw] = []
        scheme = self.scheme
        top = max(scheme.threshold or 1.0, float(levels_of(table).max(initial=0.0)))
        spec = PrivacySpec.column(max_level=top)
        spends = Spends.none(len(table))
        with listening(draws):
            for number in range(max(self.times, 1)):
                run = Run(Randomness(None, run=number), self.compute)
                division = scheme.division(spec, None) if self.times else None
                if division is None:
                    self._publish(table, scheme.budget(table, spec, levels_of, run), run)
                    continue
                costs = division.allowed(levels_of(table), spends)
                budget = scheme.purse_budget(table, spec, division, costs, run)
                self._publish(table, budget, run)
                spends = spends.after(costs)
        return draws

    def _publish(self, table: Ratings, budget: Budget, run: Run) -> None:
        """Counts, tallies and rounds, through what releases are made by."""
        budget.probe(self.plan.probe)
        budget.tallies(self.plan.tallies)
        flat = np.full(len(table.items), table.scale.middle)
        liking, choices = Liking(flat, table.scale.span / 4), choosing(table)
        z = np.tile(self.person.z, (len(table.items) // len(self.person.z), 1))
        fed = np.trunc(z * GRID).astype(np.int32)
        for values, part in (
            (liking, self.plan.liking_part),
            (choices, self.plan.choosing_part),
        ):
            if part.factors:
                rounds = prepare_rounds(
                    table, values, part, budget, neighbours=self.scheme.neighbours, run=run
                )
                for k, mu in enumerate(rounds.mus):
                    rounds.noisy_sums(fed if k % 2 == 0 else -fed, mu)


def _sum(outcomes: Array) -> Array:
    return np.asarray(outcomes.sum(axis=1))


def plan_of(scheme: Chorus, d: int, tallies: float = LITTLE) -> Plan:
    """As `factors="auto"` makes one; counts are public in REPLACE."""
    probe = 0.0 if scheme.neighbours == Neighbours.REPLACE else PROBE
    share, n = PURPOSES[scheme.purpose].choosing, scheme.rounds
    liked, chosen = (d if share < 1 else 0), (d if share > 0 else 0)
    plan = Plan(probe, tallies * (1 - probe), liked, n, chosen, n, share)
    divided = scheme.publications > 1 or scheme.pure_share is not None
    return apart_plan(plan) if divided else plan


def searched(
    scheme: Chorus, plan: Plan, level: float, *, instead: float | None = None, **more: Any
) -> ChorusRuns:
    """Runs on tables that are searched for as soon as they are played."""
    t, whole = scheme.threshold or 1.0, scheme.unit == "person"
    d = max(plan.factors, plan.choice_factors)
    begin = starts(level, max(t, level), d, whole=whole, instead=instead)
    return ChorusRuns(scheme, tuple(begin), plan, **more)


def chorus_game(case: str, runs: ChorusRuns, level: float) -> Game:
    """The claim of a rating's or a person's level; of a fit, where an audit can see it.

    Events that happen once in 10^8 runs prove nothing. But the rounds are mu-GDP, a whole curve of
    guarantees, and the theorem claims all of it: counts and tallies cost their share of epsilon,
    and the rounds (epsilon', delta') for every delta'. A person's counts and tallies are on the
    curve too. All of it from what was declared, not by the code under attack.
    """
    scheme, plan = runs.scheme, runs.plan
    least = min(level, scheme.threshold or 1.0)
    paid = 0.0 if scheme.unit == "person" else plan.probe + plan.tallies
    if runs.times:  # however many publications there are, they have two purses
        paid = PURE_SHARE if scheme.pure_share is None else scheme.pure_share
    mu = gaussian_mu((1 - paid) * least, scheme.delta)
    delta = 0.3 * gaussian_delta(mu, 0.0)
    claimed = paid * least + gaussian_epsilon(mu, delta)
    return Game(
        "Chorus",
        "incremental" if runs.times else f"unit {scheme.unit}",
        case,
        claimed,
        runs,
        _sum,
        delta,
        proven=True,
        learned=True,
    )


def placed_game(
    place: str,
    t: float = 1.0,
    delta: float = 0.1,
    unit: str = "rating",
    purpose: str = "ratings",
    *,
    events: bool = False,
) -> Game:
    """Chorus as it is, for a level below, at or above t."""
    share, d = PLACES[place]
    scheme = Chorus(delta=delta, rounds=3, threshold=t, unit=unit, purpose=purpose)
    runs = searched(scheme, plan_of(scheme, d), share * t, events=events)
    what = "person" if unit == "person" else "event" if events else "record"
    return chorus_game(f"{what} {place} t, d = {d}{_HEARD[purpose]}", runs, share * t)


def games(
    t: float = 1.0, delta: float = 0.1, unit: str = "rating", purpose: str = "ratings"
) -> list[Game]:
    """One, two and three factors; a person's level above t is cut off as a rating's is."""
    places = list(PLACES) if unit == "rating" else ["below", "at"]
    return [placed_game(place, t, delta, unit, purpose) for place in places]


def choice_games(t: float = 1.0, delta: float = 0.1) -> list[Game]:
    """Rounds of choosing alone, beside those of liking, of whole persons, and of events."""
    return [
        *(placed_game(place, t, delta, purpose="lists") for place in ("below", "at")),
        placed_game("at", t, delta, "person", "lists"),
        placed_game("at", t, delta, purpose="both"),
        *event_games(t, delta),
        *event_games(t, delta, "person"),
        replaced_game(t, delta, "lists"),
    ]


def event_games(t: float = 1.0, delta: float = 0.1, unit: str = "rating") -> list[Game]:
    """Events of values that no reader lets pass: each counts as 1."""
    return [placed_game("at", t, delta, unit, "lists", events=True)]


def shared_game(t: float = 1.0, delta: float = 0.1) -> Game:
    """Counts and tallies that take most of the budget, and rounds that have to do with the rest."""
    scheme = Chorus(delta=delta, rounds=2, threshold=t, purpose="ratings")
    runs = searched(scheme, Plan(0.7, 0.1, 2, scheme.rounds), t)
    return chorus_game("record at t, counts and tallies cost 80%", runs, t)


def replaced_game(t: float, delta: float, purpose: str = "ratings") -> Game:
    """Under REPLACE: one of a person's values is another one."""
    scheme = Chorus(
        delta=delta, rounds=3, threshold=t, neighbours=Neighbours.REPLACE, purpose=purpose
    )
    runs = searched(scheme, plan_of(scheme, 2), t, instead=1.0)
    told = "" if purpose == "ratings" else f", purpose {purpose}"
    return chorus_game(f"value replaced, at t{told}", runs, t)


def published_game(
    n: int = 2,
    times: int = 4,
    t: float = 1.0,
    delta: float = 0.1,
    purpose: str = "ratings",
    *,
    events: bool = False,
) -> Game:
    """Rounds over as many publications as a rating takes part in, which is in n, or over more.

    Little is pure, so that the rounds are what is heard.
    """
    scheme = Chorus(
        delta=delta, rounds=1, threshold=t, publications=n, pure_share=LITTLE, purpose=purpose
    )
    plan = plan_of(scheme, 1)
    runs = searched(scheme, plan, t, times=times, steps=15, events=events)
    paid = f", {n} of them paid for" if n < times else ""
    what = "event" if events else "record"
    case = f"{what} at t, rounds of {times} publications{_HEARD[purpose]}{paid}"
    return chorus_game(case, runs, t)


def years_game() -> Game:
    """A year of monthly publications, in all of which a rating takes part."""
    return published_game(12, 12)


def spent_game() -> Game:
    """A year of monthly publications: after the third nothing is left."""
    return published_game(3, 12)


def quiet(build: Callable[[], Game], factor: float) -> Game:
    """A game with all its noise times so much."""
    return broken(build, f"noise times {factor:g}", all_noise_times(factor))


def games_for(
    t: float,
    delta: float,
    unit: str,
    neighbours: Neighbours,
    purpose: str = "ratings",
    *,
    events: bool = False,
) -> list[Game]:
    """What a certificate names, where an audit can see it, and the same broken on purpose.

    At the usual deltas the noise is so large that only half of it can be told from all of it.
    """
    if neighbours == Neighbours.REPLACE:
        replaced = partial(replaced_game, t, delta, purpose)
        return [replaced(), quiet(replaced, 0.5)]
    usual = event_games(t, delta, unit) if events else games(t, delta, unit, purpose)
    return [*usual, quiet(lambda: usual[-1] if events else usual[1], 0.5)]
