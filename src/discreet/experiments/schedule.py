"""What to expect of a schedule of publications, before anything is published or declared.

Everything is an assumption that anybody may know: levels, how often one publishes, how many ratings
there are and how many come. It is played on ratings that are public, or made up.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from discreet.arrays import Integers
from discreet.data.ratings import Ratings
from discreet.data.tables import Table, as_ratings
from discreet.errors import ParameterError, SecretsWarning, require_count
from discreet.evaluate.judge import judge_lists
from discreet.evaluate.metrics import rmse
from discreet.evaluate.splits import Split, hold_out
from discreet.kernels.compute import Compute
from discreet.privacy.history import History
from discreet.privacy.lifetime import Spends
from discreet.privacy.noise import Randomness
from discreet.privacy.spec import PrivacySpec
from discreet.progress import Progress, silent
from discreet.readers.club import cinema_club
from discreet.release.release import Release
from discreet.schemes.base import LedgerState, Run
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.model import FactorModel

HELD_OUT = 0.1
"""Of the ratings, or events: errors, or lists, are measured on them."""
ERROR, LISTS = "rmse", "ndcg@10"
"""By what a plan compares: errors of ratings; of events, which have none, how good lists are."""
MOST_LISTS = 2000
"""People whose lists are judged."""
SECRET = (
    "the errors to expect were computed from these ratings themselves, outside any mechanism: a "
    "number of publications chosen by them depends on secrets, which no certificate counts"
)
AS_GOOD = 0.0005
"""Of two numbers to declare whose errors, or lists, differ by less, the smaller one is advised."""


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """How often one publishes, and how many ratings there are each time.

    >>> Schedule(publications=3, first=100, arriving=50).sizes(500)
    [100, 150, 200]
    >>> Schedule(publications=4).sizes(1000)
    [250, 500, 750, 1000]
    """

    publications: int = 12
    """To look at, whatever is declared."""
    first: int | None = None
    """Ratings at the first one; None: as many as come between two."""
    arriving: int | None = None
    """Ratings that come between two; None: what is left of the table, in equal parts."""

    def sizes(self, most: int) -> list[int]:
        """How many ratings there are at every publication, of a table with so many."""
        n = require_count("times", self.publications)
        for name, given in (("first", self.first), ("arriving", self.arriving)):
            if given is not None:
                require_count(name, given, least=1 if name == "first" else 0)
        begin, step = self.first, self.arriving
        if step is None and begin is None:
            return [most * (k + 1) // n for k in range(n)]
        if step is None:
            step = (most - begin) // max(n - 1, 1) if begin is not None else 0
        begin = step if begin is None else begin
        sizes = [begin + k * step for k in range(n)]
        if begin < 1 or step < 0 or sizes[-1] > most:
            raise ParameterError(
                f"{n} publications with {begin:,} ratings at first and {max(step, 0):,} more each "
                f"time are {sizes[-1]:,} ratings in the end, and the table has {most:,} to learn "
                "from: name fewer, or play it on a larger public table"
            )
        return sizes


def plan_publications(
    scheme: Chorus,
    spec: PrivacySpec,
    ratings: Table | None = None,
    *,
    public: bool = False,
    schedule: Schedule = Schedule(),
    declared: Sequence[int] = (1, 4, 12),
    seed: int = 0,
    compute: Compute = Compute(),
    progress: Progress = silent,
) -> pl.DataFrame:
    """Errors to expect after each publication, for each n declared.

    A frame declared, publication, ratings, rmse; errors are of a tenth of the ratings, held out and
    predicted on the scale. Of events nobody predicts a rating: there ndcg@10 stands in its place,
    of lists that should have foreseen the tenth held out. The ratings come in a random order, the
    same for every n. The noise is seeded.

    It is played on the made-up cinema club, or on a table that you declare to be `public`. What is
    found depends on the ratings without any protection: of others a `SecretsWarning` says so.

    >>> import discreet as dc
    >>> few = Schedule(publications=2, first=9000, arriving=1000)
    >>> scheme = dc.Chorus(delta=1e-6, factors=1, rounds=1, purpose="ratings")
    >>> found = plan_publications(scheme, dc.PrivacySpec.uniform(1.0), schedule=few, declared=[2])
    >>> found.select("declared", "publication", "ratings").rows()
    [(2, 1, 9000), (2, 2, 10000)]
    """
    spec = scheme.checked(spec)
    if ratings is None:
        club = cinema_club()
        ratings, scheme = club.ratings, replace(scheme, items=club.items)
    elif not public:
        warnings.warn(SECRET, SecretsWarning, stacklevel=2)
    split = hold_out(as_ratings(ratings), HELD_OUT, seed=seed)
    train, measure = split.train, LISTS if split.train.events else ERROR
    sizes = schedule.sizes(len(train))
    numbers = sorted({require_count("publications", n) for n in declared})
    if not numbers:
        raise ParameterError("name at least one number of publications to declare")
    order = np.random.default_rng(seed).permutation(len(train))
    since = np.empty(len(train), np.int64)
    since[order] = np.searchsorted(sizes, np.arange(len(train)), side="right")
    rows: list[tuple[int, int, int, float]] = []
    whole = len(numbers) * len(sizes)
    for n in numbers:
        one = _Ledger(replace(scheme, publications=n), train, spec, since, seed, compute)
        for number, size in enumerate(sizes):
            progress("plan", len(rows), whole)
            found = _MEASURES[measure](one.publish(number), split, scheme)
            rows.append((n, number + 1, size, found))
    progress("plan", whole, whole)
    return pl.DataFrame(rows, ["declared", "publication", "ratings", measure], orient="row")


def _error(model: FactorModel, split: Split, _: Chorus) -> float:
    return rmse(model.predict_ratings(split.test, clip=True), split.test.rating)


def _lists(model: FactorModel, split: Split, scheme: Chorus) -> float:
    few = split._replace(test=split.test.subset(split.test.user < MOST_LISTS))
    return judge_lists(model, few, scheme.items)[LISTS]


_MEASURES = {ERROR: _error, LISTS: _lists}


def advised(table: pl.DataFrame) -> int:
    """The n to declare: the least error on average over the publications that were looked at, or
    of events the best lists.

    >>> table = pl.DataFrame({"declared": [1, 12], "publication": [1, 1], "rmse": [0.9, 0.91]})
    >>> advised(table)
    1
    """
    cost = -pl.col(LISTS) if LISTS in table.columns else pl.col(ERROR)
    means = table.group_by("declared").agg(cost.mean().alias("cost")).sort("declared")
    errors = means["cost"].to_numpy()
    return int(means["declared"][int(np.argmax(errors <= errors.min() + AS_GOOD))])


class _Ledger:
    """One ledger's publications, with spends in memory: a rating is there `since` one of them."""

    def __init__(
        self,
        scheme: Chorus,
        train: Ratings,
        spec: PrivacySpec,
        since: Integers,
        seed: int,
        compute: Compute,
    ) -> None:
        self.scheme, self.train, self.spec, self.since = scheme, train, spec, since
        self.seed, self.compute = seed, compute
        self.spends = Spends.none(len(train))
        self.before: Release | None = None
        self.share: float | None = None

    def publish(self, number: int) -> FactorModel:
        """The next one, as `publish` makes it."""
        there = self.since <= number
        spec, data = self.scheme.prepare(self.train.subset(there), self.spec)
        known = Spends(*(column[there] for column in self.spends))
        history = History(release=number + 1, generation="planned")
        state = LedgerState(known, self.before, history, number, self.share)
        run = Run(Randomness(self.seed, run=number), self.compute)
        model, costs, self.share = self.scheme.publish_batch(data, spec, state, run)
        for column, values in zip(self.spends, known.after(costs), strict=True):
            column[there] = values
        self.before = model.release
        return model
