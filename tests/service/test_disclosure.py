"""What has left about a rating and what still can: one computation, which all pages read."""

import re
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data.ratings import Ratings
from discreet.database import own_ratings, publications
from discreet.database.connection import Database
from discreet.operate import releases as operate
from discreet.operate.copies import charge_in_full
from discreet.operate.imports import offered
from discreet.operate.releases import publish
from discreet.operate.snapshot import read_snapshot
from discreet.privacy.lifetime import Loss, together
from discreet.schemes.chorus.scheme import Chorus
from discreet.service import disclosure
from discreet.service.disclosure import Entered, Record, State
from discreet.service.plain_language import MAKING, surest
from tests.databases import filled, films
from tests.service.clubs import OUR_PAGE, Club, open_club
from tests.service.test_access import signed_in

ITEM = "129"


def put(club: Club, **fields: float) -> None:
    assert club("u1", "PUT", "/api/me/ratings", json={"item": ITEM, **fields}).status_code == 200


def publish_again(club: Club) -> None:
    publish(club.database, club.app.state.service.declared)
    club.app.state.service.public.look_now()


def page(club: Club, path: str) -> str:
    signed_in(club, "u1")
    answer = club.client.get(path, headers=OUR_PAGE)
    assert answer.status_code == 200
    return " ".join(answer.text.split())


def card(club: Club) -> str:
    """What one sees where one rates it."""
    sealed = club.app.state.service.seal.close("item", "u1", ITEM)
    found = page(club, f"/item/{sealed}")
    start = found.index('<section class="panel"')
    return found[start : found.index("</section>", start)]


@pytest.fixture
def counted(small_club: Club) -> Club:
    """A rating that was counted at 1.0, deleted, and given again at 0.1."""
    put(small_club, rating=5, epsilon=1.0)
    publish_again(small_club)
    small_club("u1", "POST", "/api/me/ratings/delete", json={"item": ITEM})
    put(small_club, rating=5, epsilon=0.1)
    return small_club


def test_a_card_promises_what_was_spent_and_not_the_level_now(counted: Club) -> None:
    shown = card(counted)
    assert "52.5%" not in shown
    assert shown.count("73.2%") == 3  # whatever is chosen now: 1/(1 + e^-1) is 0.73106
    assert "nor recalls it" in shown
    read = counted("u1", "POST", "/api/me/ratings/read", json={"item": ITEM}).json()["disclosure"]
    assert read["epsilon"] == 0.1
    assert read["most"]["epsilon"] == pytest.approx(1.0)
    assert read["next"]["epsilon"] == 0
    assert "73.2%" in read["explained"]
    assert [choice["most"]["epsilon"] for choice in read["choices"]] == [pytest.approx(1.0)] * 3
    assert not any("52.5%" in choice["explained"] for choice in read["choices"])


def test_a_card_of_something_deleted_tells_what_has_left(counted: Club) -> None:
    counted("u1", "POST", "/api/me/ratings/delete", json={"item": ITEM})
    shown = card(counted)
    assert "You have deleted your rating of this. Counted in release 2, with epsilon 1" in shown
    assert "52.5%" not in shown
    [left] = [
        found
        for found in counted("u1", "GET", "/api/me/disclosures").json()["ratings"]
        if found["item"] == ITEM
    ]
    assert (left["state"], left["entered"], left["release"]) == ("deleted", "yes", 2)
    assert left["most"] == left["spent"]


def test_what_was_taken_back_is_not_among_the_ratings_that_one_has(counted: Club) -> None:
    counted("u1", "POST", "/api/me/ratings/delete", json={"item": ITEM})
    own = len(counted.app.state.service.own("u1"))
    told = f"<b>{own}</b> of your {own} ratings have entered the public model, and 1 that you took"
    assert told in page(counted, "/privacy")


def test_one_rating_and_none_are_said_as_people_say_them(small_club: Club) -> None:
    items = [own["item"] for own in small_club("u1", "GET", "/api/me/ratings").json()]
    for item in items[1:]:
        small_club("u1", "POST", "/api/me/ratings/delete", json={"item": item})
    one = "<b>1</b> of one rating has entered the public model, and"
    assert f"{one} {len(items) - 1} that you took back since" in page(small_club, "/privacy")
    small_club("u1", "POST", "/api/me/ratings/delete", json={"item": items[0]})
    none = f"<b>0</b> ratings now; {len(items)} that you took back have entered the public model"
    assert none in page(small_club, "/privacy")


