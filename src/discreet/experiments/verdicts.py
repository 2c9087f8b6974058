"""Verdicts: what follows from the figures of a comparison, by rules that were fixed beforehand."""

from __future__ import annotations

import math
from typing import NamedTuple

import polars as pl

T95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
"""Student's t for 95% intervals, by degrees of freedom."""
FIGURES = {"rmse": "errors", "ndcg@10": "lists"}


def means(table: pl.DataFrame) -> pl.DataFrame:
    """Over splits: means, and the half width of the 95% interval where there are several."""
    known = table.filter(pl.col("seconds").is_not_null())
    return known.group_by("label", "level", maintain_order=True).agg(
        pl.len().alias("splits"),
        pl.col("rmse", "ndcg@10", "seconds").mean(),
        pl.col("megabytes").max(),
        *[_margin(figure).alias(f"{figure}_margin") for figure in FIGURES],
        pl.col("mechanism", "list_people", "code").first(),
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
