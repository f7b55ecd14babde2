"""Finds functions of src that do not fit on a screen, and too long files.

    sizes.py          names what is too long, status 1 if something is
    sizes.py --list   the longest functions and files instead
"""

import heapq
import pathlib
import re
import sys

FUNCTION_LINES = 60
FILE_LINES = 700
SUFFIXES = {".cc", ".h"}

# Where a brace is none: comments, raw strings, strings, characters (not the ' of 1'000), directives.
NO_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\''
    r"|^[ \t]*#(?:\\\n|[^\n])*", re.DOTALL | re.MULTILINE)
# In front of a brace: what has functions in it.
SCOPE = re.compile(
    r'(?:template\s*<.*>\s*)?(?:inline\s+)?(?:namespace|class|struct|union)\b|extern\s*""\s*$', re.DOTALL)
LABELS = re.compile(r"(?:\s*(?:public|private|protected)\s*:)*\s*")


def blank(match):
    """As many lines of nothing; a string leaves its quotes."""
    return ('""' if match[0][0] in 'R"' else "") + "\n" * match[0].count("\n")


def functions(text):
    """The first line and the number of lines of each function, lambdas in it included.

    (0, 0) at the end where braces do not pair.
    """
    code = NO_CODE.sub(blank, text)
    scopes = inside = head = begin = 0  # inside: braces that are open from a function's first on
    for at, char in enumerate(code):
        if inside:
            inside += (char == "{") - (char == "}")
            # `Name() : a_{1}, b_{2} {`: the last of these braces is the body's.
            if inside == 0 and code[at + 1:at + 200].lstrip()[:1] not in (",", "{"):
                if ")" in code[head:begin]:
                    first = head + LABELS.match(code[head:begin]).end()
                    yield code.count("\n", 0, first) + 1, code.count("\n", first, at) + 1
                head = at + 1
        elif char == "{":
            words = code[head:at]
            if SCOPE.match(words, LABELS.match(words).end()):
                scopes += 1
                head = at + 1
            else:  # a function, or a value, which has no `)` in front or `=` just before the brace
                inside = 1
                begin = head if words.rstrip().endswith("=") else at
        elif char == "}":
            scopes -= 1
            head = at + 1
        elif char == ";":
            head = at + 1
    if scopes or inside:
        yield 0, 0


def measured():
    """(lines, place) of each function and of each file; 0 lines for a file that is not understood."""
    for file in sorted(pathlib.Path("src").rglob("*")):
        if file.suffix in SUFFIXES:
            text = file.read_text(encoding="utf-8")
            yield text.count("\n"), f"{file}", FILE_LINES
            for first, lines in functions(text):
                yield lines, f"{file}:{first}", FUNCTION_LINES


sizes = list(measured())
if sys.argv[1:] == ["--list"]:
    for limit in (FUNCTION_LINES, FILE_LINES):
        for lines, place, _ in heapq.nlargest(10, (size for size in sizes if size[2] == limit)):
            print(f"{lines:4} {place}")
    sys.exit(0)
found = [f"{place}: {lines} lines, at most {limit}" if lines else f"{place}: braces do not pair"
         for lines, place, limit in sizes if lines > limit or lines == 0]
print("\n".join(found or [f"ok: {len(sizes)} functions and files of src"]))
sys.exit(1 if found else 0)
