"""A company's own front end sends things once; an item can be taken down."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column(
        "items",
        sa.Column(
            "removed_at",
            sa.BigInteger(),
            nullable=True,
            comment="When it was taken down, if it was.",
        ),
    )
    op.create_table(
        "answered_requests",
        sa.Column(
            "digest",
            sa.String(length=64),
            nullable=False,
            comment="Of a front end's name and its key.",
        ),
        sa.Column(
            "body", sa.String(length=64), nullable=False, comment="SHA-256 of what was sent."
        ),
        sa.Column("answer", sa.JSON(), nullable=False, comment="Counts alone."),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_answered_requests")),
        comment="What front ends sent under a key of their own: done once, however often it is "
        "sent.",
    )
    op.create_index(op.f("ix_answered_requests_at"), "answered_requests", ["at"], unique=False)


def downgrade() -> None:
    """Never: what was taken down would be shown again."""
    raise NotImplementedError("what was taken down is not shown again")
