"""Tallies: noisy votes for and against each item; released, and added up over time.

A rating of weight w is split into a vote in favour, w (r - lo)/(hi - lo), and the rest against.
From the two sums an item's count and mean rating can be estimated. An event of value x casts w x in
favour and nothing against.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.data.ids import Ids
from discreet.errors import ReleaseError
from discreet.privacy.fixedpoint import ONE_VOTE


@dataclass(frozen=True, eq=False)
class Tallies:
    """Noisy votes against and in favour of every item, as integers, and the variance of the noise.

    >>> one, three, noise = np.array([ONE_VOTE]), np.array([3 * ONE_VOTE]), np.zeros(1)
    >>> against, in_favour = (Tallies(one, three, noise) + Tallies(one, one, noise)).votes()
    >>> against.tolist(), in_favour.tolist()
    ([2.0], [4.0])
    """

    against: NDArray[np.int64]
    in_favour: NDArray[np.int64]
    noise_variance: NDArray[np.float64]
    """Of either tally, in votes squared: public, it follows from t and from how much of every batch
    was added, which was told by released numbers."""
    shared_noise: bool = False
    """Whether counts were public, so that both tallies carry the same noise, with opposite sign."""
    events: bool = False
    """Whether events were counted: then nothing is against, and all noise is in what is in favour.
    """

    def __post_init__(self) -> None:
        shapes = {self.against.shape, self.in_favour.shape, self.noise_variance.shape}
        if len(shapes) != 1 or len(self.against.shape) != 1:
            raise ReleaseError(f"tallies need one number per item each: got shapes {shapes}")
        if self.events and (self.shared_noise or self.against.any()):
            raise ReleaseError("of events there are counts alone: nothing is voted against")
        if not (np.isfinite(self.noise_variance).all() and (self.noise_variance >= 0).all()):
            raise ReleaseError("the noise variance of a tally must be finite and >= 0")

    def __len__(self) -> int:
        return len(self.against)

    def votes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Votes against and in favour, in whole votes instead of steps of 2^-20."""
        return self.against / ONE_VOTE, self.in_favour / ONE_VOTE

    @property
    def counts(self) -> NDArray[np.float64]:
        """How often every item was rated or chosen, weighed, with noise: it may be below zero."""
        return (self.against + self.in_favour) / ONE_VOTE

    @property
    def count_variance(self) -> NDArray[np.float64]:
        """The variance of the noise in `counts`: of two tallies, of none where counts are public,
        of one for events."""
        carried = 0 if self.shared_noise else 1 if self.events else 2
        return carried * self.noise_variance

    def __add__(self, other: Tallies) -> Tallies:
        """The tallies of two batches: votes and variances add up."""
        if self.shared_noise != other.shared_noise:
            raise ReleaseError("tallies under different neighbours cannot be added up")
        if self.events != other.events:
            raise ReleaseError("tallies of ratings and of events cannot be added up")
        return Tallies(
            self.against + other.against,
            self.in_favour + other.in_favour,
            self.noise_variance + other.noise_variance,
            self.shared_noise,
            self.events,
        )

    def times(self, share: NDArray[np.float64]) -> Tallies:
        """A share of every item's votes, on the grid, and of the noise in them."""
        return replace(
            self,
            against=np.rint(share * self.against).astype(np.int64),
            in_favour=np.rint(share * self.in_favour).astype(np.int64),
            noise_variance=share**2 * self.noise_variance,
        )

    def over(self, own: Ids, catalogue: Ids) -> Tallies:
        """The same tallies over a grown catalogue; a new item has no votes and no noise yet."""
        place = catalogue.rows(own.values)
        if len(place) and place.min() < 0:
            gone = own.values[int(np.argmin(place))]
            raise ReleaseError(
                f"item {gone!r} of the previous release is not in the catalogue any more: a "
                "catalogue may grow, but what was released stays"
            )
        against = np.zeros(len(catalogue), dtype=np.int64)
        in_favour = np.zeros(len(catalogue), dtype=np.int64)
        noise_variance = np.zeros(len(catalogue))
        against[place] = self.against
        in_favour[place] = self.in_favour
        noise_variance[place] = self.noise_variance
        return Tallies(against, in_favour, noise_variance, self.shared_noise, self.events)
