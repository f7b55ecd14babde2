"""Sphinx's configuration: script/docs builds the site from this folder into build/docs/html."""

import os
import re
import sys
from pathlib import Path

from docutils.nodes import SkipNode
from latex2mathml.converter import convert as to_mathml
from sphinx.ext.autodoc.mock import _MockObject as MockObject

root = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(root / "docs"), str(root / "python"), str(root / "python/backend")]
import portacl_metadata  # noqa: E402

project = "portacl"
author = "the portacl contributors"
project_copyright = f"{author}; Apache-2.0"
version = release = portacl_metadata.version()

extensions = [
    "myst_parser",
    "breathe",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "pages",
]
exclude_patterns = ["images/ORIGIN.md"]
highlight_language = "none"  # of blocks that name none

# ---- Markdown, as GitHub reads it
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_fence_as_directive = ["math"]
myst_heading_anchors = 4

# ---- Python: the signatures and texts, without the compiled part
autodoc_mock_imports = ["numpy", "torch", "jax", "portacl._core"]
MockObject.__setitem__ = lambda *_: None  # rules that portacl.jax enters into JAX's tables
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
napoleon_use_rtype = False

# ---- C and C++: what Doxygen read
breathe_projects = {"portacl": str(root / "build/docs/doxygen/xml")}
breathe_default_project = "portacl"
breathe_domain_by_extension = {"h": "cpp"}
breathe_show_include = False
breathe_show_enumvalue = True

# ---- looks
html_theme = "furo"
html_title = f"portacl {version}"
html_static_path = ["_static"]
html_css_files = ["portacl.css"]
html_logo = "_static/logo.svg"
html_favicon = "_static/favicon.svg"
# Where the site will stand (docs/release.md): social cards need whole addresses.
html_baseurl = os.environ.get("PORTACL_SITE_URL", "")
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#005a8d", "color-brand-content": "#005a8d"},
    "dark_css_variables": {"color-brand-primary": "#7cc4f0", "color-brand-content": "#7cc4f0"},
}


# ---- formulas as MathML: no script, no network
def visit_math(self, node):
    self.body.append(to_mathml(node.astext()))
    raise SkipNode


def visit_math_block(self, node):
    self.body.append(f'<div class="math">{to_mathml(node.astext(), display="block")}</div>\n')
    raise SkipNode


def adjust_page(app, page, template, context, doctree):
    """Names enums that have only a number; opens linked files instead of saving them."""
    if "toc" in context:
        context["toc"] = re.sub(r">@\d+<", ">enum<", context["toc"])
    if "body" in context:
        context["body"] = context["body"].replace(' download=""', "")


def list_headers(app, page, source):
    """Puts the headers of aclnnop, each with its functions, behind the page's own text."""
    if page != "api/aclnn":
        return
    for header in sorted((root / "include/aclnnop").glob("*.h")):
        if "docs/ops/companion.md" in header.read_text():
            continue
        source[0] += f"\n## aclnnop/{header.name}\n\n```{{doxygenfile}} {header.name}\n```\n"


def setup(app):
    app.connect("source-read", list_headers)
    app.connect("html-page-context", adjust_page)
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))


html_math_renderer = "mathml"
