"""Chorus for choices: docs/proofs/chorus.md#choices, and what is concluded from the rounds."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.data.events import Events
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.errors import ParameterError
from discreet.kernels.compute import Compute
from discreet.privacy.fixedpoint import GRID, ONE_VOTE
from discreet.privacy.provenance import Neighbours
from discreet.privacy.spec import PrivacySpec
from discreet.publishing.file_ledger import FileLedger
from discreet.publishing.publish import publish
from discreet.release.choice_factors import ChoiceFactors
from discreet.release.release import Release
from discreet.release.tallies import Tallies
from discreet.schemes.chorus.choices import (
    TYPICAL_RECORDS,
    choice_counts,
    sized,
    whitened,
)
from discreet.schemes.chorus.directions import Heard
from discreet.schemes.chorus.plan import (
    BOTH_TALLIES,
    CHOICE_TALLIES,
    CHOOSING,
    LEAST_BESIDE,
    LEAST_OF_EVENTS,
    LEAST_OF_LISTS,
    MOST_CHOICE_TALLIES,
    PURPOSES,
    TALLIES_FOR_FEW,
    found_plan,
    given_plan,
    purpose_of,
)
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.chorus.values import LEAST_CHOICE, choosing
from discreet.schemes.votes import count_votes
from tests.conftest import random_ratings

PEOPLE, EACH, HALF = 400, 12, 30
LOUD = PrivacySpec.uniform(20.0)
CATALOGUE = Items.from_frame(pl.DataFrame({"item": range(2 * HALF)}))


def of_two_tastes(ratings: bool) -> Ratings:
    """Every other person chooses from the first half of the items, the rest from the second."""
    rng = np.random.default_rng(3)
    user = np.repeat(np.arange(PEOPLE), EACH)
    own = np.concatenate([rng.choice(HALF, EACH, replace=False) for _ in range(PEOPLE)])
    frame = pl.DataFrame({"user": user, "item": own + HALF * (user % 2)})
    if ratings:
        stars = rng.integers(1, 6, len(frame)).astype(float)
        return Ratings.from_frame(frame.with_columns(rating=pl.Series(stars)))
    return Events.from_frame(frame)


def agreement(release: Release) -> float:
    """How many of all pairs of items are above one another exactly if they are of one taste."""
    assert release.choices is not None
    lift = release.choices.columns @ release.choices.columns.T
    taste = np.arange(2 * HALF) < HALF
    return float(((lift > 0) == (taste[:, None] == taste)).mean())


@pytest.mark.parametrize("unit", ["rating", "person"])
@pytest.mark.parametrize("ratings", [True, False])
def test_what_the_same_people_choose_goes_together(ratings: bool, unit: str) -> None:
    """Ratings are by chance: only who chose what tells the two tastes apart."""
    scheme = Chorus(items=CATALOGUE, delta=1e-6, factors=3, purpose="lists", unit=unit)
    found = [scheme.fit(of_two_tastes(ratings), LOUD, seed=seed).release for seed in range(3)]
    assert min(map(agreement, found)) > 0.95
    for release in found:
        assert release.choices is not None
        assert release.choices.reliability[0] > 0.8
        sizes = (release.choices.columns**2).sum(axis=0)
        assert sizes[0] == max(sizes)


def test_a_shuffled_table_has_no_such_tastes() -> None:
    """The same search on choices by chance is right about half of all pairs."""
    table = random_ratings(PEOPLE, 2 * HALF, PEOPLE * EACH, seed=5)
    scheme = Chorus(delta=1e-6, factors=3, purpose="lists")
    assert agreement(scheme.fit(table, LOUD, seed=0).release) < 0.7


NUMBERS: list[tuple[dict[str, Any], int, list[float], float]] = [
    ({"rounds": 3}, 368299078, [0.94147227, 0.78164531], 3.01303292),
    ({"rounds": 3, "unit": "person"}, 1678335826, [0.93507395, 0.76312961], 2.98161861),
    ({"rounds": 2, "neighbours": Neighbours.REPLACE}, 369525345, [0.92725473, 0.74489174],
     3.01681311),
]  # fmt: skip
"""Of releases before there were purposes: votes in favour, the factors' norms, the mean."""


