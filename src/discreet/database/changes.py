"""Changes: what was declared anew while people were rating; public, later certificates have it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

CHANGEABLE = ("levels", "default_level", "publications", "publish_every_hours", "things")
"""What may be declared anew: of these `things` is a word of the page, and no part of a promise."""

PROMISED = {
    "levels": "levels on offer",
    "default_level": "the level of a rating without one",
    "publications": "releases that a rating takes part in",
    "publish_every_hours": "hours between releases",
}
"""What promises rest on, in words."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """Something that was declared anew while people were rating: public."""

    at: int
    name: str
    before: Any
    after: Any

    @property
    def words(self) -> str:
        """For certificates."""
        day = datetime.fromtimestamp(self.at / 1000, UTC).date().isoformat()
        return f"{day}: {PROMISED[self.name]} {_shown(self.after)} instead of {_shown(self.before)}"


def _shown(value: Any) -> str:
    values = value if isinstance(value, list | tuple) else (value,)
    return ", ".join(f"{one:g}" for one in values)
