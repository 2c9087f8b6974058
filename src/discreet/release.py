"""The release: the item side and its certificate, the only thing that leaves."""

from __future__ import annotations

import ctypes
import hashlib
import io
import json
import math
import os
import shutil
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import DataError, OutputError, ReleaseError, require_count
from discreet.ids import Id, Ids
from discreet.items import Items
from discreet.privacy.certificate import Certificate
from discreet.recommend import FoldIn, Shelf, fold_in, top_n
from discreet.scale import RatingScale

FORMAT = 1
ITEMS, MODEL, CERTIFICATE = "items.arrow", "model.json", "certificate.json"
_EFFECT, _FACTORS = "_effect", "_factors"

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Release:
    """Public item values: a rating of item j is predicted as mean + effect_j + u . v_j.

    The person's u is folded in from that person's own ratings; it is never part of a release.
    """

    items: Items
    """The catalogue in canonical order, with what is publicly known of each item."""
    mean: float
    item_effects: Array
    item_factors: Array
    prior: Array
    fold_in: FoldIn
    scale: RatingScale
    certificate: Certificate

    def __post_init__(self) -> None:
        count, d = len(self.items), self.item_factors.shape[-1]
        if self.item_effects.shape != (count,):
            raise ReleaseError(f"{count} items need as many effects: got {self.item_effects.shape}")
        if self.item_factors.shape != (count, d) or self.prior.shape != (d,):
            raise ReleaseError(
                f"{count} items need as many factor rows, and the prior as many entries as a row: "
                f"got {self.item_factors.shape} and {self.prior.shape}"
            )
        for name in ("item_effects", "item_factors", "prior"):
            if not np.isfinite(getattr(self, name)).all():
                raise ReleaseError(f"the release's {name} hold a number that is not finite")
        constants = (self.mean, self.fold_in.ridge, self.fold_in.ridge_per_rating)
        if not all(math.isfinite(c) for c in constants) or min(constants[1:]) < 0:
            raise ReleaseError(f"the release's mean and ridges must be finite: got {constants}")

    @property
    def item_ids(self) -> Ids:
        """The catalogue's ids in canonical order."""
        return self.items.ids

    @cached_property
    def shelf(self) -> Shelf:
        """The values that scoring needs."""
        return Shelf(
            (self.mean + self.item_effects).astype(self.item_factors.dtype),
            self.item_factors,
            self.prior.astype(self.item_factors.dtype),
        )

    def recommend(
        self, my_items: Any, my_ratings: Any, n: int = 10, *, exclude_rated: bool = True
    ) -> pl.DataFrame:
        """The n best items for one person, from their own ratings: frame item, rank, score.

        Items that the release does not know are passed over. Without any rating, the answer is
        the same for everybody.
        """
        rows, ratings = self._own(my_items, my_ratings)
        ptr = np.array([0, len(rows)], dtype=np.int64)
        table = self.recommend_rows(ptr, rows, ratings, n, exclude_rated=exclude_rated, threads=1)
        return table.drop("person")

    def recommend_rows(
        self, ptr: Array, rows: Array, ratings: Array, n: int,
        *, exclude_rated: bool = True, threads: int | None = None,
    ) -> pl.DataFrame:  # fmt: skip
        """`recommend` for many people: person p rated catalogue rows rows[ptr[p]:ptr[p+1]].

        Frame person (0, 1, ...), item, rank, score.
        """
        require_count("n", n)
        people = fold_in(self.shelf, ptr, rows, ratings, self.fold_in, threads)
        who, best, score = top_n(self.shelf, people, ptr, rows, n, exclude_rated=exclude_rated)
        return pl.DataFrame(
            {
                "person": who,
                "item": self.item_ids.take(best),
                "rank": np.arange(len(who)) - np.searchsorted(who, who) + 1,
                "score": self.scale.clip(score),
            }
        )

    def predict(
        self, my_items: Any, my_ratings: Any, items: Any, *, clip: bool = True
    ) -> NDArray[np.float64]:
        """One person's predicted rating of each item; the mean for an item not in the release."""
        rows, ratings = self._own(my_items, my_ratings)
        ptr = np.array([0, len(rows)], dtype=np.int64)
        person = fold_in(self.shelf, ptr, rows, ratings, self.fold_in, threads=1)[0]
        wanted = self.item_ids.rows(items)
        scores = self.shelf.base[wanted] + self.item_factors[wanted] @ person
        unknown = float(np.mean(self.shelf.base + self.item_factors @ self.prior))
        predicted = np.where(wanted >= 0, scores, unknown).astype(np.float64)
        return self.scale.clip(predicted) if clip else predicted

    def _own(self, my_items: Any, my_ratings: Any) -> tuple[Array, Array]:
        """One person's ratings as rows of the catalogue, checked by name."""
        ids: list[Id] = list(my_items)
        try:
            ratings = np.array([float(r) for r in my_ratings])
        except (TypeError, ValueError) as error:
            raise DataError(f"ratings must be numbers: {error}") from None
        if len(ids) != len(ratings):
            raise DataError(f"every item needs one rating: got {len(ids)} and {len(ratings)}")
        if len(set(ids)) != len(ids):
            twice = next(i for k, i in enumerate(ids) if i in ids[:k])
            raise DataError(f"item {twice!r} is rated twice: keep one rating of it")
        inside = (ratings >= self.scale.lo) & (ratings <= self.scale.hi)
        if not inside.all():
            k = int(np.argmin(inside))
            raise DataError(
                f"rating must be within the scale {self.scale}: got {ratings[k]:g} "
                f"for item {ids[k]!r}"
            )
        rows = self.item_ids.rows(ids)
        return rows[rows >= 0], ratings[rows >= 0]

    def save(self, folder: str | Path) -> Path:
        """Write the release; an old one at the same place is replaced whole or left whole."""
        target = Path(folder).expanduser()
        fresh = make_room(target)
        try:
            for name, content in self._files().items():
                _write_durably(fresh / name, content)
            fresh.chmod(0o755)
            _swap(fresh, target)
        except OSError as error:
            raise OutputError(f"cannot write the release to {target}: {error}") from None
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        return target

    def _files(self) -> dict[str, bytes]:
        table = self.items.frame.with_columns(
            pl.Series(_EFFECT, self.item_effects), pl.Series(_FACTORS, self.item_factors)
        )
        buffer = io.BytesIO()
        table.write_ipc(buffer)
        model = {
            "format": FORMAT,
            "scale": [self.scale.lo, self.scale.hi],
            "mean": self.mean,
            "prior": [float(p) for p in self.prior],
            "fold_in": {
                "ridge": self.fold_in.ridge,
                "ridge_per_rating": self.fold_in.ridge_per_rating,
            },
        }
        files = {ITEMS: buffer.getvalue(), MODEL: (json.dumps(model, indent=2) + "\n").encode()}
        bound = self.certificate.with_digest(_digest(self.certificate, files))
        return {**files, CERTIFICATE: bound.to_json().encode()}

    @classmethod
    def load(cls, folder: str | Path) -> Release:
        """Read a release, checking version, digest, shapes and finiteness; nothing is executed."""
        source = Path(folder).expanduser()
        if not source.is_dir():
            raise ReleaseError(f"{source} is not a release: there is no such folder")
        raw = {name: _read(source, name) for name in (ITEMS, MODEL, CERTIFICATE)}
        try:
            certificate = Certificate.from_json(raw[CERTIFICATE].decode("utf-8", "replace"))
            expected = _digest(certificate, {ITEMS: raw[ITEMS], MODEL: raw[MODEL]})
            if certificate.digest != expected:
                raise ReleaseError(
                    "the files do not match the certificate's digest: they were changed or "
                    "damaged after the release was made; get it again from its publisher"
                )
            return cls(**_model(raw[MODEL]), **_items(raw[ITEMS]), certificate=certificate)
        except (ReleaseError, DataError) as error:
            raise ReleaseError(f"{source}: {error}") from None


