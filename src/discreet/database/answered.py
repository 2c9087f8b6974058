"""Requests that are done once: who sends the same again, under the same key, gets the same answer.

A front end that lost a connection cannot know whether its request was done. It sends it again.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from discreet.database.connection import insert, now
from discreet.database.declaration import ledger_key
from discreet.database.schema import answered_requests
from discreet.errors import DataError

KEPT_MS = 24 * 3600 * 1000
"""A key is good for a day."""


def once(
    connection: Connection,
    who: str,
    key: str | None,
    request: bytes,
    work: Callable[[Connection], dict[str, Any]],
) -> dict[str, Any]:
    """Do this and keep its answer under the key, in one transaction; or the answer that there is.

    Without a key it is simply done. `request` is all that was asked, not only what was sent along.
    """
    if key is None:
        return work(connection)
    c, at = answered_requests.c, now()
    digest = hashlib.sha256(f"{len(who)}:{who}:{key}".encode()).hexdigest()
    # Keyed: one rating is guessed soon, and this may stay when its owner has been erased.
    sent = hmac.digest(bytes.fromhex(ledger_key(connection)), request, "sha256").hex()
    connection.execute(sa.delete(answered_requests).where(c.at < at - KEPT_MS))
    # Whoever sends the same at this moment waits here for the other's transaction.
    claim = insert(connection, answered_requests).values(digest=digest, body=sent, answer={}, at=at)
    claimed = connection.scalar(claim.on_conflict_do_nothing().returning(c.digest))
    if claimed is None:
        found = connection.execute(sa.select(c.body, c.answer).where(c.digest == digest)).one()
        if found.body != sent:
            raise DataError("this key was used for another request: give every request its own")
        return dict(found.answer)
    answer = work(connection)
    keep = sa.update(answered_requests).where(c.digest == digest)
    connection.execute(keep.values(answer=answer))
    return answer
