"""People and their access tokens; a token is random, shown once and stored as a hash alone."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Connection

from discreet.database import glance
from discreet.database.acts import UNNAMED
from discreet.database.connection import Database, Lock, insert, now, one_at_a_time
from discreet.database.declaration import ledger_key
from discreet.database.reader import AMONG
from discreet.database.schema import erased_people, people, tokens
from discreet.errors import DataError

DAY = 24 * 3600 * 1000
TOKEN_DAYS = 365
SESSION_HOURS = 12
FRESH_MINUTES = 10
"""How long after signing in a browser may replace the token itself."""
TOKEN, SESSION = "token", "session"
LONGEST_ID = 200
_MADE_HERE = re.compile(r"person-[0-9a-f]{16}")
_ID = sa.select(people.c.id).where(people.c.id == sa.bindparam("who"))
_FEW = 1000


class Role(StrEnum):
    """What a token is good for."""

    PERSON = "person"
    OPERATOR = "operator"
    MONITOR = "monitor"
    SERVICE = "service"
    """A company's own front end, which speaks for its people."""


@dataclass(frozen=True)
class Bearer:
    """Who holds a token: a person, the operator, or a monitor."""

    role: Role
    person: str | None
    expires_at: int
    kind: str = TOKEN
    since: int = 0
    operator: str = UNNAMED
    """What an operator, or a front end, is called."""

    @property
    def name(self) -> str:
        """A name that nobody else has, also where a person is called "operator"."""
        return f"{self.role}:{self.operator if self.person is None else self.person}"

    @property
    def signed_in_just_now(self) -> bool:
        """Whether a session has just begun: with a token, then, that its holder has at hand."""
        return now() - self.since < FRESH_MINUTES * 60_000


def digest(token: str) -> str:
    """The hash that is stored of a token: it has 256 random bits, so one plain hash hides it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def new_person(connection: Connection, person: str | None = None) -> str:
    """A new person, under a random id if none is given; an existing one stays as they are.

    The id of somebody who was erased is refused: its new owner would see what had been counted.
    """
    chosen = f"person-{secrets.token_hex(8)}" if person is None else person
    check_ids([chosen])
    if person is not None:
        one_at_a_time(connection, Lock.RETURNING)
        if chosen in erased(connection, [chosen]):
            raise DataError("somebody with this id was erased: give the person another one")
    add_many(connection, [chosen])
    return chosen


def check_ids(ids: Sequence[str]) -> None:
    """Ids that every database can hold and every page can show."""
    for id_ in ids:
        if not 0 < len(id_) <= LONGEST_ID or not id_.isprintable():
            raise DataError(
                f"a person's id has 1 to {LONGEST_ID} letters that can be shown: got {id_[:30]!r}"
            )


def made_here(person: str) -> bool:
    """Whether this is such an id as people get who join here: nobody else may be called so."""
    return _MADE_HERE.fullmatch(person) is not None


def exists(connection: Connection, person: str) -> bool:
    """Whether there is somebody of this id."""
    return connection.scalar(_ID, {"who": person}) is not None


def present(connection: Connection, ids: Iterable[str]) -> set[str]:
    """Those of the ids who are here, and stay so until the transaction ends."""
    query = sa.select(people.c.id).where(people.c.id.in_(sorted(ids))).order_by(people.c.id)
    return set(connection.scalars(query.with_for_update(key_share=True)))


def welcome(connection: Connection, ids: Iterable[str]) -> set[str]:
    """Create those who are new, but nobody who was erased; who of the ids is here then."""
    wanted = set(ids)
    here = present(connection, wanted)
    if missing := sorted(wanted - here):
        one_at_a_time(connection, Lock.RETURNING)
        new = set(missing) - erased(connection, missing)
        check_ids(sorted(new))
        add_many(connection, sorted(new))
        here |= new
    return here


def add_many(connection: Connection, ids: Sequence[str]) -> None:
    """People under given ids, none of whom was erased; those who are known stay as they are."""
    rows = [{"id": id_, "created_at": now()} for id_ in ids]
    if rows:
        connection.execute(insert(connection, people).on_conflict_do_nothing(), rows)


def erased(connection: Connection, ids: Sequence[str]) -> set[str]:
    """Those of the ids whose owner was erased."""
    key, query = ledger_key(connection), sa.select(erased_people.c.digest)
    names = {hidden(key, id_): id_ for id_ in ids}
    if len(names) <= _FEW:
        query = query.where(erased_people.c.digest.in_(list(names)))
    return {names[found] for found in connection.scalars(query) if found in names}


def hidden(key: str, person: str) -> str:
    """The keyed hash of a person's id: all that is kept of somebody who was erased."""
    return hmac.new(bytes.fromhex(key), f"person:{person}".encode(), "sha256").hexdigest()


