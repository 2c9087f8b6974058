"""The report of a comparison: one page that opens offline, and tables; none of it by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

import polars as pl

from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.errors import OutputError
from discreet.evaluate.baselines import find_method
from discreet.experiments.charts import Chart, draw
from discreet.experiments.compare import FOLDS, RESULTS, Asked, Row
from discreet.experiments.verdicts import FIGURES, means, verdicts
from discreet.field.roster import SEARCHED
from discreet.kernels.compute import Compute
from discreet.privacy.certificate import Certificate
from discreet.privacy.spec import PrivacySpec

TITLES = {
    "rmse": "Error: RMSE, lower is better",
    "ndcg@10": "Lists: NDCG@10, higher is better",
    "seconds": "Time of a fit, seconds on one thread",
}
FIRST = {"rmse": "Chorus for ratings", "ndcg@10": "Chorus for lists", "seconds": "Chorus"}


def write_report(asked: Asked, table: pl.DataFrame, out: Path) -> Path:
    """Tables and page; the page's path."""
    found = means(table)
    judged = verdicts(table)
    rows = [(v.figure, v.level, v.other, v.ahead, v.margin, v.splits, v.words) for v in judged]
    heads = ["figure", "level", "other", "ahead", "margin", "splits", "verdict"]
    page = out / "report.html"
    try:
        out.mkdir(parents=True, exist_ok=True)
        table.write_csv(out / RESULTS)
        found.write_csv(out / "means.csv")
        pl.DataFrame(rows, schema=heads, orient="row").write_csv(out / "verdicts.csv")
        missing = pl.DataFrame(list(asked.left_out().items()), ["label", "reason"], orient="row")
        missing.write_csv(out / "left-out.csv")
        page.write_text(build_page(asked, table), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"cannot write to {out}: {error}") from None
    return page


def build_page(asked: Asked, table: pl.DataFrame) -> str:
    """The page: charts, verdicts, tables, certificates."""
    found = means(table)
    template = (files("discreet.experiments") / "compare.html").read_text(encoding="utf-8")
    parts = {
        "__TITLE__": f"The field on one split: {asked.source.name}, {asked.unit}",
        "__ABOUT__": escape(_about(asked)),
        "__CHARTS__": "\n".join(f"<figure>{draw(chart)}</figure>" for chart in charts(found)),
        "__VERDICTS__": _verdict_table(table),
        "__TABLES__": "\n".join(_figure_table(asked, found, figure) for figure in FIGURES),
        "__COSTS__": _cost_table(found),
        "__CERTIFICATES__": "\n".join(_certificates(asked.rows())),
    }
    for mark, text in parts.items():
        template = template.replace(mark, text)
    return template


def charts(found: pl.DataFrame) -> list[Chart]:
    """Error, lists and time against epsilon."""
    drawn = []
    for figure, title in TITLES.items():
        known = found.filter(pl.col(figure).is_not_null())
        plain = known.filter(pl.col("level") == "none")
        private = known.filter(pl.col("level").str.contains(r"^[0-9.]"))
        curves = {
            str(label): [(float(level), value) for level, value in rows.iter_rows()]
            for (label,), rows in private.select("label", "level", figure).group_by(
                ["label"], maintain_order=True
            )
            for rows in [rows.select("level", figure)]
        }
        lines = {} if figure == "seconds" else dict(plain.select("label", figure).iter_rows())
        drawn.append(Chart(title, curves, lines, FIRST[figure], figure == "seconds"))
    return drawn


def _about(asked: Asked) -> str:
    unit = "whole persons" if asked.unit == "person" else "single ratings"
    return (
        f"{asked.source.name}, {unit} protected, delta {asked.delta:g}; means over {asked.splits} "
        f"splits, a {FOLDS}th of the ratings held out, the same for all. Hyper-parameters of the "
        f"field were searched on other splits of {' and '.join(SEARCHED)} and then fixed, and the "
        "better of the two counts here; constants of Tally and Chorus were chosen on other splits "
        "of four tables. "
        "Predictions are clipped to the scale. A list of ten is good if what the person liked "
        f"among the held-out ratings stands high in it{_judged_people(asked)}.{_left_out(asked)}"
    )


