"""What several processes and several operators share; own rows of what was deleted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "taken_back",
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("item", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["item"], ["items.id"], name=op.f("fk_taken_back_item")),
        sa.ForeignKeyConstraint(
            ["person"], ["people.id"], name=op.f("fk_taken_back_person"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("person", "item", name=op.f("pk_taken_back")),
        comment="What its owner rated once, for that person's own page of what has left.",
        sqlite_with_rowid=False,
    )
    with op.batch_alter_table("acts", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("person", sa.Text(), nullable=True, comment="Whom it concerns.")
        )
        batch_op.create_foreign_key(
            batch_op.f("fk_acts_person"), "people", ["person"], ["id"], ondelete="CASCADE"
        )
        batch_op.create_index(batch_op.f("ix_acts_person"), ["person"], unique=False)
        batch_op.create_table_comment(
            "What operators did, and when: for operators, and for the person concerned.",
            existing_comment="What operators did, and when: for operators alone.",
        )
    op.create_table(
        "frequencies",
        sa.Column(
            "who",
            sa.String(length=64),
            nullable=False,
            comment="Keyed hash of a person or an address.",
        ),
        sa.Column("left", sa.Float(precision=53), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("who", name=op.f("pk_frequencies")),
        comment="What is left of limits that several processes share; rows go when they are full.",
    )
    with op.batch_alter_table("tokens", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column(
                "name",
                sa.Text(),
                nullable=True,
                comment="An operator's; of a person's token, the operator who made it.",
            )
        )
    # Of what was deleted before there are keyed hashes alone: whose they are is found by trying.
    op.execute(
        "INSERT INTO settings (name, value) SELECT 'deleted by hash alone', 'true' "
        "WHERE EXISTS (SELECT 1 FROM deleted_ratings)"
    )


def downgrade() -> None:
    """Never: operators' acts would be forgotten."""
    raise NotImplementedError("what operators did is not forgotten")
