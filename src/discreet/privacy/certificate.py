"""The certificate: what a release promises, derived from how it was made; a value, never a secret.

`promise` is the only function that says a status. Whoever shows one asks a certificate for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from discreet.privacy.promise import INCREMENTAL, Promise, promise
from discreet.privacy.provenance import (
    GENERATORS,
    SEEDED,
    SYSTEM_ENTROPY,
    Neighbours,
    Provenance,
)
from discreet.privacy.theorems import Status, Theorem
from discreet.privacy.wording import of_events


@dataclass(frozen=True)
class Certificate:
    """What a release promises and why: all that a privacy engineer needs to judge it; public.

    >>> from discreet.privacy.provenance import SEEDED, SYSTEM_ENTROPY, Catalogue
    >>> from discreet.privacy.theorems import THEOREMS
    >>> made = {"scheme": "Tally", "variant": "", "theorem": THEOREMS["tally"]}
    >>> given = {"catalogue": Catalogue.GIVEN, "sampler": "exact"}
    >>> str(Certificate(Provenance(**made, **given, entropy=SYSTEM_ENTROPY)).status)
    'proven'
    >>> str(Certificate(Provenance(**made, **given, entropy=SEEDED)).status)  # noise can be removed
    'unproven'
    """

    provenance: Provenance
    digest: str = ""
    """SHA-256 over the rest of the release and this certificate without its digest."""

    @cached_property
    def promise(self) -> Promise:
        """Status, statement and assumptions, derived from all that happened."""
        return promise(self.provenance)

    @property
    def status(self) -> Status:
        """Proven, conditional or unproven: of this release, not of its scheme."""
        return self.promise.status

    @property
    def statement(self) -> str:
        """The promise in plain words, or why there is none."""
        return self.promise.statement

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What has to be true for the statement to hold."""
        return self.promise.assumptions

    @property
    def seeded(self) -> bool:
        """Whether noise came from a seed, here or in a release that this one adds to.

        Whoever knows the seed can remove that noise.
        """
        return self.provenance.entropy not in GENERATORS

    @cached_property
    def without_seed(self) -> Status:
        """The status that the same run would have with the operating system's entropy."""
        return promise(replace(self.provenance, entropy=SYSTEM_ENTROPY)).status

    @property
    def summary(self) -> str:
        """The status in a few words, true also where a run was seeded."""
        if not self.seeded:
            return str(self.status)
        return f"{SEEDED} ({self.without_seed} without a seed)"

    @property
    def theorem(self) -> Theorem:
        """The promise as it was proven."""
        return self.provenance.theorem

    @property
    def scheme(self) -> str:
        """Which scheme made it."""
        return self.provenance.scheme

    @property
    def variant(self) -> str:
        """Which kind of the scheme."""
        return self.provenance.variant

    @property
    def unit(self) -> str:
        """What is protected: one rating, or a person."""
        return self.provenance.unit

    @property
    def neighbours(self) -> Neighbours:
        """Which two data sets must look alike."""
        return self.provenance.neighbours

    @property
    def personalisation(self) -> str:
        """How ratings with different epsilons are served."""
        return self.provenance.personalisation

    @property
    def levels(self) -> str:
        """The levels that were declared, in words."""
        return self.provenance.levels.words

    @property
    def threshold(self) -> float | None:
        """t; None where it was computed from the ratings, or there is none."""
        return self.provenance.threshold

    @property
    def threshold_words(self) -> str:
        """t, or how it came about."""
        made = self.provenance
        return made.threshold_rule if made.threshold is None else f"{made.threshold!r}"

    @property
    def delta(self) -> float:
        """The largest delta of any release that this one adds to, and of its own."""
        return self.provenance.delta

    @property
    def parameters(self) -> Mapping[str, str | int | float]:
        """The scheme's own parameters by name."""
        return self.provenance.parameters

    @property
    def sampler(self) -> str:
        """How noise was drawn."""
        return self.provenance.sampler

    @property
    def entropy(self) -> str:
        """Where the noise comes from."""
        return self.provenance.entropy

    @property
    def about_sums(self) -> str:
        """How the epsilons and deltas of several ratings, and of several releases, add up."""
        return of_events(self._about_sums) if self.provenance.events else self._about_sums

    @property
    def _about_sums(self) -> str:
        numbers = "epsilons and deltas" if self.delta else "epsilons"
        if self.unit == "person":
            return f"All ratings of a person together; the {numbers} of several releases add up."
        people = "The epsilons of all ratings of one person add up"
        if self.delta:  # docs/proofs/README.md#several-ratings-at-once
            people += " to a sum S, and their deltas to at most e^S times their own"
        if self.variant == INCREMENTAL:
            budget = "an epsilon and a delta are" if self.delta else "an epsilon is"
            return f"{people}; {budget} a rating's budget for all releases of the ledger."
        return f"{people}, and so do the {numbers} of all releases that use a rating."

    def with_digest(self, digest: str) -> Certificate:
        """The same certificate, bound to a release."""
        return replace(self, digest=digest)
