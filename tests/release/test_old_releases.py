"""Releases of format 1, made by an earlier version on a synthetic table, load as they are."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet.errors import ReleaseError
from discreet.release.format import CERTIFICATE, ITEMS, MODEL
from tests.release.digests import digest_of

OLD = Path(__file__).parent / "format-1"


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("tally", "proven", "was made without the ratings"),
        ("tally-sample", "conditional", "rounded too little"),
        ("tally-no-catalogue", "conditional", "no catalogue was given"),
        ("tally-seeded", "unproven", "It protects nobody"),
        ("chorus-person", "conditional", "smallest level to an item outside the catalogue"),
        ("chorus-incremental", "conditional", "recorded neither"),
        ("pdp-pmf-mean", "unproven", "nothing is proven"),
        ("pmf", "unproven", "No privacy"),
    ],
)
def test_an_old_release_loads_and_says_what_it_cannot_know(
    name: str, status: str, words: str
) -> None:
    release = dc.Release.load(OLD / name)
    certificate = release.certificate
    assert certificate.status == status
    assert words in " ".join([certificate.statement, *certificate.assumptions])
    assert len(release.recommend(["a"], [5], n=2)) == 2


def test_columns_that_an_old_release_published_are_named() -> None:
    release = dc.Release.load(OLD / "tally")
    assert release.certificate.provenance.columns == ("title", "year")
    derived = release.items.frame.with_columns(pl.lit(7).alias("sales"))
    again = replace(release, items=dc.Items.as_published(derived))
    files = again.files()
    old = json.loads((OLD / "tally" / "certificate.json").read_text()) | {"digest": ""}
    old["digest"] = digest_of(json.dumps(old), {n: files[n] for n in (ITEMS, MODEL)})
    files[CERTIFICATE] = json.dumps(old).encode()
    certificate = dc.Release.from_files(files).certificate
    assert certificate.status == "conditional"
    assert any("columns sales" in text for text in certificate.assumptions)


def test_numbers_of_old_certificates_are_numbers() -> None:
    chorus = dc.Release.load(OLD / "chorus-incremental").certificate
    assert chorus.threshold == 1.0
    assert chorus.delta == 1e-6
    assert chorus.parameters == {"publications": 2, "delta": 1e-6}
    mean = dc.Release.load(OLD / "pdp-pmf-mean").certificate
    assert mean.threshold is None
    assert mean.threshold_words == "mean of the training levels"


def test_a_changed_old_release_is_refused(tmp_path: Path) -> None:
    shutil.copytree(OLD / "tally-seeded", tmp_path / "r")
    place = tmp_path / "r" / "certificate.json"
    place.write_text(place.read_text().replace("seeded: protects nobody", "operating system"))
    with pytest.raises(ReleaseError, match="digest"):
        dc.Release.load(tmp_path / "r")
