import hashlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import DataError, DataMissingError
from discreet.evaluate.metrics import rmse
from discreet.evaluate.splits import hold_out
from discreet.readers import datasets
from discreet.readers.club import FILMS, MEMBERS, RATINGS, Club, cinema_club
from discreet.schemes.bias import Bias
from discreet.schemes.pmf.pmf import PMF

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
    per_film = np.bincount(ratings.item) / MEMBERS
    assert 0.015 < np.median(per_film) < 0.04
    assert 0.5 < per_film.max() < 0.8
    assert len(set(club.items.frame["title"])) == FILMS


def test_the_club_s_truth_cannot_be_beaten_and_factors_help(club: Club) -> None:
    train, test = hold_out(club.ratings, 0.1, seed=1)
    truth = club.expected(test.users.take(test.user), test.items.take(test.item))
    perfect = rmse(truth, test.rating)
    bias = rmse(Bias().fit(train).predict_ratings(test), test.rating)
    scheme = PMF(factors=10, lambda_u=0.1, lambda_v=0.1)
    factors = rmse(scheme.fit(train, seed=0).predict_ratings(test), test.rating)
    assert 0.79 < perfect < 0.85
    assert perfect < factors < bias - 0.01
    assert 0.92 < bias < 0.97
