"""The certificate: what a release promises, under which assumptions; a value, never a secret."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from typing import Any

from discreet.errors import ReleaseError

INCREMENTAL = "incremental"
"""The variant of releases that add to one another, within lifetime budgets."""


class Status(StrEnum):
    """How far the promise is backed."""

    PROVEN = "proven"
    CONDITIONAL = "conditional"
    UNPROVEN = "unproven"


class Neighbours(StrEnum):
    """Which two data sets must look alike."""

    ADD_REMOVE = "add/remove"
    REPLACE = "replace"


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """Everything a privacy engineer needs to judge a release; all of it public."""

    scheme: str
    variant: str
    status: Status
    statement: str
    """The promise in plain words, or why there is none."""
    theorem: str
    """Where the proof, or the refutation, stands."""
    neighbours: Neighbours
    unit: str = "rating"
    personalisation: str
    """How ratings with different epsilons are served."""
    levels: str
    """The levels that were declared, not those that occur."""
    threshold: str
    delta: float = 0.0
    parameters: Mapping[str, str | int | float] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    sampler: str
    entropy: str
    digest: str = ""
    """SHA-256 over the rest of the release and this certificate without its digest."""

    @property
    def about_sums(self) -> str:
        """How the epsilons of several ratings, and of several releases, add up."""
        if self.unit == "person":
            return "All ratings of a person together; the epsilons of several releases add up."
        people = "The epsilons of all ratings of one person add up"
        if self.variant == INCREMENTAL:
            return f"{people}; an epsilon is a rating's budget for all releases of the ledger."
        return f"{people}, and so do those of all releases that use a rating."

    def with_digest(self, digest: str) -> Certificate:
        """The same certificate, bound to a release."""
        return replace(self, digest=digest)

    def to_json(self) -> str:
        """A stable text, also what the digest is computed from."""
        return json.dumps(asdict(self), indent=2, sort_keys=True, ensure_ascii=True) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Read a certificate; a missing, unknown or ill-typed field is an error that names it."""
        try:
            raw = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            raise ReleaseError(f"the certificate is not JSON: {error}") from None
        if not isinstance(raw, dict):
            raise ReleaseError("the certificate is not a JSON object")
        names = {f.name for f in fields(cls)}
        if set(raw) != names:
            odd = sorted(set(raw) ^ names)
            raise ReleaseError(f"the certificate has missing or unknown fields: {', '.join(odd)}")
        for name, value in raw.items():
            if not _fits(name, value):
                raise ReleaseError(f"the certificate's field {name!r} is malformed: {value!r}")
        try:
            raw["status"] = Status(raw["status"])
            raw["neighbours"] = Neighbours(raw["neighbours"])
        except ValueError as error:
            raise ReleaseError(f"the certificate is malformed: {error}") from None
        raw["assumptions"] = tuple(raw["assumptions"])
        raw["delta"] = float(raw["delta"])
        return cls(**raw)


def _fits(name: str, value: Any) -> bool:
    if name == "delta":
        return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1
    if name == "assumptions":
        return isinstance(value, list) and all(isinstance(v, str) for v in value)
    if name == "parameters":
        return isinstance(value, dict) and all(
            isinstance(v, str | int | float) for v in value.values()
        )
    return isinstance(value, str)
