"""Engines: ratings on disk or in a cluster, which answer the same integer sums, bit for bit."""

from __future__ import annotations

from typing import Protocol

from discreet.data.edges import Table, require_inside
from discreet.data.items import Items
from discreet.data.source import RatingsSource
from discreet.errors import ParameterError
from discreet.kernels.compute import Compute
from discreet.privacy.noise import Randomness
from discreet.privacy.spec import PrivacySpec
from discreet.progress import Progress, silent
from discreet.release.release import Release
from discreet.schemes import SCHEMES, find_scheme
from discreet.schemes.base import Run, Scheme
from discreet.schemes.catalogue import refuse_events


class SourceTable(RatingsSource, Table, Protocol):
    """A source that was read from a table."""


class Releasing(Scheme, Protocol):
    """What a scheme offers that asks for sums alone, and so runs wherever ratings are."""

    @property
    def unit(self) -> str:
        """What is protected."""
        ...

    def checked(self, spec: PrivacySpec | None) -> PrivacySpec:
        """The specification, if all parameters are fit."""
        ...

    def release(self, data: RatingsSource, spec: PrivacySpec, run: Run) -> Release:
        """The release alone, of ratings counted over the catalogue, wherever they are."""
        ...


def require_engine(scheme: Scheme, engine: str) -> None:
    """An error if a scheme does not run where the ratings are."""
    if engine not in scheme.about.engines:
        abouts = {name: find_scheme(name).about for name in SCHEMES}
        fitting = {name: a.name for name, a in abouts.items() if engine in a.engines}
        raise ParameterError(
            f"{engine.capitalize()} fits {', '.join(fitting.values())}: got {scheme.about.name} "
            f"(--engine {engine} goes with --scheme {' or '.join(fitting)})"
        )


def require_suited(scheme: Scheme, source: RatingsSource) -> None:
    """An error for events, if a scheme learns from ratings alone."""
    if source.events and not scheme.about.events:
        refuse_events()


def fit_release(
    scheme: Releasing,
    source: SourceTable,
    spec: PrivacySpec | None = None,
    *,
    seed: int | None = None,
    compute: Compute = Compute(),
    progress: Progress = silent,
) -> Release:
    """The release that `scheme.fit` would make of the same ratings in memory, bit for bit."""
    require_engine(scheme, "stream")
    require_suited(scheme, source)
    checked = scheme.checked(spec)
    require_inside(source, scheme.items)
    data = _over(source, scheme.items)
    return scheme.release(data, checked, Run(Randomness(seed), compute, progress))


def _over(source: RatingsSource, items: Items | None) -> RatingsSource:
    return source if items is None else source.over(items.ids)
