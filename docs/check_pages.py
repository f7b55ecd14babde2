"""Looks at every page of the built site in a browser, as a telephone and as a desk show it.

    python docs/check_pages.py build/docs/html [--screenshots DIR] [PAGE ...]
    python docs/check_pages.py --self-test

On a telephone nothing may leave the page or be cut off (code, formulas and charts may scroll in a
box of their own). No column of text may be so narrow that it holds a word a line. On both,
pictures must load, open themselves at full size, and be shown large enough that the text in them
can be read. Each page has an icon, and a social card where PORTACL_SITE_URL says at which address,
as it said when the site was built. Needs Chromium (script/setup --docs-check).
"""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

SCREENS = {"telephone": (400, 800), "desk": (1280, 900)}

# The faults of the page that is shown, as lines of text.
LOOK = """
() => {
  const found = [];
  const width = document.documentElement.clientWidth;
  const name = (element) => {
    const text = (element.textContent || element.getAttribute("src") || "").trim();
    return `<${element.tagName.toLowerCase()}> "${text.replace(/\\s+/g, " ").slice(0, 50)}"`;
  };
  const scrolls = (element) => ["auto", "scroll"].includes(getComputedStyle(element).overflowX);
  const inScroller = (element) => {
    for (let e = element.parentElement; e && e !== document.body; e = e.parentElement) {
      if (scrolls(e)) return true;
    }
    return false;
  };
  const shown = (element) => element.getClientRects().length > 0 && element.offsetParent !== null;
  const APART = "svg, .sd-stretched-link, a.headerlink, button";
  const content = document.querySelector("article") || document.body;

  if (document.documentElement.scrollWidth > width + 1) {
    found.push(`the page is ${document.documentElement.scrollWidth} wide, the screen ${width}`);
  }
  for (const element of content.querySelectorAll("*")) {
    if (!shown(element) || element.closest(APART)) continue;
    const box = element.getBoundingClientRect();
    if (box.width > 0 && (box.right > width + 1 || box.left < -1) && !inScroller(element)) {
      const ends = `${Math.round(box.left)} to ${Math.round(box.right)}`;
      found.push(`reaches from ${ends}: ${name(element)}`);
    }
    const style = getComputedStyle(element);
    const [inside, needed] = [element.clientWidth, element.scrollWidth];
    if (["hidden", "clip"].includes(style.overflowX) && needed > inside + 1 && inside > 1) {
      found.push(`is cut off at ${inside} of ${needed}: ${name(element)}`);
    }
  }
  // A word a line: many lines of few characters.
  for (const element of content.querySelectorAll("td, th, li, dd, p")) {
    if (!shown(element) || element.querySelector("p, li, table, img, pre")) continue;
    const range = document.createRange();
    range.selectNodeContents(element);
    const ends = [...range.getClientRects()].map((r) => r.bottom).sort((a, b) => a - b);
    const rows = ends.filter((end, i) => i === 0 || end - ends[i - 1] > 8);  // code stands lower
    const breaks = element.querySelectorAll("br").length;
    const lines = rows.length - breaks;
    const text = element.textContent.trim();
    const wide = /[\\u3000-\\u9fff]/.test(text) ? 4 : 8;
    if (lines >= 4 && text.length / lines < wide) {
      found.push(`has ${lines} lines of ${Math.round(text.length / lines)}: ${name(element)}`);
    }
  }
  for (const image of content.querySelectorAll("img")) {
    if (!image.naturalWidth) {
      found.push(`does not load: ${image.getAttribute("src")}`);
      continue;
    }
    const file = image.currentSrc.split("/").pop();
    const [link, own] = [image.closest("a"), image.src.split("/").pop()];
    if (!link) {
      found.push(`opens nowhere: ${own}`);
    } else if (link.href.split("/").pop() !== own) {
      found.push(`opens ${link.getAttribute("href")}, not itself: ${own}`);
    }
    const scale = image.getBoundingClientRect().width / image.naturalWidth;
    if (scale < SMALLEST(file)) {
      found.push(`is shown at ${Math.round(scale * 100)} % of its size: ${file}`);
    }
  }
  return found;
}
"""

# The same of what stands in the page's head; `card` is the address of the social card, or "".
LOOK_AT_HEAD = """
(card) => {
  const found = [];
  if (!document.querySelector('link[rel~="icon"][href]')) found.push("has no icon");
  const image = document.querySelector('meta[property="og:image"]')?.content ?? "";
  if (image !== card) found.push(`has the social card "${image}", wanted "${card}"`);
  return found;
}
"""

