"""How a release is written: three files, a certificate that binds the other two by a digest.

Reading checks version, digest, shapes and types; nothing in a file is ever executed.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.derived import looks_derived
from discreet.data.items import Items
from discreet.data.scale import RatingScale
from discreet.errors import ReleaseError
from discreet.privacy import encoding
from discreet.privacy.certificate import Certificate
from discreet.release.choice_factors import ChoiceFactors
from discreet.release.heard_sums import HeardSums
from discreet.release.scoring import FoldIn
from discreet.release.tallies import Tallies

if TYPE_CHECKING:
    from discreet.release.release import Release

FORMAT = 1
ITEMS, MODEL, CERTIFICATE = "items.arrow", "model.json", "certificate.json"
FILES = {ITEMS, MODEL, CERTIFICATE}
_EFFECT, _FACTORS, _FAMILY, _DOUBT = "_effect", "_factors", "_family_", "_doubt"
_CHOICES = "_choice_factors"
_HEARD = ("liking_sums", "choosing_sums")
_TALLIES = ("_against", "_in_favour", "_noise_variance")


def write_files(release: Release) -> dict[str, bytes]:
    """What a release folder holds, by name."""
    columns = {_EFFECT: release.item_effects}
    if release.item_factors.shape[1]:  # Arrow files hold no arrays of no numbers
        columns[_FACTORS] = release.item_factors
    columns |= {f"{_FAMILY}{k}": codes for k, codes in enumerate(release.families.values())}
    if release.tallies is not None:
        columns |= {name: getattr(release.tallies, name[1:]) for name in _TALLIES}
    if release.item_doubts is not None:
        columns[_DOUBT] = release.item_doubts
    if release.choices is not None:
        columns[_CHOICES] = release.choices.columns
    for kind in _HEARD:
        kept = getattr(release, kind)
        if kept is not None and len(kept.tastes):
            columns[f"_{kind}"] = kept.sums.astype(np.float32)
            columns[f"_{kind}_information"] = kept.information
    table = release.items.frame.with_columns(
        pl.Series(name, values) for name, values in columns.items()
    )
    buffer = io.BytesIO()
    table.write_ipc(buffer)
    model = {
        "format": FORMAT,
        "scale": [release.scale.lo, release.scale.hi],
        "mean": release.mean,
        "prior": [float(p) for p in release.prior],
        "factor_names": list(release.factor_names),
        "families": list(release.families),
        "events": release.events,
        "choice_reliability": None
        if release.choices is None
        else [float(share) for share in release.choices.reliability],
        "shared_noise": None if release.tallies is None else release.tallies.shared_noise,
        "fold_in": {
            "ridge": release.fold_in.ridge,
            "ridge_per_rating": release.fold_in.ridge_per_rating,
        },
    }
    model |= {f"{kind}_tastes": _tastes(getattr(release, kind)) for kind in _HEARD}
    files = {ITEMS: buffer.getvalue(), MODEL: (json.dumps(model, indent=2) + "\n").encode()}
    bound = release.certificate.with_digest(_digest(encoding.write(release.certificate), files))
    return {**files, CERTIFICATE: encoding.write(bound).encode()}


def read_fields(files: Mapping[str, bytes]) -> dict[str, Any]:
    """The fields of a release from what its folder holds, or an error that says what is wrong."""
    text = files[CERTIFICATE].decode("utf-8", "replace")
    certificate = encoding.read(text)
    expected = _digest(text, {name: files[name] for name in (ITEMS, MODEL)})
    if certificate.digest != expected:
        raise ReleaseError(
            "the files do not match the certificate's digest: they were changed or "
            "damaged after the release was made; get it again from its publisher"
        )
    model = _model(files[MODEL])
    families, shared_noise = model.pop("families"), model.pop("shared_noise")
    vouched, events = certificate.provenance.vouched, model.pop("events")
    known = _items(files[ITEMS], families, shared_noise, vouched, events=events)
    reliability, columns = model.pop("choice_reliability"), known.pop("choices")
    if (reliability is None) != (columns is None):
        raise ReleaseError(f"{MODEL} and {ITEMS} disagree whether there are choice factors")
    model["choices"] = None if reliability is None else ChoiceFactors(columns, reliability)
    for kind in _HEARD:
        tastes, sums = model.pop(f"{kind}_tastes"), known.pop(kind)
        if (tastes is None) != (sums is None):
            raise ReleaseError(f"{MODEL} and {ITEMS} disagree whether there are {kind}")
        model[kind] = None if tastes is None else HeardSums(sums[0], sums[1], tastes)
    return {**model, **known, "certificate": _with_columns(certificate, known["items"])}


def _with_columns(certificate: Certificate, items: Items) -> Certificate:
    """A version that did not record columns, nor ask about them, published them all the same."""
    made = certificate.provenance
    if made.recorded:
        return certificate
    schema = {name: kind for name, kind in items.frame.schema.items() if name != "item"}
    suspects = tuple(
        name for name, kind in schema.items() if looks_derived(name, numbers=kind.is_numeric())
    )
    made = replace(
        made,
        columns=made.columns or tuple(schema),
        suspects=tuple(name for name in suspects if name not in made.vouched),
    )
    return replace(certificate, provenance=made)


def _digest(certificate: str, files: dict[str, bytes]) -> str:
    """Over a certificate's text, all but its digest, and the other files."""
    digest = hashlib.sha256(encoding.without_digest(certificate).encode())
    for name in sorted(files):
        digest.update(hashlib.sha256(files[name]).digest())
    return digest.hexdigest()


