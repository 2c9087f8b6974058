"""Two purses: what a pair has spent as a pure epsilon, and as the square of a mu."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply: what was spent before stays as it is, undivided."""
    for name in ("pure", "mu2"):
        column = sa.Column(name, sa.Float(precision=53), nullable=False, server_default="0")
        op.add_column("spends", column)


def downgrade() -> None:
    """Never: without the purses nobody knows what was spent."""
    raise NotImplementedError("the purses hold what was spent: they are not dropped")
