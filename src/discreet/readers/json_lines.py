"""JSON: one object a line, or one list of objects; numbers and texts keep their types."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from discreet.errors import DataError
from discreet.readers.base import Dialect, table_format
from discreet.readers.head import read_bytes

ROWS = "one list of objects or one object a line, such as pandas' to_json(orient='records') writes"
"""How a file of JSON must be laid out."""


def read_json(path: Path, dialect: Dialect) -> pl.DataFrame:
    """A file of objects as a frame; every row is looked at for what columns there are."""
    raw = read_bytes(path).removeprefix(b"\xef\xbb\xbf").lstrip()
    if not raw:
        raise pl.exceptions.NoDataError("no objects")
    if raw.startswith(b"["):
        return pl.read_json(raw, infer_schema_length=None)
    try:
        frame = pl.read_ndjson(raw, infer_schema_length=None)
    except pl.exceptions.PolarsError:
        frame = pl.read_json(raw, infer_schema_length=None)  # an object over several lines
    whole = set(dialect.required) <= set(dialect.names(frame.columns).values())
    nested = [frame.schema[name].is_nested() for name in frame.columns]
    if frame.height == 1 and len(nested) > 1 and all(nested):  # as pandas writes it, untold
        raise DataError(f"{path} holds an object of columns or lists: it needs {ROWS}")
    return frame if whole or frame.height > 1 else _rows_within(frame)


def _rows_within(frame: pl.DataFrame) -> pl.DataFrame:
    """The list of objects in a single object, {"ratings": [...]}, if there is one of them."""
    lists = [name for name, kind in frame.schema.items() if kind == pl.List(pl.Struct)]
    return frame[lists[0]].explode().struct.unnest() if len(lists) == 1 else frame


def scan_json(path: Path, dialect: Dialect) -> pl.LazyFrame:
    """One object a line, to be read piece by piece."""
    del dialect
    return pl.scan_ndjson(path, infer_schema_length=None)


JSON_LINES = table_format(read_json, scan_json)
JSON = table_format(read_json)
"""A list must be read whole to be understood."""
