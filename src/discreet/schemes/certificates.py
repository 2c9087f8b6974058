"""Recording: what every scheme's provenance has in common, taken from what the fit was given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from discreet.data.items import Items
from discreet.data.source import RatingsSource
from discreet.errors import ParameterError
from discreet.privacy.certificate import Certificate
from discreet.privacy.noise import Randomness
from discreet.privacy.promise import INCREMENTAL
from discreet.privacy.provenance import Catalogue, Provenance
from discreet.privacy.spec import PrivacySpec
from discreet.privacy.theorems import THEOREMS, Theorem
from discreet.privacy.wording import of_events
from discreet.schemes.base import LedgerState


def recorded(
    theorem: str | Theorem,
    *,
    items: Items | None,
    randomness: Randomness,
    spec: PrivacySpec | None = None,
    data: RatingsSource | None = None,
    threshold: float | None = None,
    **facts: Any,
) -> Provenance:
    """Provenance of a fit: its theorem, what the fit was given, and the scheme's facts.

    The theorem is one of the table by its name, or a scheme's own.
    """
    given: dict[str, Any] = {"threshold": threshold, **facts}
    if data is not None and data.rules is not None:
        given["events"] = data.rules.words
    if spec is not None:
        given["levels"] = levels = spec.on_offer
        if data is not None and data.has_levels and not spec.reads_column:
            words = f"{levels.words}, in place of the levels that the table has"
            given["levels"] = replace(levels, words=words)
        if "events" in given:
            given["levels"] = replace(levels, words=of_events(given["levels"].words))
        if threshold is not None:
            given["served"] = min(threshold, spec.max_level)
    given["catalogue"] = Catalogue.RATED if items is None else Catalogue.GIVEN
    if items is not None:
        given |= {"columns": tuple(items.frame.columns[1:]), "vouched": items.vouched}
    stated = THEOREMS[theorem] if isinstance(theorem, str) else theorem
    return Provenance(theorem=stated, entropy=randomness.entropy, **given)


def certified(made: Provenance, state: LedgerState | None = None) -> Certificate:
    """The certificate; of a ledger's release, that of all its releases together.

    A release that adds to another promises no more than that did.
    """
    if state is None:
        return Certificate(made)
    of_events = "-events" if made.events is not None else ""
    covered = [THEOREMS.get(f"{name}{of_events}") for name in ("tally", "chorus")]
    if made.theorem not in covered:
        raise ParameterError(
            f"no theorem covers releases of {made.scheme} over time: incremental.md is about "
            "Tally and Chorus, each rating protected by itself"
        )
    over_time = THEOREMS[f"incremental{of_events}"]
    made = replace(made, variant=INCREMENTAL, theorem=over_time, history=state.history)
    before = state.before
    return Certificate(made if before is None else made.after(before.certificate.provenance))
