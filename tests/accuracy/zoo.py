"""The zoo: tables of every kind a shop may have, and kinds that nobody has, to be fair on all.

A generated table is a line of `GENERATED`: its maker draws another table of the kind from every
generator. Real ones are found as data sets are, by DISCREET_DATA, and divided anew by every draw.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.evaluate.splits import hold_out
from discreet.readers import datasets
from tests.accuracy import described as d
from tests.accuracy import tables as t


class Kind(NamedTuple):
    """How tables of a kind are made, and what that costs."""

    make: Callable[[t.Rng], t.Table]
    draws: int = 1
    """How many draws are worth one of a usual table: a small table has more chance, and costs
    less."""
    levels: bool = False
    """Whether its tables say how private every rating is."""
    large: bool = False
    """Whether only somebody who waits can afford it."""
    because: str = ""
    """Why nothing is promised on it, though it is measured: a reference is right there for a reason
    that no release can know."""


GENERATED = {
    "one person": Kind(t.one_person, draws=8),
    "two people": Kind(t.two_people, draws=8),
    "one item": Kind(t.one_item),
    "three items": Kind(partial(t.usual, people=700, items=3, typical=2)),
    "all in the middle": Kind(
        partial(t.all_equal, rating=3.0), because="the middle happens to be the truth"
    ),
    "all fours": Kind(partial(t.all_equal, rating=4.0)),
    "all fives": Kind(partial(t.all_equal, rating=5.0)),
    "each their number": Kind(
        t.each_their_number, because="one rating tells all of a person's others"
    ),
    "two points of five": Kind(partial(t.two_points, scale=(1, 5))),
    "thumbs 0..1": Kind(partial(t.two_points, scale=(0, 1))),
    "scale -10..10": Kind(partial(t.usual, scale=(-10, 10))),
    "scale 0..100": Kind(partial(t.usual, scale=(0, 100))),
    "half stars": Kind(partial(t.usual, scale=(0.5, 5), step=0.5)),
    "one each": Kind(partial(t.so_many_each, people=5000, each=1, items=300)),
    "ten each": Kind(partial(t.so_many_each, people=1000, each=10, items=500)),
    "ten each of 100,000": Kind(
        partial(t.so_many_each, people=100_000, each=10, items=5000, tested=0.05), large=True
    ),
    "five each of 100,000, 20,000 items": Kind(
        partial(t.so_many_each, people=100_000, each=5, items=20_000, tested=0.05), large=True
    ),
    "sparse films": Kind(
        partial(t.usual, people=6000, items=10_000, typical=10, chance=1.0), large=True
    ),
    "sparse": Kind(partial(t.usual, people=900, items=2000, typical=6)),
    "dense": Kind(partial(t.usual, people=150, items=60, typical=40)),
    "nothing but chance": Kind(
        partial(t.usual, person=0.0, quality=0.0), because="nobody's own ratings tell anything"
    ),
    "people alone differ": Kind(partial(t.usual, quality=0.0, person=0.7)),
    "items alone differ": Kind(partial(t.usual, person=0.0, quality=0.8)),
    "everybody agrees": Kind(
        partial(t.usual, person=0.0, chance=0.1, quality=0.8),
        because="items differ, and people agree, as nowhere else: noise hides it",
    ),
    "almost all fives": Kind(partial(t.usual, mean=2.2)),
    "almost all ones": Kind(partial(t.usual, mean=-2.0)),
    "mean far below": Kind(partial(t.usual, mean=-1.2)),
    "opposite tastes": Kind(t.opposite_tastes, because="nobody's own level tells anything"),
    "hidden tastes": Kind(t.hidden_tastes, large=True),
    "love or hate": Kind(t.love_or_hate),
    "reviews": Kind(t.reviews),
    "disliked hits": Kind(
        t.disliked_hits, because="at 0.03 popularity is noise, and it is all that tells"
    ),
    "strangers": Kind(t.strangers),
    "each item once": Kind(t.only_once),
    "half on one item": Kind(t.half_on_one),
    "one rates 5,000": Kind(t.one_rates_all, because="the table is one person's"),
    "heavy tails": Kind(t.heavy_tails),
    "levels by taste": Kind(t.levels_by_taste, levels=True),
    "catalogue of 4,000, 400 rated": Kind(
        partial(t.large_catalogue, catalogue=4000, rated=400, people=500)
    ),
    "catalogue of 100,000, 5,000 rated": Kind(
        partial(t.large_catalogue, catalogue=100_000, rated=5000, people=8000), large=True
    ),
    "telling columns": Kind(partial(d.described, describe=d.telling)),
    "columns of noise": Kind(partial(d.described, describe=d.noise)),
    "duplicated columns": Kind(partial(d.described, describe=d.duplicated)),
    "constant columns": Kind(partial(d.described, describe=d.constant)),
    "missing values": Kind(partial(d.described, describe=d.missing)),
}
"""Every generated kind of table by its name."""

REAL = {
    "ml-100k": ((1, 5), "ml-100k-items"),
    "ml-1m": ((1, 5), "ml-1m-items"),
    "netflix-7128": ((1, 5), "netflix-items"),
    "book-ratings": ((1, 10), "book-items"),
}
"""Every real table by its name: its scale, and its item table beside it."""


def kinds() -> dict[str, Kind]:
    """All kinds of tables there are here, generated and real, those with and without items."""
    found = dict(GENERATED)
    for name in REAL:
        if datasets.find(name) is not None:
            found[name] = Kind(partial(real, name=name, described=False), large=True)
            found[f"{name} + items"] = Kind(partial(real, name=name, described=True), large=True)
    return found


def real(rng: t.Rng, name: str, described: bool) -> t.Table:
    """A real table, a tenth of it held out."""
    split = hold_out(_ratings(name), 0.1, seed=int(rng.integers(1 << 31)))
    return t.Table(*split, _items(name) if described else None)


@cache
def _ratings(name: str) -> Ratings:
    return datasets.load_ratings(str(datasets.find(name)), scale=REAL[name][0])


@cache
def _items(name: str) -> Items:
    path = datasets.find(name)
    assert path is not None
    return datasets.load_items(str(path.with_name(f"{REAL[name][1]}.parquet")))
