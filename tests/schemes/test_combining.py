"""Rounds of several publications: what is kept is enough, bounded, and weighed by its noise."""

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.data.ids import Ids
from discreet.release.heard_sums import HeardSums
from discreet.schemes.chorus.combining import MOST_COLUMNS, WIDER, Combination
from discreet.schemes.chorus.directions import Heard

import polars as pl  # isort: skip

Array = NDArray[np.float64]
ITEMS, D = 400, 2


class World:
    """Items with true directions: a round that is fed z shows c B L (B' c z)/sum c, and noise."""

    def __init__(self, seed: int, items: int = ITEMS) -> None:
        self.rng = np.random.default_rng(seed)
        self.counts = np.exp(self.rng.normal(5, 1, items))
        self.B = self._whitened(self.rng.standard_normal((items, D)))
        self.strength = np.array([1.0, 0.5])

    def _whitened(self, x: Array) -> Array:
        x = x - self.counts @ x / self.counts.sum()
        root = np.linalg.cholesky((self.counts[:, None] * x).T @ x / self.counts.sum())
        return np.asarray(x @ np.linalg.inv(root).T)

    def sums(self, fed: Array, sigma: float, share: Array | float = 1.0) -> Array:
        counts = self.counts * share
        shown = self.B * self.strength @ (self.B.T @ (self.counts[:, None] * fed))
        exact = counts[:, None] * shown / self.counts.sum()
        return np.asarray(exact + sigma * self.rng.standard_normal(fed.shape))

    def agreement(self, z: Array) -> float:
        """How much of the true directions these explain, over ratings: 1 for all."""
        root = np.sqrt(self.counts / self.counts.sum())[:, None]
        found, _ = np.linalg.qr(root * z)
        return float(np.linalg.norm(found.T @ (root * self.B)) ** 2 / D)


def publish(
    world: World, before: HeardSums | None, start: Array, sigma: float, rounds: int = 2
) -> tuple[Heard, HeardSums]:
    combined = Combination(world.counts, world.counts, start.shape[1], before)
    z = start
    for _ in range(rounds):
        heard = combined.update(world.sums(z, sigma), sigma, z)
        z = heard.z
    return heard, combined.kept


def a_start(world: World, d: int = D) -> Array:
    return world.rng.standard_normal((len(world.counts), d))


def history(world: World, publications: int, sigma: float) -> list[float]:
    kept, z, found = None, a_start(world), []
    for _ in range(publications):
        heard, kept = publish(world, kept, z, sigma)
        z = heard.z
        found.append(world.agreement(z))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_twelve_noisy_publications_come_near_one_that_spends_everything(seed: int) -> None:
    """What is not explained falls to about that of a publication with a twelfth of the variance."""
    noisy = 1 - np.array(history(World(seed), 12, 60.0))
    alone = 1 - np.array(history(World(seed), 1, 60.0))
    once = 1 - history(World(seed), 1, 60.0 / np.sqrt(12))[0]
    assert noisy[-1] < 0.5 * alone[0]
    assert noisy[-1] < 1.5 * once


def test_what_is_kept_is_as_good_as_all_rounds_side_by_side() -> None:
    world = World(4)
    fed = [world.B @ world.rng.standard_normal((D, D)) for _ in range(4)]
    sums = [world.sums(z, 30.0) for z in fed]
    whole = Combination(world.counts, world.counts, D, None)
    for z, one in zip(fed, sums, strict=True):
        together = whole.update(one, 30.0, z)
    kept = None
    for some in (slice(0, 2), slice(2, 4)):
        part = Combination(world.counts, world.counts, D, kept)
        for z, one in zip(fed[some], sums[some], strict=True):
            in_parts = part.update(one, 30.0, z)
        kept = part.kept
    np.testing.assert_allclose(part.kept.information, whole.kept.information)
    assert world.agreement(in_parts.z) > world.agreement(together.z) - 0.02
    np.testing.assert_allclose(in_parts.values, together.values, rtol=0.2)


