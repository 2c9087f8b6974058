"""The ledger with delta: Chorus over several publications, docs/proofs/incremental.md."""

from pathlib import Path

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.io.club import Club
from discreet.privacy.ledger import Ledger
from discreet.privacy.personalise import weigh
from discreet.privacy.spec import PrivacySpec
from discreet.ratings import Ratings
from discreet.release import Release
from discreet.schemes.chorus import Chorus
from discreet.schemes.publish import publish
from discreet.schemes.tally import count_votes
from tests.privacy.ledgers import ITEMS, no_noise, put

CHORUS = Chorus(items=ITEMS, delta=1e-4, factors=2, publications=4)


def test_chorus_spends_a_part_of_epsilon_and_delta_in_each_of_its_publications(
    ledger: Ledger, small: Ratings
) -> None:
    levels = PrivacySpec.column().levels(small)
    for number in range(1, 7):
        certificate = put(ledger, small, CHORUS, seed=1).certificate
        spends, times = ledger.spends(small), min(number, 4)
        np.testing.assert_allclose(spends.epsilon, times / 4 * np.minimum(levels, 1.0))
        np.testing.assert_allclose(spends.delta, times / 4 * 1e-4)
    assert (spends.epsilon <= levels).all()
    assert certificate.delta == 1e-4
    assert certificate.parameters == {"publications": 4}
    assert certificate.theorem == "docs/proofs/incremental.md#theorem"


def test_a_rating_that_comes_later_has_its_own_publications(ledger: Ledger, small: Ratings) -> None:
    early = small.subset(small.user % 2 == 0)
    late = small.subset(small.user % 2 == 1)
    for _ in range(4):
        put(ledger, early, CHORUS, seed=1)
    put(ledger, small, CHORUS, seed=1)
    assert (ledger.spends(late).delta == 1e-4 / 4).all()
    np.testing.assert_allclose(ledger.spends(early).delta, 1e-4)


def test_tallies_alone_cost_no_delta(ledger: Ledger, small: Ratings) -> None:
    put(ledger, small, Chorus(items=ITEMS, delta=1e-4, factors="auto"), seed=1)
    spends = ledger.spends(small)
    assert (spends.delta == 0).all()
    assert (spends.epsilon > 0).all()


def test_votes_of_all_publications_together_weigh_what_one_would(
    ledger: Ledger, small: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_noise(monkeypatch)
    for _ in range(5):
        tallies = put(ledger, small, CHORUS, seed=1).tallies
    whole = count_votes(small.with_items(ITEMS.ids), weigh(PrivacySpec.column().levels(small), 1.0))
    assert tallies is not None
    np.testing.assert_allclose(tallies.against, whole[0], atol=5 * len(small))
    assert ((tallies.against + tallies.in_favour) <= sum(whole)).all()


def test_a_small_batch_does_not_push_good_directions_out(tmp_path: Path, club: Club) -> None:
    scheme = Chorus(items=club.items, delta=1e-6, factors=4)
    spec, ledger = PrivacySpec.uniform(4.0), Ledger(tmp_path / "l.db")
    early = club.ratings.subset(club.ratings.user >= 40)

    def go(ratings: Ratings) -> Release:
        out = tmp_path / "r"
        return publish(scheme, ratings, spec, out=out, ledger=ledger, seed=1).release

    first, second = go(early), go(club.ratings)
    columns = [k for k, name in enumerate(first.factor_names) if name.startswith("factor")]
    before, after = first.item_factors[:, columns], second.item_factors[:, columns]
    for one, other in zip(before.T, after.T, strict=True):
        assert abs(np.corrcoef(one, other)[0, 1]) > 0.999


def test_a_tally_after_a_chorus_keeps_its_delta(ledger: Ledger, small: Ratings) -> None:
    put(ledger, small, CHORUS, seed=1)
    assert put(ledger, small).certificate.delta == 1e-4


def test_parts_of_a_lifetime_need_a_ledger(small: Ratings) -> None:
    with pytest.raises(ParameterError, match="goes with a ledger"):
        CHORUS.fit(small, seed=1)
