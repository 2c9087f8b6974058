import pytest

from discreet.data.ratings import Ratings
from tests.conftest import random_ratings


@pytest.fixture(scope="module")
def data() -> Ratings:
    # More than 4096 records, so that two threads are really used; some rows stay empty.
    return random_ratings(300, 200, 9000, seed=5)
