"""Keeps the Chinese pages in step with the English ones.

    python docs/translations.py                names missing and stale translations; status
                                               1 if a page of PAGES has no translation, or
                                               one has no stamp
    python docs/translations.py --stamp PAGE   says that docs/zh/PAGE says what docs/PAGE says now;
                                               README.md: that README.zh.md does
    python docs/translations.py --self-test    proves that a change of the English is seen

The stamp stands in the first lines of a translation and is the hash of the English text. A stale
translation is not an error: the site marks it (pages.py) until somebody has brought it up to date.
README.zh.md is on no site, so that only this program names it.
"""

import hashlib
import re
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
FRONT = "README.md"  # beside docs, as its translation is
PAGES = (FRONT, "index.md", "install.md", "tutorials/aclnn.md", "tutorials/golden.md",
         "tutorials/pytorch.md", "ops/index.md", "ops/upsample_nearest_exact_backward.md",
         "ops/grid_sampler_2d_backward.md", "ops/upsample_nearest_exact.md",
         "ops/grid_sampler_2d.md", "ops/grid_sampler_3d_backward.md", "ops/grid_sampler_3d.md",
         "ops/companion.md")  # fmt: skip
STAMP = re.compile(r"^<!-- english: ([0-9a-f]{12}) -->$", re.MULTILINE)


def stamp_of(english):
    """Of the words: how lines are wrapped does not count."""
    words = " ".join(english.read_text(encoding="utf-8").split())
    return hashlib.sha256(words.encode()).hexdigest()[:12]


def commands_in(page):
    """The commands of the page's shell blocks, without their comments."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.M)
    lines = [line.split("#")[0].split() for line in "".join(blocks).splitlines()]
    return [line for line in lines if line]


def translation_of(page, docs=DOCS):
    return docs.parent / "README.zh.md" if page == FRONT else docs / "zh" / page


def english_of(translation, docs=DOCS):
    if translation == translation_of(FRONT, docs):
        return docs.parent / FRONT
    return docs / translation.relative_to(docs / "zh")


def stamp_in(translation):
    found = STAMP.search(translation.read_text(encoding="utf-8"))
    return found and found[1]


def is_stale(translation, docs=DOCS):
    return stamp_in(translation) != stamp_of(english_of(translation, docs))


def put_stamp(translation, docs=DOCS):
    text = STAMP.sub("", translation.read_text(encoding="utf-8")).lstrip()
    stamp = stamp_of(english_of(translation, docs))
    translation.write_text(f"<!-- english: {stamp} -->\n\n{text}", encoding="utf-8")


def check(docs=DOCS, pages=PAGES):
    """(errors, warnings)"""

    def name_of(path):
        return path.relative_to(docs.parent).as_posix()

    wanted = [translation_of(page, docs) for page in pages]
    errors = [f"{name_of(path)}: missing" for path in wanted if not path.is_file()]
    warnings = []
    front = translation_of(FRONT, docs)
    for path in [front] * front.is_file() + sorted((docs / "zh").rglob("*.md")):
        name = name_of(path)
        if not english_of(path, docs).is_file():
            errors.append(f"{name}: translates no page of docs")
        elif path == front and commands_in(path) != commands_in(english_of(path, docs)):
            errors.append(f"{name}: has other commands in its sh blocks than the English page")
        elif stamp_in(path) is None:
            errors.append(f"{name}: has no stamp (python docs/translations.py --stamp)")
        elif is_stale(path, docs):
            warnings.append(f"{name}: the English page changed since")
    return errors, warnings


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        docs = Path(folder) / "docs"
        (docs / "zh").mkdir(parents=True)
        english, translation = docs / "a.md", docs / "zh/a.md"
        english.write_text("# One\n\ntwo words\n")
        assert check(docs, ("a.md",)) == (["docs/zh/a.md: missing"], [])
        translation.write_text("# 一\n")
        assert "no stamp" in check(docs, ("a.md",))[0][0]
        put_stamp(translation, docs)
        assert check(docs, ("a.md",)) == ([], [])
        english.write_text("# One\n\ntwo\nwords\n")  # wrapped otherwise
        assert not is_stale(translation, docs)
        english.write_text("# One\n\nthree words\n")
        assert "changed since" in check(docs, ("a.md",))[1][0]
        put_stamp(translation, docs)
        assert translation.read_text().count("english:") == 1 and not is_stale(translation, docs)
        (docs / "zh/b.md").write_text("<!-- english: 0123456789ab -->\n")
        assert "translates no page" in check(docs, ())[0][0]
        (docs / "zh/b.md").unlink()
        assert check(docs, (FRONT,)) == (["README.zh.md: missing"], [])
        front = translation_of(FRONT, docs)
        english_of(front, docs).write_text("# Front\n")
        front.write_text("# 首页\n")
        assert "README.zh.md: has no stamp" in check(docs, (FRONT,))[0][0]
        put_stamp(front, docs)
        assert check(docs, (FRONT,)) == ([], [])
        for page, block in ((english_of(front, docs), "a\nb  # two"), (front, "a  # 一\nb")):
            page.write_text(f"# Front\n\n```sh\n{block}\n```\n")
        put_stamp(front, docs)
        assert check(docs, (FRONT,)) == ([], [])
        english_of(front, docs).write_text("# Front\n\n```sh\na b\n```\n")  # a line is lost
        assert "README.zh.md: has other commands" in check(docs, (FRONT,))[0][0]
        front.write_text("# 首页\n")
        english_of(front, docs).write_text("# Front\n")
        put_stamp(front, docs)
        english_of(front, docs).write_text("# Front, longer\n")
        assert "README.zh.md: the English page changed" in check(docs, (FRONT,))[1][0]


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        print("translations: self-test ok")
        return
    if sys.argv[1:2] == ["--stamp"]:
        for page in sys.argv[2:]:
            put_stamp(translation_of(page))
        return
    errors, warnings = check()
    for line in errors + warnings:
        print(f"translation: {line}")
    if errors:
        raise SystemExit(1)
    print(f"translations: {len(warnings)} stale" if warnings else "translations: ok")


if __name__ == "__main__":
    main()
