"""A tutorial's cell for the shell is shown, and copied, as what one types there: without %%bash."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx

MAGIC = "%%bash\n"


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx calls this."""
    app.connect("doctree-read", _show)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _show(app: Sphinx, page: nodes.document) -> None:
    del app
    for cell in list(page.findall(nodes.literal_block)):
        text = cell.astext()
        if text.startswith(MAGIC):
            typed = text.removeprefix(MAGIC)
            cell.replace_self(nodes.literal_block(typed, typed, language="sh"))
