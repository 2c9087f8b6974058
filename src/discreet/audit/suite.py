"""Which games an audit plays, and how: the whole suite, or what one certificate names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from discreet.audit import chorus, events, fits, over_time, paper, replays, tally
from discreet.audit.game import Finding, Game, play_game
from discreet.audit.mutants import MUTANTS, mutant_games
from discreet.audit.neighbours import four_people
from discreet.audit.routes import database_missing
from discreet.data.ratings import Ratings
from discreet.errors import ParameterError, require_count
from discreet.privacy.certificate import Certificate
from discreet.privacy.promise import INCREMENTAL
from discreet.privacy.provenance import Neighbours
from discreet.progress import Progress, silent
from discreet.schemes.pmf.pmf import PMF

FALSE_ALARMS = 0.05
"""The chance that an audit refutes anything true, all its rows together."""
RUNS, THOROUGH_RUNS = 20_000, 200_000
"""Trainings on each side, where they are batched."""
RELEASE_RUNS = 100_000
"""Of one certificate there are few games, so each may take longer."""
FITS, THOROUGH_FITS = 400, 5_000
"""The same where each is a public `fit` of its own."""


def every_game(*, thorough: bool = False, data: Ratings | None = None) -> list[Game]:
    """All schemes and variants by all routes, and some broken on purpose.

    A canary is placed into `data` if it is given. Thorough also searches for worse tables, and
    replays rounds through a database.
    """
    games = [
        *paper.games(),
        *tally.games(),
        *tally.games(unit="person"),
        *(tally.searched_game(unit=unit) for unit in ("rating", "person")),
        tally.replaced_game(1.0),
        *events.every_game(),
        *chorus.games(),
        *chorus.games(unit="person"),
        chorus.shared_game(),
        chorus.replaced_game(1.0, 0.1),
        chorus.published_game(),
        chorus.published_game(purpose="both"),
        chorus.published_game(purpose="lists", events=True),
        chorus.years_game(),
        *chorus.choice_games(),
        *over_time.games(),
        *replays.games(),
        *fits.games(),
        *mutant_games(usual=True),
    ]
    if data is not None:
        games.append(fits.canary_game(data))
    if thorough:
        if database_missing() is None:
            games.append(replays.database_events_game())
        worst = paper.search(paper.PaperRuns("stated", four_people(), 1.0))
        games.append(paper.paper_game("DP-PMF", worst, "worst of 40 random tables"))
    return games


def games_for(certificate: Certificate) -> list[Game]:
    """The mechanism and parameters that a certificate names, on tables made for the attack.

    Of an incremental release: this publication's mechanism, and several publications together.
    """
    named = OF_CERTIFICATES.get(certificate.scheme)
    if named is None:
        raise ParameterError(
            f"there is no audit of {certificate.scheme}: it claims nothing, or is a scheme of your "
            "own, which --scheme module:Class attacks through its fit"
        )
    return named(certificate)


def _tally_games(certificate: Certificate) -> list[Game]:
    t, unit, how = _threshold(certificate), certificate.unit, certificate.personalisation
    if certificate.neighbours == Neighbours.REPLACE:
        return [tally.replaced_game(t), tally.replaced_game(t, quiet=True)]
    if certificate.provenance.events is not None:
        found = events.games(t, how, unit)
        if certificate.variant == INCREMENTAL:
            found.append(events.published_game(t))
        return [*found, events.quiet(t, unit, how)]
    found = tally.games(t, how, unit)
    if certificate.variant == INCREMENTAL:
        found.append(over_time.tally_game(t) if how == "weigh" else over_time.sampled_game(t))
    return [*found, tally.quiet(t, unit, how)]


def _chorus_games(certificate: Certificate) -> list[Game]:
    t, given, unit = _threshold(certificate), certificate.parameters, certificate.unit
    n = int(given.get("publications", 1))
    delta = float(given.get("delta", certificate.delta))
    purpose, of_events = str(given.get("purpose", "ratings")), certificate.provenance.events
    if "pure_share" in given:  # the ledger is divided: all n publications together
        whole = partial(
            chorus.published_game, n, n, t, delta, purpose, events=of_events is not None
        )
        return [whole(), chorus.quiet(whole, 0.5), over_time.chorus_game(t, n)]
    found = chorus.games_for(
        t / n,  # of versions that divided epsilon and delta
        delta / n,
        "person" if unit == "person" else "rating",
        certificate.neighbours,
        purpose,
        events=of_events is not None,
    )
    if certificate.variant == INCREMENTAL:
        found.append(over_time.chorus_game(t, n))
    return found


def _paper_games(certificate: Certificate) -> list[Game]:
    return paper.games_for(certificate, _threshold(certificate))


def _pmf_games(certificate: Certificate) -> list[Game]:
    del certificate
    return fits.games_of(PMF)


OF_CERTIFICATES: dict[str, Callable[[Certificate], list[Game]]] = {
    "Tally": _tally_games,
    "Chorus": _chorus_games,
    "DP-PMF": _paper_games,
    "PDP-PMF": _paper_games,
    "PMF": _pmf_games,
}
"""What a certificate's scheme is attacked by; others by `fits.games_of` their class."""


def _threshold(certificate: Certificate) -> float:
    # Computed from the ratings, so the certificate does not tell it: any number will do.
    return 1.0 if certificate.threshold is None else certificate.threshold


def audit(
    games: Sequence[Game],
    *,
    runs: int = RUNS,
    fits: int = FITS,
    false_alarms: float = FALSE_ALARMS,
    seed: int = 0,
    found: Callable[[Finding], None] = lambda _: None,
    progress: Progress = silent,
) -> list[Finding]:
    """Play every game; `found` gets each finding as soon as it is there.

    The chance that any finding is wrong is at most `false_alarms`, divided among the games.
    """
    require_count("runs", runs, least=20)
    require_count("fits", fits, least=20)
    alpha = false_alarms / max(1, len(games))
    findings = []
    for number, game in enumerate(games):
        progress("games", number, len(games))
        usual = fits if game.slow else runs
        finding = play_game(
            game, max(20, round(game.share * usual)), alpha, seed=seed + number, progress=progress
        )
        found(finding)
        findings.append(finding)
    progress("games", len(games), len(games))
    return findings


def alarms(findings: Sequence[Finding]) -> list[Finding]:
    """What must not be: a proven claim refuted."""
    return [finding for finding in findings if finding.game.proven and finding.refuted]


def blunt(findings: Sequence[Finding]) -> list[Finding]:
    """What is broken on purpose, could be heard, and was not refuted by so many runs."""
    unheard = {mutant.name for mutant in MUTANTS if mutant.caught_by is not None}
    return [
        finding
        for finding in findings
        if finding.game.control and not finding.refuted and finding.game.case not in unheard
    ]
