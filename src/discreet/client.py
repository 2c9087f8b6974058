"""A client of the service, with the standard library alone: for a company's own front end.

    from discreet.client import FrontEnd, Rating

    with FrontEnd("https://club.example", token) as club:
        club.put_ratings([Rating("ann", "film-0001", 5), Rating("bob", "film-0002", 2, 0.1)])
        for pick in club.recommend(["ann"], n=10)["ann"]:
            print(pick.title, pick.score)

What is sent is done once, also where a connection breaks and it is sent again.
"""

from __future__ import annotations

import http.client
import json
import secrets
import ssl
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from types import TracebackType
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from discreet.errors import DiscreetError, ParameterError

MOST_ROWS, MOST_LISTS = 1000, 100
"""What the service takes at once: more is sent in parts."""
_AGAIN = (429, 503)
_KEY = "Idempotency-Key"
T = TypeVar("T")
Filter = Sequence[str] | Mapping[str, Any]
"""Items by their ids, or by public columns: a value, a list of values, or a range as a pair."""


class ServiceError(DiscreetError, RuntimeError):
    """What the service refused: its status, a code for programs and a sentence for people."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code = status, code


@dataclass(frozen=True)
class Rating:
    """A rating of one of your people; without an epsilon at the level that is theirs."""

    person: str
    item: str
    rating: float
    epsilon: float | None = None


@dataclass(frozen=True)
class Event:
    """Something that one of your people chose; a weight where quantities were declared."""

    person: str
    item: str
    weight: float | None = None
    epsilon: float | None = None


class Written(NamedTuple):
    """What became of what was sent."""

    written: int
    skipped: int
    """Of people who were erased."""


class Recommendation(NamedTuple):
    """One recommendation, for that person's eyes."""

    rank: int
    item: str
    title: str
    score: float
    """The predicted rating; of events, how likely it is beside the first."""
    error: float | None = None


class FrontEnd:
    """The service as a front end sees it; one connection, not to be shared between threads.

    It waits and asks again while the service says that it is busy, `patience` seconds in all.
    """

    def __init__(
        self, address: str, token: str, *, timeout: float = 30.0, patience: float = 60.0
    ) -> None:
        place = urlsplit(address)
        if place.scheme not in ("http", "https") or not place.hostname or place.path.strip("/"):
            raise ParameterError(f"an address is such as https://club.example: got {address!r}")
        token = token.strip()  # as a file ends
        if not token or not token.isascii() or not token.isprintable():
            raise ParameterError("this is no token: make one with discreet operate token service")
        self.patience = patience
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._connection: http.client.HTTPConnection = (
            http.client.HTTPSConnection(
                place.hostname, place.port, timeout=timeout, context=ssl.create_default_context()
            )
            if place.scheme == "https"
            else http.client.HTTPConnection(place.hostname, place.port, timeout=timeout)
        )

    def __enter__(self) -> FrontEnd:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; asked again, it is opened anew."""
        self._connection.close()

    def put_ratings(self, ratings: Iterable[Rating]) -> Written:
        """Give or change ratings, in parts of a thousand, each of which is written as a whole."""
        return self._send("/api/service/ratings", map(_row, ratings))

    def add_events(self, events: Iterable[Event]) -> Written:
        """Add events likewise: each counts once."""
        return self._send("/api/service/events", map(_row, events))

    def delete(self, pairs: Iterable[tuple[str, str]]) -> Written:
        """Delete ratings, or events, of (person, item)."""
        rows = ({"person": person, "item": item} for person, item in pairs)
        return self._send("/api/service/ratings/delete", rows)

    def recommend(
        self,
        people: Sequence[str],
        n: int = 10,
        *,
        rank_by: str = "best",
        diversity: float = 0.0,
        recency: float | None = None,
        among: Filter | None = None,
        without: Filter | None = None,
        include_rated: bool = False,
        with_error: bool = False,
    ) -> dict[str, list[Recommendation]]:
        """A list for each of these people, from their own history and the latest release alone.

        What may be wished for is as in the library (docs/lists.md): a pair of numbers is a range.
        """
        found = {}
        wishes = {
            "n": n,
            "rank_by": rank_by,
            "diversity": float(diversity),
            "among": _filter(among),
            "without": _filter(without),
            "include_rated": include_rated,
            "with_error": with_error,
        }
        if recency is not None:
            wishes["recency"] = float(recency)
        for part in _parts(people, MOST_LISTS):
            answer = self._ask("/api/service/recommendations", {"people": part, **wishes})
            for one in answer["lists"]:
                picks = [Recommendation(**pick) for pick in one["recommendations"]]
                found[one["person"]] = picks
        return found

    def export(self, person: str) -> dict[str, Any]:
        """All that is stored about a person who asks for it."""
        return dict(self._ask("/api/service/people/export", {"person": person}))

    def erase(self, person: str) -> None:
        """Erase a person who asks for it: nobody gets that id again."""
        self._ask("/api/service/people/erase", {"person": person})

    def _send(self, path: str, rows: Iterable[Mapping[str, Any]]) -> Written:
        written = skipped = 0
        for part in _parts(rows, MOST_ROWS):
            answer = self._ask(path, {"rows": part}, {_KEY: secrets.token_hex(16)})
            written, skipped = written + answer["written"], skipped + answer["skipped"]
        return Written(written, skipped)

    def _ask(self, path: str, body: Any, more: Mapping[str, str] | None = None) -> Any:
        """Ask until there is an answer; where none came, again under the same key."""
        sent, headers = json.dumps(body).encode(), {**self._headers, **(more or {})}
        end, wait = time.monotonic() + self.patience, 0.1
        while True:
            try:
                self._connection.request("POST", path, sent, headers)
                answer = self._connection.getresponse()
                content = answer.read()
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                if time.monotonic() + wait > end:
                    raise ServiceError(0, "unreachable", f"no answer: {error}") from None
            else:
                if answer.status < 400:
                    return json.loads(content) if content else None
                refused = _refused(answer.status, content)
                if answer.status not in _AGAIN or time.monotonic() + wait > end:
                    raise refused
                wait = max(wait, _seconds(answer.getheader("Retry-After")))
            time.sleep(min(wait, max(end - time.monotonic(), 0.0)))
            wait = min(wait * 2, 10.0)


def _filter(wanted: Filter | None) -> Any:
    if not isinstance(wanted, Mapping):
        return None if wanted is None else list(wanted)
    return {
        column: dict(zip(("from", "to"), value, strict=True)) if isinstance(value, tuple) else value
        for column, value in wanted.items()
    }


def _row(one: Rating | Event) -> dict[str, Any]:
    return {name: value for name, value in asdict(one).items() if value is not None}


def _parts(rows: Iterable[T], most: int) -> Iterator[list[T]]:
    iterator = iter(rows)
    while part := list(islice(iterator, most)):
        yield part


def _seconds(text: str | None) -> float:
    return float(text) if text is not None and text.isdecimal() else 0.0


def _refused(status: int, content: bytes) -> ServiceError:
    try:
        found = json.loads(content)["error"]
        return ServiceError(status, str(found["code"]), str(found["message"]))
    except (ValueError, KeyError, TypeError):
        return ServiceError(status, "error", f"the answer has status {status}")
