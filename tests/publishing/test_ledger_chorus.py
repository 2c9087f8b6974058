"""The ledger with delta: Chorus over several publications, docs/proofs/incremental.md."""

from pathlib import Path

import numpy as np
import pytest

from discreet.data.ratings import Ratings
from discreet.errors import ParameterError
from discreet.privacy.noise import Randomness
from discreet.privacy.personalise import weigh
from discreet.privacy.spec import PrivacySpec
from discreet.publishing.file_ledger import FileLedger
from discreet.publishing.publish import publish
from discreet.readers.club import Club
from discreet.release.release import Release
from discreet.schemes.chorus.plan import CHOOSING
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.votes import count_votes
from tests.publishing.ledgers import ITEMS, no_noise, put

CHORUS = Chorus(items=ITEMS, delta=1e-4, factors=2, publications=4)


def test_chorus_spends_a_part_of_epsilon_and_delta_in_each_of_its_publications(
    ledger: FileLedger, small: Ratings
) -> None:
    levels = PrivacySpec.column().levels(small)
    for number in range(1, 7):
        certificate = put(ledger, small, CHORUS, seed=1).certificate
        spends, times = ledger.spends(small), min(number, 4)
        np.testing.assert_allclose(spends.epsilon, times / 4 * np.minimum(levels, 1.0))
        np.testing.assert_allclose(spends.delta, times / 4 * 1e-4)
    assert (spends.epsilon <= levels).all()
    assert certificate.delta == 1e-4
    assert certificate.parameters == {
        "purpose": "both", "choosing": CHOOSING, "publications": 4, "delta": 1e-4,
    }  # fmt: skip
    assert certificate.theorem.name == "incremental"


def test_a_rating_that_comes_later_has_its_own_publications(
    ledger: FileLedger, small: Ratings
) -> None:
    early = small.subset(small.user % 2 == 0)
    late = small.subset(small.user % 2 == 1)
    for _ in range(4):
        put(ledger, early, CHORUS, seed=1)
    put(ledger, small, CHORUS, seed=1)
    assert (ledger.spends(late).delta == 1e-4 / 4).all()
    np.testing.assert_allclose(ledger.spends(early).delta, 1e-4)


def test_tallies_alone_cost_no_delta(ledger: FileLedger, small: Ratings) -> None:
    put(ledger, small, Chorus(items=ITEMS, delta=1e-4, factors="auto"), seed=1)
    spends = ledger.spends(small)
    assert (spends.delta == 0).all()
    assert (spends.epsilon > 0).all()


def test_votes_of_all_publications_together_weigh_what_one_would(
    ledger: FileLedger, small: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_noise(monkeypatch)
    for _ in range(5):
        tallies = put(ledger, small, CHORUS, seed=1).tallies
    whole = count_votes(small.with_items(ITEMS.ids), weigh(PrivacySpec.column().levels(small), 1.0))
    assert tallies is not None
    np.testing.assert_allclose(tallies.against, whole[0], atol=5 * len(small))
    assert ((tallies.against + tallies.in_favour) <= sum(whole)).all()


@pytest.mark.parametrize("factors", [0, 2, "auto"])
@pytest.mark.parametrize(
    ("n", "t", "level"), [(1, 1.0, 4.0), (4, 0.5, 4.0), (8, 1.0, 4.0), (3, 4.0, 4.0)]
)
def test_the_ledger_shows_no_less_than_counts_and_tallies_cost(
    factors: int | str, n: int, t: float, level: float, small: Ratings, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """What one record adds to every noisy sum, over the noise's scale: the loss it really has."""
    one = small.subset(np.arange(len(small)) == 7)
    ledger, spec = FileLedger(tmp_path / "l.db"), PrivacySpec.uniform(level)
    spent = []
    plain = Randomness.add_laplace

    def add_laplace(self: Randomness, sums: np.ndarray, scale: float, **more: int | None) -> object:
        spent.append(np.abs(sums).sum() / scale)
        return plain(self, sums, scale, **more)

    monkeypatch.setattr(Randomness, "add_laplace", add_laplace)
    scheme = Chorus(items=ITEMS, delta=1e-4, threshold=t, publications=n, factors=factors)
    for _ in range(3 * n + 4):
        publish(scheme, one, spec, out=tmp_path / "r", ledger=ledger, seed=1)
    shown = float(ledger.spends(one).epsilon[0])
    assert sum(spent) <= shown * (1 + 1e-9) <= level * (1 + 1e-9)
    assert sum(spent) > 0


def test_a_small_batch_does_not_push_good_directions_out(tmp_path: Path, club: Club) -> None:
    scheme = Chorus(items=club.items, delta=1e-6, factors=4)
    spec, ledger = PrivacySpec.uniform(4.0), FileLedger(tmp_path / "l.db")
    early = club.ratings.subset(club.ratings.user >= 40)

    def go(ratings: Ratings) -> Release:
        out = tmp_path / "r"
        return publish(scheme, ratings, spec, out=out, ledger=ledger, seed=1).release

    first, second = go(early), go(club.ratings)
    columns = [k for k, name in enumerate(first.factor_names) if name.startswith("factor")]
    before, after = first.item_factors[:, columns], second.item_factors[:, columns]
    for one, other in zip(before.T, after.T, strict=True):
        assert abs(np.corrcoef(one, other)[0, 1]) > 0.999


def test_a_tally_after_a_chorus_keeps_its_delta(ledger: FileLedger, small: Ratings) -> None:
    put(ledger, small, CHORUS, seed=1)
    assert put(ledger, small).certificate.delta == 1e-4


def test_parts_of_a_lifetime_need_a_ledger(small: Ratings) -> None:
    with pytest.raises(ParameterError, match="goes with a ledger"):
        CHORUS.fit(small, seed=1)
