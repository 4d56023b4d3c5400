"""The documentation site: `make docs` builds it into docs/_build from the pages here.

Pages are plain Markdown and read on a forge as they are; what only the site has is made
in `_site.py`.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import aggopt  # noqa: E402

project, author = "aggopt", "The aggopt authors"
version = release = aggopt.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinxcontrib.typer",
    "_site",
]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_title = "aggopt"
html_show_sphinx = html_copy_source = False
highlight_language = "text"
default_role = "literal"
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline", "dollarmath"]
myst_dmath_double_inline = True
html_math_renderer = "mathml"
suppress_warnings = ["ref.python"]  # names of fields that several classes have
autodoc_typehints = "none"  # docstrings say shapes, units and ranges
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True  # attributes stand among the members, once
