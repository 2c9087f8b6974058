"""Breaking production code on purpose, for as long as a game is played."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from discreet.audit.game import Game
from discreet.privacy.noise import Randomness

Change = tuple[Any, str, Any]
"""A module or class, the name of something in it, and what stands there instead."""


def instead(place: Any, name: str, made: Callable[[Any], Any]) -> list[Change]:
    """Something made from what stands there now."""
    return [(place, name, made(getattr(place, name)))]


@contextmanager
def patched(changes: Sequence[Change]) -> Iterator[None]:
    """The same code with these changes; as it was when the block ends."""
    # What is in the class itself: a static method or property is put back as one.
    before = [(place, name, vars(place)[name]) for place, name, _ in changes]
    try:
        for place, name, value in changes:
            setattr(place, name, value)
        yield
    finally:
        for place, name, value in before:
            setattr(place, name, value)


def broken(build: Callable[[], Game], case: str, changes: Sequence[Change]) -> Game:
    """A game about broken code: tables are searched, exact sums computed and runs drawn in it."""

    def within(call: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*arguments: Any) -> Any:
            with patched(changes):
                return call(*arguments)

        return changed

    with patched(changes):
        game = build()
    ratio = None if game.log_ratio is None else within(game.log_ratio)
    return replace(
        game, case=case, play=within(game.play), log_ratio=ratio, proven=False, control=True
    )


def all_noise_times(factor: float) -> list[Change]:
    """Every discrete noise is drawn with this part of its scale."""

    def less(method: Callable[..., Any]) -> Callable[..., Any]:
        def add(self: Randomness, sums: Any, scale: float, **more: Any) -> Any:
            return method(self, sums, factor * scale, **more)

        return add

    return instead(Randomness, "add_laplace", less) + instead(Randomness, "add_gaussian", less)
