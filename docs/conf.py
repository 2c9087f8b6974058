"""The site: how Sphinx builds it. `make docs` does."""

import atexit
import os
import shutil
import sys
import tempfile
from importlib.metadata import version as installed
from pathlib import Path

from pygments.lexers.special import TextLexer

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_extensions"))

project = "Discreet"
author = "The authors of Discreet"
copyright = "the authors of Discreet, Apache-2.0"
release = version = installed("discreet")

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
    "generated_pages",
    "shell_cells",
    "source_pages",
]
exclude_patterns = ["_build", "_extensions", "_static"]
default_role = "literal"
highlight_language = "none"
smartquotes = False  # two hyphens are an option, not a dash

# Markdown. Headings have the anchors that links in the pages have always used.
myst_enable_extensions = ["attrs_block", "colon_fence", "deflist"]
myst_heading_anchors = 4
myst_url_schemes = ["http", "https", "mailto", "source"]
suppress_warnings = ["myst.strikethrough", "mystnb.unknown_mime_type"]

# Tutorials run while the site is built, in a folder of their own: what they show is what happens.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_timeout = 600  # a machine may be busy: this is for what never ends
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_execution_excludepatterns = [] if shutil.which("java") else ["tutorials/spark.md"]
nb_mime_priority_overrides = [("html", "text/plain", 5)]
# Tutorials' kernels have a profile of their own: nobody's settings, and no word on transports.
profile = Path(tempfile.mkdtemp(prefix="discreet-docs-"))
atexit.register(shutil.rmtree, profile, ignore_errors=True)
(profile / "profile_default").mkdir()
(profile / "profile_default/ipython_kernel_config.py").write_text(
    'get_config().IPKernelApp.log_level = "ERROR"\n'
    f"get_config().IPKernelApp.exec_files = [{str(HERE / '_extensions/tutorial_kernel.py')!r}]\n"
)
os.environ["IPYTHONDIR"] = str(profile)
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
os.environ |= {"COLUMNS": "88", "TERM": "dumb"}  # tables that fit a page, without colours
os.environ.setdefault("POLARS_FMT_STR_LEN", "40")

# The reference, from docstrings.
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
add_module_names = False

# What it looks like.
html_theme = "furo"
html_title = "Discreet"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/mark.svg"
html_logo = "_static/mark.svg"
html_copy_source = False
html_show_sphinx = False
pygments_style = "tango"
pygments_dark_style = "github-dark"
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#1b6b5a",
        "color-brand-content": "#1b6b5a",
        "color-brand-visited": "#4d5f8f",
    },
    "dark_css_variables": {
        "color-brand-primary": "#6cc7af",
        "color-brand-content": "#6cc7af",
        "color-brand-visited": "#a3b1de",
    },
}

# `make docs-links` asks every address outside; a build needs no network.
linkcheck_anchors = False
linkcheck_timeout = 20


def setup(app):
    """Sphinx calls this: tables in plain text are shown as they are."""
    app.add_lexer("csv", TextLexer)
