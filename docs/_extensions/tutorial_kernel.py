"""Runs when the kernel of a tutorial starts: how cells of `%%bash` run while the site is built.

As anywhere else, but that they print all at once (the notebook's own come in pieces, which a page
shows as lines), that whichever command fails ends the page, and that no colours are forced.
"""

import os
import subprocess

from IPython.core.magic import register_cell_magic

for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
    os.environ.pop(name, None)


@register_cell_magic
def bash(line: str, cell: str) -> None:
    """Run a cell's commands; the first that fails is an error."""
    del line
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", cell],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(done.stdout, end="")
    done.check_returncode()
