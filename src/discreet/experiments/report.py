"""The report: tidy tables, figures as files, and one page that opens offline."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.errors import OutputError
from discreet.experiments.paper import AXES, PARAMETERS, TITLES, mean_cdf, means
from discreet.experiments.statements import Verdict, verdicts
from discreet.figure import canvas

_SHARES = {"cdf_1": "within 1", "cdf_1.5": "within 1.5", "cdf_2": "within 2"}


class Report:
    """Everything that follows from the results, none of it written by hand."""

    def __init__(self, table: pl.DataFrame, about: str) -> None:
        self.table, self.about = table, about
        self.means, self.cdf = means(table), mean_cdf(table)
        self.verdicts: list[Verdict] = verdicts(self.means, self.cdf)

    def write(self, folder: Path) -> Path:
        """Tables, figures and page; the page's path."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            flat = self.table.drop("cdf")
            flat.write_parquet(folder / "results.parquet")
            flat.write_csv(folder / "results.csv")
            self.means.write_csv(folder / "means.csv")
            self.cdf.write_parquet(folder / "errors.parquet")
            pl.DataFrame(self.verdicts, schema=list(Verdict._fields), orient="row").write_csv(
                folder / "statements.csv"
            )
            page = folder / "report.html"
            page.write_text(self.html(), encoding="utf-8")
        except OSError as error:
            raise OutputError(f"cannot write to {folder}: {error}") from None
        for name in self.data_sets:
            for figure in self.figures(name):
                for ending in ("svg", "png"):
                    _draw(figure, name, folder / "figures" / f"{name}-{figure['id']}.{ending}")
        return page

    @property
    def data_sets(self) -> list[str]:
        """In the order in which they were measured."""
        return list(self.means["data"].unique(maintain_order=True))

    def html(self) -> str:
        """The page: data and drawing in one file, nothing from elsewhere."""
        content = {
            "about": self.about,
            "data": {name: {"figures": self.figures(name)} for name in self.data_sets},
            "verdicts": [verdict._asdict() for verdict in self.verdicts],
            "parameters": PARAMETERS,
        }
        template = (files("discreet.experiments") / "report.html").read_text(encoding="utf-8")
        # A title must not be able to end the script element it stands in.
        text = json.dumps(content, allow_nan=False).replace("<", "\\u003c")
        return template.replace("__DATA__", text)

    def figures(self, data: str) -> list[dict[str, Any]]:
        """What is drawn of one data set: id, title, axes, series of points."""
        found = []
        for figure, title in TITLES.items():
            series = self._cdf_series(data, figure) or self._mean_series(data, figure)
            if series:
                x, y = AXES[figure]
                found.append(
                    {
                        "id": figure,
                        "title": title,
                        "x": x,
                        "y": y,
                        "series": series,
                        "cdf": figure in ("3", "5a"),
                        "share": figure in ("3", "5a", "5b"),
                    }
                )
        return found

    def _cdf_series(self, data: str, figure: str) -> list[dict[str, Any]]:
        rows = self.cdf.filter((pl.col("data") == data) & (pl.col("figure") == figure))
        return [
            {"name": name, "points": group.select("error", "share").rows()}
            for (name,), group in rows.group_by(["series"], maintain_order=True)
        ]

    def _mean_series(self, data: str, figure: str) -> list[dict[str, Any]]:
        rows = self.means.filter(
            (pl.col("data") == data)
            & (pl.col("figure") == figure)
            & pl.col("rmse").is_not_null()
            & pl.col("x").is_not_null()
        )
        shown = _SHARES if figure == "5b" else {"rmse": ""}
        found = []
        for (name,), group in rows.group_by(["series"], maintain_order=True):
            for column, words in shown.items():
                if figure == "5b" and name != "PDP-PMF" and column != "cdf_1":
                    continue  # the others do not depend on t: one line each is enough
                label = f"{name}, {words}" if words else str(name)
                found.append({"name": label, "points": group.sort("x").select("x", column).rows()})
        return found


def _draw(figure: dict[str, Any], data: str, path: Path) -> None:
    with canvas(path, (7.6, 4.6)) as axes:
        for series in figure["series"]:
            x, y = np.array(series["points"]).T
            mark = None if figure["cdf"] else "o"
            style = "--" if series["name"].startswith(("PMF", "DP-PMF")) else "-"
            axes.plot(x, y, marker=mark, markersize=4, linestyle=style, label=series["name"])
        axes.set(title=f"{data}: {figure['title']}", xlabel=figure["x"], ylabel=figure["y"])
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize=7)


def about(sources: Sequence[str], folds: int, table: pl.DataFrame) -> str:
    """One line on what was run."""
    seconds = float(table.unique(["data", "seconds", "fold"])["seconds"].sum())
    took = f"{seconds / 3600:.1f} hours" if seconds > 5400 else f"{seconds / 60:.1f} minutes"
    names = ", ".join(sources)
    gone = table.filter(pl.col("rmse").is_null())["series"].unique(maintain_order=True).to_list()
    diverged = (
        f" {' and '.join(gone)} diverged in places: a step is gamma/|batch|, and gamma = 50 is for "
        "a hundred thousand ratings or more."
        if gone
        else ""
    )
    return (
        f"Data sets: {names}; {folds}-fold cross-validation; {took} of one core in all.{diverged}"
    )
