"""Whole lives of one pair through real publications, and what their exact sums have told of it.

tests/privacy/test_purses.py computes losses of many thousand pairs from weights. Here nothing is
believed of weights: everything that a publication adds noise to is heard with the pair and, under
the same noisy numbers, without it, and the difference is what was lost. With the same noisy numbers
the releases must be the same as well: nothing else decides what is concluded or combined.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from discreet.audit.transcript import Draw, listening
from discreet.data.ratings import Ratings
from discreet.privacy.fixedpoint import ONE_VOTE
from discreet.privacy.lifetime import Spends
from discreet.privacy.spec import PrivacySpec
from discreet.publishing.file_ledger import FileLedger
from discreet.publishing.publish import publish
from discreet.release.format import CERTIFICATE
from discreet.release.release import Release
from discreet.release.tallies import Tallies
from discreet.schemes import tally, votes
from discreet.schemes.base import Publishing
from discreet.schemes.chorus import budget, plan
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.tally import Tally
from tests.conftest import random_ratings
from tests.privacy.histories import curve
from tests.publishing.ledgers import ITEMS

LIVES = int(os.environ.get("DISCREET_LIVES", "12"))
PUBLICATIONS = 6
SPEC = PrivacySpec.column(max_level=4.0)
ROUNDED = 1e-9
PAIR = 7
"""The record whose life it is; every other one lives as it did, in both worlds."""


@dataclass(frozen=True)
class Moment:
    """One publication of a schedule, and what people have rated by then."""

    scheme: Publishing
    there: np.ndarray
    levels: np.ndarray
    ratings: np.ndarray

    def table(self, everything: Ratings, with_pair: bool) -> Ratings:
        there = self.there.copy()
        there[PAIR] &= with_pair
        return replace(everything, epsilon=self.levels, rating=self.ratings).subset(there)


class Life(NamedTuple):
    everything: Ratings
    moments: list[Moment]
    rounds_pay: bool


class Lost(NamedTuple):
    """What one publication cost the pair by its exact sums, and what the ledger was told."""

    pure: float
    mu2: float
    charged: Spends
    level: float
    told_alike: bool
    """Whether the same noisy numbers made the same release without the pair."""


def random_life(seed: int) -> Life:
    """Levels go up and down, ratings change, go and come back; schemes follow one another."""
    rng = np.random.default_rng(seed)
    everything = random_ratings(25, 30, 120, seed=seed % 1000)
    levels = rng.choice([0.1, 0.25, 0.7, 1.0, 2.0], len(everything))
    ratings, divided = everything.rating.copy(), bool(rng.random() < 0.5)
    moments = []
    for _ in range(PUBLICATIONS):
        there = rng.random(len(everything)) < 0.85
        moments.append(Moment(_scheme(rng, divided), there, levels.copy(), ratings.copy()))
        changed = rng.random(len(everything)) < 0.4
        levels[changed] *= rng.choice([0.4, 0.9, 1.5, 2.0], changed.sum())
        levels = np.clip(levels, 0.05, 4.0)
        ratings[rng.random(len(everything)) < 0.2] = rng.integers(1, 6)
    return Life(everything, moments, bool(rng.random() < 0.7))


def _scheme(rng: np.random.Generator, divided: bool) -> Publishing:
    t = float(rng.choice([0.5, 1.0]))
    if rng.random() < 0.3:
        return Tally(items=ITEMS, threshold=t)
    return Chorus(
        items=ITEMS,
        threshold=t,
        delta=float(rng.choice([1e-6, 1e-3])),
        publications=int(rng.choice([1, 2, 4])) if divided else 1,
        factors=1 if rng.random() < 0.3 else "auto",
        rounds=2,
        purpose=str(rng.choice(["ratings", "both"])),
    )


def lost_by(life: Life, folder: Path) -> list[Lost]:
    """Publish all of it with the pair, then once more without, as the same noise would have it."""
    with_pair, charged, told = _published(life, folder / "with", None)
    without, _, told_again = _published(life, folder / "without", with_pair)
    found = []
    for moment, here, there, more, *releases in zip(
        life.moments, with_pair, without, charged, told, told_again, strict=True
    ):
        assert len(here) == len(there)
        pure = mu2 = 0.0
        for one, other in zip(here, there, strict=True):
            assert (one.law, one.scale) == (other.law, other.scale)
            moved = (one.exact - other.exact).astype(float)
            if one.law == "add_laplace":
                pure += float(np.abs(moved).sum()) / one.scale
            else:
                mu2 += float((moved**2).sum()) / one.scale**2
        found.append(Lost(pure, mu2, more, float(moment.levels[PAIR]), same_numbers(*releases)))
    return found


def same_numbers(one: Release, other: Release) -> bool:
    """Whether two releases say the same of all items; their certificates name their ledgers."""
    files, others = one.files(), other.files()
    assert files.keys() == others.keys()
    return all(files[name] == others[name] for name in files.keys() - {CERTIFICATE})


def _published(
    life: Life, folder: Path, replayed: list[list[Draw]] | None
) -> tuple[list[list[Draw]], list[Spends], list[Release]]:
    """What was heard at every publication, what it cost the pair, and what was released."""
    folder.mkdir()
    ledger = FileLedger(folder / "ledger.db")
    pair = life.everything.subset(np.arange(len(life.everything)) == PAIR)
    heard, charged, told, before = [], [], [], ledger.spends(pair)
    with rounds_that_pay(life.rounds_pay):
        for number, moment in enumerate(life.moments):
            table = moment.table(life.everything, with_pair=replayed is None)
            draws: list[Draw] = []
            with listening(draws, None if replayed is None else replayed[number]):
                model = publish(moment.scheme, table, SPEC, out=folder / "release", ledger=ledger)
            after = ledger.spends(pair)
            charged.append(Spends(*(x - y for x, y in zip(after, before, strict=True))))
            heard.append(draws)
            told.append(model.release)
            before = after
    return heard, charged, told


@contextmanager
def rounds_that_pay(pay: bool) -> Iterator[None]:
    """So small a table would have no rounds: its counts, and people, are asked all the same."""

    def asked(of: Any, share: float) -> bool:
        of.activity(share)
        return True

    with pytest.MonkeyPatch.context() as patch:
        if pay:
            patch.setattr(plan, "_people_are_active", asked)
            patch.setattr(plan, "signal", lambda *_: 100.0)
        yield


def excess(life: Life, lost: list[Lost]) -> float:
    """How far the pair's loss is above its level, or above delta: as a share of it."""
    worst, undivided, pure, mu2, delta, used, level = -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for moment, one in zip(life.moments, lost, strict=True):
        own = getattr(moment.scheme, "delta", 0.0)
        delta = max(delta, own)
        epsilon, spent = float(one.charged.epsilon[0]), float(one.charged.delta[0])
        if one.pure > 0 or one.mu2 > 0:
            level = max(level, one.level)
        if epsilon > 0 or spent > 0:  # one (epsilon, delta) for counts, tallies and rounds
            worst = max(worst, _above(one.mu2, epsilon - one.pure, spent))
            undivided, used = undivided + epsilon, used + spent
        else:
            pure, mu2 = pure + one.pure, mu2 + one.mu2
    return max(worst, _above(mu2, level - undivided - pure, delta - used))


