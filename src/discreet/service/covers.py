"""Covers: a picture for every item, drawn from its title, year and genres.

Genres choose the colours, the letters and the shapes, so that a shelf of one genre looks like one;
a digest of the title chooses among them, and the layout, so that no two covers are the same.
"""

from __future__ import annotations

import hashlib
from html import escape
from typing import NamedTuple, TypeVar

from discreet.service import cover_art as art
from discreet.service.cover_art import FIELDS, PALETTES, SHAPES, Draw, Palette, Shape

T = TypeVar("T")
WIDTH, HEIGHT = 240, 360
MARGIN = 20
LONGEST_TITLE = 70
_SIZES = (46, 40, 35, 31, 27, 24, 21, 18)
_TALLEST = 165
"""Of a title, so that as much is left for its picture."""
_ARTICLES = {"the", "a", "an"}


class Letters(NamedTuple):
    """How a title is set."""

    family: str
    weight: int = 700
    upper: bool = False
    italic: bool = False


_SANS = "'Helvetica Neue', Helvetica, Arial, sans-serif"
_SERIF = "Georgia, 'Times New Roman', serif"
_BOLD, _CAPITALS = Letters(_SANS), Letters(_SANS, upper=True)
_BOOK, _ITALIC = Letters(_SERIF), Letters(_SERIF, 400, italic=True)


class _Style(NamedTuple):
    palettes: tuple[str, ...]
    shapes: tuple[Shape, ...]
    letters: tuple[Letters, ...]


_STYLES = {
    "action": _Style(("ash", "brick", "cream", "slate"), (art.slash, art.rays), (_CAPITALS, _BOLD)),
    "adventure": _Style(
        ("moss", "clay", "sky", "gold", "teal"), (art.peaks, art.sunrise, art.dusk), (_BOLD,)
    ),
    "animation": _Style(
        ("mint", "sun", "sky", "coral"), (art.quarters, art.rainbow, art.dots), (_BOLD,)
    ),
    "comedy": _Style(
        ("sun", "mint", "coral", "lime", "sky"), (art.dots, art.quarters, art.rainbow), (_BOLD,)
    ),
    "crime": _Style(("ash", "night", "slate", "gold"), (art.skyline, art.tunnel), (_CAPITALS,)),
    "documentary": _Style(
        ("paper", "cream", "slate", "moss"), (art.checks, art.skyline), (_BOLD, _BOOK)
    ),
    "drama": _Style(
        ("sea", "plum", "clay", "paper", "slate", "blush"),
        (art.pair, art.leaves, art.waves, art.sunrise),
        (_BOOK, _ITALIC),
    ),
    "fantasy": _Style(("violet", "moss", "teal", "gold"), (art.moon, art.leaves), (_BOOK,)),
    "history": _Style(("paper", "clay", "cream"), (art.checks, art.quarters), (_BOOK,)),
    "horror": _Style(("ash", "night", "brick"), (art.peaks, art.tunnel, art.moon), (_BOOK,)),
    "music": _Style(("violet", "rose", "sun"), (art.waves, art.rings, art.rainbow), (_BOLD,)),
    "mystery": _Style(
        ("night", "sea", "gold", "plum"), (art.tunnel, art.rings, art.moon), (_BOOK, _CAPITALS)
    ),
    "romance": _Style(
        ("rose", "blush", "coral", "plum"), (art.pair, art.leaves, art.sunrise), (_ITALIC, _BOOK)
    ),
    "science fiction": _Style(
        ("night", "violet", "teal", "gold"), (art.rings, art.dusk, art.moon), (_CAPITALS,)
    ),
    "thriller": _Style(
        ("night", "ash", "slate", "brick"), (art.slash, art.tunnel, art.rays), (_CAPITALS, _BOLD)
    ),
    "war": _Style(("moss", "ash", "clay"), (art.skyline, art.rays), (_CAPITALS,)),
    "western": _Style(("clay", "sun", "brick"), (art.dusk, art.sunrise, art.peaks), (_BOOK,)),
}
_SAME = {
    "children": "animation",
    "children's": "animation",
    "family": "animation",
    "film-noir": "crime",
    "musical": "music",
    "sci-fi": "science fiction",
}
"""Genres by other names."""


