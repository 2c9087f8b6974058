"""Nobody holds the service up with half a request, nor with more connections than one needs."""

import asyncio
import json
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import uvicorn

from discreet.service.connections import Watch, protocol
from tests.processes import free_port, serving

HALF = b"GET / HTTP/1.1\r\nHost: x\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n"
"""A body that has ended, before lines that come after it."""


def test_half_sent_requests_do_not_stop_the_service(tmp_path: Path) -> None:
    """More of them than one address may hold, and a log line that names nobody."""
    with serving(tmp_path, "--database", str(tmp_path / "x.db")) as served:
        place = ("127.0.0.1", served.port)
        halves = [socket.create_connection(place, timeout=30) for _ in range(300)]
        for half in halves:
            with suppress(ConnectionError):
                half.sendall(HALF)
        with suppress(ConnectionError):
            assert halves[-1].recv(1) == b""
        halves[0].sendall(b"\r\n")  # who finishes a request is answered
        assert halves[0].recv(12) == b"HTTP/1.1 200"
        for half in halves:
            half.close()
        assert served.stop() == 0
    events = [json.loads(x) for x in served.log.read_text().splitlines() if x.startswith("{")]
    assert "connections ended" in [event["event"] for event in events]
    assert "127.0.0.1" not in json.dumps(events)


def test_a_request_that_never_ends_is_ended() -> None:
    async def app(_: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    async def ask(words: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(words)
        found = b""
        with suppress(ConnectionError):
            found = await reader.read()
        writer.close()
        return found

    async def swallowed(beginning: bytes) -> None:
        """Lines without an end are refused long before their time is up."""
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(beginning)
        sent = 0
        with suppress(ConnectionError):
            while sent < 2**24:
                writer.write(b"X: " + b"y" * 30_000)
                await writer.drain()
                sent += 30_003
        assert sent < 2**24
        writer.close()

    async def main() -> list[bytes]:
        task = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        found = await asyncio.gather(
            ask(b""), ask(HALF), ask(HALF + b"Connection: close\r\n\r\n"),
            ask(HALF + b"\r\n" + HALF),  # one that is whole, and half of another
        )  # fmt: skip
        await asyncio.gather(swallowed(HALF), swallowed(CHUNKED))
        server.should_exit = True
        await task
        return list(found)

    port = free_port()
    http = protocol(Watch(), head_seconds=0.5)
    config = uvicorn.Config(app, port=port, http=http, log_config=None, lifespan="off")
    server = uvicorn.Server(config)
    nothing, half, whole, one_and_a_half = asyncio.run(main())
    assert nothing == half == b""
    assert whole.count(b"204") == one_and_a_half.count(b"204") == 1


def test_what_follows_a_body_names_nobody_and_no_connection_leaves_the_watch() -> None:
    """A proxy takes names and addresses out of heads, and hands on what comes after a body."""
    seen: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        seen.append((scope["type"], dict(scope["headers"])))
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})

    upgrade = (
        b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )

    async def main() -> None:
        task = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        for words in (CHUNKED + b"X-Remote-User: victim\r\n\r\n", upgrade):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(words)
            assert (await reader.readline()).startswith(b"HTTP/1.1 204")
            writer.close()
            await writer.wait_closed()
        while watch.places:
            await asyncio.sleep(0.01)
        server.should_exit = True
        await task

    port, watch = free_port(), Watch()
    config = uvicorn.Config(app, port=port, http=protocol(watch), log_config=None, lifespan="off")
    server = uvicorn.Server(config)
    asyncio.run(asyncio.wait_for(main(), 60))
    assert [kind for kind, _ in seen] == ["http", "http"]
    assert b"x-remote-user" not in seen[0][1]