def test_kept_sums_have_noise_of_variance_one() -> None:
    """Nothing but noise: as if one round had been heard, in units of its noise."""
    world = World(5, items=4000)
    world.strength = np.zeros(D)
    kept = None
    for _ in range(3):
        _, kept = publish(world, kept, a_start(world), 20.0)
    assert kept is not None
    assert np.sqrt((kept.sums**2).mean()) == pytest.approx(1.0, abs=0.5)
    np.testing.assert_allclose(kept.information, np.sqrt(6) * world.counts / 20.0)


def test_a_release_does_not_grow_with_the_number_of_publications() -> None:
    world, kept, widths = World(6), None, []
    for _ in range(8):
        _, kept = publish(world, kept, a_start(world), 20.0)
        widths.append(kept.sums.shape[1])
    assert max(widths) <= min(WIDER * D, MOST_COLUMNS)


def test_the_number_of_factors_may_change() -> None:
    world = World(7)
    heard, kept = publish(world, None, a_start(world, 1), 10.0)
    for d in (3, 2, 5, 1):
        heard, kept = publish(world, kept, a_start(world, d), 10.0)
        assert heard.z.shape == (ITEMS, d)
        kept.check(ITEMS)
        if d >= D:
            assert world.agreement(heard.z) > 0.9


def test_new_items_are_learned_beside_old_ones() -> None:
    """What was heard before says nothing of them: it must not hold them back either."""
    world = World(8)
    old = np.arange(ITEMS) % 4 > 0
    first = Combination(world.counts[old], world.counts[old], D, None)
    for _ in range(12):
        first.update(world.sums(world.B, 10.0)[old], 10.0, world.B[old])
    ids = [Ids(pl.Series("item", np.flatnonzero(some))) for some in (old, old | True)]
    kept = first.kept.over(*ids)
    assert (kept.information[~old] == 0).all()
    combined = Combination(world.counts, world.counts, D, kept)
    for _ in range(2):
        heard = combined.update(world.sums(world.B, 10.0), 10.0, world.B)
    root = np.sqrt(world.counts)[:, None]
    fit = np.linalg.lstsq((root * heard.z)[old], (root * world.B)[old], rcond=None)[0]
    left = root * (world.B - heard.z @ fit)
    shares = [(left[some] ** 2).sum() / ((root * world.B)[some] ** 2).sum() for some in (old, ~old)]
    assert shares[0] < 0.02
    assert shares[1] < 0.15


def test_a_publication_that_hears_nobody_keeps_what_was_heard() -> None:
    world = World(9)
    _, kept = publish(world, None, a_start(world), 10.0)
    combined = Combination(np.zeros(ITEMS), world.counts, D, kept)
    heard = combined.update(np.zeros((ITEMS, D)), 10.0, a_start(world))
    assert not heard.values.any()
    assert combined.kept is kept


def test_rounds_of_noise_alone_do_not_push_out_what_was_heard() -> None:
    """All ratings have spent their purses, and the schedule goes on."""
    world = World(10)
    heard, kept = publish(world, None, a_start(world), 5.0, rounds=4)
    before = world.agreement(heard.z)
    world.strength = np.zeros(D)
    for _ in range(6):
        heard, kept = publish(world, kept, heard.z, 5.0)
    assert world.agreement(heard.z) > before - 0.05


@pytest.mark.parametrize("later", [1, 3, 9])
def test_the_trace_of_one_publication_fades_as_one_part_of_all(later: int) -> None:
    """docs/proofs/incremental.md: of k + 1 alike publications each has the part 1/(k + 1)."""
    world, who = World(11), 17
    rounds = [world.sums(world.B, 2.0) for _ in range(later + 1)]
    found = []
    for moved in (0.0, 5.0):
        kept = None
        for k, exact in enumerate(rounds):
            sums = exact.copy()
            sums[who] += moved * (k == 0)
            combined = Combination(world.counts, world.counts, D, kept)
            heard = combined.update(sums, 2.0, world.B)
            kept = combined.kept
        assert kept is not None
        root = np.sqrt(world.counts)[:, None]
        turn = np.linalg.lstsq(root * heard.z, root * world.B * world.strength, rcond=None)[0]
        found.append((heard.z @ turn)[who])
    trace = np.linalg.norm(found[1] - found[0])
    alone = np.linalg.norm(np.full(D, 5.0 / world.counts[who]))
    assert trace == pytest.approx(alone / (later + 1), rel=0.3)
