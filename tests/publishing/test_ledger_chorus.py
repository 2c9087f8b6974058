"""The ledger with delta: Chorus over several publications, docs/proofs/incremental.md."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from discreet.data.ratings import Ratings
from discreet.errors import LedgerError, ParameterError
from discreet.privacy.accounting import gaussian_mu
from discreet.privacy.lifetime import Spends
from discreet.privacy.noise import Randomness
from discreet.privacy.personalise import weigh
from discreet.privacy.purses import PURE_SHARE, told
from discreet.privacy.spec import PrivacySpec
from discreet.publishing.file_ledger import FileLedger
from discreet.publishing.publish import publish
from discreet.readers.club import Club
from discreet.release.release import Release
from discreet.schemes.chorus import plan
from discreet.schemes.chorus.budget import Budget
from discreet.schemes.chorus.plan import CHOOSING
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.votes import count_votes
from tests.publishing.ledgers import ITEMS, no_noise, put

REST = 1 - PURE_SHARE
"""Of every level: the Gaussian purse's."""

CHORUS = Chorus(items=ITEMS, delta=1e-4, factors=2, publications=4)


def test_chorus_spends_a_part_of_two_purses_in_each_of_its_publications(
    ledger: FileLedger, small: Ratings
) -> None:
    levels = PrivacySpec.column().levels(small)
    life = [gaussian_mu(REST * level, 1e-4) ** 2 for level in levels]
    for number in range(1, 7):
        certificate = put(ledger, small, CHORUS, seed=1).certificate
        spends, times = ledger.spends(small), min(number, 4)
        np.testing.assert_allclose(spends.pure, PURE_SHARE * levels)
        np.testing.assert_allclose(spends.mu2, times / 4 * np.array(life), rtol=0.02)
        assert (spends.mu2 <= life).all()
        assert (spends.epsilon == 0).all()
    assert ledger.share == PURE_SHARE
    assert ledger.summary()["largest_mu"] == pytest.approx(gaussian_mu(REST, 1e-4), rel=1e-3)
    assert certificate.delta == 1e-4
    assert certificate.parameters == {
        "purpose": "both", "choosing": CHOOSING, "publications": 4, "delta": 1e-4,
        "pure_share": PURE_SHARE,
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
    levels = PrivacySpec.column().levels
    life = [gaussian_mu(REST * level, 1e-4) ** 2 for level in levels(late)]
    np.testing.assert_allclose(ledger.spends(late).mu2, np.array(life) / 4, rtol=0.02)
    for some in (early, late):
        np.testing.assert_allclose(ledger.spends(some).pure, PURE_SHARE * levels(some))


def test_the_number_of_publications_may_change_and_the_pure_share_may_not(
    ledger: FileLedger, small: Ratings
) -> None:
    put(ledger, small, CHORUS, seed=1)
    put(ledger, small, replace(CHORUS, publications=2), seed=1)
    life = [gaussian_mu(REST * level, 1e-4) ** 2 for level in PrivacySpec.column().levels(small)]
    np.testing.assert_allclose(ledger.spends(small).mu2, 3 / 4 * np.array(life), rtol=0.02)
    with pytest.raises(LedgerError, match="for its whole life"):
        put(ledger, small, replace(CHORUS, pure_share=0.5), seed=1)


def test_tally_on_a_divided_ledger_spends_the_pure_purse_alone(
    ledger: FileLedger, small: Ratings
) -> None:
    half = small.subset(small.user % 2 == 0)
    put(ledger, half, CHORUS, seed=1)
    before = ledger.spends(half).mu2
    assert put(ledger, small, seed=1).certificate.parameters == {"pure_share": PURE_SHARE}
    spends, levels = ledger.spends(small), PrivacySpec.column().levels(small)
    np.testing.assert_allclose(spends.pure, PURE_SHARE * levels)
    assert (spends.epsilon == 0).all()
    assert (ledger.spends(half).mu2 == before).all()


def test_what_tally_has_spent_is_missing_in_both_purses(ledger: FileLedger, small: Ratings) -> None:
    put(ledger, small.subset(small.user < 20), seed=1)
    put(ledger, small, CHORUS, seed=1)
    spends = ledger.spends(small)
    counted = spends.epsilon > 0
    assert counted.any()
    assert (spends.pure[counted] < 1e-5).all()
    assert (spends.pure[~counted] > 0).all()
    assert (told(Spends(*(column[:1] for column in spends)), 1e-4).epsilon) <= 1


def test_tallies_alone_cost_no_delta(ledger: FileLedger, small: Ratings) -> None:
    put(ledger, small, Chorus(items=ITEMS, delta=1e-4, factors="auto"), seed=1)
    spends = ledger.spends(small)
    assert (spends.delta == 0).all()
    assert (spends.epsilon > 0).all()
    assert ledger.share is None  # counted once: nothing has to be divided


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
    spends = ledger.spends(one)
    shown = float(spends.epsilon[0] + spends.pure[0])
    assert sum(spent) <= shown * (1 + 1e-9) <= level * (1 + 1e-9)
    assert sum(spent) > 0


@pytest.mark.parametrize("pay", [False, True])
@pytest.mark.parametrize("n", [2, 5])
def test_the_ledger_shows_no_less_than_rounds_and_sums_over_people_cost(
    pay: bool, n: int, small: Ratings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`auto`, where rounds pay and where they do not: the square of what one record moves."""
    one = small.subset(np.arange(len(small)) == 7)
    ledger, spec = FileLedger(tmp_path / "l.db"), PrivacySpec.uniform(1.0)
    spent, asked, ask = [], [], plan._people_are_active
    plain = Randomness.add_gaussian

    def add_gaussian(
        self: Randomness, sums: np.ndarray, scale: float, **more: int | None
    ) -> object:
        spent.append(float((sums.astype(float) ** 2).sum()) / scale**2)
        return plain(self, sums, scale, **more)

    def answered(budget: Budget, share: float) -> bool:
        ask(budget, share)
        asked.append(spent[-1])
        return pay

    monkeypatch.setattr(Randomness, "add_gaussian", add_gaussian)
    monkeypatch.setattr(plan, "_people_are_active", answered)
    monkeypatch.setattr(plan, "signal", lambda *_: 100.0)
    scheme = Chorus(items=ITEMS, delta=1e-4, publications=n)
    before = 0.0
    for number in range(n + 2):
        publish(scheme, one, spec, out=tmp_path / "r", ledger=ledger, seed=1)
        shown = float(ledger.spends(one).mu2[0])
        assert sum(spent) <= shown
        if not pay:  # what was asked is all that is paid, nearly to the last digit
            assert sum(spent) == pytest.approx(shown, rel=1e-5)
        assert len(spent) > len(asked) or not pay
        assert (shown > before * (1 + 1e-9)) == (number < n or not pay)
        before = shown
    assert len(asked) == n + 2
    whole, part = gaussian_mu(REST, 1e-4) ** 2, plan.APART_ACTIVITY
    assert asked[0] == pytest.approx(part * whole / n, rel=1e-4)
    assert before <= whole * (1 if pay else (n + 2) / n * part) * (1 + 1e-9)


def test_a_small_batch_does_not_push_good_directions_out(tmp_path: Path, club: Club) -> None:
    scheme = Chorus(items=club.items, delta=1e-6, factors=4)
    spec, ledger = PrivacySpec.uniform(4.0), FileLedger(tmp_path / "l.db")
    early = club.ratings.subset(club.ratings.user >= 40)

    def go(ratings: Ratings) -> Release:
        out = tmp_path / "r"
        return publish(scheme, ratings, spec, out=out, ledger=ledger, seed=1).release

    first, second = go(early), go(club.ratings)
    columns = [k for k, name in enumerate(first.factor_names) if name.startswith("factor")]
    bases = [np.linalg.qr(r.item_factors[:, columns])[0] for r in (first, second)]
    # One person in fifty is new: what the others have shown is still there.
    assert np.linalg.svd(bases[0].T @ bases[1])[1][0] > 0.9
    assert second.liking_sums is not None
    assert first.liking_sums is not None
    assert (second.liking_sums.information >= first.liking_sums.information).all()


def test_a_club_that_is_published_again_is_told_the_same(tmp_path: Path, club: Club) -> None:
    """Undivided: nobody has anything left, so tallies and rounds are noise, and pass for it."""
    scheme, told = Chorus(items=club.items, delta=1e-6), []
    for seed in range(3):
        model = publish(
            scheme, club.ratings, PrivacySpec.uniform(1.0),
            out=tmp_path / "r", ledger=tmp_path / "l.db", seed=seed,
        )  # fmt: skip
        told.append(model.predict_ratings(club.ratings))
    for later in told[1:]:
        assert np.sqrt(((later - told[0]) ** 2).mean()) < 0.01


def test_a_tally_after_a_chorus_keeps_its_delta(ledger: FileLedger, small: Ratings) -> None:
    put(ledger, small, CHORUS, seed=1)
    assert put(ledger, small).certificate.delta == 1e-4


def test_parts_of_a_lifetime_need_a_ledger(small: Ratings) -> None:
    with pytest.raises(ParameterError, match="goes with a ledger"):
        CHORUS.fit(small, seed=1)
