"""Pages, or parts of them, that are written from the program itself, so that they cannot differ.

A line `<!-- generated: NAME -->` in a page is replaced by what WRITERS says for that name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import command_pages
import field_pages
import odd_pages
import python_pages
import result_pages
import service_pages
from sphinx.application import Sphinx

DOCS = Path(__file__).parents[1]


def _draw(name: str) -> str:
    """A drawing inside the page, so that its colours follow the theme; upright on a phone."""
    forms = {"wide": name, "upright": f"{name}-upright"}
    drawn = "".join(
        f'<div class="{form}">\n{(DOCS / "figures" / f"{file}.svg").read_text()}</div>\n'
        for form, file in forms.items()
    )
    return f'```{{raw}} html\n<div class="drawing">\n{drawn}</div>\n```'


def _list_proofs() -> str:
    """The pages of the folder, in the order of their table."""
    folder = DOCS / "proofs"
    pages = re.findall(
        r"^\| \[[^\]]+\]\(([\w-]+)\.md\)", (folder / "README.md").read_text(), re.MULTILINE
    )
    return "\n".join(["```{toctree}", ":hidden:", "", *pages, "```"])


WRITERS: dict[str, Callable[[], str]] = {
    "commands": command_pages.write,
    "service api": service_pages.write,
    **{f"drawing {name}": partial(_draw, name) for name in ("whole", "tally", "chorus")},
    "picture": result_pages.write_picture,
    "levels": result_pages.write_levels,
    "field": field_pages.write_field,
    "field audit": field_pages.write_audit,
    **{
        f"python {group}": partial(python_pages.write, group)
        for group in (*python_pages.GROUPS, python_pages.NEWER)
    },
    "python errors": python_pages.write_errors,
    "proofs": _list_proofs,
    **{f"odd {what}": partial(odd_pages.write, what) for what in ("ratings", "items")},
}
MARK = re.compile(r"^<!-- generated: (.*) -->$", re.MULTILINE)


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx calls this."""
    app.connect("source-read", _fill)
    app.connect("autodoc-process-docstring", python_pages.mark_up)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _fill(app: Sphinx, page: str, content: list[str]) -> None:
    del app, page
    content[0] = MARK.sub(lambda found: WRITERS[found[1]](), content[0])