def test_a_level_that_adds_says_the_sum(small_club: Club) -> None:
    put(small_club, rating=5, epsilon=0.1)
    publish_again(small_club)
    read = small_club("u1", "POST", "/api/me/ratings/read", json={"item": ITEM}).json()
    levels = [choice["most"]["epsilon"] for choice in read["disclosure"]["choices"]]
    assert levels == [pytest.approx(level, abs=1e-5) for level in (0.1, 0.3, 1.0)]
    adds = [choice["next"]["epsilon"] for choice in read["disclosure"]["choices"]]
    assert adds == [pytest.approx(level, abs=1e-5) for level in (0, 0.2, 0.9)]
    assert read["disclosure"]["can_be_raised"]


def test_after_a_restored_copy_nobody_is_told_that_nothing_has_left(
    sqlite: Database, small: Ratings
) -> None:
    with open_club(sqlite, small) as club:
        put(club, rating=5, epsilon=0.3)
        charge_in_full(sqlite, club.app.state.service.declared)
        club.app.state.service.public.look_now()
        text = page(club, "/privacy")
        assert "None of your ratings has entered" not in text
        assert "may have entered: the database was restored from a backup" in text
        assert "may have been counted twice" in text  # what the copy does not know of
        assert "may have been counted twice" in page(club, "/home")
        sealed = club.app.state.service.seal.close("item", "u1", ITEM)
        item = page(club, f"/item/{sealed}")
        assert item.index("may have been counted twice") < item.index('<article class="item">')
        record = club("u1", "GET", "/api/me/disclosures").json()
        found = {one["item"]: one for one in record["ratings"]}
        assert record["restored"]
        assert found[ITEM]["entered"] == "maybe"
        assert found[ITEM]["release"] is None
        assert found[ITEM]["spent"]["epsilon"] == pytest.approx(1.0)
        assert found[ITEM]["next"]["epsilon"] == 0
        assert record["spent"]["epsilon"] == pytest.approx(len(found))
        assert "May have been counted" in card(club)
        newcomer = club(None, "POST", "/api/people").json()["token"]
        club.tokens["u1"] = newcomer
        assert "Nothing that this database knows of" in page(club, "/privacy")


def test_after_a_restored_copy_every_promise_says_what_may_come_on_top(
    sqlite: Database, small: Ratings
) -> None:
    with open_club(sqlite, small) as club:
        on_top, lost = "what was told then comes on top", "lost in the restore"
        before = club(None, "GET", "/", headers={"accept": "text/html"}).text
        assert "how little anybody can learn about it" in " ".join(before.split())
        assert on_top not in before
        charge_in_full(sqlite, club.app.state.service.declared)
        club.app.state.service.public.look_now()
        put(club, rating=5, epsilon=0.3)
        welcome = club(None, "GET", "/", headers={"accept": "text/html"}).text
        assert "how little anybody" not in welcome
        assert "may have been counted twice" in welcome
        assert lost in welcome
        for level in club(None, "GET", "/api/declaration").json()["levels"]:
            assert on_top in level["explained"]
        read = club("u1", "POST", "/api/me/ratings/read", json={"item": ITEM}).json()
        assert on_top in read["disclosure"]["explained"]
        assert all(on_top in choice["explained"] for choice in read["disclosure"]["choices"])
        assert on_top in card(club)


def test_a_level_that_would_never_be_counted_is_refused(small_club: Club) -> None:
    body = {"item": ITEM, "rating": 5, "epsilon": 5e-7}
    answer = small_club("u1", "PUT", "/api/me/ratings", json=body)
    assert answer.status_code == 422
    assert "would never be counted" in answer.json()["error"]["message"]


def test_before_the_first_release_nothing_has_left(sqlite: Database, small: Ratings) -> None:
    with open_club(sqlite, small) as club:
        club.tokens["u1"] = club(None, "POST", "/api/people").json()["token"]
        put(club, rating=4, epsilon=0.3)
        text = page(club, "/privacy")
        assert "None of your ratings has entered a release" in text
        assert "may become epsilon 0.3" in text
        assert not club("u1", "GET", "/api/me/disclosures").json()["restored"]


