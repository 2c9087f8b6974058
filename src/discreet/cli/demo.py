"""discreet demo: the whole job on the embedded data, in under a minute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from discreet.cli import extras, show

if TYPE_CHECKING:
    from discreet.cli.results import Result
    from discreet.evaluate.crossval import Method
    from discreet.evaluate.splits import Split
    from discreet.privacy.spec import PrivacySpec
    from discreet.readers.club import Club

_TRUTH = "the truth"
"""In place of a status: what nobody could know who does not know the members' minds."""


def demo(
    out: Annotated[Path, typer.Option(help="Where the release and the figures go.")] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the comparison.")] = 0,
) -> None:
    """Compare the schemes on the embedded cinema club, save a release, recommend from it.

    \b
    Example:
      discreet demo --out demo
    """
    from discreet.cli.newcomer import show_newcomer
    from discreet.evaluate.splits import hold_out
    from discreet.privacy.spec import PrivacySpec
    from discreet.readers.club import LABEL, cinema_club
    from discreet.release.folder import check_target
    from discreet.schemes.tally import Tally

    console = show.console()
    folder = out.expanduser() / "release"
    check_target(folder)
    undrawn = extras.tell_undrawn()
    show.compiling_ahead()
    club = cinema_club()
    split = hold_out(club.ratings, 0.2, seed=seed)
    console.print(f"The {LABEL}", style="bold")
    console.print(
        "One fifth of the ratings is held out. Levels follow the paper's default groups: "
        "epsilon from 0.1 to 1.0.\n"
    )
    spec = PrivacySpec.groups(seed=seed)
    found = _compare(club, split, spec, seed)
    if not undrawn:
        figures = _draw(found, out.expanduser())
        console.print(f"\nDrawn in {' and '.join(map(str, figures))}.")
    console.print("\nA release of Tally on all ratings, with noise from the operating system:")
    with show.progress_bar() as progress:
        model = Tally(items=club.items).fit(club.ratings, spec, progress=progress)
    model.release.save(folder)
    console.print(show.certificate(model.release.certificate))
    show_newcomer(model.release)
    console.print(f"\nThe release is in {folder}. Next: discreet inspect {folder}")


class _Entry(NamedTuple):
    """A row of the comparison: of errors, of lists, or of both."""

    label: str
    method: Method
    tables: tuple[str, ...] = ("errors", "lists")


class _Found(NamedTuple):
    """What the comparison found: every scheme's absolute errors, and the rows of both tables."""

    sizes: dict[str, Any]
    errors: list[Result]
    lists: list[Result]


def _entries(club: Club) -> list[_Entry]:
    from discreet.evaluate.baselines import REFERENCES
    from discreet.schemes.chorus.scheme import Chorus
    from discreet.schemes.pmf.dp import DPPMF
    from discreet.schemes.pmf.pdp import PDPPMF
    from discreet.schemes.pmf.pmf import PMF
    from discreet.schemes.tally import Tally

    items = club.items
    return [
        _Entry("Tally", Tally(items=items)),
        _Entry("Chorus, delta 1e-6", Chorus(delta=1e-6, items=items)),
        _Entry("PDP-PMF printed", PDPPMF()),
        _Entry("PDP-PMF repaired", PDPPMF(variant="repaired"), ("errors",)),
        _Entry("DP-PMF printed, 0.1", DPPMF(), ("errors",)),
        _Entry("PMF, the paper's", PMF(solver="gradient"), ("errors",)),
        *(_Entry(ref.label, ref.build(items), (ref.of,)) for ref in REFERENCES),
    ]


def _compare(club: Club, split: Split, spec: PrivacySpec, seed: int) -> _Found:
    """Fit everything, and print how far off predictions are and how good lists."""
    from discreet.cli.results import Result, show_errors, show_lists
    from discreet.evaluate.judge import Judging, judge_lists

    found, how = _Found({}, [], []), Judging()
    for entry in _entries(club):
        _measure(entry, club, split, spec, seed, found)
    test = split.test
    truth = club.expected(test.users.take(test.user), test.items.take(test.item))
    found.errors.append(
        Result(("a perfect predictor",), _TRUTH, _errors(found, truth, test.rating))
    )
    perfect = judge_lists(club.perfect_lists(split.train), split, club.items, how)
    found.lists.append(Result(("a perfect list",), _TRUTH, perfect))
    show_errors(found.errors, ["scheme"], "Errors of predicted ratings")
    show.console().print(
        "The paper's steps are made for millions of ratings: on a small table they hardly train.\n",
        style="dim",
    )
    show_lists(found.lists, ["scheme"], "Lists of ten", how)
    show.console().print(
        "\nThe comparison is seeded, to be repeatable; the status is that of a run with real "
        "entropy."
    )
    return found


def _measure(
    entry: _Entry, club: Club, split: Split, spec: PrivacySpec, seed: int, found: _Found
) -> None:
    from discreet.cli.results import Result
    from discreet.evaluate.crossval import mechanism_of
    from discreet.evaluate.judge import judge_lists

    with show.progress_bar() as progress:
        model = entry.method.fit(split.train, spec, seed=seed, progress=progress)
    status = mechanism_of(entry.method, model)
    told = []
    if "errors" in entry.tables:
        predicted = model.predict_ratings(split.test, clip=True)
        figures = _errors(found, predicted, split.test.rating, entry.label)
        found.errors.append(Result((entry.label,), status, figures))
        told.append(f"RMSE {figures['rmse']:.3f}")
    if "lists" in entry.tables:
        figures = judge_lists(model, split, club.items)
        found.lists.append(Result((entry.label,), status, figures))
        told.append(f"NDCG@10 {figures['ndcg@10']:.3f}")
    # The tables come at the end: until then, a sign of life.
    show.console().print(f"{entry.label}: {', '.join(told)}", style="dim")


def _errors(
    found: _Found, predicted: Any, actual: Any, label: str = "a perfect predictor"
) -> dict[str, float]:
    from discreet.evaluate import metrics

    found.sizes[label] = metrics.errors(predicted, actual)
    return metrics.summary(predicted, actual)


def _draw(found: _Found, folder: Path) -> list[Path]:
    from discreet.cli.figure import draw_error_cdf, draw_lists

    return [
        draw_error_cdf(
            found.sizes,
            "Cinema club (synthetic): errors on held-out ratings",
            folder / "errors.png",
        ),
        draw_lists(found.lists, "Cinema club (synthetic): lists of ten", folder / "lists.png"),
    ]
