"""Factors as a release: item factors without effects, people of length at most one folded in."""

from __future__ import annotations

import numpy as np

from discreet.arrays import Array
from discreet.data.items import Items
from discreet.data.scale import RatingScale
from discreet.data.source import RatingsSource
from discreet.privacy.certificate import Certificate
from discreet.release.release import Release
from discreet.release.scoring import FoldIn, typical_person
from discreet.schemes.catalogue import public_items

DTYPES = {"float32": np.float32, "float64": np.float64}


def unit_ball_fold_in(scale: RatingScale, d: int) -> FoldIn:
    """For people with |u| <= 1: the ratio of the errors' variance to that of an entry of u.

    An error has about 0.05 span^2 (0.8 on a scale of five stars), an entry of a unit row 1/d.
    """
    return FoldIn(ridge=0.05 * scale.span**2 * d)


def factor_release(
    data: RatingsSource,
    items: Items | None,
    V: Array,
    fold_in: FoldIn,
    certificate: Certificate,
    *,
    mean: float = 0.0,
) -> Release:
    """The release of a factorisation without item effects: r is predicted as mean + u . v."""
    return Release(
        items=public_items(data, items),
        mean=mean,
        item_effects=np.zeros(len(V)),
        item_factors=V,
        prior=typical_person(V, data.scale.middle - mean),
        fold_in=fold_in,
        scale=data.scale,
        certificate=certificate,
    )
