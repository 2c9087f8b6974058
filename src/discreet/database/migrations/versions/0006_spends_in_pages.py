"""Spends in pages: a row for all pairs whose hashes begin alike, instead of one for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from alembic import op

from discreet.database.spend_pages import DatabasePages
from discreet.privacy.hashing import HASH_BITS
from discreet.privacy.lifetime import Spends
from discreet.privacy.spend_pages import Page

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_PARTS = 256
_NAMES = ("h1", "h2", "level", "spent", "delta", "pure", "mu2", "release", "revision")
_ROWS = sa.text(
    f"SELECT {', '.join(_NAMES)} FROM spends WHERE h1 >= :first AND h1 < :end ORDER BY h1, h2"
)


def upgrade() -> None:
    """Apply: every row is in a page before the rows are dropped."""
    op.create_table(
        "spend_pages",
        sa.Column("page", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("page", name=op.f("pk_spend_pages")),
        comment="The ledger: keyed hashes of pairs and what they have spent, those together whose "
        "hashes begin with the number of the page; kept also when a person is erased.",
    )
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":  # hashes are random: to compress them is in vain
        op.execute("ALTER TABLE spend_pages ALTER COLUMN content SET STORAGE EXTERNAL")
    pages, kept = DatabasePages(connection), 0
    for part in range(_PARTS):
        first, end = (n * (1 << HASH_BITS) // _PARTS for n in (part, part + 1))
        rows = connection.execute(_ROWS, {"first": first, "end": end}).all()
        if rows:
            pages.write(_page(rows).stored(pages.bits))
            kept += len(rows)
    if kept != connection.scalar(sa.text("SELECT count(*) FROM spends")):
        raise RuntimeError("not every spend could be kept: nothing was changed")
    op.drop_table("spends")


def _page(rows: Sequence[sa.Row[Any]]) -> Page:
    columns = list(zip(*rows, strict=True))
    numbers = len(Spends._fields)
    # Of what was counted before a restore nobody knows the release.
    release = [number or 0 for number in columns[2 + numbers]]
    return Page.made(
        np.array(columns[:2], dtype=np.int64),
        np.array(columns[2 : 2 + numbers], dtype=np.float64),
        np.array([release, columns[-1]], dtype=np.int64),
    )


def downgrade() -> None:
    """Never: what was spent is not forgotten."""
    raise NotImplementedError("the pages hold what was spent: they are not dropped")
