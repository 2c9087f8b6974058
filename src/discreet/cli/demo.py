"""discreet demo: the whole job on the embedded data, in under a minute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import show

if TYPE_CHECKING:
    from discreet.data.items import Items
    from discreet.evaluate.splits import Split
    from discreet.privacy.spec import PrivacySpec
    from discreet.readers.club import Club
    from discreet.release.release import Release
    from discreet.schemes.base import Scheme


def demo(
    out: Annotated[Path, typer.Option(help="Where the release and the figure go.")] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the comparison.")] = 0,
) -> None:
    """Compare the schemes on the embedded cinema club, save a release, recommend from it.

    \b
    Example:
      discreet demo --out demo
    """
    from discreet.evaluate.splits import hold_out
    from discreet.privacy.spec import PrivacySpec
    from discreet.readers.club import LABEL, cinema_club
    from discreet.release.release import check_target
    from discreet.schemes.tally import Tally

    console = show.console()
    folder = out.expanduser() / "release"
    check_target(folder)
    club = cinema_club()
    split = hold_out(club.ratings, 0.1, seed=seed)
    console.print(f"[bold]The {LABEL}[/]")
    console.print(
        "One tenth of the ratings is held out. Levels follow the paper's default groups: "
        "epsilon from 0.1 to 1.0.\n"
    )
    spec = PrivacySpec.groups(seed=seed)
    errors = _compare(club, split, spec, seed)
    figure = _draw(errors, out.expanduser() / "errors.png")
    if figure is not None:
        console.print(f"\nThe distribution of errors is drawn in {figure}.")
    console.print("\nA release of Tally on all ratings, with noise from the operating system:")
    with show.progress_bar() as progress:
        model = Tally(items=club.items).fit(club.ratings, spec, progress=progress)
    model.release.save(folder)
    console.print(show.certificate(model.release.certificate))
    _recommend(club, model.release)
    console.print(f"\nThe release is in {folder}. Next: discreet inspect {folder}")


def _schemes(items: Items) -> list[tuple[str, Scheme, str]]:
    from discreet.schemes.bias import Bias
    from discreet.schemes.chorus.scheme import Chorus
    from discreet.schemes.pmf.dp import DPPMF
    from discreet.schemes.pmf.pdp import PDPPMF
    from discreet.schemes.pmf.pmf import PMF
    from discreet.schemes.tally import Tally

    return [
        ("Tally", Tally(items=items), "each rating's own"),
        ("Chorus, delta 1e-6", Chorus(delta=1e-6, items=items), "each rating's own"),
        ("PDP-PMF printed", PDPPMF(), "each rating's own"),
        ("PDP-PMF repaired", PDPPMF(variant="repaired"), "each rating's own"),
        ("DP-PMF printed", DPPMF(), "0.1 for all"),
        ("PMF, the paper's steps", PMF(solver="gradient"), "none"),
        ("PMF, exact (ALS)", PMF(lambda_u=0.1, lambda_v=0.1), "none"),
        ("means only", Bias(), "none"),
    ]


def _compare(club: Club, split: Split, spec: PrivacySpec, seed: int) -> dict[str, Any]:
    """Print the comparison; return every scheme's absolute errors."""
    import time

    from discreet.evaluate import metrics

    test = split.test
    rows, errors = [], {}
    for name, scheme, level in _schemes(club.items):
        began = time.perf_counter()
        with show.progress_bar() as progress:
            model = scheme.fit(split.train, spec, seed=seed, progress=progress)
        seconds = time.perf_counter() - began
        predicted = model.predict_ratings(test)
        errors[name] = metrics.errors(predicted, test.rating)
        status = show.status_markup(model.release.certificate.without_seed)
        rows.append(_row(name, level, predicted, test.rating, status, f"{seconds:.1f}"))
    perfect = club.expected(test.users.take(test.user), test.items.take(test.item))
    errors["a perfect predictor"] = metrics.errors(perfect, test.rating)
    rows.append(_row("a perfect predictor", "", perfect, test.rating, "the truth is known", ""))
    heads = ["scheme", "epsilon", "mechanism", "RMSE", "errors ≤ 1", "fit s"]
    show.console().print(show.table(None, heads, rows, right=3))
    show.console().print(
        "\nThe comparison is seeded, to be repeatable; the status is that of a run with real "
        "entropy.\nThe paper's steps are made for millions of ratings: on a small table they "
        "hardly train, which is why its PMF trails."
    )
    return errors


def _row(name: str, level: str, predicted: Any, actual: Any, status: str, took: str) -> list[str]:
    from discreet.evaluate import metrics

    figures = metrics.summary(predicted, actual)
    return [name, level, status, f"{figures['rmse']:.3f}", f"{figures['cdf_1']:.1%}", took]


def _draw(errors: dict[str, Any], path: Path) -> Path | None:
    from discreet.cli.figure import draw_error_cdf
    from discreet.errors import MissingExtraError

    try:
        return draw_error_cdf(errors, "Cinema club (synthetic): errors on held-out ratings", path)
    except MissingExtraError as error:
        show.console(error=True).print(f"No figure: {error}", style="yellow")
        return None


def _recommend(club: Club, release: Release) -> None:
    member = club.ratings.users.values[0]
    own = club.ratings.subset(club.ratings.user == 0)
    table = release.recommend(own.items.take(own.item).to_list(), own.rating, 10)
    rows = [
        [str(rank), title, f"{score:.2f}"]
        for rank, title, score in zip(
            table["rank"], release.items.titles(table["item"]), table["score"], strict=True
        )
    ]
    title = f"\nTen films for {member}, from the release and {member}'s own ratings alone"
    show.console().print(show.table(title, ["rank", "title", "predicted"], rows, right=2))