def test_a_seeded_release_promises_nobody_anything(sqlite: Database, small: Ratings) -> None:
    with open_club(sqlite, small, seed=1) as club:
        put(club, rating=4, epsilon=0.3)
        publish_again(club)  # a later release without a seed does not mend it
        percent = re.compile(r"[\d.]+%")
        texts = [card(club), page(club, "/privacy"), page(club, "/home"), page(club, "/mine")]
        club.client.cookies.clear()
        texts.append(club.client.get("/", headers=OUR_PAGE).text)
        answers = (
            club("u1", "GET", "/api/me/export"), club("u1", "GET", "/api/me/disclosures"),
            club(None, "GET", "/api/declaration"),
            club("u1", "POST", "/api/me/ratings/read", json={"item": ITEM}),
        )  # fmt: skip
        texts += [answer.text for answer in answers]
        for text in texts:
            assert percent.findall(text) == []
            assert "made with a seed" in text
        assert not club("u1", "GET", "/api/me/disclosures").json()["protected"]


class Step(NamedTuple):
    before: Record
    allowed: dict[str, float]
    """What the publisher's own rule lets every rating spend."""
    after: Record


@pytest.fixture(params=[0.0, 1e-4])
def history(
    request: pytest.FixtureRequest, sqlite: Database, small: Ratings, monkeypatch: Any
) -> list[Step]:
    """A life of changes: what was said before each publication and after it, and its rule."""
    declared = filled(sqlite, small, delta=request.param)
    if declared.delta:  # with so few ratings it would find no factors, and spend no delta
        singing = Chorus(delta=declared.delta, items=films(), factors=2, rounds=2)
        monkeypatch.setattr("discreet.operate.releases.declared_scheme", lambda *_, **__: singing)
    life: list[dict[str, float | None]] = [
        {"100": 0.1, "101": 1.0, "102": 0.3, "103": 0.1},
        {"100": 0.3, "101": 0.1, "102": None, "104": 0.25},
        {"100": 1.0, "101": None, "102": 0.1, "103": 0.1},
        {"101": 0.3, "102": 1.0, "104": 1.0},
    ]

    def record() -> Record:
        with sqlite.reading() as connection:
            own = own_ratings.of(connection, "u1")
            return disclosure.record(connection, declared, "u1", own, films().ids.values)

    steps: list[Step] = []
    for changes in life:
        with sqlite.writing() as connection:
            for item, level in changes.items():
                if level is None:
                    own_ratings.remove(connection, "u1", item)
                else:
                    own_ratings.put(connection, "u1", item, 4.0, level)
        snapshot = read_snapshot(sqlite, declared)
        scheme = operate.declared_scheme(declared, snapshot.items)
        spec, data = scheme.prepare(snapshot.ratings, offered(declared))
        allowed = scheme.allowances(data, spec, snapshot.state).epsilon
        mine = data.user == data.users.values.to_list().index("u1")
        ids = [str(data.items.values[int(item)]) for item in data.item[mine]]
        before = record()
        publish(sqlite, declared, seed=1)
        steps.append(Step(before, dict(zip(ids, allowed[mine], strict=True)), record()))
    return steps


def test_what_is_said_to_come_is_what_a_publisher_then_spends_at_most(history: list[Step]) -> None:
    states = set()
    for before, allowed, after in history:
        found = {one.item: one for one in before.ratings}
        then = {one.item: one for one in after.ratings}
        assert {item: one.next.epsilon for item, one in found.items() if one.chosen} == allowed
        assert set(found) <= set(then)
        for item, one in found.items():
            states.add(one.state)
            assert then[item].spent.epsilon <= one.most.epsilon + 1e-12
            assert then[item].spent.delta <= one.most.delta
            # And it is no idle bound: what may come does come, up to the grid of the sums.
            assert then[item].spent.epsilon == pytest.approx(one.most.epsilon, abs=1e-5)
            assert then[item].next == Loss()
            if one.chosen is not None:
                level = [choice for choice in one.choices if choice.level == one.epsilon]
                assert level in ([one.chosen], [])
    assert states >= {State.WAITING, State.COUNTED, State.DELETED}
    assert {one.entered for _, _, after in history for one in after.ratings} == {Entered.YES}


LOSSES = st.lists(
    st.tuples(st.floats(0.05, 1.5), st.sampled_from([0.0, 0.001, 0.05])), min_size=1, max_size=3
)


