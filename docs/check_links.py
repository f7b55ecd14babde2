"""Finds links that lead nowhere: in the built site, and in the Markdown files of the repository.

    python docs/check_links.py build/docs/html

Links to other sites are not followed.
"""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links of a page, and the names that links can lead to."""

    def __init__(self, path):
        super().__init__()
        self.links, self.names = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        for key, value in attrs:
            if key in ("id", "name"):
                self.names.add(value)
            elif key in ("href", "src") and value:
                self.links.append(value)


def is_local(link):
    parts = urlsplit(link)
    return not parts.scheme and not parts.netloc


def broken_in_site(site):
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html")}
    if not pages:
        raise SystemExit(f"no pages in {site}")
    for path, page in pages.items():
        for link in filter(is_local, page.links):
            parts = urlsplit(link)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            fragment = unquote(parts.fragment)
            if not target.exists():
                yield f"{path.relative_to(site.resolve())}: {link}"
            elif fragment and target in pages and fragment not in pages[target].names:
                yield f"{path.relative_to(site.resolve())}: {link}: no such place on the page"


def broken_in_repository(root):
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=root, check=True, capture_output=True)
    for name in listed.stdout.decode().split():
        text = re.sub(r"```.*?```", "", (root / name).read_text(encoding="utf-8"), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            path = unquote(urlsplit(link).path)
            if is_local(link) and path and not (root / name).parent.joinpath(path).exists():
                yield f"{name}: {link}"


def main():
    found = sorted({*broken_in_site(Path(sys.argv[1])),
                    *broken_in_repository(Path(__file__).parent.parent)})  # fmt: skip
    for line in found:
        print(f"broken link: {line}")
    if found:
        raise SystemExit(1)
    print("links: ok")


if __name__ == "__main__":
    main()