@pytest.mark.parametrize(("parameters", "votes", "norms", "mean"), NUMBERS)
def test_for_ratings_alone_a_release_is_what_it_was(
    parameters: dict[str, Any], votes: int, norms: list[float], mean: float
) -> None:
    scheme = Chorus(delta=1e-3, factors=2, purpose="ratings", **parameters)
    release = scheme.fit(random_ratings(60, 25, 700, seed=4), PrivacySpec.uniform(30.0), seed=9)
    found = release.release
    assert found.choices is None
    assert found.tallies is not None
    assert found.tallies.in_favour.sum() == votes
    own = [k for k, name in enumerate(found.factor_names) if name.startswith("factor")]
    np.testing.assert_allclose(np.linalg.norm(found.item_factors[:, own], axis=0), norms, rtol=1e-5)
    assert found.mean == pytest.approx(mean, rel=1e-6)


def test_a_certificate_says_what_the_rounds_were_for(small: Ratings) -> None:
    for purpose, how in PURPOSES.items():
        scheme = Chorus(delta=1e-6, factors=1, rounds=1, purpose=purpose)
        certificate = scheme.fit(small, seed=1).release.certificate
        assert certificate.parameters == {"purpose": purpose, "choosing": how.choosing}
    with pytest.raises(ParameterError, match="purpose must be one of 'ratings', 'lists', 'both'"):
        Chorus(purpose="profit").fit(small)


@pytest.mark.parametrize(("unit", "name"), [("rating", ""), ("person", "-person")])
def test_events_have_choices_alone(unit: str, name: str) -> None:
    events = of_two_tastes(ratings=False)
    release = Chorus(items=CATALOGUE, delta=1e-6, factors=2, unit=unit).fit(events, LOUD, seed=1)
    found = release.release
    assert found.events
    assert found.item_factors.shape == (2 * HALF, 0)
    assert found.choices is not None
    assert found.certificate.theorem.name == f"chorus-events{name}"
    assert found.certificate.parameters["choosing"] == 1.0
    assert found.tallies is not None
    assert not found.tallies.against.any()


def test_of_events_no_ratings_are_learned_and_what_is_public_is_refused() -> None:
    events = of_two_tastes(ratings=False)
    with pytest.raises(ParameterError, match="events have no ratings: choose 'lists' or 'both'"):
        Chorus(delta=1e-6, purpose="ratings").fit(events, LOUD)
    with pytest.raises(ParameterError, match="use add/remove neighbours"):
        Chorus(delta=1e-6, neighbours=Neighbours.REPLACE).fit(events, LOUD)


@pytest.mark.parametrize("ratings", [True, False])
def test_what_a_choice_says_is_between_its_least_and_one(ratings: bool) -> None:
    table = of_two_tastes(ratings)
    said = choosing(table)
    assert said.least == (LEAST_CHOICE if ratings else 0.0)
    lo, hi = table.scale.lo, table.scale.lo + table.scale.span
    beyond = np.array([-100.0, lo, hi, 100.0], np.float32)
    item, whole = np.zeros(4, np.int32), np.ones(4)
    a = said.on_grid(beyond, item, whole) / GRID
    np.testing.assert_allclose(a, [said.least, said.least, 1.0, 1.0], atol=2 / GRID)
    assert (said.on_grid(beyond, item, whole / 3) <= GRID / 3).all()


def test_counts_of_choices_are_the_sums_of_what_they_say(small: Ratings) -> None:
    """Without noise: sum of w x, from votes in favour and against."""
    weights = np.random.default_rng(0).integers(1, ONE_VOTE, len(small)).astype(np.int32)
    votes = count_votes(small, weights, Compute(threads=1))
    tallies = Tallies(votes[0], votes[1], np.zeros(len(small.items)))
    share = (small.rating - small.scale.lo) / small.scale.span
    x = LEAST_CHOICE + (1 - LEAST_CHOICE) * share
    exact = np.bincount(small.item, weights / ONE_VOTE * x, len(small.items))
    np.testing.assert_allclose(choice_counts(tallies, LEAST_CHOICE), exact, rtol=1e-4)


def test_counts_below_their_noise_are_hardly_heard() -> None:
    noise, votes = np.full(4, 200.0), np.array([-5, 1, 10, 1000]) * ONE_VOTE
    for tallies, variance in (
        (Tallies(np.zeros(4, np.int64), votes, noise), 200 * (1 + LEAST_CHOICE**2)),
        (Tallies(np.zeros(4, np.int64), votes, noise, events=True), 200),
        (Tallies(np.zeros(4, np.int64), votes, noise, shared_noise=True), 128),
    ):
        expected = [0, *(c**3 / (c**2 + variance / 2) for c in (1, 10, 1000))]
        least = 0.0 if tallies.events else LEAST_CHOICE
        np.testing.assert_allclose(choice_counts(tallies, least), expected)


