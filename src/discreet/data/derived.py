"""Which item columns look computed from ratings, judged by their names alone.

An item table is published as it is. A column such as the mean rating would publish the ratings
without any noise, so one whose name suggests that needs somebody to vouch for it.
"""

from __future__ import annotations

import re
from itertools import pairwise

OPINIONS = {
    "rating", "ratings", "rated", "raters", "review", "reviews", "reviewed", "reviewer",
    "reviewers", "vote", "votes", "voted", "voters", "upvotes", "downvotes", "score", "scores",
    "scored", "rank", "ranks", "ranked", "ranking", "rankings", "likes", "liked", "dislikes",
    "favorite", "favorites", "favorited", "favourite", "favourites", "favourited", "feedback",
    "satisfaction", "sentiment", "popular", "popularity", "trending", "bestseller", "bestsellers",
    "bestselling", "hype",
}  # fmt: skip
"""Words for what people think of an item."""
DEEDS = {
    "sales", "sold", "purchases", "purchased", "bought", "orders", "ordered", "views", "viewed",
    "viewers", "viewership", "plays", "played", "listens", "listeners", "downloads", "downloaded",
    "installs", "clicks", "clicked", "ctr", "impressions", "conversions", "watched", "watchers",
    "borrowed", "loans", "checkouts", "reads", "readers", "owners", "followers", "subscribers",
    "interactions", "visits", "visitors", "buyers", "revenue", "engagement", "playtime",
    "circulation",
}  # fmt: skip
"""Words for what people did with an item."""
STATISTICS = {
    "average", "averages", "averaged", "avg", "mean", "median", "stddev", "std", "variance",
}  # fmt: skip
COUNTS = {"count", "counts", "cnt", "num", "total", "totals", "sum"}
OF_NUMBERS = {
    "stars", "members", "users", "customers", "people", "fans", "positive", "negative", "streams",
    "hits", "frequency", "freq",
}  # fmt: skip
"""Suspicious where the column holds numbers: a list of stars names actors."""

_IN_THE_ITEM = {
    "page", "pages", "word", "words", "character", "characters", "chapter", "chapters", "episode",
    "episodes", "season", "seasons", "track", "tracks", "song", "songs", "disc", "discs", "volume",
    "volumes", "player", "players", "ingredient", "ingredients", "step", "steps", "door", "doors",
    "seat", "seats", "room", "rooms", "piece", "pieces",
}  # fmt: skip
"""What can be counted in an item by looking at it."""
_CLASSIFIED = {"age", "content", "mpaa", "esrb", "pegi", "fsk", "maturity", "parental"}
"""Whose ratings say for whom an item is fit: an office gives them."""
_VERBS = {
    "like", "play", "view", "watch", "read", "listen", "click", "purchase", "sale", "order", "user",
}  # fmt: skip
"""Words that tell something only next to others: playcount, sales_rank."""

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_TELLING = OPINIONS | DEEDS | STATISTICS
_JOINED = re.compile(f"n?(?:{'|'.join(sorted(_TELLING | COUNTS | _VERBS))})+")
"""Known words written as one, as in ratingcount and nvotes; account and discount are none."""
_BY_ITS_PLACE = re.compile(r"column \d+")
"""As a column without a name is called: it may be an index by which films were sorted by views."""


def looks_derived(name: str, *, numbers: bool = True) -> bool:
    """Whether a column of this name, of numbers or not, looks made of what people rated or did.

    >>> [looks_derived(name) for name in ("ratings_count", "avgScore", "numvotes", "n_buyers")]
    [True, True, True, True]
    >>> [looks_derived(name) for name in ("country", "discount", "soundtrack", "page_count")]
    [False, False, False, False]
    >>> looks_derived("column 1")  # nobody has said what it is
    True
    """
    if _BY_ITS_PLACE.fullmatch(name):
        return True
    words = [word.lower() for word in _WORDS.findall(name)]  # none, in other scripts
    for word, following in pairwise([*words, ""]):
        if word in COUNTS or (word == "n" and not following.isdigit()):
            suspicious = _IN_THE_ITEM.isdisjoint(words)
        elif word in ("number", "no", "nr"):
            suspicious = following == "of" and _IN_THE_ITEM.isdisjoint(words)
        elif word in ("rating", "ratings", "rated"):
            suspicious = _CLASSIFIED.isdisjoint(words)
        elif word == "best":
            suspicious = following in ("seller", "sellers", "selling")
        elif word in OF_NUMBERS:
            suspicious = numbers
        else:
            suspicious = _is_one(word)
        if suspicious:
            return True
    return False


def _is_one(word: str) -> bool:
    """A telling word, or several known ones written together, of which at least one tells."""
    together = _JOINED.fullmatch(word) is not None
    return word in _TELLING or (together and any(one in word for one in _TELLING | COUNTS))
