"""Errors and lists against levels, beside baselines: what the site's results are drawn from.

    python -m benchmarks.levels club ml-100k ml-1m     # writes docs/results/levels.csv

One level for all, a fifth held out, item tables, splits 101 to 103, on which nothing was chosen.
Rows of tables that are not named stay as they are.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl

import discreet as dc
from discreet.evaluate.baselines import REFERENCES

OUT = Path(__file__).parents[1] / "docs/results/levels.csv"
LEVELS = (0.03, 0.1, 0.3, 1.0, 3.0)
SPLITS = (101, 102, 103)
DELTA = 1e-7


def main(names: list[str]) -> None:
    """Measure the tables of these names, and keep what is known of others."""
    known = pl.read_csv(OUT).filter(~pl.col("data").is_in(names)) if OUT.exists() else None
    for name in names:
        measured = pl.DataFrame(list(measure(name)))
        means = measured.group_by("data", "method", "epsilon", maintain_order=True).agg(
            pl.len().alias("splits"), pl.col("rmse", "ndcg@10").mean().round(4)
        )
        known = means if known is None else pl.concat([known, means], how="vertical_relaxed")
        known.write_csv(OUT)
        print(means)


def measure(name: str) -> Iterator[dict[str, object]]:
    """A row for each method, level and split."""
    ratings, items = _tables(name)
    schemes = {"Tally": dc.Tally(items=items), "Chorus": dc.Chorus(items=items, delta=DELTA)}
    baselines = {ref.label: ref.build(items) for ref in REFERENCES}
    errors = {ref.label for ref in REFERENCES if ref.of == "errors"}
    for seed in SPLITS:
        split = dc.hold_out(ratings, 0.2, seed=seed)
        asked = [(m, s, e) for m, s in schemes.items() for e in LEVELS]
        for method, scheme, level in [*asked, *((m, b, None) for m, b in baselines.items())]:
            spec = dc.PrivacySpec.uniform(level or 1.0)
            row = dc.cross_validate(scheme, ratings, spec, folds=[split], clip=True).row(
                0, named=True
            )
            yield {
                "data": name,
                "method": method,
                "epsilon": level,
                "rmse": row.get("rmse"),
                "ndcg@10": None if method in errors else row.get("ndcg@10"),
            }


def _tables(name: str) -> tuple[dc.Ratings, dc.Items]:
    if name == "club":
        club = dc.cinema_club()
        return club.ratings, club.items
    return dc.load_ratings(name), dc.load_items(name)


if __name__ == "__main__":
    main(sys.argv[1:] or ["club"])
