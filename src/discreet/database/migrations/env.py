"""Alembic's entry: it runs the steps on the connection that `migrate` passes in."""

from __future__ import annotations

from alembic import context

from discreet.database.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,  # SQLite alters a table by writing it anew
)
context.run_migrations()
