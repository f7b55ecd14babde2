"""The README of each folder of src, of tools, bench and tests names the files there, and no others.

It must name every family of source files, and every folder with source files. The first cell of a
table's row names files beside the page; the rest of a page may name files elsewhere.
"""

import itertools
import pathlib
import re
import sys

SUFFIXES = (".cc", ".h")


def operators():
    """The beginnings of operators' file names: "grid_sampler_2d", "grid_sampler"."""
    lists = pathlib.Path("src/ops").glob("operator_list*.inc")
    found = {
        re.sub(r"(_[23]d)?(_backward)?$", end, name)
        for file in lists
        for name in re.findall(r'PORTACL_OPERATOR\(\w+, "(\w+)"', file.read_text())
        for end in ("", r"\1", r"\2", r"\1\2")
    }
    return sorted(found)


def alternatives(pattern):
    """`a_{b,c}.h` as a_b.h and a_c.h; `<op>` is any operator, any other word in brackets any."""
    if "<op>" in pattern:
        return [pattern.replace("<op>", name) for name in operators()]
    parts = re.split(r"[{}]", re.sub(r"<\w+>", "*", pattern))
    choices = [part.split(",") if i % 2 else [part] for i, part in enumerate(parts)]
    return ["".join(choice) for choice in itertools.product(*choices)]


def patterns(text):
    """Words in backticks that read as a file, a family of files or a folder.

    Each as (word, the patterns that it stands for, whether all of these must be there).
    """
    beginning = ""
    for word in re.findall(r"`([^`\s*][^`\s]*)`", text):  # `*-inl.h` tells of a kind, it names none
        if not word.startswith(("_", "-")):
            beginning = re.split(r"[{.]", word)[0].rstrip("_").rpartition("_")[0]
        found = []
        for pattern in alternatives(word):
            if pattern.startswith(("_", "-")):  # the end of a name whose beginning stands before it
                pattern = f"{beginning}*{pattern}" if "." in pattern else f"{beginning}*{pattern}.*"
            if pattern.endswith((*SUFFIXES, ".*", "/")):
                found.append(pattern.rstrip("/"))
        if found:
            yield word, found, "<op>" not in word


def sources(folder):
    return [file for file in sorted(folder.rglob("*")) if file.name.endswith(SUFFIXES)]


def names(file, folder):
    """Names that may stand for a file: itself, its family, the folder that it is in."""
    inside = file.relative_to(folder)
    if len(inside.parts) > 1:
        return [pathlib.PurePath(inside.parts[0])]
    return [pathlib.PurePath(file.stem + suffix) for suffix in SUFFIXES]


def missing(text, there):
    """The patterns of a text without a file in `there`."""
    for word, found, all_of_them in patterns(text):
        gone = [p for p in found if not any(path.match(p) for path in there)]
        if all_of_them:
            yield from gone
        elif len(gone) == len(found):
            yield word


def problems(folder, everything):
    page = folder / "README.md"
    text = page.read_text()
    here = [pattern for _, found, _ in patterns(text) for pattern in found]
    for file in sources(folder):
        if not any(name.match(pattern) for name in names(file, folder) for pattern in here):
            yield f"{page} does not name {file.name}"
    first_cells = "\n".join(re.findall(r"^\| ([^|]*`[^|]*) \|", text, re.MULTILINE))
    gone = dict.fromkeys([*missing(text, everything), *missing(first_cells, below(folder))])
    for pattern in gone:
        yield f"{page} names {pattern}, which is not there"


def below(*tops):
    return [path for top in tops for path in pathlib.Path(top).rglob("*")]


# A copy of a part of the tree is looked at as far as it goes.
others = [folder for folder in map(pathlib.Path, ("tools", "bench", "tests")) if folder.is_dir()]
folders = [*(page.parent for page in sorted(pathlib.Path("src").rglob("README.md"))), *others]
product = below("include", "src", "tools")
found = []
for folder in folders:
    apart = folder.name in ("bench", "tests")
    found += problems(folder, product + below(folder) if apart else product)
for problem in found:
    print(problem)
if not found:
    print("ok", *(folder / "README.md" for folder in folders))
sys.exit(1 if found else 0)
