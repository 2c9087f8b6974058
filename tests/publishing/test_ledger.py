"""The ledger: docs/proofs/incremental.md, exercised, also against kill -9 and two publishers."""

import stat
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.errors import LedgerError, OutputError, ParameterError
from discreet.privacy.lifetime import Costs
from discreet.privacy.noise import Randomness
from discreet.privacy.personalise import weigh
from discreet.privacy.provenance import Neighbours
from discreet.privacy.spec import PrivacySpec
from discreet.publishing.file_ledger import VISIBLE, FileLedger
from discreet.publishing.publish import publish
from discreet.release.tallies import ONE_VOTE
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.pmf.pmf import PMF
from discreet.schemes.tally import Tally
from discreet.schemes.votes import count_votes
from tests.conftest import random_ratings
from tests.publishing.ledgers import ITEMS, TALLY, no_noise, put


def table(*rows: tuple[str, int, float, float]) -> Ratings:
    columns = ("user", "item", "rating", "epsilon")
    return Ratings.from_frame(pl.DataFrame(rows, schema=columns, orient="row"))


def test_a_ledger_is_readable_by_its_owner_alone(ledger: FileLedger, small: Ratings) -> None:
    put(ledger, small)
    for path in ledger.path.parent.glob("ledger.db*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    raw = ledger.path.read_bytes()
    assert b"u12" not in raw  # pairs are named by keyed hashes alone


def test_a_new_release_adds_the_votes_of_new_ratings_only(
    ledger: FileLedger, small: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_noise(monkeypatch)
    early = small.subset(np.arange(len(small)) % 2 == 0)
    first, second = put(ledger, early), put(ledger, small)
    levels = PrivacySpec.column().levels(small)
    expected = count_votes(small.with_items(ITEMS.ids), weigh(levels, 1.0))
    assert first.tallies is not None
    assert second.tallies is not None
    assert (second.tallies.against == expected[0]).all()
    assert (second.tallies.in_favour == expected[1]).all()
    # Two batches of noise, whether or not an item had new ratings.
    np.testing.assert_allclose(second.tallies.noise_variance, 2 * first.tallies.noise_variance)
    np.testing.assert_allclose(ledger.spends(small).epsilon, levels, atol=2 / ONE_VOTE)
    assert (ledger.spends(small).epsilon <= levels).all()


@pytest.mark.parametrize("scheme", [TALLY, Chorus(items=ITEMS, delta=1e-4, factors=0)])
def test_publishing_the_same_again_does_not_blur_what_was_told(
    scheme: Tally | Chorus, ledger: FileLedger, small: Ratings
) -> None:
    """incremental.md#what-is-kept: of six publications one has votes, and five are noise."""
    first = put(ledger, small, scheme)
    for _ in range(5):
        last = put(ledger, small, scheme)
    assert first.tallies is not None
    assert last.tallies is not None
    assert (last.tallies.noise_variance < 1.5 * first.tallies.noise_variance).all()


def test_a_batch_of_votes_is_added_nearly_whole(
    ledger: FileLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Randomness, "add_laplace", lambda _s, sums, _scale, **_: sums)
    many = random_ratings(2000, 30, 20_000, seed=4)
    put(ledger, many.subset(many.user % 2 == 0))
    release = put(ledger, many)
    whole = count_votes(
        many.with_items(ITEMS.ids), weigh(PrivacySpec.column().levels(many), 1.0)
    ).sum()
    assert release.tallies is not None
    found = (release.tallies.against + release.tallies.in_favour).sum()
    assert 0.99 * whole < found <= whole


def test_an_item_that_is_new_takes_all_of_a_batch(ledger: FileLedger, small: Ratings) -> None:
    """Else it would pass for one that nobody rated, for certain."""
    few = Tally(items=Items.from_frame(ITEMS.frame[:20]))
    first = put(ledger, small.subset(small.item < 20), few)
    second = put(ledger, small.subset(small.item < 20))
    assert first.tallies is not None
    assert second.tallies is not None
    noise = second.tallies.noise_variance
    np.testing.assert_allclose(noise[20:], first.tallies.noise_variance[0])
    assert (noise[:20] < 1.5 * noise[-1]).all()


def test_nothing_is_counted_twice_however_often_it_is_published(
    ledger: FileLedger, small: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_noise(monkeypatch)
    first = put(ledger, small)
    for _ in range(3):
        again = put(ledger, small)
    assert first.tallies is not None
    assert again.tallies is not None
    assert (again.tallies.in_favour == first.tallies.in_favour).all()
    assert (ledger.spends(small).epsilon <= PrivacySpec.column().levels(small)).all()
    assert [r.state for r in ledger.releases()] == [VISIBLE] * 4


def test_a_level_above_t_still_votes_once(
    ledger: FileLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_noise(monkeypatch)
    ratings = table(("a", 101, 5, 0.9))
    scheme = Tally(items=ITEMS, threshold=0.3)
    for _ in range(3):
        release = put(ledger, ratings, scheme)
    assert release.tallies is not None
    assert release.tallies.in_favour.sum() == ONE_VOTE
    assert ledger.spends(ratings).epsilon[0] == pytest.approx(0.3)


def test_a_changed_rating_has_only_what_its_pair_has_left(
    ledger: FileLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_noise(monkeypatch)
    put(ledger, table(("a", 101, 5, 0.2)))
    changed = put(ledger, table(("a", 101, 1, 0.2)))  # nothing is left: weight zero
    assert changed.tallies is not None
    assert changed.tallies.against.sum() == 0
    raised = put(ledger, table(("a", 101, 1, 0.5)))  # the person allows 0.3 more
    assert raised.tallies is not None
    assert raised.tallies.against.sum() / ONE_VOTE == pytest.approx(0.3, abs=1e-5)
    lowered = put(ledger, table(("a", 101, 1, 0.1)))
    assert lowered.tallies is not None
    assert (lowered.tallies.against == raised.tallies.against).all()
    assert ledger.spends(table(("a", 101, 1, 0.5))).epsilon[0] <= 0.5


def test_deleting_a_rating_gives_no_budget_back(ledger: FileLedger) -> None:
    ratings = table(("a", 101, 5, 0.2), ("b", 101, 5, 0.2))
    put(ledger, ratings)
    put(ledger, table(("b", 101, 5, 0.2)))
    assert not ledger.spends(ratings).raised(np.full(2, 0.2)).any()


def test_the_catalogue_may_grow_and_not_shrink(ledger: FileLedger, small: Ratings) -> None:
    first = put(ledger, small)
    more = Items.from_frame(pl.DataFrame({"item": range(95, 140)}))
    second = put(ledger, small, Tally(items=more))
    assert first.tallies is not None
    assert second.tallies is not None
    assert len(second.item_ids) == 45
    noise = second.tallies.noise_variance
    # Nothing is new of the old items; the new ones have the noise of one batch.
    assert (noise[5:35] < 1.5 * first.tallies.noise_variance).all()
    np.testing.assert_allclose(noise[:5], first.tallies.noise_variance[:5])
    with pytest.raises(ValueError, match="not in the catalogue any more"):
        put(ledger, small)


def test_sampling_spends_the_same_whether_a_record_is_kept_or_not(
    ledger: FileLedger, small: Ratings
) -> None:
    put(ledger, small, Tally(items=ITEMS, personalisation="sample"))
    np.testing.assert_allclose(ledger.spends(small).epsilon, PrivacySpec.column().levels(small))


def test_the_certificate_speaks_of_all_releases_together(
    ledger: FileLedger, small: Ratings
) -> None:
    certificate = put(ledger, small).certificate
    assert "all releases that share the ledger" in certificate.statement
    assert certificate.status == "proven"


def test_a_certificate_promises_no_more_than_the_releases_it_adds_to(
    ledger: FileLedger, small: Ratings
) -> None:
    first = put(ledger, small, seed=1).certificate
    assert first.entropy == "seeded: protects nobody"
    second = put(ledger, small).certificate
    assert second.entropy == first.entropy
    assert second.statement.startswith("This run was seeded")


def test_a_missing_catalogue_and_coins_stay_in_later_certificates(
    ledger: FileLedger, small: Ratings
) -> None:
    put(ledger, small, Tally(personalisation="sample"))
    later = put(ledger, small).certificate
    assert later.status == "conditional"
    assert any("SHA-256" in text for text in later.assumptions)
    assert any("list of rated items is public" in text for text in later.assumptions)


def test_a_staged_release_is_its_owner_s_alone_until_it_is_paid_for(
    ledger: FileLedger, small: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes = []

    def record(self: FileLedger, *_: object) -> None:
        staged = self.path.parent.glob(".release.staged-*")
        modes.extend(stat.S_IMODE(folder.stat().st_mode) for folder in staged)
        raise KeyboardInterrupt

    monkeypatch.setattr(FileLedger, "record", record)
    with pytest.raises(KeyboardInterrupt):
        put(ledger, small)
    assert modes == [0o700]
    monkeypatch.undo()
    put(ledger, small)
    assert not list(ledger.path.parent.glob(".release.staged-*"))
    out = ledger.path.parent / "release"
    assert stat.S_IMODE(out.stat().st_mode) == 0o755


def test_leftovers_of_others_are_left_alone(ledger: FileLedger, small: Ratings) -> None:
    other = ledger.path.parent / ".release.staged-abcd1234"
    other.mkdir()
    (other / "thesis.txt").write_text("years of work")
    put(ledger, small)
    assert (other / "thesis.txt").exists()


def test_a_ledger_by_another_name_is_the_same_ledger(ledger: FileLedger, small: Ratings) -> None:
    alias = ledger.path.with_name("alias.db")
    alias.symlink_to(ledger.path)
    assert FileLedger(alias).path == ledger.path
    put(ledger, small)
    late = ledger.releases()[-1]  # a second publisher that computed its budgets too early
    costs = Costs.of(np.ones(len(small)), epsilon=np.ones(len(small)))
    with pytest.raises(LedgerError, match=r"has published .* in the meantime"):
        FileLedger(alias).record(small, costs, late)
    assert (ledger.spends(small).epsilon <= PrivacySpec.column().levels(small)).all()


def test_a_restored_old_ledger_is_recognised(ledger: FileLedger, small: Ratings) -> None:
    put(ledger, small.subset(small.user < 20))
    backup = ledger.path.read_bytes()
    put(ledger, small)
    ledger.path.write_bytes(backup)
    with pytest.raises(LedgerError, match="restored from an older copy"):
        put(FileLedger(ledger.path), small)


def test_a_release_of_a_ledger_is_not_overwritten_by_a_plain_one(
    ledger: FileLedger, small: Ratings
) -> None:
    put(ledger, small)
    out = ledger.path.parent / "release"
    with pytest.raises(OutputError, match="was published with a ledger"):
        TALLY.fit(small).release.save(out)
    put(ledger, small)


def test_a_ledger_in_the_public_folder_is_refused(tmp_path: Path, small: Ratings) -> None:
    (tmp_path / "release").mkdir()
    inside = FileLedger(tmp_path / "release" / "l.db")
    with pytest.raises(LedgerError, match="lies in the release folder"):
        publish(TALLY, small, None, out=tmp_path / "release", ledger=inside)
    with pytest.raises(ParameterError, match="the ledger goes with Tally and Chorus: got PMF"):
        publish(PMF(), small, None, out=tmp_path / "r", ledger=tmp_path / "l.db")  # type: ignore[arg-type]


def test_another_scale_cannot_be_added(ledger: FileLedger, small: Ratings) -> None:
    put(ledger, small)
    wider = Ratings.from_frame(small.to_frame(), scale=(0, 10))
    with pytest.raises(LedgerError, match="different scales"):
        put(ledger, wider)


def test_what_does_not_belong_together_is_refused(
    ledger: FileLedger, small: Ratings, tmp_path: Path
) -> None:
    with pytest.raises(ParameterError, match="add/remove neighbours and unit"):
        put(ledger, small, Tally(items=ITEMS, neighbours=Neighbours.REPLACE))
    TALLY.fit(small, seed=1).release.save(tmp_path / "release")
    with pytest.raises(LedgerError, match="knows nothing of"):
        put(ledger, small)
    other = FileLedger(tmp_path / "other.db")
    publish(TALLY, small, None, out=tmp_path / "one", ledger=other)
    with pytest.raises(LedgerError, match="does not hold the latest release"):
        publish(TALLY, small, None, out=tmp_path / "two", ledger=other)


def test_a_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("not a database at all, but quite long enough to be looked at")
    with pytest.raises(LedgerError, match="is not a ledger"):
        FileLedger(tmp_path / "x.db")
    with pytest.raises(LedgerError, match="no ledger"):
        FileLedger(tmp_path / "y.db", create=False)
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerError, match="cannot create the ledger"):
        FileLedger(tmp_path / "file" / "z.db")


def test_two_publishers_cannot_both_hold_the_lock(ledger: FileLedger) -> None:
    with (
        ledger.publishing(),
        pytest.raises(LedgerError, match="another process is publishing"),
        FileLedger(ledger.path).publishing(wait=0.1),
    ):
        pass
    with ledger.publishing(wait=0.1):
        pass
