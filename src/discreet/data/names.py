"""Names: what tables usually call our columns, so that most need no mapping."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.errors import DataError

_PEOPLE = ("user", "customer", "member", "reviewer", "person", "account", "client", "viewer")
_THINGS = (
    "item", "product", "movie", "film", "book", "song", "track", "artist", "album", "game",
    "article", "recipe", "restaurant", "business", "anime", "joke",
)  # fmt: skip
_IDENTIFIED = ("id", "no", "number")


def _identified(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word + ending for ending in _IDENTIFIED for word in words)


USUAL_NAMES = {
    "user": (*_identified(_PEOPLE), "uid", *_PEOPLE, "username"),
    "item": (*_identified(_THINGS), "iid", "asin", "isbn", "sku", *_THINGS),
    "rating": ("rating", "ratings", "stars", "score", "overall", "bookrating", "userrating"),
    "weight": (
        "weight", "hours", "minutes", "seconds", "plays", "playcount", "count", "quantity",
        "playtime", "duration", "listens", "views", "clicks",
    ),
    "epsilon": ("epsilon",),
    "timestamp": (
        "timestamp", "unixtimestamp", "time", "datetime", "date", "ratedat", "createdat",
        "unixreviewtime",
    ),
    "title": ("title", "name", "movietitle", "booktitle", "producttitle", "productname"),
    "year": ("year",),
    "genres": ("genres", "genre"),
}  # fmt: skip
"""What tables call our columns, written small and without spaces, hyphens or underscores.

Levels are known by their own name alone: another column's numbers must never become a promise.
"""
_CERTAIN = ("user", "item", "rating", "weight", "epsilon")
"""Of these a wrong column would do harm: where several might be meant, the owner is asked."""
_SHOWN = 12
_LONGEST = 30


def plainly(name: str) -> str:
    """A column's name as it is compared.

    >>> plainly("User ID"), plainly("product-id"), plainly("ItemId")
    ('userid', 'productid', 'itemid')
    """
    return name.strip().casefold().translate(str.maketrans("", "", " _-."))


def called(ours: str, names: Sequence[str], flag: str = "--columns") -> str | None:
    """What a table calls a column that nobody mapped; an error where that matters and is unclear.

    `flag` is the option that maps it. Our own name comes first, then names of identifiers, then the
    others.

    >>> called("user", ["Customer", "customer_id"]), called("item", ["Article No", "rating"])
    ('customer_id', 'Article No')
    """
    if ours in names:
        return ours
    usual = [name for name in names if plainly(name) in USUAL_NAMES[ours]]
    same = [name for name in usual if plainly(name) == ours]
    ids = [name for name in usual if plainly(name).endswith(_IDENTIFIED)]
    found = same or ids or sorted(usual, key=lambda name: USUAL_NAMES[ours].index(plainly(name)))
    if len(found) > 1 and ours in _CERTAIN:
        raise DataError(
            f"which column is the {ours}: {' or '.join(map(repr, found))}? Say it with "
            f"{how_to_map(ours, theirs=found[0], flag=flag)}"
        )
    return found[0] if found else None


def how_to_map(*ours: str, theirs: str = "...", flag: str = "--columns") -> str:
    """The words that map columns, in the library and on the command line.

    >>> how_to_map("user", theirs="buyer")
    "columns={'user': 'buyer'} (--columns user=buyer on the command line)"
    """
    value = "..." if theirs == "..." else repr(theirs)
    pairs = ", ".join(f"{name!r}: {value}" for name in ours)
    words = " ".join(f"{flag} {name}={theirs}" for name in ours)
    return f"columns={{{pairs}}} ({words} on the command line)"


def is_number(text: str) -> bool:
    """Whether a text is a number, as no column is called: then the first row is no header."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def told(names: Sequence[str]) -> str:
    """The names of a table's columns in a message, however many and long they are.

    >>> told(["user", "x" * 50])
    "'user', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...'"
    """
    shown = [repr(n if len(n) <= _LONGEST else n[:_LONGEST] + "...") for n in names[:_SHOWN]]
    more = [f"and {len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    return ", ".join([*shown, *more])