def make_room(target: Path) -> Path:
    """An empty temporary sibling of target; an error if a release cannot be put there."""
    if target.exists() and not _is_release_or_empty(target):
        raise OutputError(
            f"{target} exists and is not a release: nothing was written; choose another folder, "
            "or empty it first"
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise OutputError(f"cannot write the release to {target}: {error}") from None


def _digest(certificate: Certificate, files: dict[str, bytes]) -> str:
    digest = hashlib.sha256(certificate.with_digest("").to_json().encode())
    for name in sorted(files):
        digest.update(hashlib.sha256(files[name]).digest())
    return digest.hexdigest()


def _read(source: Path, name: str) -> bytes:
    try:
        return (source / name).read_bytes()
    except OSError as error:
        raise ReleaseError(
            f"{source} is not a whole release: cannot read {name}: {error}"
        ) from None


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
            "fold_in": FoldIn(
                float(model["fold_in"]["ridge"]), float(model["fold_in"]["ridge_per_rating"])
            ),
        }
    except ReleaseError:
        raise
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ReleaseError(f"{MODEL} is malformed: {error!r}") from None


def _items(raw: bytes) -> dict[str, Any]:
    try:
        table = pl.read_ipc(io.BytesIO(raw))
        effects = table[_EFFECT].cast(pl.Float64).to_numpy()
        factors = table[_FACTORS].to_numpy()
        items = Items.from_frame(table.drop(_EFFECT, _FACTORS))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise ReleaseError(f"{ITEMS} is malformed: {str(error).splitlines()[0]}") from None
    if factors.ndim != 2 or factors.dtype not in (np.float32, np.float64):
        raise ReleaseError(f"{ITEMS} holds no matrix of factors")
    if not items.ids.values.equals(table["item"].cast(items.ids.values.dtype)):
        raise ReleaseError(f"{ITEMS} is not in canonical order")
    return {"items": items, "item_effects": effects, "item_factors": factors}


def _is_release_or_empty(folder: Path) -> bool:
    return folder.is_dir() and ((folder / CERTIFICATE).is_file() or not any(folder.iterdir()))


def _write_durably(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _swap(fresh: Path, target: Path) -> None:
    """Put fresh in target's place, so that target is whole at every moment."""
    if not target.exists():
        fresh.rename(target)
    elif not _exchange(fresh, target):
        # Without an atomic exchange there is a moment in which only the hidden copy exists.
        old = fresh.with_name(fresh.name + "-old")
        target.rename(old)
        try:
            fresh.rename(target)
        except OSError:
            old.rename(target)
            raise
        shutil.rmtree(old, ignore_errors=True)
    descriptor = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step, where the system can; Python has no call for it."""
    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return bool(renameat2(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)
