"""Engines: ratings that are not in memory, asked for the same integer sums over people."""

from __future__ import annotations

from typing import Protocol

from discreet.data.edges import Table, require_inside
from discreet.data.ratings import RatingsSource
from discreet.privacy.spec import PrivacySpec
from discreet.progress import Progress, silent
from discreet.release.release import Release
from discreet.schemes.chorus.scheme import Chorus
from discreet.schemes.tally import Tally


class SourceTable(RatingsSource, Table, Protocol):
    """A crowd that was read from a table."""


def fit_release(
    scheme: Tally | Chorus,
    crowd: SourceTable,
    spec: PrivacySpec | None = None,
    *,
    seed: int | None = None,
    progress: Progress = silent,
) -> Release:
    """The release that `scheme.fit` would make of the same ratings in memory, bit for bit."""
    checked = scheme.checked(spec)
    require_inside(crowd, scheme.items)
    data = crowd if scheme.items is None else crowd.over(scheme.items.ids)
    return scheme.release(data, checked, seed=seed, progress=progress)
