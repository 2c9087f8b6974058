"""What `discreet compare` and `discreet audit --field` found, as the files of docs/results.

python -m benchmarks.field_results compared      # folders DATA-UNIT, and audit.json
"""

import json
import sys
from pathlib import Path

import polars as pl

from discreet.experiments.verdicts import means, verdicts

OUT = Path(__file__).parents[1] / "docs/results"
TYPES = {"level": pl.String, "rmse": pl.Float64, "ndcg@10": pl.Float64, "list_people": pl.Int64}
"""Where lists were not judged, a column is empty."""
PLACES = {"rmse": 4, "rmse_margin": 4, "ndcg@10": 4, "ndcg@10_margin": 4, "seconds": 2}


def main(folder: Path) -> None:
    """Collect what is there."""
    figures, judged, missing = [], [], []
    for path in sorted(folder.glob("*/results.csv")):
        data, unit = path.parent.name.rsplit("-", 1)
        table = pl.read_csv(path, schema_overrides=TYPES)
        where = (pl.lit(data).alias("data"), pl.lit(unit).alias("unit"))
        rounded = [pl.col(name).round(places) for name, places in PLACES.items()]
        figures.append(means(table).with_columns(rounded).select(*where, pl.all()))
        rows = [(*v[:4], v.margin, v.splits, v.words) for v in verdicts(table)]
        heads = ["figure", "level", "other", "ahead", "margin", "splits", "verdict"]
        frame = pl.DataFrame(rows, schema=heads, orient="row")
        frame = frame.with_columns(pl.col("ahead", "margin").cast(pl.Float64).round(4))
        judged.append(frame.select(*where, pl.all()))
        left_out = pl.read_csv(path.parent / "left-out.csv", schema_overrides=[pl.String] * 2)
        missing.append(left_out.select(*where, pl.all()))
    pl.concat(figures, how="vertical_relaxed").write_csv(OUT / "field.csv")
    pl.concat(judged, how="vertical_relaxed").write_csv(OUT / "field-verdicts.csv")
    if missing:
        pl.concat(missing).write_csv(OUT / "field-left-out.csv")
    audit = folder / "audit.json"
    if audit.exists():
        rows = pl.DataFrame(json.loads(audit.read_text()))
        kept = ("scheme", "variant", "case", "control", "claimed", "delta", "lower_bound", "runs")
        shown = rows.select(*kept, "confidence", "attack", "refuted")
        shown.with_columns(pl.col("lower_bound").round(3)).write_csv(OUT / "field-audit.csv")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