def test_sizes_are_those_that_would_show_what_was_heard() -> None:
    """v = s rho with rho = 1/sqrt(mean of s + 2/n); of s, the share that is signal is released."""
    rng = np.random.default_rng(0)
    values, true = np.array([0.3, 0.1, 0.0]), np.array([0.9, 0.5, 0.2])
    heard = Heard(rng.standard_normal((50, 3)), values, true)
    counts = rng.uniform(1, 9, 50)
    found = sized(heard, counts)
    assert found is not None
    assert found.reliability.tolist() == [0.9, 0.5]
    np.testing.assert_allclose(counts @ found.columns, 0, atol=1e-9)
    centred = heard.z - counts @ heard.z / counts.sum()
    s = (found.columns / centred[:, :2])[0] ** 2 / found.reliability
    rho = 1 / np.sqrt(s.sum() / 3 + 2 / TYPICAL_RECORDS)
    np.testing.assert_allclose(s * rho, heard.values[:2])
    nothing = Heard(heard.z, np.zeros(3), heard.true)
    assert sized(nothing, counts) is None


def test_rounds_go_on_with_released_choices_of_variance_one() -> None:
    choices = ChoiceFactors(np.random.default_rng(1).standard_normal((20, 2)), np.full(2, 0.5))
    np.testing.assert_allclose((whitened(choices, np.ones(20)) ** 2).mean(axis=0), 1.0)


class Probed:
    """A budget of which only what a plan asks is known."""

    mu, vote_scale = 1.0, 1.0

    def __init__(self, counts: Any, beyond: float = 1.0) -> None:
        self.counts, self.beyond = np.asarray(counts, float), beyond
        self.paid: list[float] = []

    def probe(self, share: float) -> tuple[Any, float]:
        self.paid.append(share)
        return self.counts, 1.0

    def activity(self, share: float) -> Any:
        self.paid.append(share)
        return np.array([1 - self.beyond, self.beyond])

    def rounds(self, share: float) -> float:
        return float(np.sqrt(share))

    lasting = rounds

    def typical_weights(self, share: float) -> tuple[float, float]:
        del share
        return 1.0, 1.0


def planned(budget: Any, purpose: str) -> Any:
    how = purpose_of(purpose, events=purpose == "events")
    return found_plan(budget, Neighbours.ADD_REMOVE, how)


def test_each_kind_of_rounds_gets_its_share_and_what_the_other_does_not_take() -> None:
    many, some, few = np.full(300, 400.0), np.full(300, 40.0), np.full(300, 0.1)
    both = planned(Probed(many), "both")
    assert both.factors > 0
    assert both.choice_factors >= LEAST_BESIDE
    assert both.choosing == CHOOSING
    ratings = planned(Probed(many), "ratings")
    assert both.tallies == pytest.approx(BOTH_TALLIES * ratings.tallies)
    assert (both.probe, both.factors, both.rounds) == ratings[:1] + ratings[2:4]
    inactive = planned(Probed(many, beyond=0.0), "both")
    assert inactive.factors == 0
    assert inactive.choosing_part.of_rounds == 1
    assert planned(Probed(many, beyond=0.0), "ratings").share == pytest.approx(0.0)
    lists = planned(Probed(some), "lists")
    assert lists.choice_factors >= LEAST_OF_LISTS
    assert lists.choosing_part.of_rounds == 1
    for purpose in PURPOSES:
        assert not planned(Probed(few), purpose).has_rounds
        assert planned(Probed(few), purpose).share < 1e-9


