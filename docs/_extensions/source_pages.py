"""Links to files of the repository lead to pages of the site that show them, with line numbers.

The pages of docs/ link to code and examples by their place in the repository. A reader of the site
has no repository: every file that is linked becomes a page. README and a few others beside docs/
are pages already.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from docutils import nodes
from markupsafe import escape
from sphinx.application import Sphinx
from sphinx.highlighting import PygmentsBridge
from sphinx.transforms import SphinxTransform

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
PAGES = {
    "CHANGELOG.md": "changelog",
    "CODE_OF_CONDUCT.md": "conduct",
    "CONTRIBUTING.md": "contributing",
    "SECURITY.md": "security",
}
"""Files beside docs/ that are pages of the site, word for word."""
LANDING = "README.md"
"""What it says is said by the landing page."""
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)")
SCHEME = "source:"
LANGUAGES = {".py": "python", ".toml": "toml", ".conf": "nginx", ".service": "ini"}


def _read(app: Sphinx, page: str, content: list[str]) -> None:
    """Before Sphinx parses a page: say where its links to other files lead on the site."""
    del app
    here = (DOCS / page).parent
    written = next((ROOT / file for file, name in PAGES.items() if name == page), None)
    if written:
        content[0] = written.read_text()
    start = written.parent if written else here
    content[0] = LINK.sub(partial(_target, start, here), content[0])


def _target(start: Path, here: Path, link: re.Match[str]) -> str:
    """A link in a text that was written in folder `start` and is shown in folder `here`."""
    path = (start / link[1]).resolve()
    if path.is_relative_to(DOCS):
        return os.path.relpath(path, here)
    if not path.is_relative_to(ROOT):
        return link[1]
    file = path.relative_to(ROOT).as_posix()
    page = "index" if file == LANDING else PAGES.get(file)
    return os.path.relpath(DOCS / f"{page}.md", here) if page else f"{SCHEME}{file}"


class LinkToSources(SphinxTransform):
    """Give links to files the address of their page, and remember which there are."""

    default_priority = 400

    def apply(self, **_: Any) -> None:
        """Look at every link of a page."""
        up = "../" * self.env.docname.count("/")
        for link in self.document.findall(nodes.reference):
            if link.get("refuri", "").startswith(SCHEME):
                file = link["refuri"].removeprefix(SCHEME)
                _linked(self.app).add(file)
                link["refuri"] = f"{up}source/{file}.html"
                link["classes"] = ["source"]


def _linked(app: Sphinx) -> set[str]:
    """The files that pages link to so far."""
    if not hasattr(app.env, "linked_files"):
        app.env.linked_files = set()  # type: ignore[attr-defined]
    return app.env.linked_files  # type: ignore[attr-defined,no-any-return]


def _pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    for file in sorted(_linked(app)):
        path = ROOT / file
        language = LANGUAGES.get(path.suffix, "text")
        text = PygmentsBridge("html").highlight_block(path.read_text(), language, linenos="inline")
        body = f'<h1>{escape(path.name)}</h1><p>{escape(file)}</p><div class="source">{text}</div>'
        yield f"source/{file}", {"title": path.name, "body": body}, "page.html"


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx calls this."""
    app.connect("source-read", _read, priority=400)
    app.add_transform(LinkToSources)
    app.connect("html-collect-pages", _pages)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
