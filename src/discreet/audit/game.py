"""A game: one claim under attack, two neighbouring tables, many runs on each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.arrays import Array
from discreet.audit.attacks import Attack, Classifier, LikelihoodRatio, MeanDifference, Score
from discreet.audit.bounds import Proof, choose_thresholds, prove
from discreet.progress import Progress, silent

Play = Callable[[bool, int, int], Array]
"""play(with_record, runs, seed): so many outcomes, one a row."""
CHUNK = 20_000
"""Runs at a time: memory stays bounded, and progress shows."""


@dataclass(frozen=True)
class Game:
    """One claim under attack."""

    scheme: str
    variant: str
    case: str
    """Which record, and what the attack sees."""
    claimed: float | None
    """epsilon; None where nothing is claimed."""
    play: Play = field(repr=False)
    log_ratio: Score | None = field(default=None, repr=False)
    delta: float = 0.0
    proven: bool = False
    """Whether a theorem stands behind the claim: then a refutation is an alarm."""
    control: bool = False
    """Broken on purpose: an audit that works refutes it."""
    secret: bool = False
    """Played on real ratings: what it finds is computed from them, outside any mechanism."""
    slow: bool = False
    """Every run is a public `fit` of its own: a game of fewer runs."""
    learned: bool = False
    """Whether a projection is learned too: broken code may have other noise than was declared."""
    share: float = 1.0
    """The part of an audit's runs that is played where they are not as cheap as others."""

    @property
    def attacks(self) -> tuple[Attack, ...]:
        """Where the ratio of likelihoods is known no other attack is stronger."""
        if self.log_ratio is not None:
            known = LikelihoodRatio(self.log_ratio)
            return (known, MeanDifference()) if self.learned else (known,)
        return (MeanDifference(), Classifier())


@dataclass(frozen=True)
class Finding:
    """What an audit found out about one claim."""

    game: Game
    lower_bound: float
    confidence: float
    runs: int
    """Trainings on each side; half of them train the attack, half prove."""
    attack: str

    @property
    def refuted(self) -> bool:
        """Whether the proven loss is above the claim."""
        return self.game.claimed is not None and self.lower_bound > self.game.claimed

    def row(self) -> dict[str, Any]:
        """As JSON shows it."""
        game = self.game
        return {
            "scheme": game.scheme,
            "variant": game.variant,
            "case": game.case,
            "proven": game.proven,
            "control": game.control,
            "claimed": game.claimed,
            "delta": game.delta,
            "lower_bound": self.lower_bound,
            "confidence": self.confidence,
            "runs": self.runs,
            "attack": self.attack,
            "refuted": self.refuted,
            "secret": game.secret,
        }


def attack_outcomes(
    one: Array, other: Array, attacks: tuple[Attack, ...], alpha: float, delta: float
) -> tuple[Proof, str]:
    """The best proof of all attacks, each trained on one half of the runs.

    The chance of error is divided among all that are tried.
    """
    share, half_one, half_other = alpha / len(attacks), len(one) // 2, len(other) // 2
    best: tuple[Proof, str] | None = None
    for attack in attacks:
        score = attack.train(one[:half_one], other[:half_other])
        trained = score(one[:half_one]), score(other[:half_other])
        chosen = choose_thresholds(*trained, share, delta)
        proof = prove(score(one[half_one:]), score(other[half_other:]), chosen, share, delta)
        if best is None or proof.epsilon > best[0].epsilon:
            best = proof, attack.name
    assert best is not None
    return best


def play_game(
    game: Game, runs: int, alpha: float, *, seed: int = 0, progress: Progress = silent
) -> Finding:
    """Play both sides `runs` times; what is proven is wrong with a chance of at most alpha."""
    sides: list[Array] = []
    for side, with_record in enumerate((True, False)):
        parts: list[Array] = []
        for first in range(0, runs, CHUNK):
            progress(f"{game.scheme} {game.variant}, {game.case}", side * runs + first, 2 * runs)
            count = min(CHUNK, runs - first)
            parts.append(game.play(with_record, count, 2 * (seed * runs + first) + side))
        sides.append(np.concatenate(parts))
    proof, attack = attack_outcomes(sides[0], sides[1], game.attacks, alpha, game.delta)
    progress(f"{game.scheme} {game.variant}, {game.case}", 2 * runs, 2 * runs)
    return Finding(game, proof.epsilon, 1 - alpha, runs, attack)
