"""CSR: ratings as a sparse matrix in compressed sparse rows, as every kernel takes them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Array, Integers
from discreet.kernels.numbering import rows_of
from discreet.kernels.sorting import read_only, transpose
from discreet.kernels.threads import thread_count


class CSR(NamedTuple):
    """A sparse matrix whose stored values are sorted by row, then column.

    Row i has the values[ptr[i]:ptr[i+1]] in the columns cols[ptr[i]:ptr[i+1]].

    >>> ratings = CSR(np.array([0, 2, 1], np.int32), np.array([5.0, 3, 4]), np.array([0, 2, 3]))
    >>> ratings.rows.tolist(), ratings.transposed(3).values.tolist()
    ([0, 0, 1], [5.0, 4.0, 3.0])
    """

    cols: NDArray[np.int32]
    values: Array
    ptr: Integers

    @property
    def rows(self) -> NDArray[np.int32]:
        """The row number of each stored value, computed anew at every call."""
        return rows_of(self.ptr, thread_count(None))

    def transposed(self, columns: int) -> CSR:
        """The transposed matrix, of which this one has so many columns."""
        found = transpose(self.ptr, self.cols, self.values, columns, thread_count(None))
        return CSR(*map(read_only, found))

    def take(self, rows: NDArray[np.integer[Any]]) -> CSR:
        """These rows, in this order; a row of -1 is an empty one."""
        sizes = np.where(rows >= 0, np.diff(self.ptr)[rows], 0)
        ptr = np.zeros(len(rows) + 1, dtype=np.int64)
        np.cumsum(sizes, out=ptr[1:])
        place = np.arange(ptr[-1]) + np.repeat(self.ptr[:-1][rows] - ptr[:-1], sizes)
        return CSR(self.cols[place], self.values[place], ptr)
