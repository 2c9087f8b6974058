"""Small patches of other code, each of which breaks a promise: votes, levels, ledgers, noise."""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.arrays import Array
from discreet.audit.breaking import Change, instead, patched
from discreet.data.ratings import Ratings
from discreet.engines import stream
from discreet.privacy import personalise
from discreet.privacy.fixedpoint import ONE_VOTE
from discreet.privacy.lifetime import Spends
from discreet.privacy.noise import Randomness
from discreet.privacy.spec import PrivacySpec
from discreet.publishing.file_ledger import FileLedger
from discreet.release.release import Release
from discreet.schemes import tally, votes
from discreet.schemes.base import Batch, Run
from discreet.schemes.chorus import weighing
from discreet.schemes.tally import Tally
from discreet.schemes.votes import Ballot
from discreet.schemes.voting_scheme import VotingScheme


def quiet_tallies() -> list[Change]:
    """Tally's noise times 0.8."""

    def made(own: Any) -> Any:
        return lambda votes, t, run, **more: own(votes, t / 0.8, run, **more)

    return instead(tally, "noisy_tallies", made)


def level_blind_votes() -> list[Change]:
    """Everybody has a whole vote."""
    return [(votes, "weigh", lambda levels, _: np.full(len(levels), ONE_VOTE, dtype=np.int32))]


def rounded_up() -> list[Change]:
    """Weights of votes are rounded up to the grid."""

    def weigh(levels: Array, t: float) -> Array:
        return np.asarray(np.ceil(np.minimum(levels / t, 1.0) * ONE_VOTE), dtype=np.int32)

    return [(votes, "weigh", weigh), (personalise, "weigh", weigh)]


def undivided() -> list[Change]:
    """Each of a person's ratings has what all of them should share."""

    def share(ratings: Ratings, weights: Array, whole: int, norm: int) -> Array:
        del ratings, norm
        return np.asarray(np.floor(weights * whole * ONE_VOTE), dtype=np.int32)

    return [(votes, "share_among_own", share), (weighing, "share_among_own", share)]


def filter_first() -> list[Change]:
    """Ratings outside the catalogue are dropped before anybody looks at levels."""

    def made(own: Any) -> Any:
        def fit(self: Any, ratings: Ratings, spec: Any = None, **more: Any) -> Any:
            known = ratings if self.items is None else ratings.with_items(self.items.ids)
            return own(self, known, spec, **more)

        return fit

    return instead(VotingScheme, "fit", made)


def wrong_coins() -> list[Change]:
    """A rating is kept with probability epsilon/t."""
    return [(votes, "inclusion_probability", lambda levels, t: np.minimum(1.0, levels / t))]


def rated_only() -> list[Change]:
    """No noise on items that nobody rated."""

    def made(own: Any) -> Any:
        def noisy(exact: Array, t: float, run: Run, **more: Any) -> Any:
            all_of_them, rated = own(exact, t, run, **more), exact.sum(axis=0) > 0
            return replace(
                all_of_them,
                against=np.where(rated, all_of_them.against, 0),
                in_favour=np.where(rated, all_of_them.in_favour, 0),
            )

        return noisy

    return instead(tally, "noisy_tallies", made)


def mean_threshold() -> list[Change]:
    """t is the mean of the levels in the table."""

    def made(own: Any) -> Any:
        def release(self: Tally, data: Any, spec: PrivacySpec, run: Run) -> Release:
            mean = float(spec.levels(data).mean())
            found = own(replace(self, threshold=mean), data, spec, run)
            assert isinstance(found, Release)
            return found

        return release

    return instead(Tally, "release", made)


def counts_told() -> list[Change]:
    """The certificate says how many ratings there were."""

    def made(own: Any) -> Any:
        def build_release(self: Tally, known: Any, data: Any, *rest: Any) -> Release:
            release: Release = own(self, known, data, *rest)
            made = release.certificate.provenance
            told = replace(made, parameters={**made.parameters, "ratings": len(data)})
            return replace(release, certificate=replace(release.certificate, provenance=told))

        return build_release

    return instead(VotingScheme, "build_release", made)


def forgetful_ledger() -> list[Change]:
    """The ledger forgets what was spent."""

    def spends(_: FileLedger, ratings: Ratings) -> Spends:
        return Spends.none(len(ratings))

    return [(FileLedger, "spends", spends)]


def restored_ledger() -> list[Change]:
    """Before every publication the ledger is taken back to how it was before the last one."""

    def made(own: Any) -> Any:
        def spends(self: FileLedger, ratings: Ratings) -> Spends:
            now: Spends = own(self, ratings)
            older = copies.get(self.path, now)
            copies[self.path] = now
            return older

        return spends

    copies: dict[Path, Spends] = {}
    return instead(FileLedger, "spends", made)


def forgetful_database() -> list[Change]:
    """The database's ledger forgets what was spent."""
    from discreet.database import ledger

    return instead(ledger, "find_spends", lambda _: lambda _, hashes: Spends.none(len(hashes[0])))


def part_read_twice() -> list[Change]:
    """The stream engine adds its first part up twice."""

    def made(own: Any) -> Any:
        def total(self: Any, contribution: Any, shape: Any) -> Any:
            first = contribution(self.prepare(self.stream.load(0)))
            return own(self, contribution, shape) + first

        return total

    return instead(stream.StreamParts, "sum", made)


def coins_until_heads() -> list[Change]:
    """Who was not drawn pays nothing, and so is drawn from again in the next publication."""

    def made(own: Any) -> Any:
        def publish_batch(self: Tally, data: Ratings, *rest: Any, **more: Any) -> Batch:
            drawn: list[Array] = []

            def kept(own_weights: Any) -> Any:
                def weights(ballot: Ballot, counted: Ratings) -> Array:
                    drawn.append(own_weights(ballot, counted))
                    return drawn[-1]

                return weights

            with patched(instead(Ballot, "weights", kept)):
                batch: Batch = own(self, data, *rest, **more)
            paid = np.where(drawn[0] > 0, batch.costs.epsilon, 0.0)
            return batch._replace(costs=batch.costs._replace(epsilon=paid))

        return publish_batch

    return instead(Tally, "publish_batch", made)


def same_noise_every_publication() -> list[Change]:
    """Every publication draws the noise of the first one."""
    seed = secrets.randbits(32)

    def made(own: Any) -> Any:
        def add(self: Randomness, sums: Array, scale: float, **more: Any) -> Any:
            del self
            return own(Randomness(seed), sums, scale, **more)

        return add

    return instead(Randomness, "add_laplace", made)


def seeded() -> list[Change]:
    """A seed that was left in: everybody knows the noise."""

    def made(own: Any) -> Any:
        def init(self: Randomness, seed: int | None, *more: Any, **others: Any) -> None:
            own(self, 0 if seed is None else seed, *more, **others)

        return init

    return instead(Randomness, "__init__", made)


def largest_level() -> list[Change]:
    """A person's largest level counts instead of the smallest."""

    def levelled(ratings: Ratings, levels: Array, unit: str, catalogue: Any) -> Ratings:
        if unit == "person":
            most = np.zeros(len(ratings.users))
            np.maximum.at(most, ratings.user, levels)
            levels = most[ratings.user]
        return replace(ratings, epsilon=levels).with_items(catalogue)

    return [(place, "levelled", levelled) for place in (personalise, votes, weighing)]
