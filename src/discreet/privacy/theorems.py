"""Theorems: what is promised, under a name that stays, and where the proof stands."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from discreet.errors import ReleaseError
from discreet.privacy.wording import of_events


class Status(StrEnum):
    """How far a promise is backed: proven, proven under a condition that may not hold, or not."""

    PROVEN = "proven"
    CONDITIONAL = "conditional"
    UNPROVEN = "unproven"


def weakest(*statuses: Status) -> Status:
    """The one of several statuses that promises least.

    >>> weakest(Status.PROVEN, Status.CONDITIONAL)
    <Status.CONDITIONAL: 'conditional'>
    """
    return max(statuses, key=list(Status).index)


@dataclass(frozen=True)
class Theorem:
    """A promise in plain words, or why there is none.

    >>> THEOREMS["tally"].backing
    <Status.PROVEN: 'proven'>
    """

    name: str
    """Stable: certificates and tests refer to it."""
    statement: str
    proof: str
    """A page of this package's documentation, and its section; or where an own proof stands."""
    backing: Status = Status.PROVEN
    """How far the proof itself goes."""
    assumptions: tuple[str, ...] = ()
    """What this proof takes for granted beside what they all do."""


_RECORD = (
    "A record is (user, item, rating, epsilon). For every data set D with at most one record per "
    "user and item, and every record z in it, the releases computed from D and from D without z "
    "are "
)
_VALUE = (
    "Who rated what, and at which level, is public. For every data set D and every record z in it, "
    "the releases computed from D and from D with another value in z are "
)
_PERSON = (
    "For every data set D with at most one record per user and item, and every person p in it, the "
    "releases computed from D and from D without all of p's records are (epsilon(p), delta)-close, "
    "both ways; epsilon(p) is the smallest level that p gave to any rating."
)
_OVER_TIME = (
    "For every history of the ratings and every pair of user and item, all releases that share the "
    "ledger, together, and those computed as if the pair had never been there are (E, delta)-"
    "close, both ways, where E is the largest level at which the pair was counted."
)
_EVENT = (
    "A record is (user, item, value, epsilon), and that its event happened is secret with it. For "
    "every data set D with at most one record per user and item, and every record z in it, the "
    "releases computed from D and from D without z are "
)
_REFUTED = (
    "The paper claims epsilon-differential privacy for every rating. The claim does not hold: on "
    "small examples an attack proves a loss of more than twice the claimed epsilon."
)
_TWICE = " For a replaced value the paper claims 2 epsilon."
_GIVEN_U = (
    "For every data set D and every record z in it, the item factors computed from D and from D "
    "without z, with the same user factors U and the same t for both, are epsilon(z)-close, both "
    "ways. What the release reveals because U itself was trained on the ratings is not covered."
)
_GIVEN_U_REPLACED = (
    "For every data set D and every record z in it, the item factors computed from D and from D "
    "with another value in z, with the same user factors U for both, are epsilon-close. Who rated "
    "what is not protected, nor what U, which was trained on the ratings, reveals."
)
_DATA_THRESHOLD = (
    "t was computed from the training levels, so one record moves every other record's inclusion "
    "probability: nothing is proven."
)
_REAL_NUMBERS = (
    "The user factors U are constants.",
    "The proof is about real numbers; noise and minimiser are computed in 64-bit floating "
    "point, the minimiser to a relative gradient below 1e-9.",
)
_U, _C = Status.UNPROVEN, Status.CONDITIONAL

THEOREMS = {
    theorem.name: theorem
    for theorem in (
        Theorem("tally", _RECORD + "(epsilon(z), 0)-close, both ways.", "proofs/tally.md#theorem"),
        Theorem(
            "tally-replace", _VALUE + "(epsilon(z), 0)-close.", "proofs/tally.md#replaced-values"
        ),
        Theorem("tally-person", _PERSON, "proofs/tally.md#the-whole-person"),
        Theorem(
            "tally-events", _EVENT + "(epsilon(z), 0)-close, both ways.", "proofs/tally.md#events"
        ),
        Theorem("tally-events-person", of_events(_PERSON), "proofs/tally.md#events"),
        Theorem(
            "chorus", _RECORD + "(epsilon(z), delta)-close, both ways.", "proofs/chorus.md#theorem"
        ),
        Theorem(
            "chorus-replace", _VALUE + "(epsilon(z), delta)-close.", "proofs/chorus.md#theorem"
        ),
        Theorem("chorus-person", _PERSON, "proofs/chorus.md#the-whole-person"),
        Theorem(
            "chorus-events",
            _EVENT + "(epsilon(z), delta)-close, both ways.",
            "proofs/chorus.md#choices",
        ),
        Theorem("chorus-events-person", of_events(_PERSON), "proofs/chorus.md#choices"),
        Theorem("incremental", _OVER_TIME, "proofs/incremental.md#theorem"),
        Theorem(
            "incremental-events",
            of_events(_OVER_TIME),
            "proofs/incremental.md#theorem",
        ),
        Theorem(
            "pmf",
            "No privacy: the item factors depend on every rating without any noise.",
            "paper-schemes.md#pmf",
            _U,
        ),
        Theorem(
            "bias",
            "No privacy: means and effects are released without any noise.",
            "paper-schemes.md#pmf",
            _U,
        ),
        Theorem("paper-printed", _REFUTED, "paper-schemes.md#printed", _U),
        Theorem("paper-stated", _REFUTED, "paper-schemes.md#stated", _U),
        Theorem("pdp-printed-replace", _REFUTED + _TWICE, "paper-schemes.md#printed", _U),
        Theorem("pdp-stated-replace", _REFUTED + _TWICE, "paper-schemes.md#stated", _U),
        Theorem("paper-repaired", _GIVEN_U, "paper-schemes.md#repaired", _C, _REAL_NUMBERS),
        Theorem(
            "paper-repaired-replace",
            _GIVEN_U_REPLACED,
            "paper-schemes.md#repaired",
            _C,
            _REAL_NUMBERS,
        ),
        Theorem("paper-data-threshold", _DATA_THRESHOLD, "paper-schemes.md#repaired", _U),
    )
}
"""All promises that the package's own schemes make."""


_NOISE = "proofs/noise.md"
"""What is proven rests on noise that is exactly what its proof says: that has a page of its own."""


_PACKAGE = Path(__file__).parents[1]
PLACES = (_PACKAGE / "docs", _PACKAGE.parents[1] / "docs")
"""Where pages are: a wheel holds them; in a checkout they are where they are written."""


def read_proof(theorem: Theorem) -> str:
    """The page that a theorem's proof stands on, from the installed package: no network.

    Where something is proven, the page on noise follows.
    """
    page = theorem.proof.split("#", maxsplit=1)[0]
    pages = (page, _NOISE) if theorem.backing == Status.PROVEN else (page,)
    for place in PLACES:
        if theorem.name in THEOREMS and (place / page).is_file():
            return "\n".join((place / name).read_text(encoding="utf-8") for name in pages)
    raise ReleaseError(
        f"the proof of {theorem.name!r} is not a page of this package: its author names "
        f"{theorem.proof!r}"
    )
