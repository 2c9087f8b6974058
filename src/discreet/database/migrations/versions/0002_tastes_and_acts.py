"""Levels that people chose for all, what does not interest them, and what operators did."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "usual_levels",
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("level", sa.Float(precision=53), nullable=False),
        sa.ForeignKeyConstraint(
            ["person"], ["people.id"], name=op.f("fk_usual_levels_person"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("person", name=op.f("pk_usual_levels")),
        comment="The level that somebody chose for all ratings of which they do not say another.",
    )
    op.create_table(
        "hidden_items",
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("item", sa.Text(), nullable=False),
        sa.Column("hidden_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["item"], ["items.id"], name=op.f("fk_hidden_items_item")),
        sa.ForeignKeyConstraint(
            ["person"], ["people.id"], name=op.f("fk_hidden_items_person"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("person", "item", name=op.f("pk_hidden_items")),
        comment="Not interested: left out of one's own lists, and no part of any release.",
    )
    op.create_table(
        "acts",
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("operator", sa.Text(), nullable=False),
        sa.Column("act", sa.String(length=40), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_acts")),
        comment="What operators did, and when: for operators alone.",
    )


def downgrade() -> None:
    """Take the tables away."""
    for name in ("acts", "hidden_items", "usual_levels"):
        op.drop_table(name)
