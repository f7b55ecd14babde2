"""Lays out the pictures of docs/gallery.md, and the site's social card.

From the panels that the programs write, with text that is readable in a column of text and, as
NAME-narrow, on a telephone:

    portacl demo DIR
    python docs/draw_gallery.py DIR [OUT]

rotation.jpg, lens.jpg and resizing.jpg are laid out from DIR; the pictures of CUTS are there
(images/ORIGIN.md), and only their narrow versions are cut from them. Needs Pillow and
matplotlib's fonts (script/requirements/base.txt).
"""

import sys
from pathlib import Path

from matplotlib import font_manager
from PIL import Image, ImageDraw, ImageFont

DOCS = Path(__file__).parent
SCALE = 2  # pixels for one of the page
COLUMN, TELEPHONE = 736, 360  # of the page
GAP, TEXT, LINE = 10, 14, 20
INK, PAPER = "#1b3a57", "white"

# Of each picture: panels of a row on a wide page, then file and caption of each. The last one, a
# chart, gets what its row has left, so that its text can be read.
PICTURES = {
    "rotation.jpg": (3, (
        ("rotation-photo.png", "input"),
        ("rotation-target.png", "target, turned by 12°"),
        ("rotation-gridGrad.png", "gridGrad at 0°"),
        ("rotation-inputGrad.png", "inputGrad at 0°"),
        ("rotation-loss.png", "loss and angle over the steps"),
    )),
    "lens.jpg": (3, (
        ("lens-photo.png", "the photograph"),
        ("lens-target.png", "bent by the lens"),
        ("lens-inputGrad.png", "inputGrad at the start"),
        ("lens-straightened.png", "straightened in 40 steps"),
        ("lens-loss.png", "loss over the steps"),
    )),
    "resizing.jpg": (3, (
        ("resizing-chart.png", "test chart"),
        ("resizing-chart-bilinear.png", "bilinear, by 4"),
        ("resizing-chart-bilinear-antialias.png", "bilinear, antialias, by 4"),
        ("resizing-enlarged-nearest.png", "nearest, × 8"),
        ("resizing-enlarged-bilinear.png", "bilinear, × 8"),
        ("resizing-enlarged-bicubic.png", "bicubic, × 8"),
    )),
}  # fmt: skip

# Panels cut from pictures with more of them in a row than a telephone can show.
CUTS = {"registration.jpg": 2, "super-resolution.jpg": 4, "torch-npu-registration.jpg": 2}


def font(size, weight="normal"):
    path = font_manager.findfont(font_manager.FontProperties(family="DejaVu Sans", weight=weight))
    return ImageFont.truetype(path, size * SCALE)


def fit(picture, width):
    return picture.resize((width, round(picture.height * width / picture.width)), Image.LANCZOS)


def lay_out(panels, columns, width):
    """Pictures with captions below them, `columns` in a row, on a page of `width`."""
    cell = (width - GAP * (columns - 1)) // columns
    rows = [panels[i : i + columns] for i in range(0, len(panels), columns)]
    left = columns - len(rows[-1])
    scaled = [[(fit(p, cell * SCALE), t) for p, t in row] for row in rows]
    scaled[-1][-1] = fit(panels[-1][0], (cell + left * (cell + GAP)) * SCALE), panels[-1][1]
    heights = [max(p.height for p, _ in row) + LINE * SCALE for row in scaled]
    sheet = Image.new("RGB", (width * SCALE, sum(heights) + GAP * SCALE * (len(rows) - 1)), PAPER)
    pen, y = ImageDraw.Draw(sheet), 0
    for row, height in zip(scaled, heights):
        for column, (picture, text) in enumerate(row):
            x = column * (cell + GAP) * SCALE
            sheet.paste(picture, (x, y))
            pen.text((x, y + picture.height + SCALE), text, INK, font(TEXT - 1))
        y += height + GAP * SCALE
    return sheet


def save(image, path):
    image.convert("RGB").save(path, quality=82, optimize=True)
    print(path)


def halves(image, count):
    """A row of panels below each other, two in a row where there are four."""
    width = image.width // count
    cuts = [image.crop((i * width, 0, (i + 1) * width, image.height)) for i in range(count)]
    columns = 1 if count == 2 else 2
    rows = count // columns
    sheet = Image.new("RGB", (width * columns, image.height * rows), PAPER)
    for i, cut in enumerate(cuts):
        sheet.paste(cut, ((i % columns) * width, i // columns * image.height))
    return sheet


def social_card(demo):
    """1200 x 630, the size that chats ask for."""
    card = Image.new("RGB", (1200, 630), PAPER)
    pen = ImageDraw.Draw(card)
    side = 360
    for i, name in enumerate(("rotation-photo", "rotation-gridGrad", "lens-straightened")):
        panel = Image.open(demo / f"{name}.png").convert("RGB")
        edge = min(panel.size)
        card.paste(panel.crop((0, 0, edge, edge)).resize((side, side), Image.LANCZOS),
                   (40 + i * (side + 20), 40))  # fmt: skip
    for x, y, color in ((0, 0, "#0072b2"), (1, 0, "#56b4e9"), (0, 1, "#009e73"), (1, 1, "#e69f00")):
        corner = (40 + x * 64, 446 + y * 64)
        pen.rounded_rectangle((*corner, corner[0] + 56, corner[1] + 56), 9, color)
    pen.ellipse((72, 478, 128, 534), PAPER)
    pen.ellipse((81, 487, 119, 525), INK)
    pen.text((196, 432), "portacl", INK, font(42, "bold"))
    pen.text((198, 538), "aclnn image-resampling gradients on any CPU", INK, font(17))
    return card


def main():
    demo = Path(sys.argv[1])
    images = Path(sys.argv[2]) if len(sys.argv) > 2 else DOCS / "images"
    for name, (columns, panels) in PICTURES.items():
        loaded = [(Image.open(demo / file).convert("RGB"), text) for file, text in panels]
        save(lay_out(loaded, columns, COLUMN), images / name)
        save(lay_out(loaded, 2, TELEPHONE), images / name.replace(".", "-narrow."))
    for name, count in CUTS.items():
        narrow = images / name.replace(".", "-narrow.")
        save(halves(Image.open(DOCS / "images" / name), count), narrow)
    save(social_card(demo), DOCS / "_static/social-card.jpg")


if __name__ == "__main__":
    main()
