"""Releases as zips: built once, by few threads, whatever is asked for."""

import threading
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

from discreet.errors import BusyError
from discreet.service.immutable import MOST_WAITING, Archives


def test_old_releases_do_not_drive_the_latest_out() -> None:
    built: list[int] = []

    def ask(number: int) -> bytes:
        def files() -> dict[str, bytes]:
            built.append(number)
            return {"model.json": b"%d" % number}

        return archives.get(f"digest-{number}", number, files)

    archives = Archives(most=2)
    latest = ask(9)
    for number in (1, 2, 3, 8):
        ask(number)
    assert ask(9) == latest
    assert built == [9, 1, 2, 3, 8]


def test_few_wait_for_an_archive_and_nobody_for_one_that_is_there() -> None:
    archives, go_on = Archives(), threading.Event()
    there = archives.get("there", 99, dict)

    def slow() -> dict[str, bytes]:
        go_on.wait()
        return {}

    with ThreadPoolExecutor(MOST_WAITING + 1) as threads:
        asked = [threads.submit(archives.get, f"{n}", n, slow) for n in range(MOST_WAITING + 1)]
        asked.append(threads.submit(archives.get, "there", 99, dict))
        ended, _ = wait(asked[:-1], timeout=20, return_when=FIRST_COMPLETED)
        known = archives.get("there", 99, dict) if ended else None
        go_on.set()
    assert [type(one.exception()) for one in ended] == [BusyError]
    assert known == there == asked[-1].result()
