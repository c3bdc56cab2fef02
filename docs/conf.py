"""How the site is built: ``python -m sphinx -W docs site`` writes it into ``site``, without the network."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import harness

project = "svm-harness"
version = release = harness.__version__
copyright = "the authors of svm-harness, BSD-3-Clause"  # noqa: A001 (Sphinx's name)
extensions = ["myst_parser", "sphinx_copybutton", "sphinx_design", "made", "written"]
copybutton_selector = "div.highlight:not(.highlight-text *) pre"  # what is printed is not typed
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "faults.md"]  # reference/faults.md includes it
html_theme = "furo"
html_title = f"svm-harness {version}"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_copy_source = False
html_show_search_summary = False  # it asks for the pages found, which no browser gives to a page from a disk
highlight_language = "text"
html_use_index = False
smartquotes = False  # options begin with two dashes
# a search word within the title of one of the theme's icons would end Sphinx's highlighting with an error
_SPARE_ICONS = """addEventListener("DOMContentLoaded", () =>
  document.querySelectorAll("svg title").forEach((title) => title.classList.add("nohighlight")))"""
html_js_files = [(None, {"body": _SPARE_ICONS, "priority": 100})]
