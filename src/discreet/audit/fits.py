"""Games through the public `fit`, run by run, with the noise that releases use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from discreet.arrays import Array
from discreet.audit.game import Game
from discreet.audit.neighbours import Pair, canary, crowd, four_people, whole_person
from discreet.data.items import Items
from discreet.data.ratings import Ratings
from discreet.errors import ParameterError
from discreet.kernels.compute import Compute
from discreet.privacy.spec import PrivacySpec
from discreet.privacy.theorems import Status
from discreet.schemes import SCHEMES, find_scheme
from discreet.schemes.base import Scheme, build_scheme
from discreet.schemes.model import FactorModel
from discreet.schemes.pmf.dp import DPPMF
from discreet.schemes.tally import Tally

ALONE = Compute(threads=1)
"""For fits of a few ratings: another thread would take longer to wake up."""


@dataclass(frozen=True)
class FitRuns:
    """Outcomes are what somebody sees of a fitted model."""

    scheme: Scheme
    pair: Pair
    spec: PrivacySpec | None
    view: Callable[[FactorModel, Pair], Array]
    compute: Compute = ALONE

    def __call__(self, with_record: bool, runs: int, seed: int) -> Array:
        """So many fits of one side, without a seed."""
        del seed
        table = self.pair.side(with_record)
        fits = (self.scheme.fit(table, self.spec, compute=self.compute) for _ in range(runs))
        return np.stack([self.view(model, self.pair) for model in fits])


def released(model: FactorModel, pair: Pair) -> Array:
    """What is released of the item under attack: tallies, effect, doubt, its factors' products.

    Factors are known up to a rotation; only inner products say something.
    """
    release = model.release
    V = np.asarray(release.item_factors, dtype=np.float64)
    parts = [V @ V[pair.item], release.item_effects[[pair.item]]]
    if release.choices is not None:
        parts.append(release.choices.columns @ release.choices.columns[pair.item])
    if release.tallies is not None:
        parts.append(np.array([votes[pair.item] for votes in release.tallies.votes()]))
    if release.item_doubts is not None:
        parts.append(release.item_doubts[[pair.item]])
    return np.concatenate(parts)


def seen_by_others(model: FactorModel, pair: Pair) -> Array:
    """The release, and what everybody but the record's owner is predicted for every item."""
    owner = int(pair.table.user[pair.removed][0])
    others = np.delete(np.arange(len(pair.table.users), dtype=np.int32), owner)
    items = np.arange(len(pair.table.items), dtype=np.int32)
    user, item = np.repeat(others, len(items)), np.tile(items, len(others))
    return np.concatenate([released(model, pair), model.predict_rows(user, item)])


def solved_by_others(model: FactorModel, pair: Pair) -> Array:
    """Inner products of the others' jointly trained factors.

    Each of them has d predictions and the released V, and so can solve for their own factors.
    """
    owner = int(pair.table.user[pair.removed][0])
    U = np.delete(np.asarray(model.user_factors, dtype=np.float64), owner, axis=0)
    return np.asarray((U @ U.T)[np.triu_indices(len(U))])


def shown(model: FactorModel, pair: Pair) -> Array:
    """What others see: the release, and their predictions where these come from it alone."""
    return released(model, pair) if model.trained is not None else seen_by_others(model, pair)


def games_of(scheme: type[Scheme], t: float = 1.0) -> list[Game]:
    """Any scheme's public `fit` under attack, with the parameters that it is to be audited with.

    The claim is the record's level and the certificate's delta, and proven if the certificate says
    so. What protects nobody claims nothing: then any loss that runs can prove is there.
    """
    if not scheme.about.audited:
        raise ParameterError(f"{scheme.about.name} names nothing to be audited with")
    found = []
    for parameters in scheme.about.audited:
        if not scheme.about.private:
            runs = FitRuns(build_scheme(scheme, **parameters), crowd(), None, released)
            found.append(_game(scheme.about.name, "no privacy", "one record of many", None, runs))
        elif scheme.about.personal:
            column = PrivacySpec.column(max_level=t)
            below = four_people(t).at_level(0.25 * t)
            pairs = {"record at t": crowd(t), "record below t": below}
            if scheme.about.units[0] == "person":
                pairs = {"person at t": whole_person(4, t)}
            for case, pair in pairs.items():
                found.append(_game_of(scheme, parameters, pair, column, case))
        else:
            uniform = PrivacySpec.uniform(t)
            found.append(_game_of(scheme, parameters, four_people(t), uniform, "record at t"))
    return found


def _game_of(
    scheme: type[Scheme], parameters: Mapping[str, Any], pair: Pair, spec: PrivacySpec, case: str
) -> Game:
    """What a certificate over a public catalogue claims of the pair's record."""
    items = Items.from_frame(pair.table.items.values.to_frame("item"))
    made = build_scheme(scheme, items, **parameters)
    promised = made.fit(pair.table, spec, compute=ALONE).release.certificate
    return _game(
        scheme.about.name,
        promised.variant,
        case,
        pair.level,
        FitRuns(made, pair, spec, shown),
        delta=parameters.get("delta", promised.delta),
        proven=scheme.about.proven or promised.status == Status.PROVEN,
    )


def _game(
    scheme: str, variant: str, case: str, claimed: float | None, runs: FitRuns, **more: Any
) -> Game:
    return Game(scheme, variant, f"{case}, through fit", claimed, runs, slow=True, **more)


def canary_game(data: Ratings, level: float = 1.0) -> Game:
    """Tally on a table of any size, with and without a stranger's rating of its rarest item."""
    spec = PrivacySpec.column(max_level=level)
    runs = FitRuns(Tally(), canary(data, level), spec, released, Compute())
    return _game("Tally", "weigh", "canary", level, runs, proven=True, secret=True)


def served_game(t: float = 1.0) -> Game:
    """A control: others served with factors that were trained on everybody's ratings."""
    scheme = DPPMF(factors=2, gamma=0.5, variant="repaired", solver="als")
    runs = FitRuns(scheme, crowd(t), PrivacySpec.uniform(t), solved_by_others)
    case = "others served with jointly trained U"
    return _game("DP-PMF", "repaired", case, t, runs, control=True)


def games(t: float = 1.0) -> list[Game]:
    """Every scheme of the table that is to be audited through its public `fit`, and a control."""
    kinds = [find_scheme(name) for name in SCHEMES]
    found = [game for kind in kinds if kind.about.audited for game in games_of(kind, t)]
    # Other games of the same schemes have many more runs.
    few = [replace(game, share=0.5) if game.claimed and not game.proven else game for game in found]
    return [*few, served_game(t)]
