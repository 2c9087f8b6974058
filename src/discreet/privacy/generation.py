"""A ledger's generation: a random name that tells it from its copies, and what was declared of it.

If a ledger were put back from a backup, what was spent since would be forgotten and could be spent
again. So each declared restore or move begins a new generation, and certificates name it.
"""

from __future__ import annotations

import secrets
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from discreet.privacy.history import History, Restore


@dataclass(frozen=True, kw_only=True)
class Generation:
    """What a ledger stores about its own identity and past.

    >>> Generation.of(Generation(name="5f0c", moves=("2026-11-16",)).to_dict()).moves
    ('2026-11-16',)
    """

    name: str = field(default_factory=lambda: secrets.token_hex(16))
    since: int = 1
    """The first release from which on all this was recorded."""
    restores: tuple[Restore, ...] = ()
    moves: tuple[str, ...] = ()
    used: int = 0
    """No release gets a number up to this one: releases that were forgotten may have them."""
    pending: dict[str, int] = field(default_factory=dict)
    """Publications that were announced, by nonce: the number that each wants."""
    place: str = ""
    """Of the file beside it, or the server, that it was last written with."""

    @classmethod
    def of(cls, stored: dict[str, Any]) -> Generation:
        """A generation from what `to_dict` made of it."""
        restores = tuple(Restore(**one) for one in stored["restores"])
        return cls(**{**stored, "restores": restores, "moves": tuple(stored["moves"])})

    def to_dict(self) -> dict[str, Any]:
        """As values that JSON can hold."""
        return asdict(self)

    def next_number(self, latest: int) -> int:
        """The number of the next release: none is given twice, also after a restored copy."""
        return max(latest, self.used) + 1

    def history(
        self,
        number: int,
        *,
        every_hours: float = 0.0,
        off_schedule: tuple[int, ...] = (),
        changes: tuple[str, ...] = (),
        removed: int = 0,
    ) -> History:
        """What the certificate of release `number` records of the ledger's past."""
        return History(
            release=number,
            generation=self.name,
            since=self.since,
            restores=self.restores,
            moves=self.moves,
            every_hours=every_hours,
            off_schedule=off_schedule,
            changes=changes,
            removed=removed,
        )


def unrecorded(latest: int, used: int = 0) -> Generation:
    """The first generation of a ledger that an older version began.

    Its past was not recorded, also where it has no release yet: it may be a copy of one that has.
    Numbers that were `used` elsewhere tell of a restore that was declared.
    """
    restores = (Restore(day="", known=latest),) if used else ()
    first = Generation(used=used, restores=restores)
    return replace(first, since=max(first.next_number(latest), 2))
