"""Uses pages of `portacl report` in Chromium as a reader does, on a telephone and on a desk.

    python tests/docs/report_page.py PAGE.html ...
    python tests/docs/report_page.py --self-test PAGE.html
    python tests/docs/report_page.py --draw PICTURE.png PAGE.html
    python tests/docs/report_page.py --probe

Every column sorts, the filter and the choice of verdicts find what they should, every case opens, its
pictures are painted; nothing leaves the screen, nothing is asked of a network, and the console has no
message. --self-test plants faults in copies of a page: each must be found. --draw makes the picture of
the documents, and the one for telephones beside it: the page with its first case open. --probe: exit
code 77 where the browser does not start.
"""

import json
import re
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Error, sync_playwright

SCREENS = {"telephone": (400, 800), "desk": (1280, 900)}

# Whether a canvas holds more than one colour.
PAINTED = """
(canvas) => {
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const pixels = new Set(new Uint32Array(data.buffer));
  return pixels.size > 1;
}
"""
WIDTHS = "() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]"


class Reader:
    """One visit of a page; `found` are lines of what is wrong."""

    def __init__(self, browser, path, screen):
        self.found = []
        self.data = json.loads(
            re.search(r'id="data">(.*?)</script>', path.read_text(encoding="utf-8"), re.S)[1]
        )
        width, height = SCREENS[screen]
        self.page = browser.new_page(viewport={"width": width, "height": height})
        self.page.set_default_timeout(0)  # a busy machine is slow, not wrong; ctest has a limit
        self.page.on("console", lambda m: self.note(f"console: {m.type}: {m.text}"))
        self.page.on("pageerror", lambda e: self.note(f"console: {e}"))
        address = path.resolve().as_uri()
        self.page.on(
            "request",
            lambda r: r.url in (address, "data:,") or self.note(f"asks for {r.url[:80]}"),
        )
        self.page.goto(address)

    def note(self, line):
        self.found.append(line)

    def expect(self, holds, line):
        if not holds:
            self.note(line)

    def names(self):
        return self.page.locator("#body .name").all_inner_texts()

    def visit(self):
        cases = self.data["cases"]
        self.expect(len(self.names()) == len(cases), "a case is missing in the table")
        failed = any(not c["passed"] for c in cases)
        opened = self.page.locator("td.detail").count()
        self.expect(opened == (1 if failed else 0), "not the first failure is open")
        self.filters(cases)
        self.sorts()
        self.opens(cases)
        wide, screen = self.page.evaluate(WIDTHS)
        self.expect(wide <= screen, f"is {wide} wide, the screen {screen}")
        self.page.close()
        return self.found

    def filters(self, cases):
        self.page.fill("#filter", "grid_sampler_3d BACKWARD")
        want = {c["name"] for c in cases if "grid_sampler_3d_backward" in c["case"]}
        self.expect(want and set(self.names()) == want, "the filter finds other cases")
        self.page.fill("#filter", "")
        if not self.data["judged"]:
            return
        for state in ("failed", "passed"):
            self.page.select_option("#state", state)
            want = {c["name"] for c in cases if c["passed"] == (state == "passed")}
            self.expect(set(self.names()) == want, f"the choice '{state}' shows other cases")
        self.page.select_option("#state", "")

    def sorts(self):
        for i in range(self.page.locator("#head th").count()):
            button = self.page.locator("#head th button").nth(i)
            if not button.is_visible():
                continue
            orders, marks = [], set()
            for _ in range(2):
                button.click()
                orders.append(self.names())
                marks.add(self.page.locator("#head th").nth(i).get_attribute("aria-sort"))
            title = button.inner_text()
            self.expect(marks == {"ascending", "descending"}, f"{title} sorts one way only")
            cells = self.page.locator(f"#body tr > :nth-child({i + 1})").all_inner_texts()
            same = len(set(cells)) == 1
            self.expect(same or orders[0] != orders[1], f"{title} does not sort")

    def opens(self, cases):
        """Opens a few of the cases: passed and failed, of images and volumes, with and without pictures."""
        first = {}
        for case in cases:
            has = any("picture" in o for o in case["outputs"])
            first.setdefault(("3d" in case["operator"], case["passed"], has), case)
        for case in first.values():
            self.page.fill("#filter", case["case"])
            self.page.locator("#body .name").first.click()
            numbers = self.page.locator("#body > tr > td.number").all_inner_texts()
            wide = [t for t in numbers if len(t) > 12]
            self.expect(not wide, f"{case['name']}: a number of {[len(t) for t in wide]} digits")
            detail = self.page.locator("td.detail")
            self.expect(case["case"] in detail.inner_text(), f"{case['name']}: its string is missing")
            painted = [o for o in case["outputs"] if self.has_cells(o)]
            pictures = 4 if self.data["judged"] else 1
            canvases = detail.locator("canvas")
            if canvases.count() != pictures * len(painted):
                self.note(f"{case['name']}: {canvases.count()} pictures")
            elif painted and len(set(painted[0]["picture"]["golden"])) > 1:
                self.expect(canvases.first.evaluate(PAINTED), f"{case['name']}: golden is one colour")
            wide, screen = self.page.evaluate(WIDTHS)
            self.expect(wide <= screen, f"{case['name']}, open, is {wide} wide, of {screen}")
        self.page.fill("#filter", "")

    @staticmethod
    def has_cells(output):
        picture = output.get("picture")
        return picture is not None and picture["width"] * picture["height"] > 0


