"""A test of scale that states both of its error rates.

For n lengths drawn from Gamma(d, scale), mean / (d scale) is 1 with a standard deviation of
1 / sqrt(d n). The test accepts within z of these deviations. With z = 4.9 it refuses the truth, and
with d n >= (2.1 z / defect)^2 it accepts a scale wrong by `defect`, less than once in a million.
"""

import numpy as np
from numpy.typing import NDArray

Z = 4.9


def sample_size(d: int, defect: float = 0.05) -> int:
    return int(np.ceil((2.1 * Z / defect) ** 2 / d))


def scale_is(lengths: NDArray[np.float64], d: int, scale: float) -> bool:
    ratio = lengths.mean() / (d * scale)
    return bool(abs(ratio - 1) <= Z / np.sqrt(d * len(lengths)))
