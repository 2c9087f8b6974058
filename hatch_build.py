"""What an index shows of the package: the README with links that work there, and the addresses.

In the repository README links to files beside it. Elsewhere these links lead nowhere: they become
absolute if `address` in pyproject.toml says where the project is published, else plain words.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

IMAGE = re.compile(r"!\[([^\]]*)\]\((?!https?:)([^)]+)\)\n*")
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|#)([^)]+)\)")


class Shown(MetadataHookInterface):
    """The readme and the addresses of the package."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Hatchling calls this when it builds."""
        address = self.config["address"].rstrip("/")
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = absolute(text, address)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
        if address:
            metadata["urls"] = {
                "Source": address,
                "Changelog": f"{address}/blob/main/CHANGELOG.md",
                "Security": f"{address}/blob/main/SECURITY.md",
            }


def absolute(text: str, address: str) -> str:
    """A text whose links to files lead to an address, or, where there is none, are words.

    Pictures are shown from there, or left out.
    """
    picture = rf"![\1]({address}/raw/main/\2)\n\n" if address else ""
    text = IMAGE.sub(picture, text)
    return LINK.sub(rf"[\1]({address}/blob/main/\2)" if address else r"\1", text)