def _model(raw: bytes) -> dict[str, Any]:
    try:
        model = json.loads(raw)
        if model["format"] != FORMAT:
            raise ReleaseError(
                f"the release has format {model['format']!r}, this version reads {FORMAT}; use "
                "the version of discreet that wrote it"
            )
        return {
            "scale": RatingScale(*map(float, model["scale"])),
            "mean": float(model["mean"]),
            "prior": np.array([float(p) for p in model["prior"]]),
            "factor_names": tuple(str(name) for name in model["factor_names"]),
            "families": [str(name) for name in model["families"]],
            "shared_noise": model["shared_noise"],
            "events": bool(model.get("events", False)),  # earlier versions knew ratings alone
            "choice_reliability": _numbers(model.get("choice_reliability")),
            # Earlier versions kept no sums of rounds.
            **{f"{kind}_tastes": _matrix(model.get(f"{kind}_tastes")) for kind in _HEARD},
            "fold_in": FoldIn(
                float(model["fold_in"]["ridge"]), float(model["fold_in"]["ridge_per_rating"])
            ),
        }
    except ReleaseError:
        raise
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ReleaseError(f"{MODEL} is malformed: {error!r}") from None


def _tastes(kept: HeardSums | None) -> list[list[float]] | None:
    return None if kept is None or not len(kept.tastes) else kept.tastes.tolist()


def _matrix(listed: Any) -> NDArray[np.float64] | None:
    return None if listed is None else np.array([[float(x) for x in row] for row in listed])


def _numbers(listed: Any) -> NDArray[np.float64] | None:
    return None if listed is None else np.array([float(number) for number in listed])


def _items(
    raw: bytes,
    family_names: list[str],
    shared_noise: bool | None,
    vouched: tuple[str, ...],
    *,
    events: bool,
) -> dict[str, Any]:
    try:
        table = pl.read_ipc(io.BytesIO(raw))
        effects = table[_EFFECT].cast(pl.Float64).to_numpy()
        factors = np.zeros((table.height, 0))
        if _FACTORS in table.columns:
            factors = table[_FACTORS].to_numpy()
        families = {
            name: table[f"{_FAMILY}{k}"].cast(pl.Int32).to_numpy()
            for k, name in enumerate(family_names)
        }
        tallies = None
        if shared_noise is not None:
            against, in_favour = (table[n].cast(pl.Int64).to_numpy() for n in _TALLIES[:2])
            variance = table[_TALLIES[2]].cast(pl.Float64).to_numpy()
            tallies = Tallies(against, in_favour, variance, bool(shared_noise), events)
        # Earlier versions did not say how much they know of an item.
        doubts = table[_DOUBT].cast(pl.Float64).to_numpy() if _DOUBT in table.columns else None
        choices = table[_CHOICES].to_numpy() if _CHOICES in table.columns else None
        heard = {kind: _heard(table, kind) for kind in _HEARD}
        public = [name for name in table.columns if not name.startswith("_")]
        items = Items.as_published(
            table.select(public), tuple(name for name in vouched if name in public)
        )
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise ReleaseError(f"{ITEMS} is malformed: {str(error).splitlines()[0]}") from None
    for matrix in (factors, choices, *(kept[0] for kept in heard.values() if kept)):
        if matrix is not None and (
            matrix.ndim != 2 or matrix.dtype not in (np.float32, np.float64)
        ):
            raise ReleaseError(f"{ITEMS} holds no matrix of factors")
    if not items.ids.values.equals(table["item"].cast(items.ids.values.dtype)):
        raise ReleaseError(f"{ITEMS} is not in canonical order")
    return {
        "items": items,
        "item_effects": effects,
        "item_factors": factors,
        "families": families,
        "tallies": tallies,
        "item_doubts": doubts,
        "choices": choices,
        **heard,
    }


def _heard(table: pl.DataFrame, kind: str) -> tuple[Any, Any] | None:
    """The columns of heard sums, where there are any."""
    if f"_{kind}" not in table.columns:
        return None
    information = table[f"_{kind}_information"].cast(pl.Float64).to_numpy()
    return table[f"_{kind}"].to_numpy(), information
