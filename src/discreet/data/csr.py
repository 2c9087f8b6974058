"""CSR: a sparse matrix of ratings by compressed rows, as every kernel takes it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Array, Integers
from discreet.kernels.numbering import rows_of
from discreet.kernels.sorting import read_only, transpose
from discreet.kernels.threads import thread_count


class CSR(NamedTuple):
    """Records sorted by row, then column: those of row i are ptr[i]..ptr[i+1]."""

    cols: NDArray[np.int32]
    values: Array
    ptr: Integers

    @property
    def rows(self) -> NDArray[np.int32]:
        """The row of each record, made anew every time."""
        return rows_of(self.ptr, thread_count(None))

    def transposed(self, columns: int) -> CSR:
        """The same records by column, then row, of a matrix with so many columns."""
        found = transpose(self.ptr, self.cols, self.values, columns, thread_count(None))
        return CSR(*map(read_only, found))