def _above(mu2: float, epsilon: float, delta: float) -> float:
    """How far rounds of this mu^2 are from being (epsilon, delta)-close."""
    if epsilon < -ROUNDED:
        return -epsilon
    if mu2 == 0:
        return -1.0
    told = float(curve(np.sqrt([mu2]), np.array([max(epsilon, 0.0)]))[0])
    return told / max(delta, 1e-300) - 1


def test_no_life_through_real_publications_costs_a_pair_more_than_its_level(
    tmp_path: Path,
) -> None:
    """DISCREET_LIVES sets how many (12 by default)."""
    first = int(np.random.SeedSequence().entropy) % 2**31  # type: ignore[operator]
    rounds = 0
    for seed in range(first, first + LIVES):
        (tmp_path / str(seed)).mkdir()
        life = random_life(seed)
        lost = lost_by(life, tmp_path / str(seed))
        assert excess(life, lost) <= ROUNDED, f"seed {seed}: {lost}"
        rounds += any(one.mu2 > 0 for one in lost)
        assert any(one.pure > 0 for one in lost), f"seed {seed}"
        assert all(one.told_alike for one in lost), f"seed {seed}"
    assert rounds
    print(f"{LIVES} lives, {rounds} with rounds")


FORGETS: dict[str, dict[str, Callable[..., Any]]] = {
    "undivided": {
        "discreet.privacy.lifetime.Spends.raised": lambda _, levels: levels > 0,
        "discreet.privacy.lifetime.Spends.remaining": lambda _, levels: levels,
    },
    "divided": {"discreet.privacy.purses.left_of": lambda whole, _: whole},
}


@pytest.mark.parametrize("kind", FORGETS)
def test_a_ledger_that_forgets_is_found(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place, broken in FORGETS[kind].items():
        monkeypatch.setattr(place, broken)
    for seed in range(20):
        life = random_life(seed)
        divided = any(getattr(m.scheme, "publications", 1) > 1 for m in life.moments)
        if divided != (kind == "divided"):
            continue
        (tmp_path / str(seed)).mkdir()
        if excess(life, lost_by(life, tmp_path / str(seed))) > ROUNDED:
            return
    raise AssertionError("a pair that pays again and again went unnoticed")


def test_a_batch_that_is_added_by_exact_votes_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How much of a batch is added is told by noisy numbers alone: incremental.md#what-is-kept."""
    exact, own = [], votes.noisy_tallies

    def overheard(counted: np.ndarray, *given: Any, **more: Any) -> Tallies:
        exact.append(int(counted.sum()) / ONE_VOTE)
        return own(counted, *given, **more)

    for place in (budget, tally):
        monkeypatch.setattr(place, "noisy_tallies", overheard)
    monkeypatch.setattr(votes, "share_to_add", lambda *_: 1 / (1 + exact[-1]))
    for seed in range(10):
        (tmp_path / str(seed)).mkdir()
        lost = lost_by(random_life(seed), tmp_path / str(seed))
        if not all(one.told_alike for one in lost):
            return
    raise AssertionError("votes without noise decided what was released, and went unnoticed")
