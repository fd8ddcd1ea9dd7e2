"""Settings of Sphinx for the documentation site. docs/build runs Sphinx."""

import os
import pathlib
import re

project = "gst-regions"
author = "the gst-regions authors"
_meson = (pathlib.Path(__file__).resolve().parent.parent / "meson.build").read_text(encoding="utf-8")
release = version = re.search(r"version: '([^']+)'", _meson)[1]

extensions = ["myst_parser", "breathe"]
myst_heading_anchors = 4
breathe_projects = {"regions": os.environ["C_LIBRARY_XML"]}
breathe_default_project = "regions"
breathe_domain_by_extension = {"h": "c"}

html_theme = "furo"
html_title = f"{project} {release}"
html_copy_source = False  # docs/build puts the Markdown sources next to the pages
html_show_sphinx = False
