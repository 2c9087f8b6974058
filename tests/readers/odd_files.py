"""Odd files that people bring, and what each of them gets: a table, or a message that helps."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

PLAIN = "user,item,rating\nann,7,5\nbob,8,3\n"
_WIDE = ",".join(["user", "item", *(f"column number {k}" for k in range(500))])


@dataclass(frozen=True)
class Odd:
    """A file: what is odd about it, and what reading says (an expression), or how many rows."""

    about: str
    name: str
    content: bytes | str | Callable[[Path], Any]
    says: str | int
    """Part of the message; or the number of ratings or items, where it is read."""
    how: Mapping[str, Any] = field(default_factory=dict)
    users: tuple[Any, ...] | None = None
    """Who (of an item table: which items) must be in it, where that is what might go wrong."""

    def write(self, folder: Path) -> Path:
        """Make the file."""
        path = folder / self.name
        if callable(self.content):
            self.content(path)
        else:
            raw = self.content.encode() if isinstance(self.content, str) else self.content
            path.write_bytes(raw)
        return path


def _zstd(path: Path) -> None:
    pl.read_csv(PLAIN.encode()).write_csv(path, compression="zstd")


def _zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ratings.csv", PLAIN)


def _lines(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _parquet(**columns: Any) -> Callable[[Path], Any]:
    return lambda path: pl.DataFrame(columns).write_parquet(path)


_ROW = {"user": "ann", "item": 7, "rating": 5}
_OTHER = {"user": "bob", "item": "08", "rating": 4.5}
_LONG, _X = ",".join(f"c{k}" for k in range(30_000)), ",".join("x" * 30_000)
_PLACES = {"columns": {"user": "1", "item": "2", "rating": "3"}}
ODD_FILES = [
    # Read as they are.
    Odd("byte order mark", "r.csv", "\ufeff" + PLAIN, 2, users=("ann", "bob")),
    Odd("CR line ends", "r.csv", PLAIN.replace("\n", "\r"), 2),
    Odd("CRLF line ends", "r.csv", PLAIN.replace("\n", "\r\n"), 2),
    Odd("no last newline", "r.csv", PLAIN.strip(), 2),
    Odd("gzip", "r.csv.gz", gzip.compress(PLAIN.encode()), 2),
    Odd("zstd", "r.csv.zst", _zstd, 2),
    Odd("gzip, CR", "r.tsv.gz", gzip.compress(b"user\titem\trating\rann\t7\t5\r"), 1),
    Odd("JSON lines", "r.jsonl", _lines(_ROW, _OTHER), 2),
    Odd("JSON list", "r.json", json.dumps([_ROW, _OTHER]), 2),
    Odd("JSON lines, gzip", "r.ndjson.gz", gzip.compress(_lines(_ROW, _OTHER).encode()), 2),
    Odd("leading zeros", "r.csv", "user,item,rating\n007,1,5\n7,1,4\n", 2, users=("007", "7")),
    Odd("leading zeros, ::", "ratings.dat", "007::1::5::9\n7::1::4::9\n", 2, users=("007", "7")),
    Odd(":: named", "r.txt", "user::item::rating\nann::1::5\n", 1, {"separator": "::"}),
    Odd(":: nameless", "mine.dat", "1::31::5::978300760\n", 1, {"separator": "::"}, ("1",)),
    Odd(":: nameless, alike", "mine.dat", "1::31::1::9\n2::31::5::9\n", 2, {"separator": "::"}),
    Odd("Article No", "r.csv", "Customer No,Article No,Stars\n1,0042,5\n", 1),
    Odd("usual names", "r.csv", "User-ID,ISBN,Book-Rating\n1,0195153448,5\n", 1),
    Odd("Yelp's names", "r.csv", "review_id,user_id,business_id,stars\nx,u,b,4\n", 1),
    Odd("Amazon's names", "r.jsonl", _lines({"reviewerID": "A1", "asin": "B0", "overall": 5}), 1),
    Odd("capitals", "r.csv", "USER,Item,Rating\nann,7,5\n", 1),
    Odd("userId with text", "r.csv", "userId,movieId,rating\nann,tt1,5\n", 1, users=("ann",)),
    Odd("quoted commas", "r.csv", 'user,item,rating\n"Doe, Jo",7,5\n', 1, users=("Doe, Jo",)),
    Odd("huge ids", "r.csv", f"user,item,rating\n{'9' * 30},7,5\n", 1, users=("9" * 30,)),
    Odd("emoji ids", "r.csv", "user,item,rating\n🦉,7,5\n", 1, users=("🦉",)),
    Odd("ISO times", "r.csv", "user,item,rating,timestamp\na,1,5,2024-05-01T10:00:00.5Z\n", 1),
    Odd("dates of any look", "r.csv", "user,item,rating,date\na,1,5,17.05.2024\n", 1),
    Odd("many more columns", "r.csv", _WIDE + ",rating\na,1" + ",x" * 500 + ",5\n", 1),
    Odd("blank lines", "r.csv", "user,item,rating\na,1,5\n\nb,1,5\n,,\n", 2),
    Odd("blanks around", "r.csv", "user, item, rating\n ann , 07, 5\n", 1, users=("ann",)),
    Odd("decimal commas, tabs", "r.tsv", "user\titem\trating\na\t1\t4,5\nb\t1\t3\n", 2),
    Odd("decimal comma, quoted", "r.csv", 'user,item,rating\na,1,"3,5"\n', 1),
    Odd("sep=; of Excel", "r.csv", "sep=;\r\n" + PLAIN.replace(",", ";"), 2, users=("ann", "bob")),
    Odd("a header of 200 kB", "r.csv", f"user,item,{_LONG},rating\na,1,{_X},5\n", 1),
    Odd("a list in an object", "r.json", json.dumps({"ratings": [_ROW, _OTHER]}), 2),
    Odd("the same, on lines", "r.json", json.dumps({"n": 2, "r": [_ROW, _OTHER]}, indent=1), 2),
    Odd("no header, told", "r.csv", "ann,7,5\nbob,8,3\n", 2, _PLACES, ("ann", "bob")),
    Odd("no header, 1,2,3", "r.csv", "1,2,3\n7,2,4\n", 2, _PLACES, ("1", "7")),
    # Read when it is told what it cannot know.
    Odd("semicolons", "r.csv", PLAIN.replace(",", ";"), "separator=';' (--separator ';')"),
    Odd("tabs", "r.csv", PLAIN.replace(",", "\t"), "(--separator tab)"),
    Odd("bars", "r.csv", PLAIN.replace(",", "|"), "separated by '|'"),
    Odd(":: in a .txt", "r.txt", PLAIN.replace(",", "::"), "(--separator '::')"),
    Odd("blanks between", "r.txt", PLAIN.replace(",", " "), "(--separator ' ')"),
    Odd("blanks, told", "r.txt", PLAIN.replace(",", " "), 2, {"separator": " "}, ("ann", "bob")),
    Odd(
        "aligned by blanks", "r.txt", "user   item   rating\nann    7      5\n", "aligned by blanks"
    ),
    Odd("mixed separators", "r.csv", "user,item,rating\na,1,5\nb;1;5\n", "missing at row 2"),
    Odd("Latin-1", "r.csv", "user,item,rating\nJosé,1,5\n".encode("latin-1"), "--encoding latin-1"),
    Odd("UTF-16", "r.csv", PLAIN.encode("utf-16"), "--encoding utf-16"),
    Odd("UTF-16, told", "r.csv", PLAIN.encode("utf-16"), 2, {"encoding": "utf-16"}),
    Odd("UTF-16 without a mark", "r.csv", PLAIN.encode("utf-16-le"), "--encoding utf-16-le"),
    Odd("no header", "r.csv", "1,31,2.5\n1,1029,3\n", "the first row must name the columns"),
    Odd("no header, text", "r.csv", "ann,7,5\nbob,8,3\n", "--columns user=PLACE"),
    Odd("places from 0", "r.csv", "ann,7,5\n", "PLACE from 1 to 3", {"columns": {"user": "0"}}),
    Odd("a comment", "r.csv", "# of May\n" + PLAIN, "remove the comment"),
    Odd("a matrix", "r.csv", "user,f1,f2,f3,f4,f5\nann,7,5,,1,2\n", "a row for each rating"),
    Odd("no header, alike", "r.csv", "1,31,1\n1,1029,3\n", "the first row must name the columns"),
    Odd("no rating", "r.csv", "user,item\na,1\n", "--columns rating=..."),
    Odd("other names", "r.csv", "Wer,Was,Note\na,1,5\n", "--columns user=... --columns item=..."),
    Odd("two users", "r.csv", "user_id,customer_id,item,rating\n1,2,3,4\n", "which column is the"),
    Odd("doubled column", "r.csv", "user,item,rating,rating\na,1,5,4\n", "two columns are called"),
    Odd("half stars", "r.csv", "user,item,rating\na,1,0.5\n", "--scale lo:hi"),
    Odd(
        "percent",
        "r.csv",
        "user,item,rating\na,1,95%\n",
        "write a plain number",
    ),
    Odd("thousands", "r.csv", 'user,item,rating\na,1,"1,000"\n', "write a plain number"),
    # Mended by their owner.
    Odd("empty", "r.csv", "", "r.csv is empty"),
    Odd("header alone", "r.csv", "user,item,rating\n", "the ratings table is empty"),
    Odd("no rating in a row", "r.csv", "user,item,rating\na,1,\n", "rating is missing at row 1"),
    Odd("NaN", "r.csv", "user,item,rating\na,1,NaN\n", "item '1'); mend the row or drop it"),
    Odd("infinite", "r.csv", "user,item,rating\na,1,inf\n", "got inf at row 1"),
    Odd("no user in a row", "r.csv", "user,item,rating\n,1,5\n", "user id is missing at row 1"),
    Odd("epsilon 0", "r.csv", "user,item,rating,epsilon\na,1,5,0\n", "--default-level"),
    Odd("epsilon < 0", "r.csv", "user,item,rating,Epsilon\na,1,5,-1\n", "got -1 at row 1"),
    Odd("pair twice", "r.csv", "user,item,rating\na,1,5\na,1,4\n", "two ratings of one pair"),
    Odd("the header again", "r.csv", PLAIN + PLAIN, "row 3 (user 'user', item 'item'); drop it"),
    Odd("a sum at the end", "r.csv", PLAIN + "Total,,8\n", "item id is missing at row 3"),
    Odd("4/5", "r.csv", "user,item,rating\nann,7,4/5\n", "write a plain number"),
    Odd("two forms of time", "r.csv", "user,item,rating,time\na,1,5,9\nb,1,5,2024-05-01\n", 2),
    Odd(
        "two forms of a timestamp",
        "r.csv",
        "user,item,rating,timestamp\na,1,5,9\nb,1,5,2024-05-01\n",
        "write all in one form",
    ),
    Odd("a time of any look", "r.csv", "user,item,rating,timestamp\na,1,5,soon\n", "got 'soon'"),
    Odd("rows too long", "r.csv", "user,item,rating\na,1,5,9,9\n", "row 1 has 5 fields"),
    Odd("a row too long", "r.csv", PLAIN + "cy,9,2,1\n", "row 3 has 4 fields and the header 3"),
    Odd("long rows; other delimiter", "r.csv", "user;item;rating\na;b,c;5\n", "--separator ';'"),
    Odd("half a gzip", "r.csv.gz", gzip.compress(PLAIN.encode() * 99)[:40], "cannot be unpacked"),
    Odd("no gzip", "r.csv.gz", PLAIN, "cannot be unpacked"),
    Odd("gzip unnamed", "r.csv", gzip.compress(PLAIN.encode()), "give it the ending .gz"),
    Odd("Excel", "r.csv", b"PK\x03\x04" + b"\0" * 40, "save the sheet as CSV"),
    Odd("Excel's ending", "r.xlsx", b"PK\x03\x04", "save the sheet as CSV"),
    Odd("an ending of any look", "r.dump", PLAIN, "cannot tell the format from the name"),
    Odd("a web page", "r.csv", "<!DOCTYPE html><html>", "download the table itself"),
    Odd("XML", "r.csv", '<?xml version="1.0"?>\n<ratings/>\n', "is XML: export the table as CSV"),
    Odd("an SQL dump", "r.csv", "INSERT INTO ratings VALUES ('a',7,5);\n", "dump of a database"),
    Odd("one's own zip", "r.zip", _zip, "unpack it, and give the path of the table"),
    Odd("JSON by columns", "r.json", '{"user": {"0": 1}, "item": {"0": 2}}', "orient='records'"),
    Odd("JSON without names", "r.json", '[["ann", 7, 5]]', "one list of objects"),
    Odd("Parquet, misnamed", "r.csv", _parquet(user=["a"], item=[1]), "the ending .parquet"),
    Odd("half a Parquet", "r.parquet", b"PAR1 nonsense", "that it is what its ending says"),
    Odd("nested JSON", "r.jsonl", _lines({**_ROW, "rating": {"stars": 5}}), "--columns rating=..."),
    Odd("broken JSON", "r.jsonl", '{"user": 1,', "whole, one object a line"),
    Odd("fractional ids", "r.parquet", _parquet(user=[1.5], item=[1], rating=[5]), "integers or"),
    Odd("a list of ratings", "r.parquet", _parquet(user=[1], item=[1], rating=[[5]]), "a number"),
    Odd("levels as words", "r.csv", "user,item,rating,epsilon\na,1,5,high\n", "got 'high'"),
]

FILMS = "item,title,year\n0001,Alien,1979\n2,Brazil,1985\n"
ODD_ITEM_TABLES = [
    # Read as they are.
    Odd("an index without a name", "i.csv", ",item,title\n0,0001,A\n1,2,B\n", 2, users=("0001",)),
    Odd("a comma at the end", "i.csv", "item,title,\n1,A,\n2,B,\n", 2),
    Odd("two nameless columns", "i.csv", ",item,title,\n0,1,A,x\n1,2,B,\n", 2),
    Odd("names in Cyrillic", "i.csv", "item,название,год\n1,Солярис,1972\n", 1),
    Odd("names in Chinese", "i.csv", "item,片名,年份\n1,英雄,2002\n2,,\n", 2),
    Odd("a name of signs", "i.csv", "item,#,€ [net]\n1,7,3.5\n2,8,4\n", 2),
    Odd("a nameless column", "i.parquet", _parquet(**{"item": [1, 2], "": [0, 1]}), 2),
    Odd("byte order mark", "i.csv", "\ufeff" + FILMS, 2),
    Odd("CR line ends", "i.csv", FILMS.replace("\n", "\r"), 2),
    Odd("gzip", "i.csv.gz", gzip.compress(FILMS.encode()), 2),
    Odd("usual names", "i.csv", "Article No,Product Name\n0042,Lamp\n", 1, users=("0042",)),
    Odd("one item in an object", "i.json", '{"item": 1, "genres": [{"id": 7, "name": "x"}]}', 1),
    Odd("genres in brackets", "i.csv", "item,genres\n1,\"['a', 'b']\"\n2,['a']\n", 2),
    Odd("other names, told", "i.csv", "Ding\n1\n", 1, {"columns": {"item": "Ding"}}),
    # Read when it is told what it cannot know, or mended by their owner.
    Odd("semicolons", "i.csv", FILMS.replace(",", ";"), "(--item-separator ';')"),
    Odd("other names", "i.csv", "Ding,Name\n1,A\n", "--item-columns item=..."),
    Odd("two items", "i.csv", "item_id,product_id\n1,2\n", "--item-columns item=item_id"),
    Odd("Latin-1", "i.csv", "item,title\n1,Amélie\n".encode("latin-1"), "--encoding latin-1"),
    Odd("empty", "i.csv", "", "i.csv is empty"),
    Odd("header alone", "i.csv", "item,title\n", "the item table is empty"),
    Odd("no item in a row", "i.csv", "item,title\n,A\n", "item id is missing at row 1"),
    Odd("an item twice", "i.csv", "item,title\n1,A\n1,B\n", "stands twice"),
    Odd("ratings", "i.csv", PLAIN, "this looks like a ratings table"),
    Odd("a title that is mapped twice", "i.csv", FILMS, "already", {"columns": {"title": "year"}}),
    Odd("a reserved name", "i.csv", "item,_x\n1,2\n", "are reserved: rename '_x'"),
]


def messages(folder: Path, files: Sequence[Odd]) -> str:
    """A line of Markdown for every file: what is odd about it, and what it gets."""
    from discreet.errors import DiscreetError
    from discreet.readers.tables import read_items, read_ratings

    out = io.StringIO()
    for odd in files:
        read: Callable[..., Sized] = read_items if odd in ODD_ITEM_TABLES else read_ratings
        path = odd.write(folder)
        try:
            found = read(path, **odd.how)
            said = f"{len(found)} {'row' if len(found) == 1 else 'rows'}"
        except DiscreetError as error:
            said = str(error).replace(f"{folder}/", "")
        for sign in "\\|*_<[`":
            said = said.replace(sign, f"\\{sign}")
        out.write(f"| {odd.about.replace('_', chr(92) + '_')} | {said} |\n")
    return out.getvalue()
