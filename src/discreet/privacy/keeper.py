"""Detecting copies of a ledger: its generation is stored within it and beside it, and compared.

Where the two disagree, publishing is refused until somebody declares what happened; that is kept
for all later certificates, and begins a new generation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Generic, TypeVar

from discreet.errors import LedgerError
from discreet.privacy.beside import Beside, Known
from discreet.privacy.generation import Generation, unrecorded
from discreet.privacy.history import History, Restore

_FORGOTTEN = "has forgotten what was spent since"
At = TypeVar("At")
"""A transaction that writes."""


class Keeper(ABC, Generic[At]):
    """Stores a ledger's generation and checks it; where the ledger is a file, also beside it.

    Subclasses say how a ledger is read and written. `At` is their open transaction.
    """

    beside: Beside | None = None

    @abstractmethod
    def command(self, declared: str) -> str:
        """What to say on the command line to declare that it was "restored" or "moved"."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[At]:
        """A transaction; nobody else writes to the ledger meanwhile, or to its generation."""

    @abstractmethod
    def load(self, at: At) -> Generation | None:
        """The generation that the ledger stores; None in a ledger of an older version."""

    @abstractmethod
    def save(self, at: At, generation: Generation) -> None:
        """Store the generation, and where it is."""

    @abstractmethod
    def releases(self, at: At) -> dict[int, str]:
        """The digests of all releases by their numbers."""

    def known(self, at: At) -> dict[int, str]:
        """`releases`, and an empty digest for number 0: the state before the first."""
        return {0: "", **self.releases(at)}

    def older(self, at: At) -> Generation:
        """The first generation of a ledger that an older version wrote."""
        return unrecorded(max(self.known(at)))

    def strange(self, at: At) -> str | None:
        """Why a ledger that an older version wrote may be a copy."""
        del at
        current = None if self.beside is None else self.beside.current
        if current is None or not current.generation:
            return None
        return "this is a copy from before its generation was recorded"

    def moved_away(self, at: At, generation: Generation) -> str | None:
        """Why this is not where the ledger was, if the ledger itself can tell."""
        del at, generation
        return None

    def begin(self, at: At) -> Callable[[], None]:
        """A new ledger's generation; call what is returned once it is committed."""
        if self.beside is not None and self.beside.current is not None:
            raise LedgerError(
                f"{self.beside.path} is of another one that was here and has spent budgets: put "
                "that back; to begin anew, with other ratings, remove this file first"
            )
        return self._renew(at, Generation(), {0: ""})

    def check(self) -> None:
        """An error if this is a copy, or older than what lies beside it."""
        with self.writing() as at:
            inside, known = self.load(at), self.known(at)
            if inside is not None:
                self._refuse(self._reason(at, inside, known))
                if self.beside is not None:
                    self.beside.sweep(inside, known)
                return
            self._refuse(self._past(None, known) or self.strange(at))
            settle = self._renew(at, self.older(at), known)
        settle()

    @contextmanager
    def publication(self, history: History, digest: str) -> Iterator[Callable[[At], object]]:
        """Announce a release; call what is yielded in the transaction that commits it."""
        if self.beside is None:
            yield lambda at: self._still(at, history)
            return
        with self.writing() as at:
            inside = self._still(at, history)
            self._refuse(self._reason(at, inside, self.known(at)))
            prepared = self.beside.prepare(inside.name, history.release, digest)
            nonce = {prepared.note.nonce: history.release}
            self.save(at, replace(inside, pending={**inside.pending, **nonce}))
        self.beside.show(prepared)

        def commit(at: At) -> None:
            inside = self._still(at, history)
            open_ = {n: k for n, k in inside.pending.items() if k > history.release}
            self.save(at, replace(inside, pending=open_, place=prepared.place))

        try:
            yield commit
        except LedgerError:  # after any other error nobody knows whether it was committed
            self.beside.withdraw(prepared)
            raise
        self.beside.settle(prepared)

    def restored(self, charge: Callable[[At], None], after: int = 0) -> None:
        """Declare this an older copy; `charge` charges every rating in it in full."""
        with self.writing() as at:
            known = self.known(at)
            inside = self.load(at) or self.older(at)
            used = max(after, inside.used, 0 if self.beside is None else self.beside.highest())
            restore = Restore(day=_today(), known=max(known))
            charge(at)
            renewed = replace(
                inside, name=Generation().name, used=used, restores=(*inside.restores, restore)
            )
            settle = self._renew(at, renewed, known)
        settle()

    def moved(self) -> bool:
        """Declare this the only one that goes on, nothing having been published from elsewhere.

        False if there is nothing to declare.
        """
        with self.writing() as at:
            inside, known = self.load(at), self.known(at)
            past = self._past(inside, known)
            if past is not None:
                raise LedgerError(f"{past}. That is no move. {self._remedy(moved=False)}")
            reason = self._reason(at, inside, known) if inside else self.strange(at)
            if reason is None:
                return False
            inside = inside or self.older(at)
            renewed = replace(inside, name=Generation().name, moves=(*inside.moves, _today()))
            settle = self._renew(at, renewed, known)
        settle()
        return True

    def _still(self, at: At, history: History) -> Generation:
        """The generation that a publication began with."""
        inside = self.load(at)
        if inside is None or inside.name != history.generation:
            raise LedgerError(
                "a restore or a move was declared in the meantime: nothing was spent and nothing "
                "shown; publish again"
            )
        self._refuse(self.moved_away(at, inside))
        return inside

    def _renew(self, at: At, generation: Generation, known: Known) -> Callable[[], None]:
        beside, latest = self.beside, max(known)
        if beside is None:
            self.save(at, generation)
            return _nothing
        prepared = beside.prepare(generation.name, latest, known[latest])
        beside.show(prepared)
        self.save(at, replace(generation, pending={}, place=prepared.place))
        return lambda: beside.settle(prepared)

    def _past(self, inside: Generation | None, known: Known) -> str | None:
        number = None if self.beside is None else self.beside.forgotten(inside, known)
        if number is None:
            return None
        return (
            f"release {number} was published from here, or about to be, and nothing is known of "
            f"it: this was restored from an older copy, and {_FORGOTTEN}"
        )

    def _reason(self, at: At, inside: Generation, known: Known) -> str | None:
        if self.beside is not None:
            self.beside.finish(inside)
            return self._past(inside, known) or self.beside.differs(inside)
        return self.moved_away(at, inside)

    def _refuse(self, reason: str | None) -> None:
        if reason is not None:
            # What is older than what lies beside it cannot have been moved.
            raise LedgerError(f"{reason}. {self._remedy(moved=_FORGOTTEN not in reason)}")

    def _remedy(self, *, moved: bool = True) -> str:
        remedy = (
            f"restore the latest copy, or say '{self.command('restored')}', which charges every "
            "rating in full"
        )
        if not moved:
            return f"{remedy[0].upper()}{remedy[1:]}"
        return (
            f"If it may be an older one, {remedy}. If it is the latest and will be the only one "
            f"that publishes, say '{self.command('moved')}'"
        )


def _nothing() -> None:
    """Nothing is left to do."""


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