FAULTS = {
    "console: error: planted": ("cards();", 'console.error("planted"); cards();'),
    "console: planted": ("cards();", 'setTimeout(() => { throw Error("planted"); }); cards();'),
    "asks for": ("</body>", '<img src="http://127.0.0.1:9/planted.png"></body>'),
    "wide, the screen": ("</body>", '<p style="width: 2000px">planted</p></body>'),
    "filter finds": ("words.every", "words.some"),
    "shows other cases": ('(state === "passed") === r.passed', "true"),
    "does not sort": ("chosen.sort(", "((x) => x)("),
    "failure is open": ("if (order.column === 1)", "if (false)"),
    " pictures": ("picture(p, p.excess,", '((...ignored) => make("p"))(p, p.excess,'),
    "a number of": ("value < 1e9", "true"),
    "is one colour": ("context.putImageData", "(() => {})"),
}


def self_test(browser, path):
    page = path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        for words, (good, bad) in FAULTS.items():
            assert good in page, good
            file = Path(folder) / "page.html"
            file.write_text(page.replace(good, bad, 1), encoding="utf-8")
            found = Reader(browser, file, "desk").visit()
            assert any(words in line for line in found), (words, found)
    print(f"report_page: self-test ok, {len(FAULTS)} planted faults")


def draw(browser, path, picture):
    for screen, name in (("desk", picture.name), ("telephone", f"{picture.stem}-narrow.png")):
        page = browser.new_page(
            viewport={"width": {"desk": 1000, "telephone": 400}[screen], "height": 300},
            device_scale_factor=1.4,
        )
        page.goto(path.resolve().as_uri())
        case = page.locator("#body .name").first
        if case.get_attribute("aria-expanded") == "false":
            case.click()
        page.screenshot(path=picture.with_name(name), full_page=True)


def main(arguments):
    planted = "--self-test" in arguments
    paths = [Path(a) for a in arguments if not a.startswith("--")]
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))))
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(
                executable_path=chromium, args=["--no-sandbox"], timeout=0
            )
            if "--probe" in arguments:
                return browser.new_page().goto("about:blank")
        except Error as error:
            print(error)
            sys.exit(77 if "--probe" in arguments else 1)
        if planted:
            return self_test(browser, paths[0])
        if "--draw" in arguments:
            return draw(browser, paths[1], paths[0])
        found = []
        for path in paths:
            for screen in SCREENS:
                wrong = Reader(browser, path, screen).visit()
                found += [f"{path.name}, {screen}: {line}" for line in wrong]
        browser.close()
    for line in found:
        print(line)
    print(f"report_page: {len(paths)} pages, {len(found)} faults")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
