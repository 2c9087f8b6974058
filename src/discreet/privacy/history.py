"""What happened to a ledger up to a release: public facts that certificates over time rest on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

HOUR = 3600 * 1000
"""In the milliseconds that times are kept in."""
_EARLY = 60_000
"""A release that begins less than a minute from its time is in time."""


UNNOTICED = (
    "The ledger was never taken back or copied in a way that nothing could notice: by a snapshot "
    "of its disk or machine, by starting a PostgreSQL server from a copy of its files without "
    "recovery, by exchanging single tables or files that keep number and birth, or by a copy made "
    "while a publication was recorded that then crashed."
)
"""What a ledger cannot tell of itself, and a promise over time assumes."""


@dataclass(frozen=True, kw_only=True)
class Restore:
    """A declaration that the ledger had been put back from an older copy of itself."""

    day: str
    """When that was declared, as 2026-11-16; empty where a version recorded no day."""
    known: int
    """The latest release that the copy knew of."""


@dataclass(frozen=True, kw_only=True)
class History:
    """What a certificate records of its ledger: generation, restores, moves and schedule.

    >>> History(release=3, generation="5f0c").whole
    True
    """

    release: int
    """The number of the release that this is about."""
    generation: str
    """The ledger's present generation: a random number, renewed by every declared restore."""
    since: int = 1
    """The first release from which on all this was recorded; an older ledger has ones before."""
    restores: tuple[Restore, ...] = ()
    moves: tuple[str, ...] = ()
    """Days on which somebody declared that a copy goes on in the ledger's place, as the only one;
    nothing can check that word."""
    every_hours: float = 0.0
    """The declared schedule; 0 where none was declared."""
    off_schedule: tuple[int, ...] = ()
    """Releases that did not come when the declared schedule wanted them."""
    changes: tuple[str, ...] = ()
    """What was declared anew while people were rating: when, and what instead of what."""
    removed: int = 0
    """How many items of the catalogue were taken down."""

    @property
    def whole(self) -> bool:
        """Whether everything since the first release was recorded, and nothing was taken back."""
        return self.since == 1 and not self.restores


Schedule = tuple[int, float]
"""From when on (ms), and every how many hours; 0 for none."""


def off_schedule(
    begun: Sequence[tuple[int, int]], schedules: Sequence[Schedule]
) -> tuple[int, ...]:
    """Which releases came early, or a twentieth of a period late; `begun` has (number, ms).

    A release is due one period after the one before began, or after the schedule was declared, if
    that came later. The first may come at any time.

    >>> off_schedule([(1, 0), (2, 24 * HOUR), (3, 30 * HOUR)], [(0, 24)])
    (3,)
    >>> off_schedule([(1, 0), (2, 24 * HOUR), (3, 35 * HOUR)], [(0, 24), (29 * HOUR, 6)])
    ()
    """
    found = []
    for (_, before), (number, at) in pairwise(begun):
        since, hours = max((one for one in schedules if one[0] <= at), default=(0, 0.0))
        period = hours * HOUR
        late = at - max(before, since) - period
        if period and not -_EARLY <= late <= max(period / 20, _EARLY):
            found.append(number)
    return tuple(found)
