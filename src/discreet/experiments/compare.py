"""Compare: the field, Tally, Chorus and what has no privacy, on the same splits.

Every cell is a fit of its own that is kept, so a comparison goes on where it was interrupted. Rows
that differ in parameters alone are told apart by their labels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from discreet.errors import ParameterError, require_choice, require_count, require_positive
from discreet.evaluate.baselines import Reference
from discreet.evaluate.judge import Judging
from discreet.experiments.cells import Cell, Job, Store, options, run_cells
from discreet.experiments.source import Source
from discreet.field.roster import ROSTER, tuned, tuned_sampling
from discreet.privacy.spec import PrivacySpec
from discreet.progress import Progress, silent

UNITS = ("person", "rating")
PAPER = "paper"
"""Among levels: those of the paper, from 0.1 to 1.0, each rating with one of its own."""
PAPER_LEVELS = options(seed=7)
SMALLEST = 0.1
"""Of them; what knows one level for everybody serves all with it."""
FOLDS, SEED = 10, 2_025
"""Splits are folds of ten, so a tenth is held out; no hyper-parameter was fitted to them."""
T95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
"""Student's t for 95% intervals, by degrees of freedom."""
FIGURES = {"rmse": "errors", "ndcg@10": "lists"}
NOT_PRIVATE = (
    Reference("biases", "bias", "errors"),
    Reference("ALS", "pmf", "errors", (("solver", "als"),)),
    Reference("SGD", "pmf", "errors", (("solver", "sgd"),)),
    Reference("SVD++", "svd++", "errors"),
    Reference("popularity", "popularity", "lists"),
    Reference("item-kNN", "item-knn", "lists"),
    Reference("EASE", "ease", "lists"),
)
"""What could be had if nobody were protected."""


class Row(NamedTuple):
    """A line of the comparison at one level, and the job behind it."""

    label: str
    level: str
    """An epsilon, "paper", or "none"."""
    judged: tuple[str, ...]
    job: Job


@dataclass(frozen=True)
class Asked:
    """What is compared: public facts of an experiment."""

    source: Source
    unit: str
    levels: tuple[str, ...]
    delta: float
    splits: int = 3
    lists: bool = True
    """Whether lists are judged as well: of many people, they take longer than the fits."""

    @classmethod
    def of(
        cls,
        source: Source,
        unit: str,
        levels: Sequence[str],
        delta: float,
        splits: int,
        *,
        lists: bool = True,
    ) -> Asked:
        """The same, if it makes sense."""
        require_choice("unit", unit, UNITS)
        require_count("splits", splits)
        require_positive("delta", delta)
        if splits > FOLDS or delta >= 1 or not levels:
            raise ParameterError(
                f"compare takes at least one level, a delta below 1 and up to {FOLDS} splits: got "
                f"{len(levels)} levels, {delta!r} and {splits}"
            )
        for level in levels:
            if level == PAPER and unit == "person":
                raise ParameterError(
                    f"{PAPER!r} is a level for each rating: it needs unit 'rating'"
                )
        told = tuple(level if level == PAPER else f"{_number(level):g}" for level in levels)
        return cls(source, unit, told, delta, splits, lists)

    @property
    def people(self) -> int:
        """How many people there are, by which hyper-parameters are chosen."""
        return len(self.source.load().users)

    def rows(self) -> Iterator[Row]:
        """Everything that is compared."""
        for row in self._rows():
            judged = tuple(what for what in row.judged if self.lists or what == "errors")
            if judged:
                yield row._replace(judged=judged)

    def _rows(self) -> Iterator[Row]:
        for level in self.levels:
            yield from self._house(level)
            yield from self._field(level)
            if level == PAPER:
                yield from self._sampled()
        yield from self._plain()

    def _job(self, name: str, given: dict[str, Any], level: str) -> Job:
        privacy = PAPER_LEVELS if level == PAPER else options(uniform=float(level))
        return Job(self.source, name, options(**given), privacy, self.source.items is not None)

    def _house(self, level: str) -> Iterator[Row]:
        both = {"unit": self.unit}
        purposes = (("ratings", ("errors",)), ("lists", ("lists",)), ("both", ("errors", "lists")))
        for purpose, judged in purposes:
            given = both | {"delta": self.delta, "purpose": purpose}
            label = "Chorus" if purpose == "both" else f"Chorus for {purpose}"
            yield Row(label, level, judged, self._job("chorus", given, level))
        yield Row("Tally", level, ("errors", "lists"), self._job("tally", both, level))

    def _field(self, level: str) -> Iterator[Row]:
        epsilon = SMALLEST if level == PAPER else float(level)
        for entry in ROSTER:
            if self.unit not in entry.units:
                continue
            given = tuned(entry, self.unit, epsilon, self.delta, self.people)
            if len(entry.units) > 1:
                given["unit"] = self.unit
            if entry.sums == "gaussian":
                given["delta"] = self.delta
            yield Row(entry.label, level, entry.judged, self._job(entry.name, given, level))

    def _sampled(self) -> Iterator[Row]:
        for inner, (label, given) in tuned_sampling(self.delta, self.people).items():
            given = given | {"inner": inner, "delta": self.delta}
            yield Row(label, PAPER, ("errors", "lists"), self._job("jorgensen", given, PAPER))

    def _plain(self) -> Iterator[Row]:
        data, items = self.source.load(), self.source.load_items()
        for reference in NOT_PRIVATE:
            if reference.why_not(data, PrivacySpec.uniform(1.0), items):
                continue
            job = Job(self.source, reference.name, reference.options, None, items is not None)
            yield Row(reference.label, "none", (reference.of,), job)


