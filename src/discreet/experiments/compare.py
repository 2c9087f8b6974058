"""Compare: the field, Tally, Chorus and what has no privacy, on the same splits.

Every cell is a fit of its own that is kept, so a comparison goes on where it was interrupted. Rows
that differ in parameters alone are told apart by their labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from discreet.errors import ParameterError, require_choice, require_count, require_positive
from discreet.evaluate.baselines import Reference
from discreet.evaluate.judge import Judging
from discreet.experiments.cells import Cell, Job, Store, options, run_cells
from discreet.experiments.source import Source
from discreet.field.roster import ROSTER, SAMPLED, tuned, tuned_sampling
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
HOUSE = ("Chorus for ratings", "Chorus for lists", "Chorus", "Tally")
RESULTS = "results.csv"
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
    list_people: int | None = None
    """Of how many of them, drawn at random; None for everybody."""
    only: tuple[str, ...] = ()
    """Labels whose cells are run; none for all. What is known of the others stays as it is."""
    without: tuple[str, ...] = ()
    """Labels that are left out, as too costly for the table, say; the report names them."""

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
        list_people: int | None = None,
        only: Sequence[str] = (),
        without: Sequence[str] = (),
    ) -> Asked:
        """The same, if it makes sense."""
        if list_people is not None:
            require_count("--list-people", list_people)
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
        asked = cls(source, unit, told, delta, splits, lists, list_people, (), ())
        if only or without:
            labels = [*HOUSE, *(entry.label for entry in ROSTER), *SAMPLED.values()]
            labels += [reference.label for reference in NOT_PRIVATE]
            for label in (*only, *without):
                require_choice("row", label, labels)
        return replace(asked, only=tuple(only), without=tuple(without))

    @property
    def people(self) -> int:
        """How many people there are, by which hyper-parameters are chosen."""
        return len(self.source.load().users)

    def rows(self) -> Iterator[Row]:
        """Everything that is compared."""
        for row in self._rows():
            judged = tuple(what for what in row.judged if self.lists or what == "errors")
            if judged and self._wants(row.label):
                yield row._replace(judged=judged)

    def _wants(self, label: str) -> bool:
        return label not in self.without and (not self.only or label in self.only)

    def _rows(self) -> Iterator[Row]:
        for level in self.levels:
            yield from self._house(level)
            yield from self._field(level)
            if level == PAPER and any(map(self._wants, SAMPLED.values())):
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
            if self.unit not in entry.units or not self._wants(entry.label):
                continue
            asked: dict[str, Any] = {"unit": self.unit} if len(entry.units) > 1 else {}
            if entry.sums == "gaussian":
                asked["delta"] = self.delta
            for given in tuned(entry, self.unit, epsilon, self.delta, self.people):
                job = self._job(entry.name, given | asked, level)
                yield Row(entry.label, level, entry.judged, job)

    def _sampled(self) -> Iterator[Row]:
        for label, inner, given in tuned_sampling(self.delta, self.people):
            job = self._job("jorgensen", given | {"inner": inner, "delta": self.delta}, PAPER)
            yield Row(label, PAPER, ("errors", "lists"), job)

    def _plain(self) -> Iterator[Row]:
        source = self.source
        for reference, why_not in self._references():
            if not why_not:
                job = Job(source, reference.name, reference.options, None, source.items is not None)
                yield Row(reference.label, "none", (reference.of,), job)

    def _references(self) -> Iterator[tuple[Reference, str]]:
        data, items = self.source.load(), self.source.load_items()
        for reference in NOT_PRIVATE:
            yield reference, reference.why_not(data, PrivacySpec.uniform(1.0), items)

    def left_out(self) -> dict[str, str]:
        """Rows that are not there, each with the reason."""
        found = {r.label: why_not for r, why_not in self._references() if why_not}
        return found | dict.fromkeys(self.without, "left out by --without")


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
    table = kept(asked, store, rows)
    return _beside_others(table, asked.only, out / RESULTS) if asked.only else table


def _beside_others(table: pl.DataFrame, only: Sequence[str], before: Path) -> pl.DataFrame:
    """What was run, in its place among what is known of all other rows."""
    if not before.exists():
        return table
    known = pl.read_csv(before, schema_overrides=table.schema).select(table.columns)
    others = known.filter(~pl.col("label").is_in(list(only)))
    first = known.filter(pl.col("label").is_in(list(only))).height > 0
    return pl.concat([table, others] if first else [others, table])


def kept(asked: Asked, store: Store, rows: Sequence[Row]) -> pl.DataFrame:
    """What is there of a comparison: label, level, split, figures, costs, and by which code."""
    found = []
    for number, row in enumerate(rows):
        for cell in _cells(asked, row):
            result = store.get(cell) or {}
            known = {
                "rmse": result.get("rmse_clipped") if "errors" in row.judged else None,
                "ndcg@10": result.get("ndcg@10") if "lists" in row.judged else None,
                "seconds": result.get("fit_seconds"),
                "megabytes": result.get("fit_megabytes"),
                "mechanism": result.get("mechanism"),
                "list_people": asked.list_people if "lists" in row.judged else None,
                "code": cell.code,
            }
            which = {"row": number, "label": row.label, "level": row.level, "split": cell.fold + 1}
            found.append(which | known)
    numbers = dict.fromkeys(("rmse", "ndcg@10", "seconds", "megabytes"), pl.Float64)
    text = {"row": pl.Int64, "label": pl.String, "level": pl.String, "split": pl.Int64}
    last = {"mechanism": pl.String, "list_people": pl.Int64, "code": pl.String}
    return _best(pl.DataFrame(found, schema=text | numbers | last))


def _best(table: pl.DataFrame) -> pl.DataFrame:
    """Of rows that differ in hyper-parameters alone the one that does best: by errors, or by lists
    where those are all that is judged. What is there of more splits goes before it."""
    loss = pl.coalesce("rmse", -pl.col("ndcg@10"))
    rows = table.group_by("row", "label", "level", maintain_order=True)
    means = rows.agg(loss.mean().alias("loss"), loss.count().alias("done"))
    means = means.sort(
        "done", "loss", descending=[True, False], nulls_last=True, maintain_order=True
    )
    first = means.unique(["label", "level"], keep="first", maintain_order=True)
    return table.join(first.select("row"), on="row", how="semi").drop("row")


def _cells(asked: Asked, row: Row) -> list[Cell]:
    lists = Judging(people=asked.list_people) if "lists" in row.judged else None
    return [Cell(row.job, k, FOLDS, seed=SEED, lists=lists) for k in range(asked.splits)]
