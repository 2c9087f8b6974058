"""The tables of the database. Times are milliseconds since 1970, UTC; ids are texts."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

settings = Table(
    "settings",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("value", JSON, nullable=False),
    comment="The declaration (public), the ledger's key (secret), the catalogue's version, ...",
)

people = Table(
    "people",
    metadata,
    Column("id", Text, primary_key=True),
    Column("created_at", BigInteger, nullable=False),
)

tokens = Table(
    "tokens",
    metadata,
    Column("digest", String(64), primary_key=True, comment="SHA-256; the token is shown once."),
    Column("role", String(10), nullable=False),
    Column("kind", String(10), nullable=False, comment="token, or session of a browser"),
    Column("person", ForeignKey("people.id", ondelete="CASCADE")),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("name", Text, comment="An operator's; of a person's token, the operator who made it."),
    Index(None, "person"),
)

items = Table(
    "items",
    metadata,
    Column("id", Text, primary_key=True),
    Column("features", JSON, nullable=False, comment="What is publicly known: title, year, ..."),
    Column("removed_at", BigInteger, comment="When it was taken down, if it was."),
)

ratings = Table(
    "ratings",
    metadata,
    Column("person", ForeignKey("people.id", ondelete="CASCADE"), primary_key=True),
    Column("item", ForeignKey("items.id"), primary_key=True),
    Column("rating", Float(53), nullable=False),
    Column("epsilon", Float(53), nullable=False),
    Column("changed_at", BigInteger, nullable=False),
    Column("revision", BigInteger, nullable=False, comment="Random, new with every change."),
    sqlite_with_rowid=False,
)

usual_levels = Table(
    "usual_levels",
    metadata,
    Column("person", ForeignKey("people.id", ondelete="CASCADE"), primary_key=True),
    Column("level", Float(53), nullable=False),
    comment="The level that somebody chose for all ratings of which they do not say another.",
)

hidden_items = Table(
    "hidden_items",
    metadata,
    Column("person", ForeignKey("people.id", ondelete="CASCADE"), primary_key=True),
    Column("item", ForeignKey("items.id"), primary_key=True),
    Column("hidden_at", BigInteger, nullable=False),
    comment="Not interested: left out of one's own lists, and no part of any release.",
)

deleted_ratings = Table(
    "deleted_ratings",
    metadata,
    Column("h1", BigInteger, primary_key=True, autoincrement=False),
    Column("h2", BigInteger, primary_key=True, autoincrement=False),
    comment="Keyed hashes of pairs whose owner took the rating back: no import brings it back.",
)

taken_back = Table(
    "taken_back",
    metadata,
    Column("person", ForeignKey("people.id", ondelete="CASCADE"), primary_key=True),
    Column("item", ForeignKey("items.id"), primary_key=True),
    sqlite_with_rowid=False,
    comment="What its owner rated once, for that person's own page of what has left.",
)

erased_people = Table(
    "erased_people",
    metadata,
    Column("digest", String(64), primary_key=True),
    comment="Keyed hashes of ids whose owner was erased: nobody gets them again.",
)

releases = Table(
    "releases",
    metadata,
    # Two publishers who begin from the same release want the same number: one of them gets it.
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("digest", String(64), nullable=False, unique=True),
    Column("scheme", String(40), nullable=False),
    Column("threshold", String(40), nullable=False),
    Column("begun_at", BigInteger, nullable=False, comment="When the ratings were read."),
    Column("published_at", BigInteger, nullable=False),
)

release_files = Table(
    "release_files",
    metadata,
    Column("release", ForeignKey("releases.number"), primary_key=True),
    Column("name", String(40), primary_key=True),
    Column("content", LargeBinary, nullable=False),
)

spend_pages = Table(
    "spend_pages",
    metadata,
    Column("page", Integer, primary_key=True, autoincrement=False),
    Column("content", LargeBinary, nullable=False),
    comment="The ledger: keyed hashes of pairs and what they have spent, those together whose "
    "hashes begin with the number of the page; kept also when a person is erased.",
)

assessments = Table(
    "assessments",
    metadata,
    Column("release", ForeignKey("releases.number"), primary_key=True),
    Column("content", JSON, nullable=False, comment="Errors on the ratings themselves: secret."),
)

acts = Table(
    "acts",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("operator", Text, nullable=False),
    Column("act", String(40), nullable=False),
    Column("detail", Text, nullable=False),
    Column("person", ForeignKey("people.id", ondelete="CASCADE"), comment="Whom it concerns."),
    Index(None, "person"),
    comment="What operators did, and when: for operators, and for the person concerned.",
)

frequencies = Table(
    "frequencies",
    metadata,
    Column("who", String(64), primary_key=True, comment="Keyed hash of a person or an address."),
    Column("left", Float(53), nullable=False),
    Column("at", BigInteger, nullable=False),
    comment="What is left of limits that several processes share; rows go when they are full.",
)

answered_requests = Table(
    "answered_requests",
    metadata,
    Column("digest", String(64), primary_key=True, comment="Of a front end's name and its key."),
    Column("body", String(64), nullable=False, comment="SHA-256 of what was sent."),
    Column("answer", JSON, nullable=False, comment="Counts alone."),
    Column("at", BigInteger, nullable=False),
    Index(None, "at"),
    comment="What front ends sent under a key of their own: done once, however often it is sent.",
)
