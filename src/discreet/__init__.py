"""Discreet: a recommender that keeps every rating as private as its owner asked for.

The names below are the public interface; each is imported when it is first used, so that
`import discreet` is fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.data.edges import check_tables as check_tables
    from discreet.data.event_rules import EventRules as EventRules
    from discreet.data.event_rules import Quantity as Quantity
    from discreet.data.events import Events as Events
    from discreet.data.items import Items as Items
    from discreet.data.ratings import Ratings as Ratings
    from discreet.data.scale import RatingScale as RatingScale
    from discreet.data.tables import as_ratings as as_ratings
    from discreet.errors import DiscreetError as DiscreetError
    from discreet.errors import SecretsWarning as SecretsWarning
    from discreet.evaluate.crossval import cross_validate as cross_validate
    from discreet.evaluate.search import Search as Search
    from discreet.evaluate.search import search as search
    from discreet.evaluate.splits import Split as Split
    from discreet.evaluate.splits import by_time as by_time
    from discreet.evaluate.splits import hold_out as hold_out
    from discreet.evaluate.splits import k_folds as k_folds
    from discreet.evaluate.splits import leave_last_out as leave_last_out
    from discreet.experiments.schedule import Schedule as Schedule
    from discreet.experiments.schedule import advised as advised
    from discreet.experiments.schedule import plan_publications as plan_publications
    from discreet.kernels.compute import Compute as Compute
    from discreet.privacy.certificate import Certificate as Certificate
    from discreet.privacy.personalise import inclusion_probability as inclusion_probability
    from discreet.privacy.provenance import Catalogue as Catalogue
    from discreet.privacy.provenance import Neighbours as Neighbours
    from discreet.privacy.provenance import Provenance as Provenance
    from discreet.privacy.spec import PrivacySpec as PrivacySpec
    from discreet.privacy.theorems import Status as Status
    from discreet.privacy.theorems import Theorem as Theorem
    from discreet.publishing.file_ledger import FileLedger as FileLedger
    from discreet.publishing.publish import publish as publish
    from discreet.readers.club import cinema_club as cinema_club
    from discreet.readers.datasets import load_events as load_events
    from discreet.readers.datasets import load_items as load_items
    from discreet.readers.datasets import load_ratings as load_ratings
    from discreet.readers.tables import read_events as read_events
    from discreet.readers.tables import read_items as read_items
    from discreet.readers.tables import read_ratings as read_ratings
    from discreet.release.release import Release as Release
    from discreet.schemes.bias import Bias as Bias
    from discreet.schemes.chorus.scheme import Chorus as Chorus
    from discreet.schemes.pmf.dp import DPPMF as DPPMF
    from discreet.schemes.pmf.pdp import PDPPMF as PDPPMF
    from discreet.schemes.pmf.pmf import PMF as PMF
    from discreet.schemes.tally import Tally as Tally

__version__ = "0.1.0"

_HOMES = {
    "Bias": "schemes.bias",
    "Catalogue": "privacy.provenance",
    "Certificate": "privacy.certificate",
    "Chorus": "schemes.chorus.scheme",
    "Compute": "kernels.compute",
    "DPPMF": "schemes.pmf.dp",
    "DiscreetError": "errors",
    "EventRules": "data.event_rules",
    "Events": "data.events",
    "FileLedger": "publishing.file_ledger",
    "Items": "data.items",
    "Neighbours": "privacy.provenance",
    "PDPPMF": "schemes.pmf.pdp",
    "PMF": "schemes.pmf.pmf",
    "PrivacySpec": "privacy.spec",
    "Provenance": "privacy.provenance",
    "Quantity": "data.event_rules",
    "RatingScale": "data.scale",
    "Ratings": "data.ratings",
    "Release": "release.release",
    "Schedule": "experiments.schedule",
    "Search": "evaluate.search",
    "SecretsWarning": "errors",
    "Split": "evaluate.splits",
    "Status": "privacy.theorems",
    "Tally": "schemes.tally",
    "Theorem": "privacy.theorems",
    "advised": "experiments.schedule",
    "as_ratings": "data.tables",
    "by_time": "evaluate.splits",
    "check_tables": "data.edges",
    "cinema_club": "readers.club",
    "cross_validate": "evaluate.crossval",
    "hold_out": "evaluate.splits",
    "inclusion_probability": "privacy.personalise",
    "k_folds": "evaluate.splits",
    "leave_last_out": "evaluate.splits",
    "load_events": "readers.datasets",
    "load_items": "readers.datasets",
    "load_ratings": "readers.datasets",
    "plan_publications": "experiments.schedule",
    "publish": "publishing.publish",
    "read_events": "readers.tables",
    "read_items": "readers.tables",
    "read_ratings": "readers.tables",
    "search": "evaluate.search",
}

__all__ = sorted([*_HOMES, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    return getattr(importlib.import_module(f"discreet.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
