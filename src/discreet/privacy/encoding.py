"""Certificates as JSON: numbers are numbers, words go along for readers without this package.

Format 2 holds the provenance, from which the promise is derived anew when it is read. Format 1 held
a status that was asserted; what it did not record is unknown, and the promise says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from discreet.errors import ReleaseError
from discreet.privacy.certificate import Certificate
from discreet.privacy.history import History, Restore
from discreet.privacy.promise import INCREMENTAL
from discreet.privacy.provenance import (
    SEEDED,
    SYSTEM_ENTROPY,
    Catalogue,
    Levels,
    Neighbours,
    Pairs,
    Provenance,
)
from discreet.privacy.theorems import THEOREMS, Status, Theorem, weakest

FORMAT = 2
_LIMIT_BEFORE = 128.0
"""Up to which Chorus was proven with discrete Gaussian noise, in releases that do not say so."""


def write(certificate: Certificate) -> str:
    """A certificate as JSON: sorted and indented, so that equal certificates are equal texts."""
    said = certificate.promise
    return _text(
        {
            "format": FORMAT,
            "promise": {
                "status": said.status,
                "summary": certificate.summary,
                "statement": said.statement,
                "assumptions": said.assumptions,
                "about_sums": certificate.about_sums,
            },
            "provenance": asdict(certificate.provenance),
            "digest": certificate.digest,
        }
    )


def read(text: str) -> Certificate:
    """Read a certificate; a missing, unknown or ill-typed field is an error that names it."""
    raw = _object(text)
    if raw.get("format") not in (None, FORMAT):
        raise ReleaseError(
            f"the certificate has format {raw['format']!r}, this version reads {FORMAT} and older"
        )
    try:
        if "format" in raw:
            _require(raw, ("format", "promise", "provenance", "digest"))
            return Certificate(_provenance(raw["provenance"]), _word(raw["digest"]))
        _require(raw, _FIRST_FORMAT)
        return Certificate(_from_first_format(raw), _word(raw["digest"]))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise ReleaseError(f"the certificate is malformed: {error}") from None


def without_digest(text: str) -> str:
    """A certificate's text with an empty digest: what the digest is computed from."""
    return _text({**_object(text), "digest": ""})


def _text(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=2, sort_keys=True, ensure_ascii=True) + "\n"


def _object(text: str) -> dict[str, Any]:
    try:
        raw = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ReleaseError(f"the certificate is not JSON: {error}") from None
    if not isinstance(raw, dict):
        raise ReleaseError("the certificate is not a JSON object")
    return raw


def _require(raw: Mapping[str, Any], names: tuple[str, ...]) -> None:
    if set(raw) != set(names):
        odd = sorted(set(raw) ^ set(names))
        raise ReleaseError(f"the certificate has missing or unknown fields: {', '.join(odd)}")


def _word(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"a text is wanted: got {value!r}")
    return value


def _words(value: Any) -> tuple[str, ...]:
    return _listed(_word)(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"true or false is wanted: got {value!r}")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"a number is wanted: got {value!r}")
    return float(value)


def _positive(value: Any) -> float:
    number = _number(value)
    if not 0 < number < float("inf"):
        raise ValueError(f"a finite number above 0 is wanted: got {value!r}")
    return number


def _share(value: Any) -> float:
    number = _number(value)
    if not 0 <= number < 1:
        raise ValueError(f"delta is from 0 to 1: got {value!r}")
    return number


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"a count is wanted: got {value!r}")
    return value


def _parameters(value: Any) -> dict[str, str | int | float]:
    if not isinstance(value, dict) or not all(
        isinstance(v, str | int | float) for v in value.values()
    ):
        raise ValueError(f"parameters are texts and numbers: got {value!r}")
    return dict(value)


