"""The field's results as tables, from the files that benchmarks write to docs/results."""

from __future__ import annotations

from pathlib import Path

import polars as pl

FOLDER = Path(__file__).parents[1] / "results"
FIGURES = {"rmse": "RMSE: lower is better", "ndcg@10": "Lists, NDCG@10: higher is better"}
UNITS = {"person": "whole persons", "rating": "single ratings"}


def write_field() -> str:
    """For every table and unit its figures and verdicts."""
    figures, judged = _read("field.csv"), _read("field-verdicts.csv")
    missing = _read("field-left-out.csv")
    parts = []
    for data, unit in figures.select("data", "unit").unique(maintain_order=True).iter_rows():
        here = (pl.col("data") == data) & (pl.col("unit") == unit)
        rows = figures.filter(here)
        parts.append(f"## {data}, {UNITS[unit]}")
        for figure, title in FIGURES.items():
            if rows[figure].null_count() == rows.height:
                continue
            parts.append(f"**{title}**\n\n{_figures(rows, figure)}")
        parts += _notes(rows, missing.filter(here))
        parts.append(_verdicts(judged.filter(here)))
        parts.append(f"**Seconds of a fit on one thread; megabytes at most**\n\n{_costs(rows)}")
    return "\n\n".join(parts)


def _notes(rows: pl.DataFrame, missing: pl.DataFrame) -> list[str]:
    """How many splits and people figures are of, and what is not there."""
    splits = sorted(set(rows["splits"].to_list()))
    told = [f"Splits: {' or '.join(map(str, splits))}."]
    if people := rows["list_people"].drop_nulls().unique().to_list():
        told.append(f"Lists are those of {people[0]:,} people a split, drawn at random.")
    notes = [" ".join(told)]
    if missing.height:
        by_reason = missing.group_by("reason", maintain_order=True).agg("label")
        listed = [f"- {reason}: {'; '.join(labels)}" for reason, labels in by_reason.iter_rows()]
        notes += ["Not there:", "\n".join(listed).replace("--without", "`--without`")]
    return notes


def write_audit() -> str:
    """What was found of every claim."""
    lines = [
        "| scheme | case | claimed | proven loss at least | runs a side | |",
        "|---|---|---|---:|---:|---|",
    ]
    for row in _read("field-audit.csv").iter_rows(named=True):
        claimed = f"{row['claimed']:g}"
        if row["delta"]:
            claimed = f"({claimed}, {row['delta']:g})"
        verdict = "refuted" if row["refuted"] else "not refuted"
        control = ", on purpose" if row["control"] else ""
        lines.append(
            f"| {row['scheme']}, {row['variant']} | {row['case']} | {claimed} "
            f"| {row['lower_bound']:.3f} | {row['runs']:,} | {verdict}{control} |"
        )
    return "\n".join(lines)


def _read(name: str) -> pl.DataFrame:
    text = {"level": pl.String}
    return pl.read_csv(FOLDER / name, schema_overrides=text, infer_schema_length=None)


def _levels(rows: pl.DataFrame) -> list[str]:
    return [level for level in rows["level"].unique(maintain_order=True) if level != "none"]


def _figures(rows: pl.DataFrame, figure: str) -> str:
    known = rows.filter(pl.col(figure).is_not_null())
    cells = {(row["label"], row["level"]): row for row in known.iter_rows(named=True)}
    levels = [*_levels(known), *(["none"] if "none" in known["level"] else [])]
    heads = [f"epsilon {level}" if level != "none" else "no privacy" for level in levels]
    lines = [f"| | {' | '.join(heads)} |", "|---|" + "---:|" * len(levels)]
    for label in known["label"].unique(maintain_order=True):
        told = [_told(cells.get((label, level)), figure) for level in levels]
        lines.append(f"| {label} | {' | '.join(told)} |")
    return "\n".join(lines)


def _told(row: dict[str, object] | None, figure: str) -> str:
    if row is None:
        return ""
    margin = row[f"{figure}_margin"]
    return f"{row[figure]:.3f}" + (f" ± {margin:.3f}" if isinstance(margin, float) else "")


def _verdicts(rows: pl.DataFrame) -> str:
    """How many of the others Chorus is ahead of, and by how much; whoever it is not, by name."""
    lines = ["**Chorus beside the others**", ""]
    for (figure, level), some in rows.group_by(["figure", "level"], maintain_order=True):
        ahead = some.filter(pl.col("verdict").str.starts_with("ahead"))
        rest = some.filter(~pl.col("verdict").str.starts_with("ahead"))
        told = "; ".join(
            f"{r['other']}: {r['verdict']} ({r['ahead']:+.4f})" for r in rest.iter_rows(named=True)
        )
        least = some.sort("ahead").row(0, named=True)
        margin = "" if least["margin"] is None else f" ± {least['margin']:.4f}"
        name = "RMSE" if figure == "rmse" else "NDCG@10"
        lines.append(
            f"- {name}, epsilon {level}: ahead of {ahead.height} of {some.height}; the nearest is "
            f"{least['other']} ({least['ahead']:+.4f}{margin})" + (f". {told}" if told else "")
        )
    return "\n".join(lines)


def _costs(rows: pl.DataFrame) -> str:
    known = rows.group_by("label", maintain_order=True).agg(
        pl.col("seconds").mean(), pl.col("megabytes").max()
    )
    lines = ["| | seconds | megabytes |", "|---|---:|---:|"]
    for label, seconds, megabytes in known.iter_rows():
        memory = "-" if megabytes is None else f"{megabytes:.0f}"
        lines.append(f"| {label} | {seconds:.1f} | {memory} |")
    return "\n".join(lines)
