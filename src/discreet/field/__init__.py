"""The field: recommenders that the literature names, to be compared with; none can be published."""

from __future__ import annotations

from importlib import import_module
from typing import Any

FIELD = {
    "noisy-biases": "discreet.field.biases_alone:NoisyBiases",
    "dpals": "discreet.field.dpals:DPALS",
    "am-ssp": "discreet.field.am_ssp:AMSSP",
    "implicit-als": "discreet.field.implicit:ImplicitALS",
    "dp-sgd": "discreet.field.dpsgd:DPSGD",
    "frank-wolfe": "discreet.field.frank_wolfe:FrankWolfe",
    "mcsherry-mironov": "discreet.field.mcsherry_mironov:McSherryMironov",
    "friedman": "discreet.field.friedman:Friedman",
    "hua": "discreet.field.hua:Hua",
    "jorgensen": "discreet.field.jorgensen:Jorgensen",
    "svd++": "discreet.field.svdpp:SVDpp",
}
"""Every scheme of the field by its name, imported when it is first asked for."""


def find_field(name: str) -> Any:
    """The class of a scheme of the field.

    >>> find_field("am-ssp").about.units
    ('person',)
    """
    module, _, kind = FIELD[name].partition(":")
    return getattr(import_module(module), kind)
