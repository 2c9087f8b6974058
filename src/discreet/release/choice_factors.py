"""Choice factors: released directions of who chose what, beside those of how it was rated."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.arrays import Array
from discreet.errors import ReleaseError


class ChoiceFactors(NamedTuple):
    """How often two items are chosen by one person, beyond what their popularity explains.

    The lift of items j and l, less 1, is about columns[j] . columns[l].
    """

    columns: Array
    """A row for every item; strongest column first."""
    reliability: Array
    """Of each column the share that is signal, not noise."""

    def check(self, items: int) -> None:
        """An error unless they are finite and fit so many items."""
        d = self.reliability.shape[-1]
        if self.columns.shape != (items, d) or self.reliability.shape != (d,):
            raise ReleaseError(
                f"{items} items need as many rows of choice factors, and every column a "
                f"reliability: got {self.columns.shape} and {self.reliability.shape}"
            )
        if not (np.isfinite(self.columns).all() and np.isfinite(self.reliability).all()):
            raise ReleaseError("the release's choice factors hold a number that is not finite")
        if not ((self.reliability >= 0) & (self.reliability <= 1)).all():
            raise ReleaseError("the reliability of a choice factor must be between 0 and 1")