def leaky(epsilon: float, delta: float) -> np.ndarray:
    """The worst (epsilon, delta)-close pair of worlds: outputs of each, as two rows."""
    truth = (1 - delta) / (1 + np.exp(-epsilon))
    lie = 1 - delta - truth
    return np.array([[delta, truth, lie, 0.0], [0.0, lie, truth, delta]])


@given(LOSSES)
def test_several_ratings_together_tell_no_more_than_is_said(losses: list) -> None:
    """Exactly, over all outputs of independent releases about each: guesses, and closeness."""
    said = together(Loss(*loss) for loss in losses)
    here = there = np.ones(1)
    for loss in losses:
        one, other = leaky(*loss)
        here, there = np.outer(here, one).ravel(), np.outer(there, other).ravel()
    right = (1 + np.abs(here - there).sum() / 2) / 2
    assert right <= surest(said) + 1e-12
    apart = np.maximum(here - np.exp(said.epsilon) * there, 0).sum()
    assert apart <= said.delta + 1e-12


def test_deltas_of_several_ratings_come_to_more_than_their_sum() -> None:
    """Chances of one output with both ratings, with one, with none: neighbours (1, d)-close."""
    d = 0.05
    both, one, none = (np.array([p, 1 - p]) for p in (d * (1 + np.e), d, 0.0))

    def apart(here: np.ndarray, there: np.ndarray, epsilon: float) -> float:
        return max(
            float(np.maximum(a - np.exp(epsilon) * b, 0).sum())
            for a, b in ((here, there), (there, here))
        )

    for here, there in ((both, one), (one, none)):
        assert apart(here, there, 1.0) == pytest.approx(d)
    said = together([Loss(1.0, d)] * 2)
    assert apart(both, none, said.epsilon) == pytest.approx(said.delta)
    assert said.delta > 2 * d


def test_thousands_of_ratings_together_are_just_not_private() -> None:
    many = together([Loss(1.0, 1e-9)] * 2000)
    assert (many.epsilon, many.delta, surest(many)) == (2000, 1.0, 1.0)


def test_while_a_release_is_made_nobody_is_told_that_a_change_still_counts(
    club: Club, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lowered or deleted after ratings were read, before the release is there: it counts them as
    they were, and until it does every answer says so."""
    declared = club.app.state.service.declared
    put(club, rating=5, epsilon=1.0)
    said: list[str] = []

    def read_and_go_on(*given: Any) -> Any:
        snapshot = read_snapshot(*given)
        body = {"item": ITEM, "epsilon": 0.1, "rating": 5}
        lowered = club("u1", "PUT", "/api/me/ratings", json=body).json()["disclosure"]
        said.extend([lowered["explained"], lowered["choices"][0]["explained"], card(club)])
        assert club("u1", "POST", "/api/me/ratings/delete", json={"item": ITEM}).status_code == 204
        said.extend([card(club), page(club, "/privacy")])
        return snapshot

    assert MAKING not in card(club)
    with monkeypatch.context() as patched:
        patched.setattr(operate, "read_snapshot", read_and_go_on)
        publish(club.database, declared)
    assert len(said) == 5
    assert all(MAKING in text for text in said)
    assert not any("nothing will while you" in text for text in said)
    assert "Nothing leaves while" not in said[3]
    club.app.state.service.public.look_now()
    [spent] = [one for one in club("u1", "GET", "/api/me/disclosures").json()["ratings"]
               if one["item"] == ITEM]  # fmt: skip
    assert (spent["state"], spent["spent"]["epsilon"]) == ("deleted", 1.0)
    assert MAKING not in spent["explained"] + card(club)


def test_a_publication_that_fails_is_no_longer_being_made(
    club: Club, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        with club.database.reading() as connection:
            assert publications.is_being_made(connection)
        raise MemoryError("in the middle of a publication")

    with monkeypatch.context() as patched:
        patched.setattr(operate, "read_snapshot", fail)
        with publications.making(club.database), pytest.raises(MemoryError):
            publish(club.database, club.app.state.service.declared)
        with club.database.reading() as connection:  # the other one, which has made none yet
            assert publications.is_being_made(connection)
    publish_again(club)
    with club.database.reading() as connection:
        assert not publications.is_being_made(connection)