def _listed(of: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, ...]]:
    def read_list(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise ValueError(f"a list is wanted: got {value!r}")
        return tuple(of(one) for one in value)

    return read_list


def _or_none(of: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else of(value)


def _record(
    kind: Callable[..., Any],
    shape: Mapping[str, Callable[[Any], Any]],
    later: Mapping[str, Callable[[Any], Any]] | None = None,
) -> Any:
    """What reads an object with these fields, and those that certificates have had since then."""
    known = {**shape, **(later or {})}

    def read_record(raw: Any) -> Any:
        if not isinstance(raw, dict):
            raise ValueError(f"an object is wanted: got {raw!r}")
        _require(raw, tuple(name for name in known if name in shape or name in raw))
        values = {}
        for name, of in known.items():
            if name not in raw:
                continue
            try:
                values[name] = of(raw[name])
            except (TypeError, ValueError) as error:
                raise ReleaseError(f"the certificate's field {name!r}: {error}") from None
        return kind(**values)

    return read_record


def _theorem(**given: Any) -> Theorem:
    """By its name, where it is one of ours: words may be said better later, never more promised."""
    known, written = THEOREMS.get(given["name"]), Theorem(**given)
    if known is None or weakest(known.backing, written.backing) != known.backing:
        return written
    return known


_provenance = _record(
    Provenance,
    {
        "scheme": _word,
        "variant": _word,
        "theorem": _record(
            _theorem,
            {
                "name": _word,
                "statement": _word,
                "proof": _word,
                "backing": Status,
                "assumptions": _words,
            },
        ),
        "neighbours": Neighbours,
        "unit": _word,
        "personalisation": _word,
        "levels": _record(
            Levels,
            {
                "words": _word,
                "least": _or_none(_positive),
                "most": _or_none(_positive),
                "default": _or_none(_positive),
            },
        ),
        "threshold": _or_none(_positive),
        "threshold_rule": _word,
        "delta": _share,
        "served": _or_none(_positive),
        "proven_up_to": _or_none(_positive),
        "parameters": _parameters,
        "sampler": _word,
        "entropy": _word,
        "coins": _flag,
        "catalogue": Catalogue,
        "columns": _words,
        "vouched": _words,
        "suspects": _words,
        "pairs": Pairs,
        "history": _or_none(
            _record(
                History,
                {
                    "release": _count,
                    "generation": _word,
                    "since": _count,
                    "restores": _listed(_record(Restore, {"day": _word, "known": _count})),
                    "moves": _words,
                    "every_hours": _number,
                    "off_schedule": _listed(_count),
                },
                later={"changes": _words, "removed": _count},
            )
        ),
        "recorded": _flag,
    },
    later={"events": _or_none(_word)},
)

_FIRST_FORMAT = (
    "assumptions",
    "delta",
    "digest",
    "entropy",
    "levels",
    "neighbours",
    "parameters",
    "personalisation",
    "sampler",
    "scheme",
    "statement",
    "status",
    "theorem",
    "threshold",
    "unit",
    "variant",
)


def _from_first_format(raw: Mapping[str, Any]) -> Provenance:
    """What a certificate of format 1 lets us know."""
    assumed = " ".join(_words(raw["assumptions"]))
    threshold = _threshold_of_old(_word(raw["threshold"]))
    for name in ("statement", "status", "unit"):
        _word(raw[name])
    return Provenance(
        scheme=_word(raw["scheme"]),
        variant=_word(raw["variant"]),
        theorem=_theorem_of_old(raw),
        neighbours=Neighbours(raw["neighbours"]),
        unit=raw["unit"],
        personalisation=_word(raw["personalisation"]),
        levels=Levels(words=_word(raw["levels"])),
        threshold=threshold,
        threshold_rule="declared" if threshold is not None else raw["threshold"],
        delta=_share(raw["delta"]),
        served=threshold,
        proven_up_to=_LIMIT_BEFORE if raw["scheme"] == "Chorus" else None,
        parameters=_parameters(raw["parameters"]),
        sampler=_word(raw["sampler"]),
        entropy=SYSTEM_ENTROPY if _word(raw["entropy"]) == SYSTEM_ENTROPY else SEEDED,
        coins="Coins from SHA-256" in assumed,
        catalogue=Catalogue.RATED if "no catalogue was given" in assumed else Catalogue.GIVEN,
        pairs=Pairs.DECLARED if "its keeper declared so" in assumed else Pairs.CHECKED,
        recorded=False,
    )


def _threshold_of_old(words: str) -> float | None:
    try:
        return _positive(float(words))
    except ValueError:
        return None


def _theorem_of_old(raw: Mapping[str, Any]) -> Theorem:
    """The theorem that a certificate of format 1 meant; its own words where it is none of ours."""
    scheme, variant = _word(raw["scheme"]), _word(raw["variant"])
    name = scheme.lower()
    if variant == INCREMENTAL:
        name = INCREMENTAL
    elif raw["unit"] == "person":
        name += "-person"
    elif scheme in ("DP-PMF", "PDP-PMF"):
        name = f"paper-{variant}"
        if variant == "repaired" and raw["status"] == Status.UNPROVEN:
            name = "paper-data-threshold"
    if raw["neighbours"] == Neighbours.REPLACE and f"{name}-replace" in THEOREMS:
        name += "-replace"
    known = THEOREMS.get(name)
    return known or Theorem(name, _word(raw["statement"]), _word(raw["theorem"]), Status.UNPROVEN)
