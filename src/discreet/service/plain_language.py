"""Privacy in plain words: what a level means to somebody who never heard of epsilon."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from discreet.database.declaration import Declaration
from discreet.privacy.lifetime import Loss
from discreet.service.disclosure import Choice, Disclosure, Entered
from discreet.service.words import Words, words_of

_NAMES = ((0.2, "Very private"), (0.5, "Private"), (1.5, "Open"), (math.inf, "Hardly private"))
"""Up to an epsilon: somebody who wavers can become 55%, 63%, 82% sure, or surer."""
SEEDED = (
    "Nothing is promised: a release of this service was made with a seed, and whoever knows the "
    "seed can take its noise away. What has entered is not protected, nor what later releases add."
)
MAKING = "A release is being made at this moment: it may count this as it was when it began."
_SEEDED_IN_SHORT = "nothing is promised: a release was made with a seed."
RESTORED = (
    "This service was restored from a backup. What you gave after that backup was made is lost "
    "here, but may have entered a release all the same: it is not listed, and if you have given it "
    "again since, it may have been counted twice, beyond what its level promises."
)


_LOST = (
    "If you gave this before, and it was lost when this service was restored from a backup, what "
    "was told then comes on top."
)


class Ground(StrEnum):
    """What all promises stand on."""

    SOUND = "sound"
    RESTORED = "restored"
    """An older copy took the database's place: it does not know of all that was told."""
    SEEDED = "seeded"
    """Whoever knows the seed can take the noise away."""


def surest(loss: Loss) -> float:
    """How often somebody can be right who gave it an even chance before.

    (e^eps + delta) / (1 + e^eps); with delta = 0 also how sure they can become, whatever they see.

    >>> round(surest(Loss(0.1)), 3)
    0.525
    """
    return min(1.0, (1 + loss.delta * math.exp(-loss.epsilon)) / (1 + math.exp(-loss.epsilon)))


@dataclass(frozen=True)
class Level:
    """A privacy level that is offered, and what it means for a rating on which nothing is spent."""

    epsilon: float
    name: str
    explained: str


def offered_levels(declared: Declaration, ground: Ground) -> list[Level]:
    """The declared levels, most private first."""
    named, words = [_name(level) for level in declared.levels], words_of(declared)
    return [
        Level(
            level,
            name if named.count(name) == 1 else f"{name} ({level:g})",
            explained(Loss(level, declared.delta), ground, words),
        )
        for level, name in zip(declared.levels, named, strict=True)
    ]


def explained(loss: Loss, ground: Ground, words: Words) -> str:
    """What a loss means for one rating, true as worded: docs/proofs/incremental.md.

    Whether a rating is there is protected by epsilon, which of two values it has by twice that.
    """
    if ground == Ground.SEEDED:
        return _SEEDED_IN_SHORT.capitalize()
    either = Loss(2 * loss.epsilon, (1 + math.exp(loss.epsilon)) * loss.delta)
    there, value = percent(surest(loss)), percent(surest(either))
    can = (
        f"can become at most {there} sure"
        if loss.delta == 0
        else f"can guess right in at most {there} of all cases"
    )
    said = (
        f"Even somebody who knows every other {words.one}, and gives it an even chance that you "
        f"{words.did} this, {can} from all that we ever publish."
    )
    if words.values:
        said += (
            f" If they know that you {words.did} it, and hold {words.values} equally likely, at "
            f"most {value}."
        )
    return _with_what_was_lost(said, ground)


def guessing(declared: Declaration, ground: Ground) -> str:
    """What the percentages of all levels are, said once for all of them."""
    if ground == Ground.SEEDED:
        return _SEEDED_IN_SHORT.capitalize()
    lost = ", but for what was lost in a restore" if ground == Ground.RESTORED else ""
    words = words_of(declared)
    return (
        f"How often, at most, somebody is right who guesses whether you {words.did} one of the "
        f"{declared.things}, knows every other {words.one}, gives this one an even chance, and "
        f"sees all that we ever publish{lost}. A tossed coin is right in 50% of all cases."
    )


def _with_what_was_lost(text: str, ground: Ground) -> str:
    return f"{text} {_LOST}" if ground == Ground.RESTORED else text


def told(found: Disclosure, ground: Ground, words: Words) -> str:
    """What all releases will ever have told about a rating, as things are."""
    if ground == Ground.SEEDED:
        return SEEDED
    if found.most.epsilon == 0:
        nothing = "Nothing has left about this"
        if not found.making:
            nothing += f", and nothing will while you do not {words.do} it"
        nothing += "."
        return _but_for_what_is_made(_with_what_was_lost(nothing, ground), found)
    return _but_for_what_is_made(explained(found.most, ground, words), found)


def would_mean(choice: Choice, found: Disclosure, ground: Ground, words: Words) -> str:
    """What it would mean to choose a level for this rating, given what was spent on it."""
    if ground == Ground.SEEDED:
        return _SEEDED_IN_SHORT
    said = _with_what_was_lost(_adds_up_to(choice, found, words), ground)
    return _but_for_what_is_made(said, found)


def _but_for_what_is_made(text: str, found: Disclosure) -> str:
    return f"{text} {MAKING}" if found.making else text


def _adds_up_to(choice: Choice, found: Disclosure, words: Words) -> str:
    most = percent(surest(choice.most))
    wavers = f"somebody who gives it an even chance that you {words.did} this"
    can = (
        f"{wavers} can become {most} sure, no more"
        if choice.most.delta == 0
        else f"{wavers} guesses right in {most} of all cases at most"
    )
    if found.spent.epsilon == 0:
        return f"{can}."
    before = "has entered" if found.entered == Entered.YES else "may have entered"
    if choice.next.epsilon == 0:
        return f"{can}: so much {before} before, and this level neither adds to it nor recalls it."
    return f"{can}: with what {before} before, and what this level adds."


def adding_up(declared: Declaration, ground: Ground) -> str:
    """That levels add up, said where one chooses: docs/proofs/incremental.md."""
    if ground == Ground.SEEDED:
        return _SEEDED_IN_SHORT.capitalize()
    least, most, words = declared.levels[0], declared.levels[-1], words_of(declared)
    said = (
        f"Levels add up: somebody who asks about all of your {words.many} at once can learn what "
        "their levels allow together"
    )
    if most < 2 * least or declared.delta:  # deltas come to more than their sum
        return f"{said}."
    count = math.floor(most / least + 1e-9)
    return (
        f"{said}. {count} {words.many} at “{_name(least).lower()}” may tell as much together as "
        f"one at “{_name(most).lower()}”."
    )


def about_all(loss: Loss, words: Words) -> str:
    """What several ratings tell together."""
    most = percent(surest(loss))
    wavers = f"Somebody who gives it an even chance that you {words.did} all of these, or none,"
    if loss.delta == 0:
        return f"{wavers} can become {most} sure, no more."
    return f"{wavers} guesses right in {most} of all cases at most."


def _name(epsilon: float) -> str:
    """By how much it protects, whatever else is on offer."""
    return next(name for most, name in _NAMES if epsilon <= most)


def percent(share: float) -> str:
    """For people; rounded up, because a bound must not be understated."""
    return f"{math.ceil(share * 1000 - 1e-9) / 10:g}%"


def digits(value: float) -> str:
    """An epsilon or a delta with three digits; rounded up likewise.

    >>> digits(0.81301), digits(1e-8)
    ('0.814', '1e-08')
    """
    if value <= 0:
        return "0"
    last_digit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return f"{math.ceil(value / last_digit - 1e-9) * last_digit:.3g}"
