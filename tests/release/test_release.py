import json
import os
import shutil
import signal
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.errors import DataError, DiscreetError, OutputError, ReleaseError
from discreet.privacy.spec import PrivacySpec
from discreet.readers.club import Club
from discreet.release.release import Release
from discreet.schemes.bias import Bias
from discreet.schemes.pmf.pdp import PDPPMF
from discreet.schemes.pmf.pmf import PMF
from tests.processes import Ready, doomed
from tests.release.digests import digest_of


@pytest.fixture(scope="module")
def release(club: Club) -> Release:
    return PMF(factors=4, sweeps=2, items=club.items).fit(club.ratings, seed=1).release


@pytest.fixture(scope="module")
def saved(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release.save(tmp_path_factory.mktemp("saved") / "release")


def test_a_release_comes_back_as_it_was_saved(release: Release, saved: Path) -> None:
    loaded = Release.load(saved)
    for name in ("item_effects", "item_factors"):
        assert (getattr(loaded, name) == getattr(release, name)).all()
        assert getattr(loaded, name).dtype == getattr(release, name).dtype
    assert loaded.items.frame.equals(release.items.frame)
    assert (loaded.scale, loaded.mean, loaded.fold_in) == (
        release.scale, release.mean, release.fold_in,
    )  # fmt: skip
    mine = ["film-0001", "film-0007"], [5, 1]
    assert loaded.recommend(*mine).equals(release.recommend(*mine))
    assert loaded.certificate.with_digest("") == release.certificate


def test_what_was_vouched_for_comes_back_with_the_release(small: Ratings, tmp_path: Path) -> None:
    frame = small.items.values.to_frame("item").with_columns(votes=1.0, num_ratings=2.0)
    items = Items.from_frame(frame, public_columns=["votes"])
    Bias(items=items).fit(small).release.save(tmp_path / "r")
    loaded = Release.load(tmp_path / "r").items
    assert loaded.frame.columns == ["item", "votes"]
    assert loaded.vouched == ("votes",)


def test_only_three_files_are_written_and_none_names_a_user(saved: Path) -> None:
    assert sorted(p.name for p in saved.iterdir()) == [
        "certificate.json", "items.arrow", "model.json",
    ]  # fmt: skip
    for path in saved.iterdir():
        assert b"member-" not in path.read_bytes()


def test_saving_again_replaces_the_old_release_whole(small: Ratings, tmp_path: Path) -> None:
    folder = tmp_path / "r"
    first, second = (PMF(factors=d).fit(small, seed=1).release for d in (2, 3))
    first.save(folder)
    second.save(folder)
    assert Release.load(folder).item_factors.shape[1] == 3
    assert [p.name for p in tmp_path.iterdir()] == ["r"]


def test_a_folder_with_other_things_is_left_alone(small: Ratings, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(OutputError, match="holds other things than a release"):
        Bias().fit(small).release.save(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]
    with pytest.raises(OutputError, match="holds other things than a release"):
        Bias().fit(small).release.save(tmp_path / "thesis.txt")


def test_a_link_stays_a_link(small: Ratings, tmp_path: Path) -> None:
    (tmp_path / "served").symlink_to(tmp_path / "real")
    PMF(factors=2).fit(small, seed=1).release.save(tmp_path / "real")
    PMF(factors=3).fit(small, seed=1).release.save(tmp_path / "served")
    assert (tmp_path / "served").is_symlink()
    assert Release.load(tmp_path / "real").item_factors.shape[1] == 3


def test_an_unwritable_place_is_named(small: Ratings, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match=r"cannot write the release to .*file/r"):
        Bias().fit(small).release.save(tmp_path / "file" / "r")


def test_a_failed_write_leaves_the_old_release_whole(
    small: Ratings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "r"
    PMF(factors=2).fit(small, seed=1).release.save(folder)
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OutputError, match="disk full"):
        PMF(factors=3).fit(small, seed=1).release.save(folder)
    monkeypatch.undo()
    assert Release.load(folder).item_factors.shape[1] == 2
    assert [p.name for p in tmp_path.iterdir()] == ["r"]


def save_in_turn(ready: Ready, folder: Path, releases: list[Path]) -> None:
    both = [Release.load(path) for path in releases]
    both[0].save(folder)
    ready.send("the first is whole")
    while True:
        for release in both:
            release.save(folder)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no kill -9")
def test_a_killed_writer_leaves_a_whole_release_at_every_moment(
    small: Ratings, tmp_path: Path
) -> None:
    """A process that saves two different releases in turn is killed at random moments."""
    both = [tmp_path / name for name in ("two", "three")]
    for factors, path in zip((2, 3), both, strict=True):
        PMF(factors=factors).fit(small, seed=1).release.save(path)
    rng, found = np.random.default_rng(0), set()
    for _ in range(12):
        with doomed(save_in_turn, tmp_path / "r", both):
            time.sleep(rng.uniform(0.02, 0.1))
        found.add(Release.load(tmp_path / "r").item_factors.shape[1])
    assert found <= {2, 3}


@pytest.mark.parametrize("name", ["items.arrow", "model.json", "certificate.json"])
def test_a_missing_truncated_or_changed_file_is_refused(
    name: str, saved: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "r"
    content = (saved / name).read_bytes()
    for damaged in (None, b"", content[: len(content) // 2], content[:-2] + b"xx"):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(saved, folder)
        if damaged is None:
            (folder / name).unlink()
        else:
            (folder / name).write_bytes(damaged)
        with pytest.raises(ReleaseError, match=str(folder)):
            Release.load(folder)


def test_a_certificate_cannot_be_embellished_unnoticed(saved: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(saved, tmp_path / "r")
    text = (folder / "certificate.json").read_text()
    embellished = text.replace('"status": "unproven"', '"status": "proven"')
    assert embellished != text
    (folder / "certificate.json").write_text(embellished)
    with pytest.raises(ReleaseError, match="do not match the certificate's digest"):
        Release.load(folder)


def rewrite(saved: Path, folder: Path, name: str, content: bytes) -> None:
    """A release with one file changed and the digest made to fit: the work of an adversary."""
    shutil.copytree(saved, folder)
    (folder / name).write_bytes(content)
    place = folder / "certificate.json"
    files = {n: (folder / n).read_bytes() for n in ("items.arrow", "model.json")}
    certificate = json.loads(place.read_text())
    certificate["digest"] = digest_of(place.read_text(), files)
    place.write_text(json.dumps(certificate))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 99}, "has format 99"),
        ({"mean": None}, "malformed"),
        ({"mean": float("nan")}, "must be finite"),
        ({"scale": [5, 1]}, "malformed"),
        ({"prior": [0.0]}, "prior"),
        ({"fold_in": {"ridge": -1, "ridge_per_rating": 0}}, "ridges"),
    ],
)
def test_a_model_file_that_makes_no_sense_is_refused(
    changes: dict[str, object], message: str, saved: Path, tmp_path: Path
) -> None:
    model = json.loads((saved / "model.json").read_text()) | changes
    rewrite(saved, tmp_path / "r", "model.json", json.dumps(model).encode())
    with pytest.raises(ReleaseError, match=message):
        Release.load(tmp_path / "r")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (pl.col("_effect") * float("nan"), "not finite"),
        (pl.lit("x").alias("_factors"), "no matrix"),
        (pl.lit("x").alias("item"), "twice"),
        (pl.col("item").reverse(), "canonical order"),
    ],
)
def test_an_item_file_that_makes_no_sense_is_refused(
    change: pl.Expr, message: str, saved: Path, tmp_path: Path
) -> None:
    table = pl.read_ipc(saved / "items.arrow").with_columns(change)
    table.write_ipc(tmp_path / "changed")
    rewrite(saved, tmp_path / "r", "items.arrow", (tmp_path / "changed").read_bytes())
    with pytest.raises(ReleaseError, match=message):
        Release.load(tmp_path / "r")


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(["items.arrow", "model.json", "certificate.json"]),
    changes=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=4),
    fitting=st.booleans(),
)
def test_bytes_changed_by_an_adversary_give_our_error_or_a_sound_release(
    name: str, changes: list[tuple[float, int]], fitting: bool, saved: Path, tmp_path: Path
) -> None:
    content = bytearray((saved / name).read_bytes())
    for place, byte in changes:
        content[int(place * (len(content) - 1))] = byte
    shutil.rmtree(tmp_path / "r", ignore_errors=True)
    try:
        if fitting and name != "certificate.json":
            rewrite(saved, tmp_path / "r", name, bytes(content))
        else:
            shutil.copytree(saved, tmp_path / "r")
            (tmp_path / "r" / name).write_bytes(content)
        loaded = Release.load(tmp_path / "r")
    except DiscreetError:
        return
    assert np.isfinite(loaded.item_factors).all()


