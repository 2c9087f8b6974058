"""Proofs as pages: the Markdown that is shipped with the package, as HTML that runs nothing."""

from __future__ import annotations

import re
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from discreet.privacy.theorems import Theorem, read_proof


@lru_cache(maxsize=8)
def proof_page(theorem: Theorem) -> Markup:
    """The proof of a theorem; links to other pages, which are not served, are plain words."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = reader.parse(read_proof(theorem))
    for token, following in zip(tokens, [*tokens[1:], None], strict=True):
        if token.type == "heading_open" and following is not None:
            token.attrSet("id", slug(following.content))
            # The page has a title of its own above the proof's.
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"
        elif token.type == "heading_close":
            token.tag = f"h{min(int(token.tag[1]) + 1, 6)}"
    _unlink(tokens)
    text = reader.renderer.render(tokens, reader.options, {})
    # What scrolls can be scrolled by keyboard, too.
    return Markup(text.replace("<pre>", '<pre tabindex="0">'))


def slug(title: str) -> str:
    """The name by which a link within the page finds a heading.

    >>> slug("Why the whole catalogue")
    'why-the-whole-catalogue'
    """
    return re.sub(r"[^\w]+", "-", title.lower()).strip("-")


def _unlink(tokens: list[Token]) -> None:
    for token in tokens:
        opened: list[str] = []
        for child in token.children or ():
            if child.type == "link_open":
                if not str(child.attrGet("href")).startswith("#"):
                    child.tag, child.attrs = "span", {}
                opened.append(child.tag)
            elif child.type == "link_close":
                child.tag = opened.pop()
