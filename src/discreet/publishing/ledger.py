"""The interface of a ledger, wherever it is kept, and what all ledgers do alike."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol, TypeVar

from discreet.data.ratings import Ratings
from discreet.privacy.certificate import Certificate
from discreet.privacy.hashing import Hashes, pair_hashes
from discreet.schemes.base import Batch, LedgerState

Entry = TypeVar("Entry")
Entry_co = TypeVar("Entry_co", covariant=True)


class Ledger(Protocol[Entry_co]):
    """What each pair of user and item has spent over all releases; secret.

    One publication holds it, asks where it stands, trains, and records what its release costs.
    """

    def hold(self) -> AbstractContextManager[None]:
        """Hold it for one publication: of two at a time one can record, and a copy never."""
        ...

    def state(self, data: Ratings) -> LedgerState:
        """Where the ledger stands, for the pairs of a table's records."""
        ...

    def record(self, data: Ratings, batch: Batch) -> Entry_co:
        """Write durably what a release costs each record, then show it; the entry it has now.

        A crash may lose budget, never privacy: nothing is visible that is not paid for.
        """
        ...


class Named(NamedTuple):
    """How every ledger names a release: by its digest, scheme and threshold t."""

    digest: str
    scheme: str
    threshold: str

    @classmethod
    def by(cls, certificate: Certificate) -> Named:
        """The same of a release with this certificate."""
        return cls(certificate.digest, certificate.scheme, certificate.threshold_words)


def hash_records(key: str, ratings: Ratings) -> Hashes:
    """The names of the pairs of a table's records in the ledger that has this key."""
    users, items = ratings.users.values, ratings.items.values
    return pair_hashes(key, users, items, ratings.user, ratings.item)