def _judged_people(asked: Asked) -> str:
    return "" if asked.list_people is None else f", of {asked.list_people:,} people"


def _left_out(asked: Asked) -> str:
    missing = asked.left_out()
    return "".join(f" Not there: {label} ({reason})." for label, reason in missing.items())


def _verdict_table(table: pl.DataFrame) -> str:
    heads = ("figure", "epsilon", "Chorus beside", "better by", "95% interval", "verdict")
    rows = []
    for v in verdicts(table):
        margin = "-" if v.margin is None else f"± {v.margin:.4f}"
        name = TITLES[v.figure].split(":")[1].split(",")[0]
        rows.append((name, v.level, v.other, f"{v.ahead:+.4f}", margin, v.words))
    return html_table(heads, rows)


def _figure_table(asked: Asked, found: pl.DataFrame, figure: str) -> str:
    """A line for each label, a column for each level."""
    known = found.filter(pl.col(figure).is_not_null())
    cells = {(row["label"], row["level"]): row for row in known.to_dicts()}
    labels = known["label"].unique(maintain_order=True)
    rows = []
    for label in labels:
        told = [_told(cells.get((label, level)), figure) for level in (*asked.levels, "none")]
        rows.append((label, *told))
    heads = ("", *(f"epsilon {level}" for level in asked.levels), "no privacy")
    return f"<h3>{escape(TITLES[figure])}</h3>" + html_table(heads, rows)


def _told(row: dict[str, object] | None, figure: str) -> str:
    if row is None:
        return ""
    margin = row[f"{figure}_margin"]
    return f"{row[figure]:.4f}" + (f" ± {margin:.4f}" if isinstance(margin, float) else "")


def _cost_table(found: pl.DataFrame) -> str:
    rows = [
        (
            row["label"],
            row["level"],
            f"{row['seconds']:.2f}",
            "-" if row["megabytes"] is None else f"{row['megabytes']:.0f}",
            row["mechanism"] or "not private",
        )
        for row in found.to_dicts()
    ]
    return html_table(("", "epsilon", "seconds", "megabytes at most", "status"), rows)


def html_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose words cannot be taken for tags."""
    head = "".join(f"<th>{escape(word)}</th>" for word in heads)
    body = "\n".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f'<div class="scroll"><table><tr>{head}</tr>\n{body}</table></div>'


def _certificates(rows: Iterable[Row]) -> list[str]:
    """What each row promises, once: of a fit to a table of a few made-up ratings."""
    found: dict[str, str] = {}
    for row in rows:
        if row.level == "none" or row.label in found:
            continue
        made = certificate_of(row)
        assumed = "".join(f"<li>{escape(words)}</li>" for words in made.assumptions)
        status = str(made.without_seed)
        found[row.label] = (
            f"<details><summary><strong>{escape(row.label)}</strong>: {escape(status)}, unit "
            f"{escape(made.unit)}, {escape(str(made.neighbours))}</summary>"
            f"<p>{escape(made.statement)}</p><ul>{assumed}</ul></details>"
        )
    return list(found.values())


def certificate_of(row: Row) -> Certificate:
    """The certificate of a row's scheme with its own parameters."""
    frame = pl.DataFrame(
        {"user": [1, 1, 2, 2, 3], "item": [1, 2, 1, 3, 2], "rating": [5, 1, 4, 2, 3]}
    )
    items = Items.from_frame(frame.select(pl.col("item").unique(maintain_order=True)))
    scheme = find_method(row.job.scheme)(items=items, **dict(row.job.options))
    uniform = dict(row.job.privacy or ()).get("uniform")
    spec = PrivacySpec.groups(seed=7) if uniform is None else PrivacySpec.uniform(float(uniform))
    model = scheme.fit(Ratings.from_frame(frame), spec, compute=Compute(threads=1))
    made: Certificate = model.release.certificate
    return made
