"""The public names of the package, each shown from its docstring on the page of its group."""

from __future__ import annotations

import dataclasses
import inspect

from sphinx.application import Sphinx

import discreet

GROUPS = {
    "tables": ("as_ratings", "read_ratings", "read_items", "read_events", "load_ratings",
               "load_items", "load_events", "cinema_club", "check_tables", "Ratings", "Items",
               "Events", "EventRules", "Quantity", "RatingScale"),
    "levels": ("PrivacySpec", "Neighbours", "inclusion_probability"),
    "schemes": ("Tally", "Chorus", "PMF", "DPPMF", "PDPPMF", "Bias", "Compute"),
    "releases": ("Release", "Certificate", "Status", "Theorem", "Provenance", "Catalogue"),
    "publishing": ("publish", "FileLedger"),
    "evaluation": ("cross_validate", "hold_out", "k_folds", "by_time", "leave_last_out", "Split",
                   "search", "Search", "SecretsWarning", "plan_publications", "Schedule",
                   "advised"),
    "judging": (),
    "audit": (),
    "spark": (),
    "client": (),
}  # fmt: skip
INSIDE: dict[str, tuple[str, ...]] = {
    "schemes": ("discreet.schemes.model.FactorModel",),
    "releases": ("discreet.release.ranking.Ranking", "discreet.release.explaining.Explanation"),
    "judging": (
        *(f"discreet.evaluate.judge.{name}" for name in ("Judging", "judge_lists")),
        *(f"discreet.evaluate.metrics.{name}" for name in ("errors", "rmse", "mae", "cdf",
                                                          "summary", "Metric")),
        *(f"discreet.evaluate.lists.{name}" for name in ("Lists", "Facts", "ListMetric")),
        *(f"discreet.evaluate.baselines.{name}" for name in ("Reference", "find_method")),
    ),
    "audit": (
        *(f"discreet.audit.suite.{name}" for name in ("every_game", "games_for", "audit",
                                                      "alarms")),
        *(f"discreet.audit.game.{name}" for name in ("Game", "Finding", "play_game")),
        "discreet.audit.fits.games_of",
    ),
    "spark": tuple(
        f"discreet.engines.spark.{name}"
        for name in ("open_session", "read_ratings", "spark_ratings", "read_events",
                     "spark_events", "SparkRatings", "fit", "recommend")
    ),
    "client": tuple(
        f"discreet.client.{name}"
        for name in ("FrontEnd", "Rating", "Event", "Recommendation", "Written", "ServiceError")
    ),
}  # fmt: skip
"""What one gets from a public name, and so should be able to look up."""
NEWER = "others"
"""Every public name that has no group yet: none, says a test."""


def write(group: str) -> str:
    """The names of a group, and what they give."""
    return "\n\n".join([*map(_shown, _names(group)), *map(_by_path, INSIDE.get(group, ()))])


def write_errors() -> str:
    """Every kind of refusal: one tree, each also the builtin that a caller would expect."""
    from discreet import errors

    kinds = [kind for kind in vars(errors).values() if inspect.isclass(kind)]
    kinds = [kind for kind in kinds if issubclass(kind, errors.DiscreetError)]
    return "\n\n".join(
        f"```{{eval-rst}}\n.. autoexception:: discreet.errors.{kind.__name__}\n"
        "   :show-inheritance:\n```"
        for kind in kinds
    )


def _names(group: str) -> list[str]:
    if group in GROUPS:
        return [name for name in GROUPS[group] if name in discreet.__all__]
    grouped = {name for names in GROUPS.values() for name in names} | {"DiscreetError"}
    return [n for n in discreet.__all__ if n not in grouped and not n.startswith("__")]


def _shown(name: str) -> str:
    return _by_path(f"discreet.{name}")


def _by_path(path: str) -> str:
    module, name = path.rsplit(".", 1)
    found = getattr(__import__(module, fromlist=[name]), name)
    if not inspect.isclass(found):
        return f"## {name}\n\n```{{eval-rst}}\n.. autofunction:: {path}\n```"
    left_out = ""
    if hasattr(found, "about"):  # a scheme: what only those need that work with it is left out
        shown = {
            *(field.name for field in dataclasses.fields(found)),
            "fit",
            "get_params",
            "set_params",
        }
        left_out = ", ".join(n for n in dir(found) if not n.startswith("_") and n not in shown)
    return (
        f"## {name}\n\n```{{eval-rst}}\n.. autoclass:: {path}\n   :members:\n"
        f"   :exclude-members: {left_out}\n"
        "   :inherited-members: object, Exception, Enum, str, int\n```"
    )


def mark_up(
    app: Sphinx, kind: str, name: str, thing: object, options: object, lines: list[str]
) -> None:
    """Docstrings are plain text: a bar is a bar, as in |u| <= 1, not reStructuredText."""
    del app, kind, name, thing, options
    lines[:] = [
        line if line.lstrip().startswith(">>>") else line.replace("|", "\\|") for line in lines
    ]