def test_own_ratings_are_checked_by_name(release: Release) -> None:
    with pytest.raises(DataError, match=r"rating must be within the scale 1..5: got 9 for item"):
        release.recommend(["film-0001"], [9])
    with pytest.raises(DataError, match="rated twice"):
        release.recommend(["film-0001", "film-0001"], [4, 5])
    with pytest.raises(DataError, match="every item needs one rating"):
        release.recommend(["film-0001"], [4, 5])
    with pytest.raises(DataError, match="must be numbers"):
        release.recommend(["film-0001"], ["good"])
    with pytest.raises(DiscreetError, match="n must be a whole number >= 1"):
        release.recommend([], [], 0)


def test_an_item_outside_the_catalogue_is_passed_over(release: Release) -> None:
    alone = release.recommend(["film-0001"], [5])
    assert release.recommend(["film-0001", "unheard-of"], [5, 1]).equals(alone)
    predicted = release.predict(["film-0001"], [5], ["film-0002", "unheard-of"])
    assert np.isfinite(predicted).all()


def test_folding_in_approaches_what_training_knew(club: Club) -> None:
    """With weighted ALS, a trained member's fold-in predicts as well as the trained factors."""
    model = PMF(factors=8, lambda_u=0.1, lambda_v=0.1).fit(club.ratings, seed=1)
    own = club.ratings.subset(club.ratings.user == 5)
    items = own.items.take(own.item)
    trained = model.predict(["member-0006"] * len(own), items, clip=True)
    folded = model.release.predict(items, own.rating, items)
    assert np.sqrt(np.mean((trained - folded) ** 2)) < 0.2


def test_the_private_release_recommends_without_any_user_factor(club: Club, tmp_path: Path) -> None:
    model = PDPPMF(items=club.items, k1=5, k2=5).fit(club.ratings, PrivacySpec.groups(), seed=1)
    folder = model.release.save(tmp_path / "r")
    assert Release.load(folder).recommend([], []).height == 10
