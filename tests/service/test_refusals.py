"""Who was told to wait and asks the same again is told the same, and nobody else is."""

import asyncio
from typing import Any

from starlette.responses import JSONResponse, Response
from starlette.types import Message, Receive, Scope, Send

from discreet.service import refusals
from discreet.service.guard import Guard
from discreet.service.limits import Limits
from discreet.service.monitoring import Metrics
from discreet.service.refusals import Refusals


class Service:
    """A guarded service that refuses everybody, and what it was asked."""

    def __init__(self, wait: str | None = "5", status: int = 429) -> None:
        self.asked, self.at, self.wait, self.status = 0, 0.0, wait, status
        self.guard = Guard(self.refuse, limits=Limits(), metrics=Metrics())
        self.guard.refusals = Refusals(lambda: self.at)

    async def refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked += 1
        headers = {} if self.wait is None else {"Retry-After": self.wait}
        answer: Response = JSONResponse({"asked": self.asked}, self.status, headers)
        await answer(scope, receive, send)

    def ask(self, path: str = "/api/me", method: str = "GET", **differs: Any) -> tuple[int, bytes]:
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        async def receive() -> Message:
            return {"type": "http.request", "body": b""}

        scope = {
            "type": "http", "method": method, "path": path, "query_string": b"",
            "headers": [(b"authorization", b"Bearer x")], "client": ("192.0.2.1", 1), **differs,
        }  # fmt: skip
        asyncio.run(self.guard(scope, receive, send))
        assert [name for name, _ in sent[0]["headers"]].count(b"x-request-id") == 1
        return sent[0]["status"], sent[1]["body"]


def test_the_same_is_told_again_without_asking_until_the_wait_is_over() -> None:
    service = Service()
    first = service.ask()
    for at in (0.1, 0.5, 0.9):  # to ask does not make it longer
        service.at = at
        assert service.ask(client=("192.0.2.1", 7)) == first == (429, b'{"asked":1}')
    assert service.ask(method="HEAD") == (429, b"")
    assert service.asked == 1
    service.at = 1.0  # at most a second, whatever it says
    assert service.ask() == (429, b'{"asked":2}')


def test_another_request_is_another_question() -> None:
    service = Service()
    service.ask()
    differences: list[dict[str, Any]] = [
        {"path": "/api/me/ratings"},
        {"method": "PUT"},
        {"query_string": b"n=3"},
        {"client": ("192.0.2.2", 1)},
        {"headers": [(b"authorization", b"Bearer y")]},
        {"headers": [(b"authorization", b"Bearer x"), (b"x-forwarded-user", b"ann")]},
    ]
    for asked, differs in enumerate(differences, start=2):
        service.ask(**differs)
        assert service.asked == asked, differs


def test_only_what_says_how_long_to_wait_is_kept_and_never_much(monkeypatch: Any) -> None:
    for service in (Service(wait=None), Service(status=503), Service(status=200)):
        service.ask()
        service.ask()
        assert service.asked == 2
    service = Service()
    service.ask("/a", method="POST")
    service.ask("/a", method="POST")
    assert service.asked == 2
    monkeypatch.setattr(refusals, "MOST_HELD", 2)
    for path in ("/a", "/b", "/c", "/a", "/c"):
        service.ask(path)
    assert service.asked == 6  # the third drives out the others
