"""Options that several schemes have, said once each."""

from __future__ import annotations

from typing import Any

from discreet.errors import ParameterError
from discreet.privacy.personalise import DATA_THRESHOLDS
from discreet.privacy.provenance import Neighbours
from discreet.schemes.base import Option


def _neighbours(word: str) -> Neighbours:
    if word not in tuple(Neighbours):
        raise ParameterError(f"--neighbours must be 'add/remove' or 'replace': got {word!r}")
    return Neighbours(word)


def _threshold(word: str) -> Any:
    if word in DATA_THRESHOLDS:
        return word
    try:
        return float(word)
    except ValueError:
        raise ParameterError(
            f"--threshold must be a number or 'mean' or 'max': got {word!r}"
        ) from None


def declared_threshold(*words: str) -> Option:
    """t on a command line: a number, or one of these words."""
    more = f", or the paper's {' or '.join(map(repr, words))}, never proven" if words else ""
    told = f"t, the largest epsilon that counts in full: a declared number{more}."
    return Option("--threshold", told, str, "T", read=_threshold, words=words)


NEIGHBOURS = Option(
    "--neighbours", "Which data sets must look alike.", str, "add/remove|replace", read=_neighbours
)
FAMILIES = Option(
    "--family",
    "A column of the item table that holds families, such as series or author (default: found in "
    "titles and in texts that repeat, see `discreet inspect ITEMS`). May be repeated.",
    list,
    "COLUMN",
    read=tuple,
)
FACTORS = Option("--factors", "Number of factors d.", int, short="-d")
NOISE = Option(
    "--noise",
    "What draws noise where there is no seed: exact (the default), or OpenDP's vetted sampler, "
    "slower, for one more release (tally only: chorus needs rounded Gaussian noise).",
    metavar="exact|opendp",
)
