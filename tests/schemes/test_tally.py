"""Tally: docs/proofs/tally.md and docs/proofs/weighing.md, exercised."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data.families import TITLE_FAMILY
from discreet.data.features import encode
from discreet.data.ids import Ids
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.data.scale import RatingScale
from discreet.errors import ParameterError
from discreet.kernels import reference, sums
from discreet.kernels.compute import Compute
from discreet.privacy.fixedpoint import ONE_VOTE
from discreet.privacy.history import History
from discreet.privacy.lifetime import Spends
from discreet.privacy.noise import Randomness
from discreet.privacy.personalise import inclusion_probability, weigh
from discreet.privacy.provenance import Neighbours
from discreet.privacy.spec import PrivacySpec
from discreet.privacy.theorems import Status
from discreet.publishing.publish import publish
from discreet.release.release import Release
from discreet.release.tallies import Tallies
from discreet.schemes.base import LedgerState
from discreet.schemes.effects import estimate
from discreet.schemes.tally import Tally
from discreet.schemes.votes import added_up, count_votes
from tests.conftest import random_ratings

SPEC = PrivacySpec.column()
SCALES = [(1, 5), (0, 10), (-10, 10), (0.5, 5), (-0.1, 0.3)]


def rated(user: list[int], item: list[int], rating: list[float], scale: Any) -> Ratings:
    return Ratings.from_frame(
        pl.DataFrame({"user": user, "item": item, "rating": rating}), scale=scale
    )


@given(st.data())
def test_one_record_moves_the_integer_tallies_by_at_most_its_weight(data: st.DataObject) -> None:
    lo = data.draw(st.floats(-100, 100))
    hi = lo + data.draw(st.floats(1e-3, 100))
    count = data.draw(st.integers(2, 8))
    rating = data.draw(st.lists(st.floats(lo, hi), min_size=count, max_size=count))
    t = data.draw(st.floats(1e-3, 20))
    levels = np.array(data.draw(st.lists(st.floats(1e-3, 30), min_size=count, max_size=count)))
    ratings = rated(list(range(count)), [k % 3 for k in range(count)], rating, (lo, hi))
    weights = weigh(levels, t)
    assert (weights <= np.minimum(1, levels / t) * ONE_VOTE).all()
    whole = count_votes(ratings, weights)
    for k in range(count):
        rest = np.arange(count) != k
        moved = np.abs(whole - count_votes(ratings.subset(rest), weights[rest])).sum()
        assert moved == weights[k]


@given(st.floats(1e-6, 50), st.floats(1e-6, 50))
def test_a_weighed_record_costs_at_most_the_smaller_of_epsilon_and_t(
    epsilon: float, t: float
) -> None:
    """The noise has a scale of at least 2^20/t weights, and the record moves `weights` of them."""
    from fractions import Fraction

    weights = int(weigh(np.array([epsilon]), t)[0])
    scale = Fraction(float(np.nextafter(ONE_VOTE / t, np.inf)))
    assert Fraction(weights) / scale <= min(Fraction(epsilon), Fraction(t))
    # And hardly less: one step of the grid and the rounding are all that is lost.
    assert weights + 2 >= min(1.0, epsilon / t) * ONE_VOTE * (1 - 1e-12)


@given(st.floats(0.01, 10), st.floats(0.01, 10))
def test_weighing_keeps_at_least_as_much_signal_as_sampling(epsilon: float, t: float) -> None:
    kept = float(inclusion_probability(epsilon, t))
    assert weigh(np.array([epsilon]), t)[0] / ONE_VOTE >= kept - 2 / ONE_VOTE


def test_the_same_tallies_in_any_order_and_with_any_threads() -> None:
    ratings = random_ratings(300, 200, 20_000, seed=1)
    shuffled = Ratings.from_frame(ratings.to_frame().sample(fraction=1, shuffle=True, seed=2))
    rng = np.random.default_rng(0)
    order = rng.permutation(len(ratings))
    weights = weigh(SPEC.levels(ratings), 1.0)
    expected = count_votes(ratings, weights, Compute(1))
    assert (count_votes(ratings, weights, Compute(2)) == expected).all()
    assert (count_votes(shuffled, weigh(SPEC.levels(shuffled), 1.0)) == expected).all()
    # The kernel itself, on rows in no order at all.
    against, in_favour = np.zeros((2, len(ratings.items)), dtype=np.int64)
    sums.add_votes(
        0, len(ratings), ratings.item[order], ratings.rating[order], weights[order], 1.0, 4.0,
        against, in_favour,
    )  # fmt: skip
    assert (np.stack([against, in_favour]) == expected).all()


@pytest.mark.parametrize("scale", SCALES)
def test_votes_equal_their_twin(scale: tuple[float, float]) -> None:
    rng = np.random.default_rng(1)
    # Some ratings lie outside the scale: inside a mechanism they are clipped, never refused.
    r = rng.uniform(scale[0] - 1, scale[1] + 1, 500)
    item = rng.integers(0, 7, 500).astype(np.int32)
    weights = rng.integers(0, ONE_VOTE + 1, 500).astype(np.int32)
    results = []
    for kernel in (sums.add_votes, reference.add_votes):
        votes = np.zeros((2, 7), dtype=np.int64)
        kernel(0, 500, item, r, weights, scale[0], scale[1] - scale[0], votes[0], votes[1])
        results.append(votes)
    assert (results[0] == results[1]).all()
    assert results[0].sum() == weights.sum(dtype=np.int64)


@pytest.mark.parametrize("threads", [1, 2])
def test_votes_of_more_than_a_billion_ratings_add_up_exactly(threads: int) -> None:
    """docs/proofs/margins.md#integer-sums, by fewer records of larger weights."""
    count, largest = 1 << 19, int(np.iinfo(np.int32).max)
    assert count * largest > 10**9 * ONE_VOTE
    ptr = np.arange(count + 1)
    users, items, item = Ids.of(ptr[:-1], "user"), Ids.of([1], "item"), np.zeros(count, np.int32)
    stars = np.tile([1.0, 5.0], count // 2)
    ratings = Ratings(users, items, ptr, item, stars, None, None, RatingScale(1, 5))
    votes = count_votes(ratings, np.full(count, largest, np.int32), Compute(threads))
    assert votes.tolist() == [[count // 2 * largest]] * 2


def silent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, float]]:
    """No noise; returns how many numbers of which scale would have been drawn."""
    drawn: list[tuple[int, float]] = []
    monkeypatch.setattr(
        Randomness, "add_laplace",
        lambda _self, sums, scale, **_: drawn.append((sums.size, scale)) or sums,
    )  # fmt: skip
    return drawn


def catalogue(*ids: int) -> Items:
    return Items.from_frame(pl.DataFrame({"item": ids}))


@pytest.mark.parametrize("t", [0.3, 1.0])
def test_every_item_of_the_catalogue_gets_noise_of_scale_one_over_t(
    t: float, small: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = silent(monkeypatch)
    items = catalogue(*range(90, 140))
    Tally(items=items, threshold=t).fit(small, SPEC)
    Tally(items=items, threshold=t, neighbours=Neighbours.REPLACE).fit(small, SPEC)
    assert [count for count, _ in drawn] == [100, 50]
    for _, scale in drawn:
        assert scale >= ONE_VOTE / t
        assert scale == pytest.approx(ONE_VOTE / t)


def test_a_replaced_value_moves_only_the_votes_in_favour(monkeypatch: pytest.MonkeyPatch) -> None:
    silent(monkeypatch)
    one, other = (
        Tally(neighbours=Neighbours.REPLACE).fit(rated([1, 2], [5, 6], [r, 3], (1, 5)),
                                                 PrivacySpec.uniform(0.5)).release.tallies
        for r in (1, 5)
    )  # fmt: skip
    assert one is not None
    assert other is not None
    assert one.shared_noise
    assert (one.against + one.in_favour == other.against + other.in_favour).all()
    assert np.abs(one.in_favour - other.in_favour).sum() == ONE_VOTE


def test_the_threshold_is_declared_and_never_computed(small: Ratings) -> None:
    release = Tally().fit(small, PrivacySpec.column(max_level=2.5), seed=0).release
    assert release.certificate.threshold == 2.5
    for bad in ("mean", "max"):
        with pytest.raises(ParameterError, match="would be computed from the ratings"):
            Tally(threshold=bad).fit(small, SPEC)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="sampling amplifies nothing"):
        Tally(neighbours=Neighbours.REPLACE, personalisation="sample").fit(small, SPEC)
    with pytest.raises(ParameterError, match="personalisation must be one of"):
        Tally(personalisation="guess").fit(small, SPEC)


def test_opendp_draws_where_it_is_asked_to_and_the_certificate_says_so(
    small: Ratings, tmp_path: Path
) -> None:
    scheme = Tally(items=catalogue(*range(100, 130)), noise="opendp")
    made = [scheme.fit(small, SPEC).release.certificate]
    made.append(
        publish(scheme, small, SPEC, out=tmp_path / "r", ledger=tmp_path / "l").release.certificate
    )
    for certificate in made:
        assert certificate.status == Status.PROVEN
        assert certificate.sampler.endswith("votes, exact (OpenDP)")
    seeded = scheme.fit(small, SPEC, seed=1).release.certificate
    assert seeded.sampler.endswith("NumPy, seeded")
    with pytest.raises(ParameterError, match="noise must be one of"):
        replace(scheme, noise="loud").fit(small, SPEC)


@pytest.mark.parametrize(
    ("scheme", "status"),
    [
        (Tally(items=catalogue(*range(100, 130))), Status.PROVEN),
        (Tally(), Status.CONDITIONAL),
        (Tally(neighbours=Neighbours.REPLACE), Status.PROVEN),
    ],
)
def test_the_certificate_is_proven_given_a_catalogue(
    scheme: Tally, status: Status, small: Ratings
) -> None:
    certificate = scheme.fit(small, SPEC).release.certificate
    assert certificate.status == status
    assert certificate.delta == 0
    assert "exact (Discreet)" in certificate.sampler
    seeded = scheme.fit(small, SPEC, seed=1).release.certificate
    assert seeded.statement.startswith("This run was seeded")
    if status == Status.CONDITIONAL:
        assert any("list of rated items is public" in a for a in certificate.assumptions)


def noiseless(ratings: Ratings, weights: Any = None) -> Tallies:
    weights = np.full(len(ratings), ONE_VOTE, np.int32) if weights is None else weights
    against, in_favour = count_votes(ratings, weights)
    return Tallies(against, in_favour, np.zeros(len(against)))


def test_without_noise_and_with_many_votes_effects_are_item_means() -> None:
    ratings = random_ratings(2000, 5, 9000, seed=1)
    effects = estimate(noiseless(ratings), ratings.scale, encode(None, 5), 1.0)
    means = np.bincount(ratings.item, ratings.rating) / np.bincount(ratings.item)
    assert effects.mean == pytest.approx(ratings.rating.mean(dtype=np.float64), abs=1e-5)
    np.testing.assert_allclose(effects.mean + effects.item_effects, means, atol=0.02)
    np.testing.assert_allclose(effects.counts, np.bincount(ratings.item), atol=1e-3)


def test_pure_noise_is_shrunk_to_nothing() -> None:
    noise = Randomness(3).add_laplace(np.zeros(4000, np.int64), 10.0 * ONE_VOTE)
    tallies = Tallies(noise[:2000], noise[2000:], np.full(2000, 200.0))
    effects = estimate(tallies, RatingScale(1, 5), encode(None, 2000), 1.0)
    # What the tallies say by themselves is wild; what is left of it is not.
    A, B = tallies.votes()
    seen = A + B > 1
    raw = (A[seen] + 5 * B[seen]) / (A + B)[seen] - effects.mean
    assert effects.item_effects[seen].std() < raw.std() / 5
    assert abs(effects.mean + effects.item_effects.mean() - 3) < 0.5


def test_no_vote_at_all_still_has_an_answer() -> None:
    empty = Tallies(np.zeros(3, np.int64), np.zeros(3, np.int64), np.full(3, 2.0))
    effects = estimate(empty, RatingScale(1, 5), encode(None, 3), 1.0)
    assert np.isfinite([effects.mean, *effects.item_effects]).all()


@pytest.mark.parametrize("scale", [(0, 10), (-10, 10), (0.5, 5)])
def test_another_scale_changes_only_the_numbers(scale: tuple[float, float], small: Ratings) -> None:
    """Ratings moved and stretched to another scale give predictions moved and stretched alike."""
    lo, hi = scale
    frame = small.to_frame().with_columns(
        rating=lo + (pl.col("rating").cast(pl.Float64) - 1) / 4 * (hi - lo)
    )
    stretched = Ratings.from_frame(frame, scale=scale)
    one, other = (Tally().fit(data, SPEC, seed=5) for data in (small, stretched))
    users, items = small.users.take(small.user), small.items.take(small.item)
    np.testing.assert_allclose(
        other.predict(users, items), lo + (one.predict(users, items) - 1) / 4 * (hi - lo), rtol=1e-4
    )  # fmt: skip


def test_tallies_over_a_grown_catalogue_keep_their_items(small: Ratings) -> None:
    old, new = catalogue(1, 5, 9).ids, catalogue(1, 4, 5, 9, 12).ids
    tallies = Tallies(np.array([1, 2, 3]), np.array([4, 5, 6]), np.full(3, 2.0))
    grown = tallies.over(old, new)
    assert grown.against.tolist() == [1, 0, 2, 3, 0]
    assert grown.noise_variance.tolist() == [2, 0, 2, 2, 0]
    assert (grown + grown).in_favour.tolist() == [8, 0, 10, 12, 0]
    with pytest.raises(ValueError, match="item 1 of the previous release is not in the catalogue"):
        tallies.over(old, catalogue(5, 9).ids)
    with pytest.raises(ValueError, match="different neighbours"):
        tallies + replace(tallies, shared_noise=True)
    del small


def test_public_features_are_encoded_by_public_rules() -> None:
    frame = pl.DataFrame(
        {
            "item": range(12),
            "title": [
                f"Silver Harbour {k}" if k < 3 else f"Film of {chr(97 + k)}" for k in range(12)
            ],
            "year": [2000 + k if k else None for k in range(12)],
            "genres": [["Drama", "War"] if k % 2 else ["Drama"] * (k > 0) for k in range(12)],
            "colour": [k % 3 > 0 for k in range(12)],
            "author": [f"author {k // 4}" for k in range(12)],
            "constant": [1] * 12,
        }
    )
    features = encode(Items.from_frame(frame), 12)
    assert set(features.numbers) == {"year"}
    assert features.numbers["year"][0] == pytest.approx(np.mean(range(2001, 2012)))
    flags = {"genres: Drama", "genres: War", "colour"}
    assert flags <= set(features.flags)
    assert features.flags["genres: War"].tolist() == [0, 1] * 6
    assert features.families[TITLE_FAMILY].tolist() == [0] * 3 + [-1] * 9
    by_author = encode(Items.from_frame(frame), 12, ("author",)).families["author"]
    assert by_author.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    with pytest.raises(ParameterError, match="no column 'series' to group items by"):
        encode(Items.from_frame(frame), 12, ("series",))


def test_genres_lower_the_error_and_families_hardly_cost_any(club: Any) -> None:
    """Measured over seeds: genres gain 0.008; families cost 0.0009 in a club without series."""
    from discreet.evaluate.crossval import cross_validate

    spec = PrivacySpec.groups()
    plain, genres, families = (
        cross_validate(scheme, club.ratings, spec, folds=3, clip=True)["rmse"].mean()
        for scheme in (Tally(), Tally(items=club.items, families=()), Tally(items=club.items))
    )
    assert genres < plain - 0.005
    assert families <= genres + 0.002


def test_weighing_beats_sampling_at_every_threshold(club: Any) -> None:
    from discreet.evaluate.crossval import cross_validate

    for t in (0.2, 0.4, 0.7, 1.0):
        weighed, sampled = (
            cross_validate(
                Tally(items=club.items, threshold=t, personalisation=how),
                club.ratings, PrivacySpec.groups(), folds=4, clip=True,
            )["rmse"].mean()
            for how in ("weigh", "sample")
        )  # fmt: skip
        assert weighed <= sampled


def test_a_record_of_another_kind_of_item_changes_nothing_else(tmp_path: Any) -> None:
    """One odd id in a text file must not change how the others are read."""
    from discreet.readers.tables import read_items, read_ratings

    rows = [f"{u},{i},{1 + (u + i) % 5},0.5" for u in range(20) for i in range(5)]
    (tmp_path / "items.csv").write_text("item\n" + "\n".join(map(str, range(5))))
    items = read_items(tmp_path / "items.csv")
    released = []
    for name, extra in (("a", []), ("b", ["77,x9,5,0.01"]), ("c", ["ann,x9,5,0.01"])):
        path = tmp_path / f"{name}.csv"
        path.write_text("\n".join(["user,item,rating,epsilon", *rows, *extra]))
        released.append(Tally(items=items).fit(read_ratings(path), SPEC, seed=1).release.tallies)
    for tallies in released[1:]:
        assert (tallies.in_favour == released[0].in_favour).all()
    as_integers = Ratings.from_frame(
        pl.read_csv(tmp_path / "a.csv")  # the same ids as numbers: the same items
    )
    whole = Tally(items=items).fit(as_integers, SPEC, seed=1).release.tallies
    assert whole is not None
    assert (whole.in_favour == released[0].in_favour).all()


def added_one_by_one(true: list[Any], scale: float, seed: int) -> Tallies:
    """Tallies of several publications whose true votes are these, each with noise of its own."""
    rng, released = np.random.default_rng(seed), uncounted(true[0].shape[1])
    for number, votes in enumerate(true):
        noisy = np.rint((votes + rng.laplace(0, scale, votes.shape)) * ONE_VOTE).astype(np.int64)
        batch = Tallies(*noisy, np.full(len(votes[0]), 2 * scale**2))
        history = History(release=number + 1, generation="tests")
        state = LedgerState(Spends.none(0), released if number else None, history, number)
        released = replace(released, tallies=added_up(batch, state, released.item_ids))
    assert released.tallies is not None
    return released.tallies


def uncounted(items: int) -> Release:
    """A release of so many items, without tallies."""
    catalogue = Items.from_frame(pl.DataFrame({"item": range(100, 100 + items)}))
    release = Tally(items=catalogue).fit(random_ratings(4, 3, 9, seed=1), SPEC).release
    return replace(release, tallies=None)


def told(tallies: Tallies, true: Any) -> float:
    """How well counts follow the true ones."""
    return float(np.corrcoef(tallies.counts, true.sum(axis=0))[0, 1])


@pytest.mark.parametrize("seed", range(3))
def test_batches_that_are_noise_one_by_one_still_add_up(seed: int) -> None:
    """Of what forty batches say together nothing is lost, as with one that is as noisy as all."""
    popular = np.geomspace(4000, 4, 300)
    votes = np.stack([popular / 2, popular / 2])
    small = [votes / 40] * 40
    at_once = added_one_by_one([votes], 50.0 * np.sqrt(40), seed)
    assert told(added_one_by_one(small, 50.0, seed), votes) > 0.85 * told(at_once, votes)


@pytest.mark.parametrize("seed", range(3))
def test_batches_in_which_nothing_is_new_blur_nothing(seed: int) -> None:
    popular = np.geomspace(4000, 4, 300)
    votes = np.stack([popular / 2, popular / 2])
    alone = added_one_by_one([votes], 20.0, seed)
    later = added_one_by_one([votes] + [np.zeros_like(votes)] * 40, 20.0, seed)
    assert later.count_variance.mean() < 1.01 * alone.count_variance.mean()
    assert told(later, votes) > 0.999 * told(alone, votes)


@pytest.mark.parametrize("seed", range(3))
def test_noise_that_is_like_what_was_released_does_not_grow(seed: int) -> None:
    """A few items, and publications for years in which nothing is new."""
    votes = np.stack([np.geomspace(16, 1, 30)] * 2)
    first = added_one_by_one([votes], 2.0, seed)
    later = added_one_by_one([votes] + [np.zeros_like(votes)] * 1000, 2.0, seed)
    assert 0.7 < later.counts.sum() / first.counts.sum() < 1.4
    assert told(later, votes) > 0.9 * told(first, votes)