def _number(level: str) -> float:
    try:
        return require_positive("--epsilons", float(level))
    except ValueError:
        raise ParameterError(
            f"--epsilons must be numbers with commas, or {PAPER!r}: got {level!r}"
        ) from None


def compare(
    asked: Asked, out: Path, *, workers: int | None = None, progress: Progress = silent
) -> pl.DataFrame:
    """Run what is missing; a row for each label, level and split, as far as they are there."""
    store, rows = Store(out / "cells"), list(asked.rows())
    cells = [cell for row in rows for cell in _cells(asked, row)]
    run_cells(cells, store, workers=workers, progress=progress)
    return kept(asked, store, rows)


def kept(asked: Asked, store: Store, rows: Sequence[Row]) -> pl.DataFrame:
    """What is there of a comparison: label, level, split, rmse, ndcg@10, seconds, megabytes."""
    found = []
    for row in rows:
        for cell in _cells(asked, row):
            result = store.get(cell) or {}
            known = {
                "rmse": result.get("rmse_clipped") if "errors" in row.judged else None,
                "ndcg@10": result.get("ndcg@10") if "lists" in row.judged else None,
                "seconds": result.get("fit_seconds"),
                "megabytes": result.get("fit_megabytes"),
                "mechanism": result.get("mechanism"),
            }
            found.append({"label": row.label, "level": row.level, "split": cell.fold + 1} | known)
    numbers = dict.fromkeys(("rmse", "ndcg@10", "seconds", "megabytes"), pl.Float64)
    text = {"label": pl.String, "level": pl.String, "split": pl.Int64}
    return pl.DataFrame(found, schema=text | numbers | {"mechanism": pl.String})


def _cells(asked: Asked, row: Row) -> list[Cell]:
    lists = Judging() if "lists" in row.judged else None
    return [Cell(row.job, k, FOLDS, seed=SEED, lists=lists) for k in range(asked.splits)]


def means(table: pl.DataFrame) -> pl.DataFrame:
    """Over splits: means, and the half width of the 95% interval where there are several."""
    known = table.filter(pl.col("seconds").is_not_null())
    return known.group_by("label", "level", maintain_order=True).agg(
        pl.len().alias("splits"),
        pl.col("rmse", "ndcg@10", "seconds").mean(),
        pl.col("megabytes").max(),
        *[_margin(figure).alias(f"{figure}_margin") for figure in FIGURES],
        pl.col("mechanism").first(),
    )


def _margin(figure: str) -> pl.Expr:
    count = pl.col(figure).count()
    t = (count - 1).replace_strict(T95, default=None, return_dtype=pl.Float64)
    return t * pl.col(figure).std() / count.sqrt()


class Verdict(NamedTuple):
    """Chorus beside another private scheme, on the same splits."""

    figure: str
    level: str
    other: str
    ahead: float
    """By how much Chorus is better, mean over splits: a smaller error, a larger NDCG."""
    margin: float | None
    """Half the width of the 95% interval of that; None of a single split."""
    splits: int

    @property
    def words(self) -> str:
        """What follows, by a rule that was fixed beforehand: whether the interval holds zero."""
        if self.margin is None or math.isnan(self.margin):
            return ("ahead" if self.ahead > 0 else "behind") + ", one split"
        if abs(self.ahead) <= self.margin:
            return "not told apart"
        return "ahead" if self.ahead > 0 else "behind"


def verdicts(table: pl.DataFrame) -> list[Verdict]:
    """Chorus for ratings against every error, Chorus for lists against every list."""
    found = []
    for figure, purpose in (("rmse", "ratings"), ("ndcg@10", "lists")):
        known = table.filter(pl.col(figure).is_not_null() & (pl.col("level") != "none"))
        ours = known.filter(pl.col("label") == f"Chorus for {purpose}")
        others = known.filter(~pl.col("label").str.starts_with("Chorus"))
        beside = others.join(ours, on=["level", "split"], suffix="_ours")
        sign = 1 if figure == "rmse" else -1
        better = sign * (pl.col(figure) - pl.col(f"{figure}_ours"))
        rows = beside.with_columns(better=better).group_by("level", "label", maintain_order=True)
        judged = rows.agg(
            pl.col("better").mean().alias("mean"), _margin("better").alias("m"), pl.len()
        )
        found += [
            Verdict(figure, row["level"], row["label"], row["mean"], row["m"], row["len"])
            for row in judged.to_dicts()
        ]
    return found
