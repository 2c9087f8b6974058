"""Sealed names: an address that names an item to this service, and nothing to anybody else.

URLs are what proxies, browsers' histories and monitoring keep. A page about an item still wants an
address that one can go back to, and a cover one that can be cached: so the id is sealed, for every
person in another way, and whoever reads a log learns not which item it was.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

from discreet.database.connection import Database
from discreet.database.declaration import ledger_key

_TAG, _OWNER, _PIECE = 12, 8, 16
"""Bytes of the tag, of what stands for the owner, and of a piece: lengths tell little."""


@dataclass(frozen=True, repr=False)
class Seal:
    """Closes texts and opens them again: deterministic authenticated encryption (SIV).

    >>> seal = Seal(b"secret")
    >>> name = seal.close("item", "ann", "film-1")
    >>> seal.open("item", name, "ann"), seal.open("item", name, "bob"), seal.open("cover", name)
    ('film-1', None, None)
    """

    secret: bytes

    @classmethod
    def of(cls, database: Database) -> Seal:
        """With a key of the database's, so that every process opens what another closed."""
        with database.reading() as connection:
            key = ledger_key(connection)
        return cls(hmac.digest(bytes.fromhex(key), b"sealed names", "sha256"))

    def close(self, purpose: str, owner: str, text: str) -> str:
        """The sealed name: of the same text always the same, for this owner and purpose."""
        plain = self._stamp(owner) + text.encode()
        plain += b"\0" * (-len(plain) % _PIECE)
        tag = self._tag(purpose, plain)
        return (tag + _mixed(tag, plain, self.secret)).hex()

    def open(self, purpose: str, name: str, owner: str | None = None) -> str | None:
        """What was sealed; None if nothing was, or for somebody else than this owner."""
        try:
            given = bytes.fromhex(name)
        except ValueError:
            return None
        tag, plain = given[:_TAG], _mixed(given[:_TAG], given[_TAG:], self.secret)
        if not hmac.compare_digest(tag, self._tag(purpose, plain)):
            return None
        if owner is not None and plain[:_OWNER] != self._stamp(owner):
            return None
        return plain[_OWNER:].rstrip(b"\0").decode()

    def _stamp(self, owner: str) -> bytes:
        return hmac.digest(self.secret, f"owner:{owner}".encode(), "sha256")[:_OWNER]

    def _tag(self, purpose: str, plain: bytes) -> bytes:
        return hmac.digest(self.secret, f"tag:{purpose}:".encode() + plain, "sha256")[:_TAG]


def _mixed(tag: bytes, text: bytes, secret: bytes) -> bytes:
    """The text with a stream of bytes that only who has the secret can make again."""
    stream = hashlib.shake_256(b"stream:" + secret + tag).digest(len(text))
    return bytes(a ^ b for a, b in zip(text, stream, strict=True))
