"""Whatever people write waits its turn, however many write at once; nobody is refused for it."""

import asyncio
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from discreet.database.writer import Writer
from discreet.service import access
from discreet.service.waiting import Arrivals
from tests.service.clubs import OUR_PAGE, Club
from tests.service.test_access import signed_in

LONG = 30.0


def test_nobody_who_writes_is_refused_while_another_writes(
    small_club: Club, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An import holds SQLite's one place to write, and more come than may stand in its line."""
    monkeypatch.setattr("discreet.database.connection.MOST_WAITING", 2)
    signed_in(small_club, "u1")
    client, token = small_club.client, small_club.tokens["u2"]
    bearer = {"Authorization": f"Bearer {token}"}
    item = "129"
    wanted = [
        lambda: client.post("/hide", data={"item": item}, headers=OUR_PAGE),
        lambda: client.post("/level", data={"level": "0.3"}, headers=OUR_PAGE),
        lambda: client.post("/signin", data={"token": token}, headers=OUR_PAGE),
        lambda: client.post("/api/people"),
        lambda: client.post("/api/me/ratings/delete", json={"item": item}, headers=bearer),
        lambda: client.put("/api/me/ratings", json={"item": item, "rating": 4}, headers=bearer),
    ]
    submitted, submit = threading.Semaphore(0), Writer.submit

    def noted(writer: Writer, work: Any) -> Any:
        submitted.release()
        return submit(writer, work)

    monkeypatch.setattr(Writer, "submit", noted)
    with ThreadPoolExecutor(3 * len(wanted)) as threads:
        with small_club.database.writing():
            answers = [threads.submit(ask) for ask in wanted * 3]
            waiting = [submitted.acquire(timeout=LONG) for _ in answers]
            early = [answer for answer in answers if answer.done()]
        statuses = [answer.result().status_code for answer in answers]
    assert all(waiting)
    assert early == []
    assert set(statuses) <= {200, 201, 204, 303, 404}
    assert access.SESSION_COOKIE in client.cookies


def test_what_another_thread_has_done_arrives_together_each_where_it_is_waited_for() -> None:
    async def scenario() -> None:
        arrivals, futures = Arrivals(), [Future[int]() for _ in range(4)]
        waiting = [asyncio.create_task(arrivals.of(future)) for future in futures]
        await asyncio.sleep(0)  # all of them wait now
        woken, loop = [], asyncio.get_running_loop()
        wake = loop.call_soon_threadsafe
        loop.call_soon_threadsafe = lambda *words: woken.append(wake(*words))  # type: ignore[assignment, misc, return-value]
        waiting[3].cancel()
        await asyncio.gather(waiting[3], return_exceptions=True)
        assert futures[3].cancelled()  # nobody waits for it any more
        woken.clear()
        other = threading.Thread(target=finish, args=[futures])
        other.start()
        other.join()  # the loop stands still meanwhile
        found = await asyncio.gather(*waiting[:3], return_exceptions=True)
        assert found[:2] == [0, 1]
        assert isinstance(found[2], ZeroDivisionError)
        assert len(woken) == 1
        futures.append(Future())
        later = asyncio.create_task(arrivals.of(futures[-1]))
        await asyncio.sleep(0)
        await asyncio.to_thread(futures[-1].set_result, 4)
        assert await later == 4

    def finish(futures: list[Future[int]]) -> None:
        held = [future for future in futures if not future.cancelled()]
        held[0].set_result(0)
        held[1].set_result(1)
        held[2].set_exception(ZeroDivisionError())

    asyncio.run(asyncio.wait_for(scenario(), 60))
