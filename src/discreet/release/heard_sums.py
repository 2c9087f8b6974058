"""Heard sums: what all rounds of one kind have shown up to a release, in the form of one round.

They are the noisy sums of every earlier publication, added up with weights, so that the next one
can add its own. Their size depends on the catalogue and the number of factors, not on how many
publications there were: docs/proofs/incremental.md#what-is-kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.arrays import Array
from discreet.data.ids import Ids
from discreet.errors import ReleaseError


class HeardSums(NamedTuple):
    """Noisy sums of every item in units of their noise, of about variance 1.

    Item j's row is information_j times what the item is like, and noise.
    """

    sums: Array
    information: Array
    """By how much of its noise every item was heard: the root of the sum of (count/deviation)^2
    over all rounds. 0 for an item that was never heard."""
    tastes: Array
    """How much of a person's taste the columns explain: a symmetric matrix."""

    def over(self, ids: Ids, catalogue: Ids) -> HeardSums:
        """The same over a catalogue that may have grown since: nothing was heard of new items."""
        rows = catalogue.rows(ids.values)
        sums = np.zeros((len(catalogue), self.sums.shape[1]))
        information = np.zeros(len(catalogue))
        sums[rows], information[rows] = self.sums, self.information
        return HeardSums(sums, information, self.tastes)

    def check(self, items: int) -> None:
        """An error unless they are finite and fit so many items."""
        d = self.tastes.shape[-1]
        shapes = self.sums.shape, self.information.shape, self.tastes.shape
        if shapes != ((items, d), (items,), (d, d)):
            raise ReleaseError(f"the heard sums of {items} items do not fit: got shapes {shapes}")
        if not all(np.isfinite(values).all() for values in self):
            raise ReleaseError("the release's heard sums hold a number that is not finite")
        if not (self.information >= 0).all():
            raise ReleaseError("the information of heard sums must be >= 0")
