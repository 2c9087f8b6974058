"""discreet audit: attack every guarantee."""

from __future__ import annotations

from itertools import pairwise
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import extras, show
from discreet.cli import options as o
from discreet.cli.bundles import RatingsReading
from discreet.cli.completion import one_of
from discreet.cli.findings import show_findings, show_setting
from discreet.cli.schemes import mentioned
from discreet.errors import OutputError, ParameterError
from discreet.schemes import find_scheme

if TYPE_CHECKING:
    from discreet.audit.game import Finding
    from discreet.privacy.certificate import Certificate


PRINTED = Path("-")
"""In place of a file: what stands on standard output."""


def with_a_file(words: list[str]) -> list[str]:
    """The words of a line, with a file after every --json that has none.

    >>> with_a_file(["--json", "--field"]), with_a_file(["--json", "a.json"])
    (['--json', '-', '--field'], ['--json', 'a.json'])
    """
    found: list[str] = []
    for word, following in pairwise([*words, "--"]):
        alone = word == "--json" and following.startswith("-") and following != str(PRINTED)
        found += [word, str(PRINTED)] if alone else [word]
    return found


def audit(
    *,
    release: Annotated[
        Path | None,
        typer.Option(
            help="Audit the mechanism and parameters that this release's certificate names."
        ),
    ] = None,
    ratings: Annotated[
        str | None,
        typer.Option(metavar="RATINGS", help="Also place a canary into this table or data set."),
    ] = None,
    scheme: Annotated[
        str | None,
        typer.Option(
            **one_of(o.SCHEME_NAMES),
            help="Instead: attack one scheme, also of your own, through its public fit.",
        ),
    ] = None,
    paper: Annotated[
        str | None,
        typer.Option(
            metavar="RATINGS",
            help="Instead: what single records of this table lose to the printed scheme with the "
            "paper's parameters (t = 0.39 whatever levels the table has), given U.",
        ),
    ] = None,
    mutants: Annotated[
        bool,
        typer.Option(
            "--mutants",
            help="Instead: play every mutant, production code broken in one place, and say which "
            "of them are refuted.",
        ),
    ] = False,
    field: Annotated[
        bool,
        typer.Option(
            "--field",
            help="Instead: attack the schemes of the literature that `discreet compare` runs.",
        ),
    ] = False,
    thorough: Annotated[
        bool,
        typer.Option(
            "--thorough",
            help="200,000 runs a side, 5,000 through fit, and Chorus with the exact noise too.",
        ),
    ] = False,
    runs: Annotated[
        int | None, typer.Option(help="Batched runs on each side (20,000; of a release 100,000).")
    ] = None,
    fits: Annotated[
        int | None, typer.Option(help="Runs on each side of games through fit (400).")
    ] = None,
    reading: RatingsReading,
    json: Annotated[
        Path | None,
        typer.Option(
            metavar="[FILE]",
            help="Write all rows to this file, each as soon as it is there; without a file, print "
            "them in place of tables.",
        ),
    ] = None,
    quiet: o.QuietOption = False,
    figure: Annotated[
        Path | None, typer.Option(help="Draw claims against proven losses (.svg, .png, .pdf).")
    ] = None,
    seed: Annotated[
        int, typer.Option(help="For simulated trainings; what goes through fit has no seed.")
    ] = 0,
) -> None:
    """Measure how much privacy each scheme really gives, by attacking it.

    Two small tables that differ in one rating, thousands of trainings on each, an attack that tells
    them apart: what it proves is a lower bound on epsilon. Below the claim it refutes nothing, and
    that is all it says. Mechanisms broken on purpose show that the attacks have teeth. Ends with
    status 1 if a proven guarantee was refuted. Takes a minute or two; --thorough much longer.

    \b
    Examples:
      discreet audit
      discreet audit --release release
      discreet audit --scheme my_schemes:Popular
      discreet audit --mutants
      discreet audit --field --json field.json
      discreet audit --thorough --json audit.json --figure audit.svg
      discreet audit --paper ml-1m --figure losses.svg
    """
    from discreet.audit import suite
    from discreet.audit.fits import games_of
    from discreet.audit.mutants import mutant_games
    from discreet.audit.routes import database_missing

    extras.require("audit", "an audit")
    if figure is not None:
        extras.require("plots", "--figure")
    printed = json == PRINTED
    silent = quiet or printed
    json = None if printed else json
    for path in (json, figure):
        if path is not None and not path.parent.is_dir():
            raise OutputError(f"cannot write {path}: there is no folder {path.parent}")
    if release is not None and ratings is not None:
        raise ParameterError("--ratings places a canary for the whole audit: leave --release away")
    if scheme is not None and (release, ratings, paper, mutants) != (None, None, None, False):
        raise ParameterError("--scheme is attacked by itself: leave the others away")
    if mutants and (release, ratings) != (None, None):
        raise ParameterError("--mutants are played on tables of their own: leave the others away")
    if field and (scheme, release, ratings, paper, mutants) != (None, None, None, None, False):
        raise ParameterError("--field is attacked by itself: leave the others away")
    if paper is not None:
        if thorough or mutants or (release, ratings, runs, fits) != (None, None, None, None):
            raise ParameterError("--paper goes with --json, --figure and --seed only")
        if silent:
            raise ParameterError("--paper shows tables: give --json a file, and leave --quiet away")
        show_setting(reading.load(paper), json, figure, seed)
        return
    data = None if ratings is None else reading.load(ratings)
    with show.progress_bar(silent) as progress:
        if field:
            from discreet.audit import field as zoo

            games = [*zoo.games(), *zoo.quiet_games()]
        elif mutants:
            games = mutant_games()
        elif scheme is not None:
            mentioned(["--scheme", scheme])  # one's own may lie beside the data
            games = games_of(find_scheme(scheme))
        elif release is None:
            games = suite.every_game(thorough=thorough, data=data)
        else:
            from discreet.release.release import Release

            certificate = Release.load(release).certificate
            games = suite.games_for(certificate)
        findings: list[Finding] = []

        def found(finding: Finding) -> None:
            findings.append(finding)
            _save(findings, json)

        usual = suite.RUNS if release is None else suite.RELEASE_RUNS
        usual = suite.THOROUGH_RUNS if thorough else usual
        usual_fits = suite.THOROUGH_FITS if thorough else suite.FITS
        interrupted = False
        try:
            suite.audit(
                games,
                runs=usual if runs is None else runs,
                fits=usual_fits if fits is None else fits,
                seed=seed,
                found=found,
                progress=progress,
            )
        except KeyboardInterrupt:
            interrupted = True
    if printed:
        typer.echo(dumps([finding.row() for finding in findings], indent=2))
    if not silent:
        if release is not None:
            _about_release(certificate)
        show_findings(findings)
        if (release, scheme, field) == (None, None, False) and (reason := database_missing()):
            show.console().print(f"Left out: {reason}.", style="yellow")
        if mutants:
            _score(findings)
    if figure is not None and findings:
        from discreet.audit.figures import draw_audit

        draw_audit([f for f in findings if not f.game.secret], figure)
        if not silent:
            typer.echo(f"Figure saved to {figure}.")
    if interrupted:
        typer.echo(f"Interrupted after {len(findings)} of {len(games)} games.", err=True)
        raise typer.Exit(130)
    if suite.alarms(findings):
        raise typer.Exit(1)


