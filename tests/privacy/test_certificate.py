"""A certificate is derived from what happened: every fact that bears on the promise is in it."""

import json
from dataclasses import replace
from typing import Any

import pytest

import discreet as dc
from discreet.data.ratings import Ratings
from discreet.privacy import encoding
from discreet.privacy.certificate import Certificate
from discreet.privacy.history import History, Restore
from discreet.privacy.promise import INCREMENTAL, promise
from discreet.privacy.provenance import (
    OPENSSL_ENTROPY,
    SEEDED,
    SYSTEM_ENTROPY,
    Catalogue,
    Levels,
    Neighbours,
    Pairs,
    Provenance,
)
from discreet.privacy.theorems import THEOREMS, Status, Theorem, read_proof

TALLY = Provenance(
    scheme="Tally", variant="whole table", theorem=THEOREMS["tally"], sampler="exact",
    entropy=SYSTEM_ENTROPY, threshold=1.0, served=1.0, catalogue=Catalogue.GIVEN,
)  # fmt: skip
OVER_TIME = replace(
    TALLY,
    variant=INCREMENTAL,
    theorem=THEOREMS["incremental"],
    history=History(release=3, generation="g", every_hours=24.0),
)


def history(**facts: Any) -> Provenance:
    return replace(OVER_TIME, history=History(**{"release": 3, "generation": "g", **facts}))


@pytest.mark.parametrize(
    ("made", "status", "words"),
    [
        (TALLY, Status.PROVEN, "was made without the ratings"),
        (replace(TALLY, entropy=SEEDED), Status.UNPROVEN, "protects nobody"),
        (replace(TALLY, catalogue=Catalogue.RATED), Status.CONDITIONAL, "no catalogue was given"),
        (replace(TALLY, catalogue=Catalogue.RATED, neighbours=Neighbours.REPLACE), Status.PROVEN,
         "no catalogue was given"),
        (replace(TALLY, pairs=Pairs.DECLARED), Status.CONDITIONAL, "its keeper declared so"),
        (TALLY, Status.PROVEN, "system's random generator is as good as independent fair"),
        (replace(TALLY, entropy=OPENSSL_ENTROPY), Status.PROVEN, "and of OpenSSL, which OpenDP"),
        (replace(TALLY, coins=True), Status.PROVEN, "as good as independent ones"),
        (replace(TALLY, vouched=("sales",)), Status.PROVEN, "somebody vouched for that"),
        (replace(TALLY, suspects=("sales",)), Status.CONDITIONAL, "nobody was asked"),
        (replace(TALLY, recorded=False), Status.PROVEN, "was made without the ratings"),
        (replace(TALLY, recorded=False, coins=True), Status.CONDITIONAL, "rounded too little"),
        (replace(TALLY, recorded=False, scheme="Chorus"), Status.CONDITIONAL, "parts in 10^14"),
        (replace(TALLY, entropy="a generator of my own"), Status.UNPROVEN, "protects nobody"),
        (replace(TALLY, served=None, proven_up_to=30.0), Status.UNPROVEN, "of any size"),
        (replace(TALLY, served=31.0, proven_up_to=30.0), Status.UNPROVEN, "covers 30 at most"),
        (replace(TALLY, served=30.0, proven_up_to=30.0), Status.PROVEN, "Only the release leaves"),
        (replace(TALLY, recorded=False, unit="person"), Status.CONDITIONAL, "outside the catalog"),
        (replace(TALLY, theorem=THEOREMS["pmf"]), Status.UNPROVEN, "No privacy"),
        (replace(TALLY, theorem=THEOREMS["paper-repaired"]), Status.CONDITIONAL, "are constants"),
        (OVER_TIME, Status.PROVEN, "late by more than a twentieth of that"),
        (replace(OVER_TIME, history=None), Status.CONDITIONAL, "recorded neither"),
        (history(), Status.PROVEN, "No schedule was declared"),
        (history(every_hours=24.0, off_schedule=(2, 3)), Status.CONDITIONAL, "2, 3 came at anoth"),
        (history(moves=("2026-11-16",)), Status.CONDITIONAL, "place (2026-11-16): it was"),
        (history(since=2), Status.CONDITIONAL, "Before release 2 the ledger was never"),
        (history(restores=(Restore(day="2026-11-16", known=1),)), Status.CONDITIONAL,
         "may have been counted again"),
        (history(restores=(Restore(day="", known=1),)), Status.CONDITIONAL, "Before that was rec"),
    ],
)  # fmt: skip
def test_what_happened_decides_status_and_words(
    made: Provenance, status: Status, words: str
) -> None:
    said = promise(made)
    assert said.status == status
    assert words in " ".join([said.statement, *said.assumptions])


def test_a_statement_that_nothing_is_left_of_is_not_made() -> None:
    for gone in ({"entropy": SEEDED}, {"served": 31.0, "proven_up_to": 30.0}):
        said = promise(replace(TALLY, **gone)).statement
        before, _, theorem = said.partition(" Without that it would promise: ")
        assert theorem == TALLY.theorem.statement
        assert before.endswith((".", "nobody."))
    without = promise(replace(TALLY, theorem=THEOREMS["pmf"], entropy=SEEDED)).statement
    assert "would promise" not in without


def test_the_weakest_of_several_facts_decides() -> None:
    both = replace(TALLY, catalogue=Catalogue.RATED, entropy=SEEDED)
    assert Certificate(both).status == Status.UNPROVEN
    assert Certificate(both).without_seed == Status.CONDITIONAL
    assert Certificate(both).summary == "seeded: protects nobody (conditional without a seed)"


