import hashlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from discreet.errors import DataError, DataMissingError
from discreet.evaluate.baselines.ease import EASE
from discreet.evaluate.baselines.item_knn import ItemKNN
from discreet.evaluate.baselines.popularity import Popularity
from discreet.evaluate.judge import Judging, judge_lists
from discreet.evaluate.metrics import rmse
from discreet.evaluate.splits import Split, hold_out, leave_last_out
from discreet.privacy.spec import PrivacySpec
from discreet.readers import datasets
from discreet.readers.club import MEMBERS, RATINGS, Club, cinema_club
from discreet.readers.club_films import FILMS
from discreet.schemes.bias import Bias
from discreet.schemes.pmf.pmf import PMF
from discreet.schemes.tally import Tally

ARCHIVE = b"the official archive"


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    return tmp_path


@pytest.fixture
def server() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/good.zip" else 404)
            self.end_headers()
            self.wfile.write(ARCHIVE)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()
        thread.join()


def test_data_sets_are_found_as_tables_and_as_original_files(places: Path) -> None:
    folder = places / "data" / "ml-100k"
    folder.mkdir()
    assert datasets.find("ml-100k") is None
    (folder / "u.data").write_text("1\t10\t5\t881250949\n")
    assert datasets.find("ml-100k") == folder
    assert len(datasets.load_ratings("ml-100k")) == 1
    table = places / "data" / "netflix-10m.parquet"
    datasets.load_ratings("ml-100k").to_frame().write_parquet(table)
    assert datasets.find("netflix-10m") == table
    assert datasets.find_items("netflix-10m") is None
    datasets.load_items("club").frame.write_parquet(places / "data" / "netflix-items.parquet")
    assert datasets.find_items("netflix-10m") == places / "data" / "netflix-items.parquet"


def test_what_is_not_there_comes_with_a_remedy(places: Path) -> None:
    with pytest.raises(DataMissingError, match="discreet data get ml-1m"):
        datasets.load_ratings("ml-1m")
    with pytest.raises(DataMissingError, match="not offered for download any more"):
        datasets.load_ratings("netflix")
    with pytest.raises(DataMissingError, match="no item table here"):
        datasets.load_items("ml-1m")
    for name in ("netflix", "club", "ml-2m"):
        with pytest.raises(DataMissingError):
            datasets.get(name)
    assert not (places / "cache").exists()


