"""Declaring anew: levels, schedule and names can be changed; every later certificate says so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from discreet.database import acts
from discreet.database.changes import CHANGEABLE, PROMISED, Change
from discreet.database.connection import Database, now, one_at_a_time
from discreet.database.declaration import Declaration, current, store
from discreet.errors import require_choice


def declare_anew(database: Database, wanted: dict[str, Any], operator: str) -> Declaration:
    """Change what may be changed, and write down that it was: all later certificates name it.

    Ratings keep the levels that they have. No level above t can be offered.
    """
    for name in wanted:
        require_choice("what is declared anew", name, CHANGEABLE)
    with database.writing() as connection:
        one_at_a_time(connection)
        before = current(connection)
        if "levels" in wanted and "default_level" not in wanted:
            least, most = min(wanted["levels"], default=0.0), max(wanted["levels"], default=0.0)
            if not least <= before.usual_level <= most:
                wanted = {**wanted, "default_level": None}  # the most private of the new ones
        after = replace(before, **wanted)
        made = [
            Change(at=now(), name=name, before=getattr(before, name), after=getattr(after, name))
            for name in CHANGEABLE
            if getattr(before, name) != getattr(after, name)
        ]
        promised = tuple(change for change in made if change.name in PROMISED)
        after = replace(after, changes=(*before.changes, *promised))
        store(connection, after)
        for change in made:
            detail = change.words if change.name in PROMISED else f"{change.name}: {change.after}"
            acts.note(connection, operator, "declare anew", detail)
    return after
