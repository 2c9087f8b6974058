"""What an audit found, as tables: games, and the losses of the paper's own setting."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from discreet.cli import parse, show

if TYPE_CHECKING:
    from discreet.audit.game import Finding
    from discreet.data.ratings import Ratings


def show_findings(findings: list[Finding]) -> None:
    """Schemes, then what is broken on purpose, and what a verdict means."""
    from discreet.audit import suite

    console = show.console()
    heads = ["scheme", "case", "claimed", "proven loss", "runs", "verdict"]
    for title, control in (("Schemes", False), ("Broken on purpose", True)):
        rows = [_row(finding) for finding in findings if finding.game.control == control]
        if rows:
            console.print(show.table(title, heads, rows, right=2))
            console.print()
    if not findings:
        return
    console.print(
        "A proven loss is a lower bound on epsilon; the chance that any of them is too large is "
        f'{suite.FALSE_ALARMS:.0%} at most. "Not refuted" means that these attacks proved no more, '
        "not that the claim is true: discreet help audit says how to read it."
    )
    if any(finding.game.secret for finding in findings):
        console.print(f"The canary: {show.SECRET_RESULTS}", style="yellow")
    for finding in suite.alarms(findings):
        console.print(
            f"A proven guarantee was refuted: {finding.game.scheme} {finding.game.variant}, "
            f"{finding.game.case}. Do not rely on it, and report this.",
            style="bold red",
        )
    blunt = suite.blunt(findings)
    if blunt:
        console.print(
            f"{len(blunt)} broken on purpose not refuted: so few runs prove little, here or above.",
            style="yellow",
        )


def _row(finding: Finding) -> list[str | Text]:
    game: Any = finding.game
    claim = "none" if game.claimed is None else f"{game.claimed:g}"
    verdict: str | Text
    claim += f", delta {game.delta:g}" if game.delta else ""
    if game.claimed is None:
        verdict = "no privacy" if finding.lower_bound > 0 else "not shown"
    elif finding.refuted:
        verdict = Text("refuted", "bold red" if game.proven else "yellow")
    else:
        verdict = "not refuted"
    return [
        f"{game.scheme} {game.variant}",
        game.case,
        claim,
        f"{finding.lower_bound:.3f}",
        f"{finding.runs:,}",
        verdict,
    ]


def show_setting(data: Ratings, json: Path | None, figure: Path | None, seed: int) -> None:
    """What single records lose to the printed scheme in the setting of the paper."""
    import numpy as np
    import polars as pl

    from discreet.audit.setting import Setting, paper_setting

    setting = Setting()
    with show.progress_bar() as progress:
        losses = paper_setting(data, setting, seed=seed, progress=progress)
    console = show.console()
    usual = losses.filter((pl.col("gamma") == setting.gamma) & (pl.col("k2") == setting.k2))
    heads = ["records", "of items with", "number", "median", "99%", "largest", "below the claim"]
    rows = []
    for kind in ("there", "added"):
        for low, high in ((1, 5), (6, 50), (51, 500), (501, 10**9)):
            loss = usual.filter(
                (pl.col("kind") == kind) & pl.col("item_ratings").is_between(low, high)
            )["loss"].to_numpy()
            if len(loss):
                words = f"{low} to {high} ratings" if high < 10**9 else f"{low} ratings and more"
                rows.append(
                    [
                        "in the table" if kind == "there" else "worst to be added",
                        words,
                        f"{len(loss):,}",
                        *(f"{np.quantile(loss, share):.3f}" for share in (0.5, 0.99, 1.0)),
                        f"{np.mean(loss < setting.t):.1%}",
                    ]
                )
    title = f"epsilon lost at delta {setting.delta:g}, given U; claimed: {setting.t:g}"
    console.print(show.table(title, heads, rows, right=2))
    by_setting = losses.group_by("gamma", "k2", "kind").agg(
        pl.col("loss").median().alias("median"), pl.col("loss").quantile(0.99).alias("most")
    )
    rows = [
        [f"{r['gamma']:g}", str(r["k2"]), r["kind"], f"{r['median']:.3f}", f"{r['most']:.3f}"]
        for r in by_setting.sort("kind", "gamma", "k2", descending=[True, False, False]).to_dicts()
    ]
    console.print()
    console.print(show.table(None, ["gamma", "k2", "records", "median", "99%"], rows, right=0))
    for gamma in sorted({case.gamma for case in setting.sweep()} - set(losses["gamma"])):
        console.print(f"gamma = {gamma:g} is left out: its steps could diverge on this table.")
    console.print(show.SECRET_RESULTS, style="yellow")
    if json is not None:
        show.save_table(losses, parse.output_file(json))
    if figure is not None:
        from discreet.audit.figures import draw_setting

        draw_setting(losses, setting, figure)
        typer.echo(f"Figure saved to {figure}.")
