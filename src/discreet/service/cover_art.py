"""What covers are made of: colours that go together, and shapes that a title's digest varies.

A shape is drawn in a square of 240; whoever places it cuts off what does not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

SIDE = 240


class Palette(NamedTuple):
    """Ground, shape, second shape, and ink that can be read on the ground."""

    ground: str
    shape: str
    second: str
    ink: str


PALETTES = {
    "night": Palette("#171a2b", "#3d4673", "#8c6bb1", "#f4f1ea"),
    "gold": Palette("#0e1b2c", "#4c6a8a", "#e0a43b", "#f7efdc"),
    "sun": Palette("#f2c14e", "#e4572e", "#fdf0c8", "#2a1c0c"),
    "cream": Palette("#f7f0e1", "#d9472b", "#2b4a6f", "#1b2430"),
    "rose": Palette("#7d1f3b", "#c4456a", "#f1a7b5", "#fff3ef"),
    "blush": Palette("#f6d9d5", "#d98a8f", "#6d3b57", "#35162a"),
    "plum": Palette("#51203f", "#a3476f", "#f3c9a5", "#fdf0ec"),
    "sea": Palette("#0f4c5c", "#2c8c99", "#9ad1d4", "#f5fbfa"),
    "teal": Palette("#17655b", "#0d433d", "#f2d06b", "#f3fbf8"),
    "sky": Palette("#a9d3ee", "#3d7fb5", "#fdf6e3", "#0f2a40"),
    "moss": Palette("#2f4a2c", "#6f8f4e", "#c9d7a3", "#f8f6e9"),
    "lime": Palette("#d8e26b", "#6d8a1f", "#fbfbe4", "#22290a"),
    "mint": Palette("#bfe3d0", "#5fae8b", "#f3f0d7", "#12332a"),
    "clay": Palette("#8a3b21", "#c96f3b", "#f0c69a", "#fff6ea"),
    "brick": Palette("#a8342a", "#6f1c17", "#f2b6a0", "#fff4ee"),
    "coral": Palette("#f4a58a", "#c8452f", "#fbe3d4", "#34120c"),
    "ash": Palette("#2b2b2e", "#5c5d63", "#d2553f", "#f2f0ec"),
    "slate": Palette("#46565f", "#7d929d", "#e8c07d", "#f6f4ee"),
    "paper": Palette("#ece5d8", "#c9b693", "#3f6273", "#20242a"),
    "violet": Palette("#3b2a63", "#7a5cc0", "#e0b1cb", "#f9f3fb"),
}


class Draw(NamedTuple):
    """What a shape may use: colours, and numbers from 0 to 1 that the title decides."""

    colours: Palette
    dice: list[float]

    def either(self, second: bool) -> str:
        """One of the two colours of shapes."""
        return self.colours.second if second else self.colours.shape


Shape = Callable[[Draw], str]


def _disc(x: float, y: float, r: float, colour: str) -> str:
    return f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{r:.0f}" fill="{colour}"/>'


def _ring(x: float, y: float, r: float, width: float, colour: str) -> str:
    return (
        f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{r:.0f}" fill="none" stroke="{colour}" '
        f'stroke-width="{width:.1f}"/>'
    )


def _box(x: float, y: float, width: float, height: float, colour: str) -> str:
    return (
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" fill="{colour}"/>'
    )


def _path(line: str, colour: str) -> str:
    return f'<path d="{line}" fill="{colour}"/>'


def rings(draw: Draw) -> str:
    """Circles around one point, as on water."""
    x, y = 60 + 120 * draw.dice[0], 70 + 100 * draw.dice[1]
    found = [_ring(x, y, r, 9 - r / 40, draw.colours.shape) for r in range(26, 260, 26)]
    return "".join(found) + _disc(x, y, 15, draw.colours.second)


def sunrise(draw: Draw) -> str:
    """A sun behind hills."""
    x, r = 60 + 120 * draw.dice[0], 50 + 35 * draw.dice[1]
    bend, peak = 30 + 80 * draw.dice[2], 110 + 40 * draw.dice[3]
    return (
        _disc(x, 120, r, draw.colours.second)
        + _path(f"M0 170Q{bend:.0f} {peak:.0f} 130 165T240 140V240H0z", draw.colours.shape)
        + _path(f"M0 215Q90 {peak + 40:.0f} 240 205V240H0z", draw.colours.ground)
    )


def dots(draw: Draw) -> str:
    """A field of dots of many sizes."""
    found = []
    for k in range(36):
        row, column = divmod(k, 6)
        die = draw.dice[(k * 5) % len(draw.dice)]
        found.append(_disc(20 + column * 40, 20 + row * 40, 4 + 14 * die, draw.either(die > 0.8)))
    return "".join(found)


def slash(draw: Draw) -> str:
    """Slanting beams."""
    lean = 60 + 90 * draw.dice[0]
    beams = (
        (-70 + 60 * draw.dice[1], 54, draw.colours.shape),
        (50 + 50 * draw.dice[2], 18, draw.colours.second),
        (110 + 50 * draw.dice[3], 66, draw.colours.shape),
    )
    return "".join(_path(f"M{x:.0f} 240l{lean:.0f}-240h{w}l-{lean:.0f} 240z", c)
                   for x, w, c in beams)  # fmt: skip


def pair(draw: Draw) -> str:
    """Two discs that meet."""
    x, gap, r = 85 + 20 * draw.dice[0], 55 + 25 * draw.dice[1], 62 + 16 * draw.dice[2]
    y = 110 + 20 * draw.dice[3]
    return _disc(x, y, r, draw.colours.shape) + (
        f'<circle cx="{x + gap:.0f}" cy="{y + 14:.0f}" r="{r * 0.8:.0f}" '
        f'fill="{draw.colours.second}" fill-opacity=".85"/>'
    )


def peaks(draw: Draw) -> str:
    """Two ridges."""
    far = " ".join(f"{k * 40},{60 + 110 * draw.dice[k]:.0f}" for k in range(7))
    near = " ".join(f"{k * 30},{130 + 80 * draw.dice[k + 7]:.0f}" for k in range(9))
    return (
        f'<polygon points="0,240 {far} 240,240" fill="{draw.colours.shape}"/>'
        f'<polygon points="0,240 {near} 240,240" fill="{draw.colours.second}"/>'
    )


def skyline(draw: Draw) -> str:
    """Towers, one of them lit."""
    lit = int(draw.dice[6] * 5.99)
    return "".join(
        _box(k * 40 + 3, 240 - tall, 34, tall, draw.either(k == lit))
        for k, tall in enumerate(50 + 160 * die for die in draw.dice[:6])
    )


def waves(draw: Draw) -> str:
    """Lines of a sea, or of music."""
    lit, found = int(draw.dice[7] * 6.99), []
    for k in range(7):
        y, high = 20 + k * 34, 14 + 26 * draw.dice[k]
        found.append(
            f'<path d="M-10 {y}Q30 {y - high:.0f} 70 {y}T150 {y}T230 {y}T310 {y}" fill="none" '
            f'stroke="{draw.either(k == lit)}" stroke-width="10"/>'
        )
    return "".join(found)


_QUARTERS = ("M0 0h60a60 60 0 0 1-60 60z", "M60 0v60A60 60 0 0 1 0 0z",
             "M60 60H0A60 60 0 0 1 60 0z", "M0 60V0a60 60 0 0 1 60 60z")  # fmt: skip


def quarters(draw: Draw) -> str:
    """Quarters of circles, in a grid."""
    found = []
    for k in range(16):
        row, column = divmod(k, 4)
        turn = int(draw.dice[(k * 3) % len(draw.dice)] * 4.99)
        if turn < 4:
            place = f"translate({column * 60} {row * 60})"
            colour = draw.either((turn + k) % 3 == 0)
            found.append(f'<g transform="{place}">{_path(_QUARTERS[turn], colour)}</g>')
    return "".join(found)


def rainbow(draw: Draw) -> str:
    """Arches, one within the other."""
    x, wide = 80 + 80 * draw.dice[0], 16 + 10 * draw.dice[1]
    return "".join(_ring(x, 240, 30 + k * wide * 1.5, wide, draw.either(k % 2 == 1))
                   for k in range(7))  # fmt: skip


def moon(draw: Draw) -> str:
    """A crescent and stars."""
    x, y, r = 90 + 60 * draw.dice[0], 100 + 40 * draw.dice[1], 54 + 18 * draw.dice[2]
    stars = "".join(
        _disc(240 * draw.dice[k], 240 * draw.dice[k + 8], 2 + 3 * draw.dice[k + 4],
              draw.colours.shape)
        for k in range(3, 12)
    )  # fmt: skip
    bite = _disc(x + r * (0.35 + 0.3 * draw.dice[3]), y - r * 0.2, r * 0.92, draw.colours.ground)
    return stars + _disc(x, y, r, draw.colours.second) + bite


def rays(draw: Draw) -> str:
    """Light from a corner."""
    x = 240 * round(draw.dice[0])
    found = []
    for k in range(9):
        left, right = -180 + k * 62, -180 + k * 62 + 16 + 30 * draw.dice[k]
        found.append(_path(f"M{x} 250L{left:.0f} -20H{right:.0f}z", draw.either(k % 4 == 2)))
    return "".join(found) + _disc(x, 240, 46, draw.colours.second)


def tunnel(draw: Draw) -> str:
    """Frames within frames, toward a light."""
    x, y = 90 + 60 * draw.dice[0], 90 + 60 * draw.dice[1]
    found = []
    for k in range(6):
        left, top = k / 6 * (x - 10), k / 6 * (y - 10)
        wide, tall = 240 - left - k / 6 * (230 - x), 240 - top - k / 6 * (230 - y)
        colour = draw.colours.ground if k % 2 else draw.colours.shape
        found.append(_box(left, top, wide, tall, colour))
    return "".join(found) + _disc(x, y, 16 + 10 * draw.dice[2], draw.colours.second)


def dusk(draw: Draw) -> str:
    """A sun in stripes."""
    x, r = 90 + 60 * draw.dice[0], 78 + 20 * draw.dice[1]
    stripes = "".join(
        _box(0, 120 + k * 20, 240, 4 + 2.2 * k, draw.colours.ground) for k in range(6)
    )
    return _disc(x, 120, r, draw.colours.second) + stripes + _box(0, 214, 240, 26,
                                                                  draw.colours.shape)  # fmt: skip


def leaves(draw: Draw) -> str:
    """A stem with leaves."""
    found, x = [_box(118, 0, 4, 240, draw.colours.shape)], 120
    for k in range(5):
        y, reach = 30 + k * 46, 50 + 50 * draw.dice[k]
        side = 1 if k % 2 else -1
        line = f"M{x} {y + 40}Q{x} {y - 14} {x + side * reach:.0f} {y - 8}"
        back = f"Q{x + side * reach:.0f} {y + 42} {x} {y + 40}z"
        found.append(_path(line + back, draw.either(draw.dice[k + 5] > 0.6)))
    return "".join(found)


def checks(draw: Draw) -> str:
    """A board with one square that is not like the others."""
    odd = int(draw.dice[0] * 15.99)
    return "".join(
        _box(k % 4 * 60, k // 4 * 60, 60, 60, draw.either(k == odd))
        for k in range(16)
        if (k + k // 4) % 2 == 0 or k == odd
    )


SHAPES: tuple[Shape, ...] = (
    rings, sunrise, dots, slash, pair, peaks, skyline, waves, quarters, rainbow, moon, rays, tunnel,
    dusk, leaves, checks,
)  # fmt: skip
FIELDS = frozenset((rings, dots, slash, waves, quarters, rays, checks))
"""Shapes that fill their square evenly: a band across hides nothing that matters."""
