"""Logs: one JSON object a line, without ratings, tokens, ids, addresses or anybody's vector."""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

log = logging.getLogger("discreet.service")


class JsonLines(logging.Formatter):
    """A record as one line; an exception as its type and where it came from.

    An exception's words are left out: they may quote a value.
    """

    def format(self, record: logging.LogRecord) -> str:
        """One JSON object."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"time": at, "level": record.levelname.lower()}
        line["event"] = record.getMessage() if record.name == log.name else record.name
        line |= getattr(record, "fields", {})
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
            frames = traceback.extract_tb(record.exc_info[2])
            line["at"] = [f"{frame.name}:{frame.lineno}" for frame in frames[-8:]]
        return json.dumps(line)


def set_up(stream: Any = None) -> None:
    """All logs of the process as JSON lines; Uvicorn's own words only from warnings on."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    log.setLevel(logging.INFO)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).handlers = []
        logging.getLogger(name).propagate = True
        logging.getLogger(name).setLevel(logging.WARNING)


def event(name: str, **fields: Any) -> None:
    """Log something that happened; the fields must be public."""
    log.info(name, extra={"fields": fields})


def failure(name: str, **fields: Any) -> None:
    """Log an exception that is being handled, without its words."""
    log.error(name, extra={"fields": fields}, exc_info=True)
