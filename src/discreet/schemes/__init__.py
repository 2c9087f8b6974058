"""Schemes: ways to train a recommender, each a frozen configuration whose `fit` makes a model."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.schemes.base import Scheme

SCHEMES = {
    "tally": "discreet.schemes.tally:Tally",
    "chorus": "discreet.schemes.chorus.scheme:Chorus",
    "pdp-pmf": "discreet.schemes.pmf.pdp:PDPPMF",
    "dp-pmf": "discreet.schemes.pmf.dp:DPPMF",
    "pmf": "discreet.schemes.pmf.pmf:PMF",
    "bias": "discreet.schemes.bias:Bias",
}
"""Every scheme by its name, imported when it is first asked for; its class says the rest of it."""


_METHODS = {
    "publishes": ("require_publishable", "prepare", "allowances", "publish_batch"),
    "engines": ("checked", "release"),
}
"""What a scheme offers that says so: see `base.Publishing` and `engines.Releasing`."""


def find_scheme(name: str) -> type[Scheme]:
    """The class of a scheme: one of the table, in any case, or one's own as module:Class.

    >>> find_scheme("Tally").about.publishes
    True
    """
    where = SCHEMES.get(name.lower(), name)
    module, colon, kind = where.partition(":")
    if not colon:
        raise ParameterError(
            f"there is no scheme {name!r}: there are {', '.join(SCHEMES)}, or one of your own as "
            "module:Class"
        )
    try:
        found: Any = getattr(import_module(module), kind)
    except Exception as error:  # whatever somebody's own module does when it is imported
        raise ParameterError(f"cannot import the scheme {name}: {error}") from None
    fields = getattr(found, "__dataclass_fields__", {})
    if not isinstance(found, type) or "items" not in fields or not hasattr(found, "about"):
        raise ParameterError(
            f"{name} is no scheme: a scheme is a dataclass with an `about`, a field `items` and a "
            "method `fit`"
        )
    offers = {"publishes": found.about.publishes, "engines": "stream" in found.about.engines}
    for said, methods in _METHODS.items():
        missing = [method for method in methods if not hasattr(found, method)]
        if offers[said] and missing:
            raise ParameterError(f"{name} says `{said}` but has no {', '.join(missing)}")
    return found


def usual_scheme(delta: float | None) -> type[Scheme]:
    """What is fitted unless another is named: pure epsilon, or where a delta is declared Chorus."""
    return find_scheme("chorus" if delta else "tally")
