"""What is wrong with a file, in words for its owner: the place, and what to do about it."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from discreet.errors import DataError
from discreet.readers.head import ending
from discreet.readers.json_lines import ROWS

_MARKS = {"::": "'::'", ";": "';'", "\t": "a tab", "|": "'|'", ",": "','", " ": "blanks"}
"""What may stand between fields, and how it is called."""
_WHOLE = "check that it is whole"
_REMEDIES = {
    ".jsonl": f"{_WHOLE}, one object a line",
    ".ndjson": f"{_WHOLE}, one object a line",
    ".json": f"{_WHOLE}, {ROWS}",
    ".parquet": f"{_WHOLE}, and that it is what its ending says",
    ".pq": f"{_WHOLE}, and that it is what its ending says",
    ".arrow": f"{_WHOLE}, and that it is what its ending says",
    ".feather": f"{_WHOLE}, and that it is what its ending says",
    ".ipc": f"{_WHOLE}, and that it is what its ending says",
}


@contextmanager
def naming_errors(path: Path) -> Iterator[None]:
    """While a table is read: what goes wrong becomes an error that names the file."""
    try:
        yield
    except pl.exceptions.NoDataError:
        raise DataError(f"{path} is empty: it needs a header and at least one row") from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        kind = ending(path)
        remedy = _REMEDIES.get(kind, f"{_WHOLE}, its delimiter, and its quotation marks")
        raise DataError(
            f"{path} is not a readable {kind or 'delimited'} table: "
            f"{str(error).splitlines()[0]}; {remedy}"
        ) from None
    except DataError as error:
        raise DataError(str(error) if str(path) in str(error) else f"{path}: {error}") from None
    except OSError as error:
        raise DataError(f"cannot read {path}: {error}") from None


def explained(
    error: DataError, path: Path, names: Sequence[str], flag: str = "--separator"
) -> DataError:
    """What is wrong with a table, and where its header shows another delimiter, only that."""
    hint = delimiter_hint(names, flag)
    told = str(error).partition("; ")[0] if hint else str(error)
    return DataError(f"{told}{hint}" if told.startswith(str(path)) else f"{path}: {told}{hint}")


def delimiter_hint(names: Sequence[str], flag: str = "--separator") -> str:
    """A word on the delimiter, where a table of one column hints at a wrong one.

    >>> delimiter_hint(["user;item;rating"])
    ". Its header seems to be separated by ';': say so with separator=';' (--separator ';')"
    >>> delimiter_hint(["user item rating"])
    ". Its header seems to be separated by blanks: say so with separator=' ' (--separator ' ')"
    >>> delimiter_hint(["user", "item;rating"])
    ''
    """
    if len(names) != 1:
        return ""
    if re.search(r"\S {2,}\S", names[0]):
        return ". Its columns seem to be aligned by blanks: write a comma in place of each gap"
    for separator, name in _MARKS.items():
        if names[0].strip().count(separator) >= (2 if separator == " " else 1):
            word = "tab" if separator == "\t" else f"'{separator}'"
            return (
                f". Its header seems to be separated by {name}: say so with "
                f"separator={separator!r} ({flag} {word})"
            )
    return ""


def refuse_long_rows(
    path: Path, text: str, separator: str, names: Sequence[str], flag: str
) -> None:
    """An error for the first row with more fields than the header has; readers name none.

    A header of one field that holds another delimiter is named instead. `flag` names a separator.
    """
    if hint := delimiter_hint(names, flag):
        raise DataError(f"{path}: the header has one field, rows have more{hint}")
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        for number, row in enumerate(rows):
            if number and len(row) > len(names):
                raise DataError(
                    f"{path}: row {number} has {len(row)} fields and the header {len(names)}; "
                    "mend the row, quote fields that hold the delimiter, or name another "
                    f"(separator=';', {flag} ';')"
                )
    except csv.Error:  # whoever asked has a message of their own
        return
