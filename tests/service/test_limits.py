"""Limits that several processes share."""

import pytest

from discreet.service.limits import Buckets, Rate


def test_processes_share_what_is_left_of_a_limit() -> None:
    left = [8.0]

    def pool(who: str, rate: Rate, wanted: float) -> float:
        assert who == "ann"
        assert rate.burst == 8 * 0.75
        got = min(left[0], wanted)
        left[0] -= got
        return got

    time_ = [0.0]
    one, other = (Buckets(Rate(2, 8), clock=lambda: time_[0], pool=pool) for _ in range(2))
    allowed = [b.wait("ann") == 0 for _ in range(10) for b in (one, other)]
    assert sum(allowed) == 8 + 2 * 2  # the pool's, and each process's own
    assert one.wait("ann") == pytest.approx(0.5)


def test_who_is_refused_again_and_again_does_not_make_us_write() -> None:
    asked: list[float] = []
    time_ = [100.0]

    def pool(_: str, __: Rate, wanted: float) -> float:
        asked.append(wanted)
        return 0.0

    limit = Buckets(Rate(4, 8), clock=lambda: time_[0], pool=pool)
    refused = sum(limit.wait("ann") > 0 for _ in range(1000))
    assert (refused, len(asked)) == (998, 1)
    time_[0] += 1.01
    assert limit.wait("ann") == 0  # its own share has filled meanwhile
    assert [limit.wait("ann") > 0 for _ in range(3)] == [True] * 3
    assert len(asked) == 2
