"""The whole ledger at a glance, for the operator: gone through once for every release."""

from __future__ import annotations

import threading
from typing import Any

from sqlalchemy.engine import Connection

from discreet.database import generation, ledger
from discreet.database.declaration import current
from discreet.database.ledger import Overview


class LedgerOverview:
    """The latest overview, as long as nothing has changed that it follows from."""

    def __init__(self) -> None:
        self._known: tuple[Any, Overview] | None = None
        self._looking = threading.Lock()

    def get(self, connection: Connection) -> Overview:
        """As of this connection's snapshot. A ledger changes with a release, which adds what it
        spent, and with a restore, which charges all in full; what is shown, with the levels too."""
        levels = current(connection).levels
        key = (ledger.latest(connection), generation.current(connection), levels)
        with self._looking:
            if self._known is None or self._known[0] != key:
                self._known = (key, ledger.overview(connection, levels))
            return self._known[1]