# The smallest share of its size at which the text of a picture can be read (10 pixels of the page).
# SVG of docs/draw_figures.py: text of 11 in units of 4/3 pixels. Photographs that draw_gallery.py
# lays out have two pixels for one and text of 13. Plots of bench: text of 9 points at 110 an inch.
# Plots of docs/draw_charts.py, for telephones and of a machine's classes: 8.5 points at 200.
SMALLEST = """
const SMALLEST = (file) => {
  if (file.startsWith("contact-sheet")) return 0;  // opens at full size
  if (/^(rotation|lens|torch-npu)/.test(file)) return 0.45;
  if (file.endsWith(".svg")) return 0.58;
  if (/^(perf|torch-calls).*-narrow/.test(file)) return 0.42;
  if (/^perf-(granite-rapids|emerald-rapids|zen)/.test(file)) return 0.42;
  if (/^(perf|torch-calls)/.test(file)) return 0.62;
  return 0.4;
};
"""


def chromium():
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if path is None:
        raise SystemExit("no chromium: script/setup --docs-check installs it")
    return path


def look(page, address, screen):
    page.set_viewport_size(dict(zip(("width", "height"), SCREENS[screen])))
    page.goto(address)
    return page.evaluate(f"() => {{ {SMALLEST} return ({LOOK})(); }}")


def look_at_head(page, site_url):
    card = f"{site_url.rstrip('/')}/_static/social-card.jpg" if site_url else ""
    return page.evaluate(LOOK_AT_HEAD, card)


def open_browser(playwright):
    return playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])


def check(site, names, screenshots, site_url):
    """Lines of text, one for each fault."""
    pages = sorted(p for p in site.rglob("*.html") if "_static" not in p.parts)
    pages = [p for p in pages if not names or p.relative_to(site).as_posix() in names]
    if not pages:
        raise SystemExit(f"no pages in {site}")
    found = []
    with sync_playwright() as playwright:
        browser = open_browser(playwright)
        page = browser.new_page()
        for path in pages:
            name = path.relative_to(site).as_posix()
            if name in ("genindex.html", "py-modindex.html", "search.html"):
                continue
            for screen in SCREENS:
                wrong = look(page, path.resolve().as_uri(), screen)
                found += [f"{name}, {screen}: {line}" for line in wrong]
                if screenshots:
                    file = screenshots / f"{name.replace('/', '-')[:-5]}-{screen}.png"
                    page.screenshot(path=file, full_page=True)
            found += [f"{name}: {line}" for line in look_at_head(page, site_url)]
        browser.close()
    return found


FAULTS = {
    "the page is": "<p style='width: 900px'>wide</p>",
    "is cut off": "<pre style='overflow: hidden; width: 50px'>a line too long</pre>",
    "lines of": "<p style='width: 3em'>one word on each line here is too narrow</p>",
    "does not load": "<a href='x'><img src='nothing.png'></a>",
    "opens nowhere": "<img src='{icon}'>",
    "not itself": "<a href='gallery.html'><img src='{icon}'></a>",
    "of its size": "<a href='x'><img src='{icon}' style='width: 12px'></a>",
}


def self_test():
    """Each planted fault is found, and a page without one is not accused."""
    icon = (Path(__file__).parent / "_static/favicon.svg").resolve().as_uri()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = open_browser(playwright)
        page = browser.new_page()
        file = Path(folder) / "page.html"
        for words, fault in FAULTS.items():
            file.write_text(f"<!doctype html><body><article>{fault.format(icon=icon)}</article>")
            found = look(page, file.as_uri(), "telephone")
            assert any(words in line for line in found), (words, found)
        right = f"<p>Nothing is wrong here.</p><a href='{icon}'><img src='{icon}'></a>"
        file.write_text(f"<!doctype html><body><article>{right}</article>")
        assert look(page, file.as_uri(), "telephone") == []
        address = "https://example.org/portacl"
        heads = {
            "": ("has no icon", 'wanted "https'),
            f"<link rel='icon' href='{icon}'>": ('wanted "https',),
            f"<link rel='icon' href='{icon}'><meta property='og:image' "
            f"content='{address}/_static/social-card.jpg'>": (),
        }
        for head, faults in heads.items():
            file.write_text(f"<!doctype html><head>{head}</head><body><p>Text.</p>")
            page.goto(file.as_uri())
            found = look_at_head(page, f"{address}/")
            assert len(found) == len(faults), (head, found)
            assert all(words in line for words, line in zip(faults, found)), (head, found)
        assert 'wanted ""' in look_at_head(page, "")[0]  # a card that nobody asked for
        browser.close()
    print("check_pages: self-test ok")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path, nargs="?", help="the folder of the built site")
    parser.add_argument("pages", nargs="*", help="only these, such as cli.html")
    parser.add_argument("--screenshots", type=Path, metavar="DIR", help="also write pictures")
    parser.add_argument("--self-test", action="store_true", help="prove that faults are found")
    arguments = parser.parse_intermixed_args()
    if arguments.self_test:
        return self_test()
    if arguments.site is None:
        parser.error("which site?")
    if arguments.screenshots:
        arguments.screenshots.mkdir(parents=True, exist_ok=True)
    site_url = os.environ.get("PORTACL_SITE_URL", "")
    found = check(arguments.site, arguments.pages, arguments.screenshots, site_url)
    for line in found:
        print(f"page: {line}")
    if found:
        sys.exit(1)
    print("pages: ok")


if __name__ == "__main__":
    main()
