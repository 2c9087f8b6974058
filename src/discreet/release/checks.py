"""Checks: whether the parts of a release belong together, whoever put them together."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ReleaseError

if TYPE_CHECKING:
    from discreet.release.release import Release


def check_release(release: Release) -> None:
    """An error unless every part fits the catalogue and every number is finite."""
    _check_factors(release)
    count = len(release.items)
    for name, codes in release.families.items():
        if codes.shape != (count,) or not ((codes >= -1) & (codes < count)).all():
            raise ReleaseError(f"the families by {name!r} do not fit {count} items")
    if release.tallies is not None and len(release.tallies) != count:
        raise ReleaseError(f"{count} items need as many tallies: got {len(release.tallies)}")
    doubts = release.item_doubts
    if doubts is not None and (doubts.shape != (count,) or not (doubts >= 0).all()):
        raise ReleaseError(f"{count} items need as many doubts, none below zero")
    if release.choices is not None:
        release.choices.check(count)
    for kept in (release.liking_sums, release.choosing_sums):
        if kept is not None:
            kept.check(count)
    for name in ("item_effects", "item_factors", "prior", "item_doubts"):
        values = getattr(release, name)
        if values is not None and not np.isfinite(values).all():
            raise ReleaseError(f"the release's {name} hold a number that is not finite")
    constants = (release.mean, release.fold_in.ridge, release.fold_in.ridge_per_rating)
    if not all(math.isfinite(c) for c in constants) or min(constants[1:]) < 0:
        raise ReleaseError(f"the release's mean and ridges must be finite: got {constants}")


def _check_factors(release: Release) -> None:
    count, d = len(release.items), release.item_factors.shape[-1]
    if release.item_effects.shape != (count,):
        raise ReleaseError(f"{count} items need as many effects: got {release.item_effects.shape}")
    if release.item_factors.shape != (count, d) or release.prior.shape != (d,):
        raise ReleaseError(
            f"{count} items need as many factor rows, and the prior as many entries as a row: "
            f"got {release.item_factors.shape} and {release.prior.shape}"
        )
    if len(release.factor_names) not in (0, d):
        raise ReleaseError(f"{d} factors need as many names: got {len(release.factor_names)}")
