"""Figures of an audit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from discreet.audit.game import Finding
from discreet.audit.setting import Setting
from discreet.figure import canvas

_MARKS = {
    "Tally": ("o", "tab:blue", 0.97),
    "Chorus": ("s", "tab:green", 1.03),
    "DP-PMF": ("^", "tab:orange", 0.94),
    "PDP-PMF": ("v", "tab:red", 1.06),
}
_OTHERS = ("D", "tab:purple", 1.0)
"""Marker, colour, and how far marks move along the line, so that they do not hide each other and
stay on their side of it."""


def draw_audit(findings: list[Finding], path: Path) -> Path:
    """Claimed epsilon against the proven lower bound, one mark a game."""
    with canvas(path, (7.2, 5.6)) as axes:
        shown = set()
        for finding in findings:
            game = finding.game
            if game.claimed is None:
                axes.axhline(finding.lower_bound, color="0.4", linestyle=":", linewidth=1.2)
                axes.text(
                    0.056,
                    finding.lower_bound * 1.06,
                    f"{game.scheme}, which claims nothing",
                    fontsize=8,
                    color="0.3",
                )
                continue
            marker, colour, aside = _MARKS.get(game.scheme, _OTHERS)
            label = f"{game.scheme}{', broken on purpose' if game.control else ''}"
            axes.scatter(
                game.claimed * aside,
                max(finding.lower_bound, 0.01) * aside,
                marker=marker,
                s=42,
                label=None if label in shown else label,
                edgecolors=colour,
                linewidths=1.4,
                facecolors="none" if game.control else colour,
                alpha=0.85,
            )
            shown.add(label)
        line = np.array([0.05, 6.0])
        axes.plot(line, line, color="0.3", linewidth=1)
        axes.fill_between(line, line, 20, color="tab:red", alpha=0.06)
        axes.text(0.056, 12, "refuted: more is lost than claimed", fontsize=9, color="tab:red")
        axes.set(
            xscale="log",
            yscale="log",
            xlim=(0.05, 6),
            ylim=(0.009, 20),
            xlabel="claimed epsilon",
            ylabel="proven lower bound (0.01 or less at the bottom)",
            title="What attacks prove against what is claimed",
        )
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter("{x:g}")
        axes.grid(alpha=0.3, which="both", linewidth=0.4)
        axes.legend(frameon=False, fontsize=8, loc="lower right")
    return path


def draw_setting(losses: pl.DataFrame, setting: Setting, path: Path) -> Path:
    """What records lose to the printed scheme: by their item's popularity, by k2, by gamma."""
    here = (losses["gamma"] == setting.gamma) & (losses["k2"] == setting.k2)
    words = {"there": ("in the table", "tab:blue"), "added": ("worst to be added", "tab:orange")}
    with canvas(path, (12.0, 4.2), columns=3) as (by_item, by_k2, by_gamma):
        for kind, (label, colour) in words.items():
            own = losses.filter(losses["kind"] == kind)
            usual = losses.filter((losses["kind"] == kind) & here)
            by_item.scatter(
                usual["item_ratings"], usual["loss"], s=5, alpha=0.35, color=colour, label=label
            )
            for axes, name, other in ((by_k2, "k2", "gamma"), (by_gamma, "gamma", "k2")):
                rows = own.filter(own[other] == getattr(setting, other)).group_by(name)
                curve = rows.agg(
                    half=pl.col("loss").median(), top=pl.col("loss").quantile(0.99)
                ).sort(name)
                axes.plot(curve[name], curve["half"], "o-", color=colour, label=f"{label}, median")
                axes.plot(curve[name], curve["top"], "o--", color=colour, label=f"{label}, 99%")
        by_item.set(xscale="log", xlabel="ratings of the item")
        by_k2.set(xscale="log", xlabel="k2, noisy passes")
        by_gamma.set(xscale="log", xlabel="gamma")
        for axes in (by_item, by_k2, by_gamma):
            axes.axhline(setting.t, color="0.3", linewidth=1)
            axes.set(ylim=(0, None), ylabel=f"epsilon lost at delta {setting.delta:g}, given U")
            axes.xaxis.set_major_formatter("{x:g}")
            axes.grid(alpha=0.3)
        by_item.text(1, setting.t, " claimed", va="bottom", fontsize=8)
        by_item.legend(frameon=False, fontsize=8, markerscale=3)
        by_gamma.legend(frameon=False, fontsize=7)
    return path
