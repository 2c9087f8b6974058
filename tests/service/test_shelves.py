"""What a member's home is made of: sealed addresses, covers, shelves from the library's lists."""

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.database.own_ratings import OwnRating
from discreet.service.cover_art import PALETTES
from discreet.service.covers import draw_cover
from discreet.service.images import cover_address
from discreet.service.sealing import Seal
from discreet.service.shelves import BEGIN, EACH, Shelves, favourite_genres, home_shelves
from tests.service.clubs import OUR_PAGE, Club
from tests.service.test_access import signed_in


@given(st.text(), st.text(st.characters(exclude_characters="\x00", codec="utf-8"), max_size=99))
def test_only_the_owner_opens_what_was_sealed_for_them(owner: str, text: str) -> None:
    seal = Seal(b"secret")
    owner = owner.encode("utf-8", "replace").decode()
    name = seal.close("item", owner, text)
    assert seal.open("item", name, owner) == text == seal.open("item", name)
    assert seal.open("item", name, owner + "x") is None
    assert seal.open("undo", name, owner) is None
    assert Seal(b"other").open("item", name, owner) is None
    for wrong in (name[:-2], name[2:], "00" + name[2:], "", "zz", name + "00"):
        assert wrong == name or seal.open("item", wrong, owner) is None


@given(st.text(max_size=200), st.one_of(st.none(), st.integers(1, 3000)), st.lists(st.text()))
def test_every_item_has_a_cover_that_a_browser_can_read(
    title: str, year: int | None, genres: list[str]
) -> None:
    printable = "".join(c for c in title if c.isprintable())
    kinds = tuple("".join(c for c in genre if c.isprintable()) for genre in genres)
    drawn = draw_cover(printable, year, kinds)
    assert drawn == draw_cover(printable, year, kinds)
    assert ET.fromstring(drawn.encode("utf-8", "replace")).tag.endswith("svg")
    assert not re.search(r"<style| style=", drawn)  # a strict policy would not let it in


def test_covers_of_one_genre_differ() -> None:
    titles = [f"{a} {b}" for a in ("The Long", "A Short", "One") for b in ("Night", "Day", "Way")]
    assert len({draw_cover(title, 1990, ("Drama",)) for title in titles}) == len(titles)


def luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("name", PALETTES)
def test_titles_can_be_read_on_every_ground(name: str) -> None:
    dark, light = sorted(luminance(c) for c in (PALETTES[name].ink, PALETTES[name].ground))
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_a_cover_is_svg_whatever_the_title_holds() -> None:
    for text in ("a\x01b", "</text><script>", "\x00", "&#x1;", "\ufffe", '"]]>'):
        ET.fromstring(draw_cover(text, 1990, (text,)))


def test_covers_of_a_shelf_have_many_colours_and_shapes() -> None:
    drawn = [draw_cover(f"A Title {k}", 1990 + k, ("Comedy",)) for k in range(24)]
    grounds = {cover.split('fill="')[1][:7] for cover in drawn}
    assert len(grounds) >= 4  # of the five that comedies have


def test_a_cover_is_kept_for_long_and_its_address_tells_nobody_what_it_shows(
    small_club: Club,
) -> None:
    service = small_club.app.state.service
    cards = list(service.public.catalogue.cards.values())
    addresses = {who: cover_address(service.seal, cards[0], who, None) for who in ("u1", "u2", "")}
    assert len(set(addresses.values())) == 3
    for who, seen in ((None, {""}), ("u2", {"u2", ""}), ("u1", {"u1", ""})):
        if who is not None:
            signed_in(small_club, who)
        shown = {owner: small_club.client.get(a).status_code for owner, a in addresses.items()}
        assert shown == {owner: 200 if owner in seen else 404 for owner in addresses}
    first = small_club.client.get(addresses["u1"])
    assert first.status_code == 200
    assert first.headers["content-type"] == "image/svg+xml"
    assert "immutable" in first.headers["cache-control"]
    again = {"if-none-match": first.headers["etag"]}
    assert small_club.client.get(addresses["u1"], headers=again).status_code == 304
    assert small_club.client.get("/covers/00").status_code == 404
    renamed = cards[0]._replace(title="Another")
    assert cover_address(service.seal, renamed, "u1", None) != addresses["u1"]


def test_shelves_are_the_librarys_own_lists_and_share_nothing(small_club: Club) -> None:
    service = small_club.app.state.service
    model, cards = service.model(), service.public.catalogue.cards
    own = service.own("u1")
    hidden = [card for card in cards if card not in {o.item for o in own}][:2]
    made = home_shelves(model, cards, own, hidden)
    listed = [pick.item for shelf in made for pick in shelf.picks]
    assert len(listed) == len(set(listed))
    assert not set(listed) & ({o.item for o in own} | set(hidden))
    [first] = [shelf for shelf in made if shelf.key == "for-you"]
    mine = [o.item for o in own], [o.rating for o in own]
    expected = model.release.recommend(*mine, n=EACH, without=hidden)
    assert [pick.item for pick in first.picks] == expected["item"].to_list()
    because = [shelf for shelf in made if shelf.key == "because"]
    for shelf in because:
        source = next(o for o in own if cards[o.item].title in shelf.title)
        near = model.release.similar_items(source.item, 40)["item"].to_list()
        assert {pick.item for pick in shelf.picks} <= set(near)


def test_favourite_genres_are_those_of_what_one_liked(small_club: Club) -> None:
    service = small_club.app.state.service
    model, cards = service.model(), service.public.catalogue.cards
    first = {g: [c.id for c in cards.values() if g in c.genres] for g in ("Drama", "War", "Crime")}
    own = [OwnRating(item, 5.0, 0.1, 0, 0) for item in (*first["Drama"][:3], first["War"][0])]
    own.append(OwnRating(first["Crime"][0], 1.0, 0.1, 0, 0))
    assert favourite_genres(Shelves(model, cards, own)) == [("Drama", 3), ("War", 1)]
    assert [liked for _, liked in favourite_genres(Shelves(model, cards, []))] == [0, 0]


@pytest.mark.parametrize("count", [0, 1, BEGIN])
def test_a_newcomer_rates_five_to_begin(small_club: Club, count: int) -> None:
    service = small_club.app.state.service
    model, cards = service.model(), service.public.catalogue.cards
    own = [OwnRating(item, 4.0, 0.1, 0, 0) for item in list(cards)[:count]]
    keys = [shelf.key for shelf in home_shelves(model, cards, own, [])]
    assert (keys[0] == "begin") == (count < BEGIN)
    assert "for-you" in keys


def test_nobody_opens_anothers_page_and_undo_is_ones_own(small_club: Club) -> None:
    service = small_club.app.state.service
    sealed = service.seal.close("item", "u2", "129")
    signed_in(small_club, "u1")
    assert small_club.client.get(f"/item/{sealed}", headers=OUR_PAGE).status_code == 404
    form = {"item": "129", "rating": "4", "place": "home"}
    back = small_club.client.post("/rate", data=form, headers=OUR_PAGE).headers["location"]
    undo = {"sealed": back.split("undo=")[1]}
    signed_in(small_club, "u2")
    assert small_club.client.post("/undo", data=undo, headers=OUR_PAGE).status_code == 422
    signed_in(small_club, "u1")
    assert small_club.client.post("/undo", data=undo, headers=OUR_PAGE).status_code == 303
    assert "129" not in {own.item for own in service.own("u1")}
