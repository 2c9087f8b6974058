"""What a scheme is: it describes itself, and its `fit` makes a model of ratings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, NamedTuple, Protocol

from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.data.tables import Table
from discreet.kernels.compute import Compute
from discreet.privacy.history import History
from discreet.privacy.lifetime import Costs, Spends
from discreet.privacy.noise import Randomness
from discreet.privacy.spec import PrivacySpec
from discreet.progress import Progress, silent
from discreet.release.release import Release
from discreet.schemes.model import FactorModel


@dataclass(frozen=True)
class About:
    """What a scheme says of itself, before any rating is read."""

    name: str
    """As results and certificates call it."""
    promise: str
    """What it promises, in a line."""
    engines: tuple[str, ...] = ("local",)
    """Where ratings may be: "local" in memory, "stream" on disk, "spark" in a cluster."""
    units: tuple[str, ...] = ("rating",)
    """What it can protect; the first unless something else is chosen. None if it protects none."""
    proven: bool = False
    """Whether its certificates may say so: then an audit takes a refutation for an alarm, whatever
    the certificate says."""
    personal: bool = True
    """Whether every rating, or person, is served at a level of its own; else at the smallest."""
    publishes: bool = False
    """Whether its releases add up within lifetime budgets: then it is `Publishing`."""
    reads_items: bool = False
    """Whether it learns from an item table's columns, not only its list of items."""
    events: bool = False
    """Whether it learns from events as well, which have no ratings."""
    audited: tuple[Mapping[str, Any], ...] = ({},)
    """Parameter sets that an audit attacks, through the public `fit` on tables of a few people."""

    @property
    def private(self) -> bool:
        """Whether it promises anything, and so reads people's levels."""
        return bool(self.units)


@dataclass(frozen=True)
class Option:
    """How a field of a scheme is set on a command line."""

    flag: str
    help: str
    kind: type = str
    """What a word is read as: str, int, float, bool (--flag/--other), list for words repeated."""
    metavar: str | None = None
    short: str | None = None
    read: Callable[[Any], Any] | None = None
    """From what was read to the field's value; an error names the flag."""
    words: tuple[str, ...] = ()
    """Words that this scheme accepts for the flag, where others may accept numbers alone."""


def option(default: Any, how: Option) -> Any:
    """A field with this default that can be set on a command line."""
    return field(default=default, metadata={"option": how})


def options_of(scheme: type[Scheme]) -> dict[str, Option]:
    """A scheme's options by the names of its fields."""
    known: Any = scheme
    return {f.name: f.metadata["option"] for f in fields(known) if "option" in f.metadata}


def build_scheme(kind: type[Scheme], items: Items | None = None, **given: Any) -> Scheme:
    """A scheme with these parameters: every one is a dataclass with a field `items`."""
    make: Any = kind
    made: Scheme = make(items=items, **given)
    return made


class Scheme(Protocol):
    """What every scheme offers: a frozen dataclass with a description and one method."""

    about: ClassVar[About]

    @property
    def items(self) -> Items | None:
        """The public catalogue, where there is one."""
        ...

    def fit(
        self,
        ratings: Table,
        spec: PrivacySpec | None = None,
        *,
        seed: int | None = None,
        compute: Compute = Compute(),
        progress: Progress = silent,
    ) -> FactorModel:
        """Train on ratings under a specification; with no seed, noise is from the system.

        Ratings may come as anything that `as_ratings` takes, on a scale of 1..5.
        """
        ...


class Run(NamedTuple):
    """What one fit runs with: its noise, what computes, and who is told how far it is."""

    randomness: Randomness
    compute: Compute = Compute()
    progress: Progress = silent

    def drawn_by(self, sampler: str) -> Run:
        """The same with noise from this sampler; asked for before anything is drawn."""
        if self.randomness.sampler == sampler:
            return self
        return self._replace(randomness=replace(self.randomness, sampler=sampler))


@dataclass(frozen=True, eq=False)
class LedgerState:
    """What a ledger knows before a publication: all that was spent and released up to now."""

    spends: Spends = field(repr=False)
    """What the pair of each record of the table has spent: secret."""
    before: Release | None
    """The release to add to, if there was one."""
    history: History
    """Of the ledger, up to the next release."""
    earlier: int
    """How many publications came before: with one seed, each still draws noise of its own."""
    share: float | None = None
    """The pure share of every epsilon, if the ledger is divided into purses: for ever."""


class Batch(NamedTuple):
    """What one publication made, and what it costs every record of the table."""

    model: FactorModel
    costs: Costs
    """Secret."""
    share: float | None = None
    """The pure share of every epsilon, if the ledger is divided from now on."""


class Publishing(Scheme, Protocol):
    """What a scheme offers whose releases add to one another, within lifetime budgets."""

    def require_publishable(self) -> None:
        """An error unless a theorem for releases over time covers its parameters."""
        ...

    def prepare(self, ratings: Ratings, spec: PrivacySpec | None) -> tuple[PrivacySpec, Ratings]:
        """The specification, and the ratings over the catalogue."""
        ...

    def allowances(self, data: Ratings, spec: PrivacySpec, state: LedgerState) -> Costs:
        """What every record may spend in the next publication, at most: secret."""
        ...

    def publish_batch(
        self, data: Ratings, spec: PrivacySpec, state: LedgerState, run: Run
    ) -> Batch:
        """The next release, from what every pair has left and from the release before."""
        ...
