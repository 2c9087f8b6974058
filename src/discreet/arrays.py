"""The arrays that everything here is made of, by one name each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""Of numbers whose type the code at hand does not depend on."""
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
