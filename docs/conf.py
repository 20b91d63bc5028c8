"""The Sphinx configuration of the documentation; `make docs` builds it into build/docs."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from robustforge import __version__

project = "robustforge"
author = "The robustforge developers"
copyright = author
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "myst_nb",
    "listings",
]
root_doc = "index"
exclude_patterns = ["_ext"]
suppress_warnings = ["mystnb.unknown_mime_type"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # the notebook keeps the outputs that it was committed with

html_theme = "furo"
html_title = f"robustforge {version}"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}

smartquotes = False  # --option stays --option
toc_object_entries_show_parents = "hide"

default_role = "code"  # docstrings write `x`, as Markdown does
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # signatures show names and defaults; the docstrings give types and units
autodoc_class_signature = "mixed"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Class attributes", "Attributes")]
nitpicky = True
nitpick_ignore_regex = [("py:class", ".*")]  # types in annotations are mostly not public; `Raises` is checked