@pytest.mark.parametrize(
    "weaker",
    [
        {"entropy": SEEDED},
        {"entropy": OPENSSL_ENTROPY},
        {"catalogue": Catalogue.RATED},
        {"pairs": Pairs.DECLARED},
        {"coins": True},
        {"vouched": ("sales",)},
        {"suspects": ("sales",)},
        {"recorded": False, "coins": True},
        {"entropy": "a generator of my own"},
        {"served": 40.0, "proven_up_to": 30.0},
        {"delta": 1e-6},
    ],
)
def test_what_weakened_an_earlier_release_weakens_all_that_add_to_it(
    weaker: dict[str, Any],
) -> None:
    before = replace(OVER_TIME, **weaker)
    after = OVER_TIME.after(before)
    assert promise(after) == promise(before)
    assert set(before.columns) <= set(after.columns)
    assert after.delta == before.delta
    # And the other way round: a weak batch on top of a strong release.
    assert promise(before.after(OVER_TIME)) == promise(before)


@pytest.mark.parametrize(
    ("scheme", "spec"),
    [
        (dc.Tally(), None),
        (dc.Tally(unit="person"), None),
        (dc.Tally(personalisation="sample"), dc.PrivacySpec.groups(seed=1)),
        (dc.Chorus(delta=1e-6, factors=1, rounds=1, neighbours=dc.Neighbours.REPLACE), None),
        (dc.PMF(factors=2), None),
        (dc.PDPPMF(factors=2, gamma=0.5, k1=2, k2=2), None),
        (dc.DPPMF(factors=2, gamma=0.5, variant="stated"), dc.PrivacySpec.uniform(1.0)),
        (dc.Bias(), None),
    ],
)
def test_a_certificate_comes_back_from_json(scheme: Any, spec: Any, small: Ratings) -> None:
    certificate = scheme.fit(small, spec).release.certificate
    assert encoding.read(encoding.write(certificate)) == certificate
    assert THEOREMS[certificate.theorem.name] is certificate.theorem


def test_a_certificate_from_before_there_were_events_is_of_ratings() -> None:
    raw = json.loads(encoding.write(Certificate(TALLY)))
    assert raw["provenance"].pop("events", 0) is None
    assert encoding.read(json.dumps(raw)) == Certificate(TALLY)
    raw["provenance"]["events_of"] = None
    with pytest.raises(dc.DiscreetError, match="unknown fields: events_of"):
        encoding.read(json.dumps(raw))


def test_a_history_comes_back_from_json() -> None:
    made = history(since=2, restores=(Restore(day="2026-11-16", known=1),), off_schedule=(2,))
    assert encoding.read(encoding.write(Certificate(made))).provenance == made


def test_words_in_the_file_are_not_believed() -> None:
    text = encoding.write(Certificate(replace(TALLY, entropy=SEEDED)))
    assert '"status": "unproven"' in text
    read = encoding.read(text.replace('"status": "unproven"', '"status": "proven"'))
    assert read.status == Status.UNPROVEN


def test_a_theorem_of_our_name_promises_no_more_than_was_written() -> None:
    weaker = replace(THEOREMS["tally"], backing=Status.UNPROVEN)
    stronger = replace(THEOREMS["paper-printed"], backing=Status.PROVEN)
    for theorem in (weaker, stronger):
        certificate = Certificate(replace(TALLY, theorem=theorem))
        assert encoding.read(encoding.write(certificate)).status == Status.UNPROVEN


def test_an_own_theorem_keeps_its_words() -> None:
    own = Theorem("popular films", "The counts are close.", "our-wiki/counts")
    certificate = Certificate(replace(TALLY, theorem=own))
    assert encoding.read(encoding.write(certificate)) == certificate
    with pytest.raises(dc.DiscreetError, match="our-wiki/counts"):
        read_proof(own)


def test_deltas_are_named_where_levels_add_up() -> None:
    assert "delta" not in Certificate(TALLY).about_sums
    for made in (TALLY, OVER_TIME, replace(TALLY, unit="person")):
        assert "delta" in Certificate(replace(made, delta=1e-6)).about_sums


def test_chorus_is_certified_for_every_level_now_that_its_noise_is_rounded(small: Ratings) -> None:
    items = dc.Items.from_frame(small.items.values.to_frame("item"))
    scheme = dc.Chorus(delta=1e-6, items=items, factors=0)
    made = scheme.fit(small, dc.PrivacySpec.uniform(200.0)).release.certificate.provenance
    assert Certificate(made).status == Status.PROVEN
    # What was made before keeps its limit, and so does what adds to it.
    before = replace(made, proven_up_to=128.0)
    for limited in (before, made.after(before)):
        assert Certificate(limited).status == Status.UNPROVEN
        assert Certificate(replace(limited, served=128.0)).status == Status.PROVEN


def test_levels_of_all_releases_are_named_and_those_that_were_replaced() -> None:
    one, other = (
        replace(OVER_TIME, levels=Levels(words=words, least=least, most=most))
        for words, least, most in (("up to 5", 0.5, 5.0), ("up to 1", None, 1.0))
    )
    both = other.after(one).levels
    assert both == Levels(words="up to 1; in earlier releases: up to 5", least=None, most=5.0)
    assert other.after(other.after(one)).levels == both


def test_levels_that_take_the_place_of_people_s_own_are_named(small: Ratings) -> None:
    uniform = dc.PrivacySpec.uniform(0.5)
    without = Ratings.from_frame(small.to_frame().drop("epsilon"))
    for scheme in (dc.Tally(), dc.Tally(unit="person"), dc.Chorus(delta=1e-6, factors=0)):
        words = scheme.fit(small, uniform).release.certificate.levels
        assert words.endswith("in place of the levels that the table has")
        for own in (scheme.fit(small), scheme.fit(without, uniform)):
            assert "in place of" not in own.release.certificate.levels
