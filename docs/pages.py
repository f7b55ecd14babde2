"""Sphinx extension: pages for screens of every width, and in two languages.

Tables that would not fit a telephone fold there into a block per row; cells name their column.
A picture opens at full size by a click; where a file NAME-narrow stands beside it, telephones show
that. A page under docs/zh is the translation of the page of the same name: the two link to each
other, and a translation says so if its English changed later (translations.py).
"""

import html
import posixpath
import re
import shutil
from pathlib import Path

import translations
from docutils import nodes
from sphinx.writers.html5 import HTML5Translator

DOCS = Path(__file__).parent
NARROW = "(max-width: 40em)"
SHORT = 20  # characters of a name in a table that is never broken
FITS = 40  # characters of a table row that a telephone shows without scrolling
TITLES = {"zh": "中文", "en": "English"}
STALE = "本页译文早于英文原文的最近修改，如有出入，以[英文页]为准。"  # noqa: RUF001


# ---- tables


def row_texts(row):
    return [" ".join(entry.astext().split()) for entry in row.children]


def fold_wide_tables(app, doctree, page):
    """Marks tables that fold, and gives each of their cells the title of its column."""
    for table in doctree.findall(nodes.table):
        rows = [row for body in table.findall(nodes.tbody) for row in body.children]
        head = next(table.findall(nodes.thead), None)
        titles = row_texts(head.children[0]) if head is not None else []
        for name in table.findall(nodes.literal):
            if len(name.astext()) <= SHORT:
                name["classes"].append("short")
        widths = [max(map(len, column)) + 2 for column in zip(titles, *map(row_texts, rows))]
        if sum(widths) <= FITS:
            continue
        table["classes"].append("folds")
        for row in rows:
            for title, entry in zip(titles[1:], row.children[1:]):
                entry["label"] = title


# ---- pictures


def narrow_version(uri):
    """The path below docs of the version for telephones, or None."""
    path = Path(uri)
    narrow = path.with_name(f"{path.stem}-narrow{path.suffix}")
    return narrow.as_posix() if (DOCS / narrow).is_file() else None


def copy_narrow_versions(app, error):
    if error is None and app.builder.format == "html":
        for path in sorted((DOCS / "images").glob("*-narrow.*")):
            shutil.copy(path, Path(app.outdir) / app.builder.imagedir / path.name)


class Translator(HTML5Translator):
    """Sphinx's own, with the titles of folded cells and pictures that open."""

    def starttag(self, node, tagname, suffix="\n", empty=False, **attributes):
        if isinstance(node, nodes.entry) and node.get("label"):
            attributes["data-label"] = node["label"]
        return super().starttag(node, tagname, suffix, empty, **attributes)

    def visit_image(self, node):
        folder = self.builder.imgpath
        file = self.builder.images.get(node["uri"])
        target = posixpath.join(folder, file) if file else None
        self.image_ends = []
        if target and not isinstance(node.parent, nodes.reference):
            self.body.append(f'<a class="opens" href="{target}">')
            self.image_ends.append("</a>")
        narrow = narrow_version(node["uri"])
        if target and narrow:
            source = posixpath.join(folder, posixpath.basename(narrow))
            self.body.append(f'<picture><source media="{NARROW}" srcset="{source}">')
            self.image_ends.append("</picture>")
        super().visit_image(node)

    def depart_image(self, node):
        super().depart_image(node)
        self.body.extend(reversed(self.image_ends))


# ---- languages


def other_language(app, page):
    """(language, page) of the same text in the other language, or None."""
    other = page[3:] if page.startswith("zh/") else f"zh/{page}"
    language = "en" if page.startswith("zh/") else "zh"
    return (language, other) if other in app.env.found_docs else None


def social_card(app, context):
    """What a link to the page looks like in a chat."""
    title = html.escape(re.sub(r"<[^>]*>", "", context.get("title", "")) or app.config.project)
    fields = {
        "og:type": "website",
        "og:site_name": app.config.project,
        "og:title": title,
    }
    if app.config.html_baseurl:  # nobody follows the address of a picture that is not whole
        fields |= {
            "og:image": posixpath.join(app.config.html_baseurl, "_static/social-card.jpg"),
            "og:image:width": "1200",
            "og:image:height": "630",
            "twitter:card": "summary_large_image",
        }
    return "".join(f'<meta property="{key}" content="{text}">\n' for key, text in fields.items())


def finish_page(app, page, template, context, doctree):
    """The social card, the way to the other language, the mark of a stale translation."""
    if page.startswith("zh/"):
        context["language"] = "zh"
    if "body" not in context:
        return
    context["metatags"] = context.get("metatags", "") + social_card(app, context)
    other = other_language(app, page)
    if other is None:
        return
    language, target = other
    link = f'<a href="{app.builder.get_relative_uri(page, target)}" hreflang="{language}">'
    head = f'<p class="other-language">{link}{TITLES[language]}</a></p>\n'
    if language == "en" and translations.is_stale(DOCS / f"{page}.md"):
        text = STALE.replace("[", link).replace("]", "</a>")
        head += f'<div class="admonition caution stale"><p>{text}</p></div>\n'
    context["body"] = head + context["body"]


def note_english_pages(app, env, added, changed, removed):
    """A translation is built again when its English changes: the mark may be due."""
    return [page for page in env.found_docs if page[:3] == "zh/" and page[3:] in added | changed]


def setup(app):
    app.connect("doctree-resolved", fold_wide_tables)
    app.connect("html-page-context", finish_page)
    app.connect("env-get-outdated", note_english_pages)
    app.connect("build-finished", copy_narrow_versions)
    app.set_translator("html", Translator)
    return {"parallel_read_safe": True}
