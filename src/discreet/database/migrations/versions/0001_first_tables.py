"""First tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "deleted_ratings",
        sa.Column("h1", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("h2", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("h1", "h2", name=op.f("pk_deleted_ratings")),
        comment="Keyed hashes of pairs whose owner took the rating back: no import brings it back.",
    )
    op.create_table(
        "erased_people",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_erased_people")),
        comment="Keyed hashes of ids whose owner was erased: nobody gets them again.",
    )
    op.create_table(
        "items",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column(
            "features",
            sa.JSON(),
            nullable=False,
            comment="What is publicly known: title, year, ...",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_items")),
    )
    op.create_table(
        "people",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_people")),
    )
    op.create_table(
        "releases",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("scheme", sa.String(length=40), nullable=False),
        sa.Column("threshold", sa.String(length=40), nullable=False),
        sa.Column(
            "begun_at", sa.BigInteger(), nullable=False, comment="When the ratings were read."
        ),
        sa.Column("published_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_releases")),
        sa.UniqueConstraint("digest"),
    )
    op.create_table(
        "settings",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("value", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_settings")),
        comment="The declaration (public), the ledger's key (secret), the catalogue's version, ...",
    )
    op.create_table(
        "assessments",
        sa.Column("release", sa.Integer(), nullable=False),
        sa.Column(
            "content",
            sa.JSON(),
            nullable=False,
            comment="Errors on the ratings themselves: secret.",
        ),
        sa.ForeignKeyConstraint(
            ["release"], ["releases.number"], name=op.f("fk_assessments_release")
        ),
        sa.PrimaryKeyConstraint("release", name=op.f("pk_assessments")),
    )
    op.create_table(
        "ratings",
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("item", sa.Text(), nullable=False),
        sa.Column("rating", sa.Float(precision=53), nullable=False),
        sa.Column("epsilon", sa.Float(precision=53), nullable=False),
        sa.Column("changed_at", sa.BigInteger(), nullable=False),
        sa.Column(
            "revision", sa.BigInteger(), nullable=False, comment="Random, new with every change."
        ),
        sa.ForeignKeyConstraint(["item"], ["items.id"], name=op.f("fk_ratings_item")),
        sa.ForeignKeyConstraint(
            ["person"], ["people.id"], name=op.f("fk_ratings_person"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("person", "item", name=op.f("pk_ratings")),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "release_files",
        sa.Column("release", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["release"], ["releases.number"], name=op.f("fk_release_files_release")
        ),
        sa.PrimaryKeyConstraint("release", "name", name=op.f("pk_release_files")),
    )
    op.create_table(
        "spends",
        sa.Column("h1", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("h2", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("level", sa.Float(precision=53), nullable=False),
        sa.Column("spent", sa.Float(precision=53), nullable=False),
        sa.Column("delta", sa.Float(precision=53), nullable=False),
        sa.Column("release", sa.Integer(), nullable=True, comment="The latest, if there was one."),
        sa.Column(
            "revision",
            sa.BigInteger(),
            nullable=False,
            comment="Of the rating that was counted last.",
        ),
        sa.ForeignKeyConstraint(["release"], ["releases.number"], name=op.f("fk_spends_release")),
        sa.PrimaryKeyConstraint("h1", "h2", name=op.f("pk_spends")),
        comment="The ledger: keyed hashes of pairs, kept also when a person is erased.",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "tokens",
        sa.Column(
            "digest",
            sa.String(length=64),
            nullable=False,
            comment="SHA-256; the token is shown once.",
        ),
        sa.Column("role", sa.String(length=10), nullable=False),
        sa.Column(
            "kind", sa.String(length=10), nullable=False, comment="token, or session of a browser"
        ),
        sa.Column("person", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["person"], ["people.id"], name=op.f("fk_tokens_person"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_tokens")),
    )
    with op.batch_alter_table("tokens", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_tokens_person"), ["person"], unique=False)


def downgrade() -> None:
    """Never: without the ledger nobody knows what was spent."""
    raise NotImplementedError("the first tables hold the ledger: they are not dropped")