def test_the_fewer_directions_lists_have_the_more_of_the_budget_their_tallies_get() -> None:
    seen = {}
    for count in np.geomspace(1, 20_000, 60):
        plan = planned(Probed(np.full(300, count)), "lists")
        if plan.has_rounds:
            share = plan.tallies / (1 - plan.probe)
            assert CHOICE_TALLIES <= share <= MOST_CHOICE_TALLIES
            # By the directions that the least tallies would leave room for, never fewer.
            assert share <= max(TALLIES_FOR_FEW / plan.choice_factors, CHOICE_TALLIES)
            assert plan.choice_factors >= LEAST_OF_LISTS
            seen[plan.choice_factors] = share
    shares = [seen[d] for d in sorted(seen)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == pytest.approx(MOST_CHOICE_TALLIES)
    assert shares[-1] == pytest.approx(CHOICE_TALLIES)


def test_a_handful_of_directions_pays_for_events_before_it_does_for_lists_of_ratings() -> None:
    found: dict[str, set[int]] = {"lists": set(), "events": set()}
    for count in np.geomspace(1, 100, 80):
        for purpose, seen in found.items():
            seen.add(planned(Probed(np.full(300, count)), purpose).choice_factors)
    assert min(found["events"] - {0}) == LEAST_OF_EVENTS
    assert min(found["lists"] - {0}) == LEAST_OF_LISTS


def test_directions_of_choice_predict_ratings_of_what_people_choose_together() -> None:
    """Here everybody likes their half of the catalogue, and dislikes what they try of the other."""
    table = of_two_tastes(ratings=True)
    half = table.item >= HALF
    rng = np.random.default_rng(5)
    other = rng.random(len(table)) < 0.3
    liked = half == (table.user % 2 == 1)
    assert liked.all()  # before some choose from the other half, which they dislike
    swapped = np.where(other, (table.item + HALF) % (2 * HALF), table.item)
    stars = np.where(other, 2.0, 4.0)
    frame = pl.DataFrame({"user": table.user, "item": swapped, "rating": stars})
    train = Ratings.from_frame(frame.unique(["user", "item"], keep="first", maintain_order=True))
    scheme = Chorus(items=CATALOGUE, delta=1e-6, factors=2, purpose="lists")
    release = scheme.fit(train, LOUD, seed=1).release
    assert "choice 1" in release.factor_names
    column = release.item_factors[:, release.factor_names.index("choice 1")]
    assert abs(column[:HALF].mean() - column[HALF:].mean()) > 4 * column[:HALF].std()
    alone = Chorus(items=CATALOGUE, delta=1e-6, factors=0).fit(train, LOUD, seed=1).release
    mine = list(range(6)) + list(range(HALF, HALF + 4)), [4.0] * 6 + [2.0] * 4
    new = [HALF - 1, 2 * HALF - 1]
    gap, plain = (-np.diff(r.predict(*mine, new)) for r in (release, alone))
    assert gap > plain + 0.2


def test_lists_pay_for_counts_of_items_alone() -> None:
    for purpose, paid in (("ratings", 2), ("both", 2), ("lists", 1)):
        budget = Probed(np.full(300, 400.0))
        plan = planned(budget, purpose)
        assert len(budget.paid) == paid
        assert sum(budget.paid) == pytest.approx(plan.probe)


def test_a_given_number_of_factors_is_that_of_either_kind() -> None:
    assert given_plan(3, 4, PURPOSES["ratings"])[2:] == (3, 4, 0, 0, 0.0, False)
    assert given_plan(3, 4, PURPOSES["both"])[2:] == (3, 4, 3, 4, CHOOSING, False)
    assert given_plan(3, 4, PURPOSES["lists"])[2:] == (0, 0, 3, 4, 1.0, False)
    assert not given_plan(0, 4, PURPOSES["both"]).has_rounds


def _basis(choices: ChoiceFactors) -> Any:
    return np.linalg.qr(choices.columns)[0]


def test_a_small_batch_does_not_push_good_choices_out(tmp_path: Path) -> None:
    table = of_two_tastes(ratings=True)
    scheme = Chorus(items=CATALOGUE, delta=1e-6, factors=3, purpose="lists")
    ledger = FileLedger(tmp_path / "l.db")
    early = table.subset(table.user >= 10)

    def go(ratings: Ratings) -> Release:
        out = tmp_path / "r"
        return publish(scheme, ratings, LOUD, out=out, ledger=ledger, seed=1).release

    first, second = go(early), go(table)
    assert first.choices is not None
    assert second.choices is not None
    # A sixth of the people are new: what the others have shown is still there.
    shared = np.linalg.svd(_basis(first.choices).T @ _basis(second.choices))[1]
    assert shared[0] > 0.9
    assert (ledger.spends(table).delta > 0).all()


def test_items_that_came_later_have_no_choices_of_an_earlier_release(tmp_path: Path) -> None:
    table = of_two_tastes(ratings=True)
    ledger, more = FileLedger(tmp_path / "l.db"), pl.DataFrame({"item": range(2 * HALF + 5)})
    last: Release | None = None
    for items, factors in ((CATALOGUE, 3), (Items.from_frame(more), 0)):
        scheme = Chorus(items=items, delta=1e-6, factors=factors, purpose="lists", publications=2)
        last = publish(scheme, table, LOUD, out=tmp_path / "r", ledger=ledger, seed=1).release
    assert last is not None
    assert last.choices is not None
    assert len(last.choices.columns) == 2 * HALF + 5
    assert not last.choices.columns[-5:].any()
    assert last.choices.columns[: 2 * HALF].any()
