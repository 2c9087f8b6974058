"""The declaration: scale, levels, delta and schedule, fixed before the first rating was given.

The theorems assume that these do not depend on the ratings. What can be declared anew all the same
(redeclaring.py) is written down, and every later certificate names it.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import asdict, dataclass, fields
from typing import Any
from weakref import WeakKeyDictionary

import sqlalchemy as sa

from discreet.data.event_rules import EventRules, Quantity
from discreet.data.scale import RatingScale
from discreet.database.changes import CHANGEABLE, Change
from discreet.database.connection import Database, now, one_at_a_time
from discreet.database.generation import DatabaseKeeper
from discreet.database.migrations import migrate
from discreet.database.schema import settings
from discreet.errors import DatabaseError, ParameterError, SpecError, require_count
from discreet.privacy.fixedpoint import ONE_VOTE
from discreet.privacy.history import HOUR, Schedule

DECLARATION, LEDGER_KEY, CATALOGUE = "declaration", "ledger key", "catalogue version"


LARGEST_LEVEL = 20.0


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What people were promised when they came: public; what was declared anew says so itself.

    >>> Declaration(levels=(0.3, 0.1)).max_level
    0.3
    """

    scale: tuple[float, float] = (1.0, 5.0)
    levels: tuple[float, ...] = (0.1, 0.3, 1.0)
    """What the page offers, most private first; over the API anything up to the largest."""
    default_level: float | None = None
    """Of a rating without one: by default the most private that is offered."""
    delta: float = 0.0
    """0: Tally, pure epsilon. Above 0: Chorus."""
    publications: int = 1
    """With a delta: in how many releases a rating is heard, each time for a part of one of its two
    purses. It makes no promise larger or smaller, but may not depend on the ratings either."""
    publish_every_hours: float = 0.0
    """The schedule of releases; 0 if the operator keeps one by other means."""
    things: str = "films"
    """What is rated, in the words of the page."""
    events: bool = False
    """Whether the database holds events, not ratings; then the scale is from 0 to 1."""
    quantity: str | None = None
    """Of events: how much a weight counts, as it is written (log:10); None: every event counts 1.
    """
    repeats: str = "any"
    """Of events: what several of one pair are."""
    declared_at: int = 0
    """From when on the schedule counts."""
    threshold: float | None = None
    """t, for the database's whole life: the largest level of the first declaration."""
    changes: tuple[Change, ...] = ()
    """What was declared anew, oldest first."""

    def __post_init__(self) -> None:
        scale = RatingScale(*self.scale)
        levels = tuple(sorted({float(level) for level in self.levels}))
        if not levels or not all(0 < level <= LARGEST_LEVEL for level in levels):
            raise SpecError(
                f"the offered levels must be above 0, and at most {LARGEST_LEVEL:g}, beyond which "
                f"nothing is promised: got {self.levels!r}"
            )
        usual = levels[0] if self.default_level is None else float(self.default_level)
        if not 0 < usual <= levels[-1]:
            raise SpecError(f"the default level must be one that is offered: got {usual!r}")
        if not 0 <= self.delta < 1:
            raise ParameterError(f"delta must be from 0 to below 1: got {self.delta!r}")
        if not (math.isfinite(self.publish_every_hours) and self.publish_every_hours >= 0):
            raise ParameterError(f"hours must be at least 0: got {self.publish_every_hours!r}")
        require_count("publications", self.publications)
        if self.publications > 1 and not self.delta:
            raise ParameterError("publications go with a delta: Tally counts every rating once")
        if self.rules is not None:  # which an error would be if they were none
            scale = RatingScale(0, 1)
        elif self.quantity is not None or self.repeats != "any":
            raise ParameterError("a quantity and repeats are declared of events, not of ratings")
        require_count("letters in the name of what is rated", len(self.things.strip()))
        object.__setattr__(self, "scale", (scale.lo, scale.hi))
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "default_level", usual)
        object.__setattr__(self, "threshold", self.threshold or levels[-1])
        if levels[-1] > self.max_level:
            raise SpecError(
                f"no level above {self.max_level:g}, by which noise is drawn from the first "
                f"release on, can be offered later: got {levels[-1]:g}; begin another database"
            )

    @property
    def max_level(self) -> float:
        """The largest level that a rating may ever have had, which is also t."""
        assert self.threshold is not None
        return self.threshold

    @property
    def schedules(self) -> list[Schedule]:
        """Every how many hours releases come, and from when on that was declared."""
        changed = [one for one in self.changes if one.name == "publish_every_hours"]
        first = changed[0].before if changed else self.publish_every_hours
        return [(0, first), *((one.at, one.after) for one in changed)]

    def due_after(self, begun_at: int | None) -> int:
        """When the schedule wants the release after one that began then; None: the first."""
        last = self.declared_at if begun_at is None else begun_at
        return max(last, self.schedules[-1][0]) + round(self.publish_every_hours * HOUR)

    @property
    def smallest_counted(self) -> float:
        """A level below it would have no weight on the grid of votes, and wait for ever."""
        return 2 * self.max_level / ONE_VOTE

    @property
    def usual_level(self) -> float:
        """The level of a rating that was given without one."""
        assert self.default_level is not None
        return self.default_level

    @property
    def rules(self) -> EventRules | None:
        """By which rows of events become records; None for ratings."""
        if not self.events:
            return None
        quantity = None if self.quantity is None else Quantity.parse(self.quantity)
        return EventRules(quantity, self.repeats)

    @property
    def rating_scale(self) -> RatingScale:
        """The declared scale of ratings."""
        return RatingScale(*self.scale)


