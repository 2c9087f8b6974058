"""People and tokens: a token is random, shown once and stored as a hash alone."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

from discreet.database.connection import now
from discreet.database.schema import people, tokens

DAY = 24 * 3600 * 1000
TOKEN_DAYS = 365
SESSION_HOURS = 12
TOKEN, SESSION = "token", "session"


class Role(StrEnum):
    """What a token is good for."""

    PERSON = "person"
    OPERATOR = "operator"
    MONITOR = "monitor"


@dataclass(frozen=True)
class Bearer:
    """Who holds a token: a person, the operator, or a monitor."""

    role: Role
    person: str | None
    expires_at: int


def digest(token: str) -> str:
    """A token has 256 random bits, so that one plain hash hides it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def new_person(connection: Connection, person: str | None = None) -> str:
    """A new person, under a random id if none is given; an existing one stays as it is."""
    chosen = f"person-{secrets.token_hex(8)}" if person is None else person
    add_many(connection, [chosen])
    return chosen


def add_many(connection: Connection, ids: Sequence[str]) -> None:
    """People under given ids; those who are known stay as they are."""
    insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    rows = [{"id": id_, "created_at": now()} for id_ in ids]
    connection.execute(insert(people).on_conflict_do_nothing(), rows)


def issue(
    connection: Connection,
    role: Role,
    person: str | None = None,
    *,
    days: float = TOKEN_DAYS,
    kind: str = TOKEN,
) -> str:
    """A new token: the only time that it can be seen."""
    assert (role == Role.PERSON) == (person is not None)
    token = f"discreet-{role.value}-{secrets.token_urlsafe(32)}"
    row = {
        "digest": digest(token), "role": role.value, "kind": kind, "person": person,
        "created_at": now(), "expires_at": now() + int(days * DAY),
    }  # fmt: skip
    connection.execute(sa.insert(tokens).values(**row))
    connection.execute(sa.delete(tokens).where(tokens.c.expires_at < now() - TOKEN_DAYS * DAY))
    return token


def bearer(connection: Connection, token: str) -> Bearer | None:
    """Who holds this token, expired or not; None if nobody does."""
    query = sa.select(tokens.c.role, tokens.c.person, tokens.c.expires_at)
    row = connection.execute(query.where(tokens.c.digest == digest(token))).one_or_none()
    return None if row is None else Bearer(Role(row.role), row.person, row.expires_at)


def revoke(connection: Connection, token: str) -> None:
    """End one token or session."""
    connection.execute(sa.delete(tokens).where(tokens.c.digest == digest(token)))


def revoke_all(connection: Connection, person: str) -> None:
    """End all tokens and sessions of a person."""
    connection.execute(sa.delete(tokens).where(tokens.c.person == person))


def joined_at(connection: Connection, person: str) -> int:
    """When a person came."""
    found = connection.scalar(sa.select(people.c.created_at).where(people.c.id == person))
    return int(found or 0)


def erase(connection: Connection, person: str) -> None:
    """Remove a person with their ratings and tokens; the ledger's keyed hashes stay."""
    connection.execute(sa.delete(people).where(people.c.id == person))


def operator_exists(connection: Connection) -> bool:
    """Whether anybody can operate."""
    query = sa.select(tokens.c.digest).where(tokens.c.role == Role.OPERATOR.value)
    return connection.scalar(query.where(tokens.c.expires_at > now()).limit(1)) is not None
