"""Discreet: a recommender that keeps every rating as private as its owner asked for.

The names below are the public interface; each is imported when it is first used, so that
`import discreet` is fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.edges import check_tables as check_tables
    from discreet.errors import DiscreetError as DiscreetError
    from discreet.evaluate.crossval import cross_validate as cross_validate
    from discreet.evaluate.splits import Split as Split
    from discreet.evaluate.splits import by_time as by_time
    from discreet.evaluate.splits import hold_out as hold_out
    from discreet.evaluate.splits import k_folds as k_folds
    from discreet.io.club import cinema_club as cinema_club
    from discreet.io.datasets import load_items as load_items
    from discreet.io.datasets import load_ratings as load_ratings
    from discreet.io.tables import read_items as read_items
    from discreet.io.tables import read_ratings as read_ratings
    from discreet.items import Items as Items
    from discreet.privacy.certificate import Certificate as Certificate
    from discreet.privacy.ledger import Ledger as Ledger
    from discreet.privacy.personalise import inclusion_probability as inclusion_probability
    from discreet.privacy.provenance import Catalogue as Catalogue
    from discreet.privacy.provenance import Neighbours as Neighbours
    from discreet.privacy.provenance import Provenance as Provenance
    from discreet.privacy.spec import PrivacySpec as PrivacySpec
    from discreet.privacy.theorems import Status as Status
    from discreet.privacy.theorems import Theorem as Theorem
    from discreet.ratings import Ratings as Ratings
    from discreet.release import Release as Release
    from discreet.scale import RatingScale as RatingScale
    from discreet.schemes.baseline import Bias as Bias
    from discreet.schemes.chorus import Chorus as Chorus
    from discreet.schemes.dppmf import DPPMF as DPPMF
    from discreet.schemes.dppmf import PDPPMF as PDPPMF
    from discreet.schemes.pmf import PMF as PMF
    from discreet.schemes.publish import publish as publish
    from discreet.schemes.tally import Tally as Tally

__version__ = "0.1.0"

_HOMES = {
    "Bias": "schemes.baseline",
    "Catalogue": "privacy.provenance",
    "Certificate": "privacy.certificate",
    "Chorus": "schemes.chorus",
    "DPPMF": "schemes.dppmf",
    "DiscreetError": "errors",
    "Items": "items",
    "Ledger": "privacy.ledger",
    "Neighbours": "privacy.provenance",
    "PDPPMF": "schemes.dppmf",
    "PMF": "schemes.pmf",
    "PrivacySpec": "privacy.spec",
    "Provenance": "privacy.provenance",
    "RatingScale": "scale",
    "Ratings": "ratings",
    "Release": "release",
    "Split": "evaluate.splits",
    "Status": "privacy.theorems",
    "Tally": "schemes.tally",
    "Theorem": "privacy.theorems",
    "by_time": "evaluate.splits",
    "check_tables": "edges",
    "cinema_club": "io.club",
    "cross_validate": "evaluate.crossval",
    "hold_out": "evaluate.splits",
    "inclusion_probability": "privacy.personalise",
    "k_folds": "evaluate.splits",
    "load_items": "io.datasets",
    "load_ratings": "io.datasets",
    "publish": "schemes.publish",
    "read_items": "io.tables",
    "read_ratings": "io.tables",
}

__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    return getattr(importlib.import_module(f"discreet.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
