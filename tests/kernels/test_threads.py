from typing import Any

import numpy as np
import pytest

from discreet.kernels.threads import blockwise


@pytest.mark.parametrize("count", [0, 1, 1 << 15, (1 << 17) + 3])
def test_blocks_put_together_are_the_whole(count: int) -> None:
    x, y = np.random.default_rng(0).random((2, count))
    found = blockwise(lambda a, b: np.floor(10 * a / b), np.int32, x, y + 1)
    assert found.dtype == np.int32
    assert (found == np.floor(10 * x / (y + 1))).all()


def test_an_error_in_one_block_is_raised() -> None:
    def refuse(block: Any) -> Any:
        if (block == 99_999).any():
            raise ValueError("no such number")
        return block

    with pytest.raises(ValueError, match="no such number"):
        blockwise(refuse, np.float64, np.arange(100_000))
