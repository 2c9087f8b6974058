"""What each scheme may claim, in the words of a certificate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from discreet.privacy.certificate import INCREMENTAL, Certificate, Neighbours, Status
from discreet.privacy.noise import SYSTEM_ENTROPY, Randomness
from discreet.privacy.personalise import DATA_THRESHOLDS
from discreet.release import Release

_REFUTED = (
    "The paper claims epsilon-differential privacy for every rating. The claim does not hold: on "
    "small examples an attack proves a loss of more than twice the claimed epsilon."
)
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
_SEEDED = "This run was seeded: whoever knows the seed can remove the noise. It protects nobody."


_TALLY = (
    "A record is (user, item, rating, epsilon). For every data set D with at most one record per "
    "user and item, and every record z in it, the releases computed from D and from D without z "
    "are (epsilon(z), 0)-close, both ways."
)
_TALLY_REPLACE = (
    "Who rated what, and at which level, is public. For every data set D and every record z in it, "
    "the releases computed from D and from D with another value in z are (epsilon(z), 0)-close."
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
_CHORUS = (
    "A record is (user, item, rating, epsilon). For every data set D with at most one record per "
    "user and item, and every record z in it, the releases computed from D and from D without z "
    "are (epsilon(z), delta)-close, both ways."
)
_CHORUS_REPLACE = (
    "Who rated what, and at which level, is public. For every data set D and every record z in it, "
    "the releases computed from D and from D with another value in z are (epsilon(z), delta)-close."
)


def tally_certificate(
    *,
    neighbours: Neighbours,
    personalisation: str,
    levels: str,
    threshold: float,
    unit: str,
    fixed_catalogue: bool,
    ledger_after: Release | bool,
    randomness: Randomness,
) -> Certificate:
    """Proven; or conditional, where the catalogue was taken from the ratings.

    A release that adds to one before promises no more than that did.
    """
    replaced = neighbours == Neighbours.REPLACE
    promise = _TALLY, "docs/proofs/tally.md#theorem"
    if replaced:
        promise = _TALLY_REPLACE, "docs/proofs/tally.md#replaced-values"
    if unit == "person":
        promise = _PERSON, "docs/proofs/tally.md#the-whole-person"
    certificate = Certificate(
        scheme="Tally",
        variant="whole table",
        # Under REPLACE who rated what is public by definition, and with it the rated items.
        status=Status.PROVEN if fixed_catalogue or replaced else Status.CONDITIONAL,
        statement=promise[0],
        theorem=promise[1],
        unit=unit,
        neighbours=neighbours,
        personalisation=personalisation,
        levels=levels,
        threshold=repr(threshold),
        assumptions=_assumptions(fixed_catalogue=fixed_catalogue, conditional=False),
        sampler=f"discrete Laplace on a grid of 2^-20 votes, {randomness.grid_sampler}",
        entropy=randomness.entropy,
    )
    if personalisation == "sample":
        coins = "Coins from SHA-256 with a secret 256-bit key are as good as independent ones."
        certificate = replace(certificate, assumptions=(*certificate.assumptions, coins))
    return _said_of_seeds(_over_time(certificate, ledger_after))


def chorus_certificate(
    *,
    neighbours: Neighbours,
    delta: float,
    levels: str,
    threshold: float,
    unit: str,
    fixed_catalogue: bool,
    publications: int,
    ledger_after: Release | bool,
    randomness: Randomness,
) -> Certificate:
    """Proven; or conditional, where the catalogue was taken from the ratings.

    A release that adds to one before promises no more than that did.
    """
    replaced = neighbours == Neighbours.REPLACE
    promise = _CHORUS_REPLACE if replaced else _CHORUS, "docs/proofs/chorus.md#theorem"
    if unit == "person":
        promise = _PERSON, "docs/proofs/chorus.md#the-whole-person"
    certificate = Certificate(
        scheme="Chorus",
        variant="whole table",
        status=Status.PROVEN if fixed_catalogue or replaced else Status.CONDITIONAL,
        statement=promise[0],
        theorem=promise[1],
        unit=unit,
        neighbours=neighbours,
        personalisation="weigh",
        levels=levels,
        threshold=repr(threshold),
        delta=delta,
        parameters={"publications": publications, "delta": delta} if ledger_after else {},
        assumptions=_assumptions(fixed_catalogue=fixed_catalogue, conditional=False),
        sampler=(
            "discrete Laplace (Gaussian for a person) on a grid of 2^-20 votes, discrete Gaussian "
            f"on a grid of 2^-30, {randomness.grid_sampler}"
        ),
        entropy=randomness.entropy,
    )
    return _said_of_seeds(_over_time(certificate, ledger_after))


def _over_time(certificate: Certificate, ledger_after: Release | bool) -> Certificate:
    """The promise of all releases of a ledger; `ledger_after` is the one before, True if none."""
    if not ledger_after:
        return certificate
    assumptions = [
        *certificate.assumptions,
        "The schedule of releases was fixed in advance, and all of them share one ledger.",
    ]
    certificate = replace(
        certificate,
        variant=INCREMENTAL,
        statement=_OVER_TIME,
        theorem="docs/proofs/incremental.md#theorem",
        assumptions=tuple(assumptions),
    )
    if ledger_after is True:
        return certificate
    before = ledger_after.certificate
    inherited = [text for text in before.assumptions if text not in assumptions]
    return replace(
        certificate,
        status=certificate.status if before.status == Status.PROVEN else before.status,
        delta=max(certificate.delta, before.delta),
        assumptions=(*assumptions, *inherited),
        entropy=certificate.entropy if before.entropy == SYSTEM_ENTROPY else before.entropy,
    )


def _said_of_seeds(certificate: Certificate) -> Certificate:
    if certificate.entropy == SYSTEM_ENTROPY:
        return certificate
    return replace(certificate, statement=f"{_SEEDED} {certificate.statement}")


def paper_certificate(
    *,
    scheme: str,
    variant: str,
    neighbours: Neighbours,
    levels: str,
    threshold: str,
    fixed_catalogue: bool,
    parameters: Mapping[str, str | int | float],
    randomness: Randomness,
) -> Certificate:
    """The certificate of DP-PMF or PDP-PMF."""
    from_data = any(threshold.startswith(name) for name in DATA_THRESHOLDS)
    conditional = variant == "repaired" and not from_data
    if conditional:
        statement = _GIVEN_U if neighbours == Neighbours.ADD_REMOVE else _GIVEN_U_REPLACED
    else:
        statement = _DATA_THRESHOLD if variant == "repaired" else _REFUTED
    if neighbours == Neighbours.REPLACE and scheme == "PDP-PMF":
        statement += " For a replaced value the paper claims 2 epsilon."
    return _said_of_seeds(
        Certificate(
            scheme=scheme,
            variant=variant,
            status=Status.CONDITIONAL if conditional else Status.UNPROVEN,
            statement=statement,
            theorem=f"docs/paper-schemes.md#{variant}",
            neighbours=neighbours,
            personalisation="sample" if scheme == "PDP-PMF" else "none: one level for everybody",
            levels=levels,
            threshold=threshold,
            parameters=parameters,
            assumptions=_assumptions(fixed_catalogue=fixed_catalogue, conditional=conditional),
            sampler="uniform direction times Gamma(d), in 64-bit floating point",
            entropy=randomness.entropy,
        )
    )


def with_declared_key(certificate: Certificate) -> Certificate:
    """Conditional on what the keeper of the table declared, and nothing checked."""
    proven = certificate.status == Status.PROVEN
    key = "No pair of user and item occurs twice in the table: its keeper declared so."
    return replace(
        certificate,
        status=Status.CONDITIONAL if proven else certificate.status,
        assumptions=(*certificate.assumptions, key),
    )


def _assumptions(*, fixed_catalogue: bool, conditional: bool) -> tuple[str, ...]:
    catalogue = (
        "The item catalogue, and every column of its table, was made without the ratings."
        if fixed_catalogue
        else "The list of rated items is public: no catalogue was given, so it was taken from them."
    )
    shared = (
        "The rating scale, the offered levels and all parameters were fixed without looking at "
        "the ratings.",
        catalogue,
        "Only the release leaves: user factors, traces and evaluation results do not.",
    )
    if not conditional:
        return shared
    return (
        *shared,
        "The user factors U are constants.",
        "The proof is about real numbers; noise and minimiser are computed in 64-bit floating "
        "point, the minimiser to a relative gradient below 1e-9.",
    )