@pytest.mark.usefixtures("places")
def test_an_archive_is_fetched_once_and_checked(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = hashlib.md5(ARCHIVE, usedforsecurity=False).hexdigest()
    known = replace(datasets.DATA_SETS["ml-100k"], md5=digest)
    monkeypatch.setitem(datasets.DATA_SETS, "ml-100k", known)
    seen: list[int] = []
    path = datasets.get(
        "ml-100k", url=f"{server}/good.zip", progress=lambda _, done, __: seen.append(done)
    )
    assert path.read_bytes() == ARCHIVE
    assert seen[-1] == len(ARCHIVE)
    assert datasets.get("ml-100k", url="http://127.0.0.1:9/never-asked") == path


def test_a_wrong_digest_or_no_network_keeps_nothing(places: Path, server: str) -> None:
    with pytest.raises(DataError, match="instead of 0e33842e24a9c977be4e0107933c0723"):
        datasets.get("ml-100k", url=f"{server}/good.zip")
    with pytest.raises(DataMissingError, match="Not Found"):
        datasets.get("ml-100k", url=f"{server}/gone.zip")
    with pytest.raises(DataMissingError, match=r"copy it to .*ml-100k.zip"):
        datasets.get("ml-100k", url="http://127.0.0.1:9/refused")
    assert list((places / "cache" / "discreet").iterdir()) == []


def test_the_club_is_the_same_for_the_same_seed(club: Club) -> None:
    assert cinema_club().ratings.to_frame().equals(club.ratings.to_frame())
    assert not cinema_club(1).ratings.to_frame().equals(club.ratings.to_frame())


def test_the_club_has_the_shape_of_movielens_100k(club: Club) -> None:
    """Windows around MovieLens 100K's own figures: 0.061, 0.114, 0.271, 0.342, 0.212 and so on."""
    ratings = club.ratings
    assert len(ratings) == RATINGS
    assert (len(ratings.users), len(club.items)) == (MEMBERS, FILMS)
    shares = np.bincount(ratings.rating.astype(int), minlength=6)[1:] / len(ratings)
    np.testing.assert_allclose(shares, [0.061, 0.114, 0.271, 0.342, 0.212], atol=0.03)
    per_member = np.bincount(ratings.user)
    assert per_member.min() >= 20
    assert 0.03 < np.median(per_member) / FILMS < 0.05
    over_all = ratings.with_items(club.items.ids)
    per_film = np.bincount(over_all.item, minlength=FILMS) / MEMBERS
    assert 0.015 < np.median(per_film) < 0.04
    assert 0.5 < per_film.max() < 0.8
    assert np.sum(per_film == 0) < 0.03 * FILMS
    assert len(set(club.items.frame["title"])) == FILMS


def test_what_biases_features_and_factors_explain_is_as_on_movielens_100k(club: Club) -> None:
    """There, on a random tenth: 0.949, 0.946 (Tally), 0.920 (with its item table), 0.907 (SGD)."""
    train, test = hold_out(club.ratings, 0.1, seed=1)
    spec = PrivacySpec.groups(seed=0)
    schemes = [Bias(), Tally(), Tally(items=club.items), PMF(solver="sgd")]
    found = [
        rmse(scheme.fit(train, spec, seed=0).predict_ratings(test, clip=True), test.rating)
        for scheme in schemes
    ]
    np.testing.assert_allclose(found, [0.949, 0.946, 0.920, 0.907], atol=0.015)
    truth = club.expected(test.users.take(test.user), test.items.take(test.item))
    assert 0.79 < rmse(truth, test.rating) < 0.83


def test_lists_on_the_club_are_as_good_as_on_movielens_100k(club: Club) -> None:
    """NDCG@10 there, 80/20: 0.173 (popularity), 0.286 (item-kNN), 0.341 (EASE)."""
    split = hold_out(club.ratings, 0.2, seed=3)
    methods = [Popularity(), ItemKNN(), EASE()]
    found = [judge_lists(method.fit(split.train), split)["ndcg@10"] for method in methods]
    np.testing.assert_allclose(found, [0.173, 0.286, 0.341], atol=0.03)
    perfect = judge_lists(club.perfect_lists(split.train), split)["ndcg@10"]
    assert 0.5 < perfect < 0.6


def test_perfect_lists_leave_out_what_was_seen_and_know_what_is_liked(club: Club) -> None:
    split = hold_out(club.ratings, 0.2, seed=3)
    for target, other in (("liked", "consumed"), ("consumed", "liked")):
        mine, theirs = (
            judge_lists(club.perfect_lists(split.train, t), split, how=Judging(target=target))
            for t in (target, other)
        )
        assert mine["ndcg@10"] > theirs["ndcg@10"]
    member = club.ratings.users.values[7]
    seen = split.train.to_frame().filter(pl.col("user") == member)["item"]
    listed = club.perfect_lists(split.train).recommend([member], FILMS)
    assert set(listed["item"]) == set(club.items.ids.values) - set(seen)


def test_members_see_first_what_draws_them_most(club: Club) -> None:
    """What was seen early stands high on the list by which it was chosen, and what is next, too."""
    train, test = leave_last_out(club.ratings)
    everything = club.perfect_lists(club.ratings, "consumed").scores
    rows = club.items.ids.rows(club.ratings.items.values)[club.ratings.item]
    drawn = everything[club.ratings.user, rows]
    assert club.ratings.timestamp is not None
    place = np.empty(len(club.ratings))
    order = np.lexsort((club.ratings.timestamp, club.ratings.user))
    place[order] = np.arange(len(order)) - club.ratings.ptr[club.ratings.user]
    assert drawn[place < 5].mean() > drawn[place >= 20].mean() + 1
    how = Judging(target="consumed")
    perfect = judge_lists(club.perfect_lists(train, "consumed"), Split(train, test), how=how)
    popular = judge_lists(Popularity().fit(train), Split(train, test), how=how)
    assert perfect["recall@20"] > 1.5 * popular["recall@20"]