class _Line(NamedTuple):
    text: str
    size: int


class _Title(NamedTuple):
    lines: list[_Line]

    @property
    def height(self) -> int:
        return sum(round(line.size * 1.1) for line in self.lines)


def draw_cover(title: str, year: int | None, genres: tuple[str, ...]) -> str:
    """The cover as SVG; the same item always looks the same.

    >>> draw_cover("The Long Way Home", 1994, ("Drama",)).startswith("<svg")
    True
    """
    digest = hashlib.sha256(f"{title}\n{year}".encode()).digest()
    title, genres = _shown(title), tuple(map(_shown, genres))
    style = _style(genres, digest)
    colours = PALETTES[_one_of(style.palettes, digest[20])]
    letters = _one_of(style.letters, digest[22])
    shape = _one_of(style.shapes, digest[21])
    drawing = shape(Draw(colours, [byte / 255 for byte in digest[:20]]))
    about = " · ".join(filter(None, (genres[0].upper()[:18] if genres else "", str(year or ""))))
    words = _Words(_set_title(*_plain(title, year), letters), about, letters, colours)
    layout = _one_of((_above, _below, _framed, _banded)[: 4 if shape in FIELDS else 3], digest[23])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}">{_box(0, 0, WIDTH, HEIGHT, colours.ground)}'
        f"{layout(drawing, words)}</svg>"
    )


class _Words(NamedTuple):
    """All that is to be read on a cover."""

    title: _Title
    about: str
    letters: Letters
    colours: Palette

    @property
    def height(self) -> int:
        """With the small line, without what is left free around them."""
        return self.title.height + 22

    def at(self, top: float) -> str:
        """Set from here on downwards, the small line first."""
        y, found = top + 11, []
        small = f'font-family="{_SANS}" font-style="normal" font-size="11" letter-spacing="1"'
        found.append(f'<text x="{MARGIN}" y="{y:.0f}" {small}>{escape(self.about)}</text>')
        y += 11
        slant = ' font-style="italic"' if self.letters.italic else ""
        for text, size in self.title.lines:
            y += round(size * 1.1)
            baseline = y - size * 0.24
            found.append(
                f'<text x="{MARGIN}" y="{baseline:.0f}" font-size="{size}">{escape(text)}</text>'
            )
        return (
            f'<g fill="{self.colours.ink}" font-family="{self.letters.family}" '
            f'font-weight="{self.letters.weight}"{slant}>{"".join(found)}</g>'
        )


def _above(drawing: str, words: _Words) -> str:
    """Words, and the picture below them down to the edge."""
    top = MARGIN + words.height + 14
    return words.at(MARGIN) + _placed(drawing, 0, top, WIDTH, HEIGHT - top)


def _below(drawing: str, words: _Words) -> str:
    """The picture from the upper edge on, and words below it."""
    tall = HEIGHT - MARGIN - words.height - 12
    return _placed(drawing, 0, 0, WIDTH, tall) + words.at(tall + 14)


def _framed(drawing: str, words: _Words) -> str:
    """A picture in a frame of its own colour, and words below it."""
    tall = HEIGHT - 2 * MARGIN - words.height - 14
    inside = WIDTH - 2 * MARGIN
    frame = _box(MARGIN, MARGIN, inside, tall, words.colours.ink, 0.08)
    return frame + _placed(drawing, MARGIN, MARGIN, inside, tall) + words.at(MARGIN + tall + 14)