def issue(
    connection: Connection,
    role: Role,
    person: str | None = None,
    *,
    days: float = TOKEN_DAYS,
    kind: str = TOKEN,
    name: str | None = None,
) -> str:
    """A new token: the only time that it can be seen. `name` is an operator's: theirs, or of who
    makes a token for a person."""
    assert (role == Role.PERSON) == (person is not None)
    token = f"discreet-{role.value}-{secrets.token_urlsafe(32)}"
    row = {
        "digest": digest(token),
        "role": role.value,
        "kind": kind,
        "person": person,
        "created_at": now(),
        "expires_at": now() + int(days * DAY),
        "name": name,
    }
    ended = (tokens.c.kind == SESSION) & (tokens.c.expires_at < now())
    connection.execute(sa.delete(tokens).where(ended))
    connection.execute(sa.insert(tokens).values(**row))
    return token


def begin_session(connection: Connection, token: str) -> str | None:
    """A browser's session for who holds this token; None if nobody does any more."""
    one_at_a_time(connection, Lock.TOKENS)
    holder = bearer(connection, token)
    if holder is None or holder.expires_at <= now():
        return None
    days = SESSION_HOURS / 24
    name = holder.operator if holder.role == Role.OPERATOR else None
    return issue(connection, holder.role, holder.person, days=days, kind=SESSION, name=name)


def begin_session_for(connection: Connection, who: Bearer) -> str:
    """A browser's session for somebody whom their company's own sign-in has named."""
    one_at_a_time(connection, Lock.TOKENS)
    days = SESSION_HOURS / 24
    name = who.operator if who.role == Role.OPERATOR else None
    return issue(connection, who.role, who.person, days=days, kind=SESSION, name=name)


def renew(connection: Connection, person: str) -> str:
    """A new token for a person, in place of all others and of all sessions."""
    revoke_all(connection, person)
    return issue(connection, Role.PERSON, person)


_HELD = [tokens.c[n] for n in ("role", "person", "expires_at", "kind", "created_at", "name")]
_HOLDER = sa.select(*_HELD).where(tokens.c.digest == sa.bindparam("wanted"))
HOLDERS = sa.select(tokens.c.digest, *_HELD).where(
    tokens.c.digest == sa.any_(sa.bindparam(AMONG, type_=ARRAY(tokens.c.digest.type)))
)
"""For a reader, who is asked for digests; `held` says who it is."""


def bearer(connection: Connection, token: str) -> Bearer | None:
    """Who holds this token, expired or not; None if nobody does."""
    return held(connection.execute(_HOLDER, {"wanted": digest(token)}).all())


def holder(database: Database, token: str) -> Bearer | None:
    """The same, at a glance: every request asks for it."""
    return held(glance.rows(database, _HOLDER, {"wanted": digest(token)}))


def held(found: Sequence[glance.Row]) -> Bearer | None:
    """Who holds a token, as it was found."""
    if not found:
        return None
    [row] = found
    role, person, expires_at, kind, since, name = row
    return Bearer(Role(role), person, expires_at, kind, since, name or UNNAMED)


def revoke(connection: Connection, token: str) -> bool:
    """End one token or session; False if there was none."""
    ended = connection.execute(sa.delete(tokens).where(tokens.c.digest == digest(token)))
    return bool(ended.rowcount)


def revoke_role(connection: Connection, role: Role, name: str | None = None) -> int:
    """End all tokens and sessions of a role, or of one who has it by name; how many."""
    one_at_a_time(connection, Lock.TOKENS)
    ended = sa.delete(tokens).where(tokens.c.role == role.value)
    if name is not None:
        ended = ended.where(tokens.c.name == name)
    return connection.execute(ended).rowcount


def revoke_all(connection: Connection, person: str) -> None:
    """End all tokens and sessions of a person."""
    one_at_a_time(connection, Lock.TOKENS)
    connection.execute(sa.delete(tokens).where(tokens.c.person == person))


def accesses(connection: Connection, person: str) -> list[dict[str, int | str | None]]:
    """What is stored of a person's tokens and sessions, but for their hashes."""
    c = tokens.c
    made_by = c.name.label("made_by")
    query = sa.select(c.kind, c.created_at, c.expires_at, made_by).where(c.person == person)
    return [dict(row._mapping) for row in connection.execute(query.order_by(c.created_at))]


def joined_at(connection: Connection, person: str) -> int:
    """When a person joined."""
    found = connection.scalar(sa.select(people.c.created_at).where(people.c.id == person))
    return int(found or 0)


def erase(connection: Connection, person: str) -> None:
    """Remove a person with their ratings and tokens; keyed hashes stay, which name nobody."""
    one_at_a_time(connection, Lock.TOKENS)  # or one who renews theirs, and we, wait for each other
    one_at_a_time(connection, Lock.RETURNING, shared=True)
    left = {"digest": hidden(ledger_key(connection), person)}
    connection.execute(insert(connection, erased_people).on_conflict_do_nothing(), [left])
    connection.execute(sa.delete(people).where(people.c.id == person))


def operator_exists(connection: Connection) -> bool:
    """Whether anybody can operate."""
    query = sa.select(tokens.c.digest).where(tokens.c.role == Role.OPERATOR.value)
    return connection.scalar(query.where(tokens.c.expires_at > now()).limit(1)) is not None