def _score(findings: list[Finding]) -> None:
    """How many of the mutants were refuted, and who catches the others."""
    from discreet.audit.mutants import MUTANTS

    refuted = {finding.game.case for finding in findings if finding.refuted}
    console = show.console()
    console.print(f"Score: {len(refuted)} of {len(findings)} mutants refuted.", style="bold")
    for mutant in MUTANTS:
        if mutant.caught_by is not None and mutant.name not in refuted:
            console.print(f"Too small to be heard: {mutant.name} ({mutant.caught_by} fails).")


def _about_release(certificate: Certificate) -> None:
    console = show.console()
    delta = f", delta {certificate.delta:g}" if certificate.delta else ""
    console.print(
        f"Certificate: {certificate.scheme}, {certificate.variant}, {certificate.summary}; levels: "
        f"{certificate.levels}; t = {certificate.threshold_words}{delta}."
    )
    if certificate.seeded:
        console.print(
            f"This release was {certificate.entropy}. The audit is about its mechanism.",
            style="bold red",
        )
    if certificate.scheme == "Chorus":
        console.print(
            "Its rounds are a curve of guarantees. The claims below are the curve's where an audit "
            "can see them, at a larger delta and a smaller epsilon than the certificate's."
        )
    if "of the training levels" in certificate.threshold_words:
        console.print("t was computed from the ratings and is not known: the audit takes t = 1.")
    console.print()


def _save(findings: list[Finding], path: Path | None) -> None:
    """Whole or as it was: an interrupted audit leaves what it found."""
    if path is None:
        return
    fresh = path.with_name(f".{path.name}.new")
    try:
        fresh.write_text(dumps([finding.row() for finding in findings], indent=2) + "\n")
        fresh.replace(path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error}") from None
