"""How Sphinx builds these pages: ``python3 dev.py docs``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "agg")
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))

import concordant  # noqa: E402 - the extensions above must be found first

project = "concordant"
author = "the concordant developers"
version = release = concordant.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_gallery.gen_gallery"]
extensions += ["registry_pages", "pictures", "mathml"]
exclude_patterns = ["_build", "_ext", "_pictures", "gallery/*.md5", "gallery/**/*.ipynb", "gallery/**/*.py"]

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

autodoc_typehints = "none"  # signatures stay short; types are in the source and in the stub
autodoc_member_order = "bysource"
napoleon_google_docstring = False  # docstrings have the sections of numpydoc
napoleon_use_rtype = False
napoleon_preprocess_types = True
python_use_unqualified_type_names = True

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples" / "gallery"),
    "gallery_dirs": "gallery",
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "write_computation_times": False,
    "min_reported_time": 10_000,
    "only_warn_on_example_error": True,  # a warning is an error here, with the example's name
}

html_theme = "pydata_sphinx_theme"
html_title = "concordant"
html_static_path = ["_static"]
html_css_files = ["concordant.css"]
html_show_sourcelink = False
# Pages without pages below them need no list of such pages.
html_sidebars = {page: [] for page in ("index", "quickstart", "preferences", "glossary", "comparison", "changelog")}
html_theme_options = {
    "logo": {"text": "concordant"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
copyright = "the concordant developers, MIT licence"  # noqa: A001 - Sphinx names it so

suppress_warnings = ["config.cache"]
