"""The API under schemathesis: whatever is sent, no 5xx, and answers as the document says."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from discreet.data.ratings import Ratings
from discreet.database import people
from discreet.database.connection import Database
from tests.service.clubs import Club, open_club

CHECKS = [
    not_a_server_error, status_code_conformance, response_schema_conformance,
    content_type_conformance,
]  # fmt: skip


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory, small: Ratings) -> Iterator[Club]:
    database = Database(tmp_path_factory.mktemp("fuzz") / "club.db")
    with open_club(database, small) as opened:
        yield opened


def fuzz(club: Club, under: str, other: str, examples: int) -> int:
    """Send made-up requests to every route under a path; how many routes there were."""
    document = schemathesis.openapi.from_asgi("/openapi.json", club.app)
    operations = [found.ok() for found in document.get_all_operations()]
    chosen = [o for o in operations if o.path.startswith(under) and not o.path.startswith(other)]
    for operation in chosen:
        for mode in GenerationMode:
            strategy = operation.as_strategy(generation_mode=mode)

            @given(case=strategy)
            @settings(max_examples=examples, suppress_health_check=list(HealthCheck), deadline=None)
            def ask(case: Any) -> None:
                token = f"Bearer {token_for(club, case.path)}"
                case.call_and_validate(headers={"Authorization": token}, checks=CHECKS)

            with suppress(Unsatisfiable):  # nothing can be wrong with a request without content
                ask()
    return len(chosen)


def token_for(club: Club, path: str) -> str:
    for kind in ("operator", "service"):
        if path.startswith(f"/api/{kind}"):
            return club.tokens[kind]
    if path == "/metrics":
        return club.tokens["monitor"]
    with club.database.writing() as connection:  # erasing oneself is among the requests
        return people.issue(connection, people.Role.PERSON, people.new_person(connection))


def test_whatever_a_person_sends_is_answered_as_documented(fuzzed: Club) -> None:
    assert fuzz(fuzzed, "/", "/api/operator", examples=15) >= 18


def test_whatever_the_operator_sends_is_answered_as_documented(fuzzed: Club) -> None:
    assert fuzz(fuzzed, "/api/operator", "never", examples=1) == 11  # each may start a program