def _banded(drawing: str, words: _Words) -> str:
    """A picture all over, and a band across it with the words."""
    top = round((HEIGHT - words.height) * 0.42)
    band = _box(0, top - 14, WIDTH, words.height + 30, words.colours.ground)
    return _placed(drawing, 0, 0, WIDTH, HEIGHT) + band + words.at(top)


def _placed(drawing: str, x: float, y: float, width: float, height: float) -> str:
    """A drawing that fills a place; what would stand out is cut off."""
    return (
        f'<svg x="{x}" y="{y}" width="{width}" height="{height}" viewBox="0 0 {art.SIDE} '
        f'{art.SIDE}" preserveAspectRatio="xMidYMid slice">{drawing}</svg>'
    )


def _box(x: float, y: float, width: float, height: float, colour: str, opacity: float = 1) -> str:
    shade = f' fill-opacity="{opacity}"' if opacity < 1 else ""
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" fill="{colour}"{shade}/>'


def _shown(text: str) -> str:
    """Without letters that no SVG may hold, not even escaped."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _one_of(choices: tuple[T, ...], byte: int) -> T:
    return choices[byte % len(choices)]


def _style(genres: tuple[str, ...], digest: bytes) -> _Style:
    """Of the first genre, with shapes of all; an unknown one has a style of its own, too."""
    names = [_SAME.get(genre, genre) for genre in (g.strip().lower() for g in genres)]
    known = [_STYLES[name] for name in names if name in _STYLES]
    if known:
        shapes = tuple(shape for style in known[:2] for shape in style.shapes)
        return known[0]._replace(shapes=shapes)
    chosen = hashlib.sha256(genres[0].encode()).digest() if genres else digest
    palettes = tuple(_one_of(tuple(PALETTES), byte) for byte in chosen[24:28])
    return _Style(
        palettes, tuple(_one_of(SHAPES, byte) for byte in chosen[28:31]), (_BOLD, _CAPITALS, _BOOK)
    )


_NARROW, _BROAD = set("iljtfrI.,:;'!|()[] -"), set("mwMWOQ@%&GHNUD")


def _width(line: str) -> float:
    """About how wide a line of bold letters is, in the letters' size; rather too wide."""
    return sum(
        0.36 if c in _NARROW else 0.92 if c in _BROAD else 0.74 if c.isupper() else 0.64
        for c in line
    )


def _plain(title: str, year: int | None) -> tuple[str, str]:
    """A title without its year, and its article, which many catalogues put behind.

    >>> _plain("Long Way Home, The (1994)", 1994)
    ('The', 'Long Way Home')
    """
    words = title[:LONGEST_TITLE].removesuffix(f"({year})").split()
    if len(words) > 1 and words[-2].endswith(",") and words[-1].lower() in _ARTICLES:
        words = [words[-1], *words[:-2], words[-2].rstrip(",")]
    if len(words) > 1 and words[0].lower() in _ARTICLES:
        return words[0], " ".join(words[1:])
    return "", " ".join(words)


def _set_title(article: str, title: str, letters: Letters) -> _Title:
    """The largest size at which the title fits, an article before it smaller and by itself."""
    if letters.upper:
        article, title = article.upper(), title.upper()
    for size in _SIZES:
        lines = _wrapped(title.split(), (WIDTH - 2 * MARGIN) / size)
        first = [_Line(article, round(size * 0.58))] if article else []
        made = _Title([*first, *(_Line(line, size) for line in lines)])
        if lines and made.height <= _TALLEST:
            return made
    cut = [title[k : k + 16] for k in range(0, min(len(title), 48), 16)]
    return _Title([_Line(part, _SIZES[-1]) for part in cut])


def _wrapped(words: list[str], room: float) -> list[str]:
    """Lines of words within so much room; none where a word alone is too wide."""
    lines: list[str] = []
    for word in words:
        if _width(word) > room:
            return []
        if lines and _width(f"{lines[-1]} {word}") <= room:
            lines[-1] = f"{lines[-1]} {word}"
        else:
            lines.append(word)
    return lines