def establish(
    database: Database, wanted: dict[str, Any] | None = None, *, begin: bool = True
) -> Declaration:
    """Open a database: migrate it, and declare what `wanted` says if nothing was declared yet.

    Afterwards every word of `wanted` must be what was declared: none may change with the ratings in
    view.
    """
    migrate(database)
    wanted = wanted or {}
    with database.writing() as connection:
        one_at_a_time(connection)
        stored = connection.scalar(_value(DECLARATION))
        if stored is None:
            if not begin:
                raise DatabaseError(
                    f"nothing was declared in {database!r}: begin it with discreet "
                    "serve, which fixes scale and levels"
                )
            declared = Declaration(**{**wanted, "declared_at": now()})
            rows = {
                DECLARATION: asdict(declared),
                LEDGER_KEY: secrets.token_hex(32),
                CATALOGUE: 0,
            }
            connection.execute(
                sa.insert(settings), [{"name": n, "value": v} for n, v in rows.items()]
            )
            settle = DatabaseKeeper(database).begin(connection)
    if stored is None:
        settle()
        return declared
    declared = _restored(stored)
    asked = Declaration(**{**_fields(declared), "threshold": None, **wanted})
    for name in wanted:
        value, known = getattr(asked, name), getattr(declared, name)
        if value != known:
            hint = "discreet operate declare" if name in CHANGEABLE else "another database"
            raise DatabaseError(
                f"{database!r} was declared with {name} = {known!r}, not {value!r}: what people "
                f"were promised cannot be changed by the way; leave the option away (see {hint})"
            )
    return declared


def current(connection: sa.Connection) -> Declaration:
    """As it is declared at this moment."""
    return _restored(connection.scalar(_DECLARED))


def store(connection: sa.Connection, declared: Declaration) -> None:
    """Declare this from now on."""
    change = sa.update(settings).where(settings.c.name == DECLARATION)
    connection.execute(change.values(value=asdict(declared)))


def _fields(declared: Declaration) -> dict[str, Any]:
    return {field.name: getattr(declared, field.name) for field in fields(declared)}


def opened(url: str) -> tuple[Database, Declaration]:
    """Open an existing database, with its declaration."""
    database = Database(url)
    if not database.exists:
        raise DatabaseError(
            f"no database {database.url.database}: check the path, or begin one with discreet serve"
        )
    return database, establish(database, begin=False)


def ledger_key(connection: sa.Connection) -> str:
    """The key of the ledger's hashes: as secret as the ratings, and for ever the same."""
    known = _KEYS.get(connection.engine)
    if known is None:
        known = str(connection.execute(_KEY).scalar_one())
        _KEYS[connection.engine] = known
    return known


def catalogue_version(connection: sa.Connection) -> int:
    """How often the catalogue has changed."""
    return int(connection.scalar(_value(CATALOGUE)) or 0)


def count_catalogue_change(connection: sa.Connection) -> None:
    """Tell those who hold a copy of the catalogue that it is old."""
    version = catalogue_version(connection) + 1
    change = sa.update(settings).where(settings.c.name == CATALOGUE)
    connection.execute(change.values(value=version))


def _value(name: str) -> sa.Select[tuple[Any]]:
    return sa.select(settings.c.value).where(settings.c.name == name)


_KEYS: WeakKeyDictionary[sa.Engine, str] = WeakKeyDictionary()
_KEY, _DECLARED = _value(LEDGER_KEY), _value(DECLARATION)


def _restored(stored: dict[str, Any]) -> Declaration:
    tuples: dict[str, Any] = {name: tuple(stored[name]) for name in ("scale", "levels")}
    tuples["changes"] = tuple(Change(**one) for one in stored.get("changes", ()))
    return Declaration(**{**stored, **tuples})
