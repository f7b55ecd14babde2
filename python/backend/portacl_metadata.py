"""Metadata of the Python package that other files hold: its page from README.md, its links.

The page is shown away from the repository, so links and pictures in it become absolute. The address
of the repository is PORTACL_REPOSITORY_URL. If that is not set, it is the address of the clone's
remote "origin", if it is one of the web. A build that knows neither, or has an empty variable, has
no pictures and no links in its page.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_LINK = re.compile(r"(!?)\[((?:!\[[^]]*\]\([^)]*\)|[^]])*)\]\(([^)\s]+)\)")
_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def repository_url() -> str:
    """Return the address of the repository's page, without a slash at its end, or nothing."""
    url = os.environ.get("PORTACL_REPOSITORY_URL")
    return web_address(_origin() if url is None else url)


def _origin() -> str:
    if not (ROOT / ".git").exists():  # git would answer for a repository that holds these sources
        return ""
    command = ["git", "-C", str(ROOT), "remote", "get-url", "origin"]
    try:
        git = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:  # no git here
        return ""
    return git.stdout.strip()


def web_address(address: str) -> str:
    """Return a repository's page: no user or password, as script/lib/common.sh's web_address."""
    address = re.sub(r"^git@([^/:]+):/*", r"https://\1/", address)
    address = re.sub(r"^(https://)[^/]*@", r"\1", address)
    address = re.sub(r"/*\.git$", "", address.rstrip("/"))
    return address if re.match(r"https://[^/]", address) else ""


def version() -> str:
    """Return the version that CMakeLists.txt gives."""
    text = (ROOT / "CMakeLists.txt").read_text("utf-8")
    found = re.search(r"project\(portacl VERSION ([0-9.]+)", text)
    assert found is not None
    return found[1]


def absolute(page: str, url: str, tag: str) -> str:
    """Return a page of the repository's root with absolute links, or without where url is empty."""

    def replace(match: re.Match[str]) -> str:
        picture, text, target = match.groups()
        text = _LINK.sub(replace, text)
        if re.match(r"[a-z]+:", target):
            return f"{picture}[{text}]({target})"
        if not url:
            return "" if picture else text
        if target.startswith("#"):
            target = f"README.md{target}"
        return f"{picture}[{text}]({url}/{'raw' if picture else 'blob'}/{tag}/{target})"

    parts = _FENCE.split(page)
    return "".join(part if part.startswith("```") else _LINK.sub(replace, part) for part in parts)


def dynamic_metadata(field: str, settings: dict[str, Any] | None = None) -> Any:
    """Answer scikit-build-core, which asks for "readme" and "urls"."""
    if settings:
        raise ValueError("portacl_metadata takes no settings")
    url, tag = repository_url(), f"v{version()}"
    if field == "readme":
        text = absolute((ROOT / "README.md").read_text("utf-8"), url, tag)
        return {"content-type": "text/markdown", "text": text}
    if field != "urls":
        raise ValueError(f"portacl_metadata knows readme and urls, not {field}")
    if not url:
        return {}
    pages = {"Documentation": "docs/index.md", "Changelog": "CHANGELOG.md"}
    return {"Source": url, **{name: f"{url}/blob/{tag}/{page}" for name, page in pages.items()}}
