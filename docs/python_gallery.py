#!/usr/bin/env python3
"""Runs the Python blocks of docs/python-gallery.md in order, with shared variables.

The output of a block must be equal to the text block that follows it. A comment "pictures:" lists the arrays that the
picture below it shows side by side, docs/pictures/NAME.jpg. With --pictures, this program makes these files: colour and
gray pictures are copied, and each label gets a random colour.
"""

import contextlib
import io
import pathlib
import re
import sys

import numpy
from PIL import Image

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE / "python-gallery.md"
BLOCKS = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?"
                    r"(?:\n<!-- pictures: ([^\n]*) -->\n!\[[^\]]*\]\(pictures/([\w-]+)\.jpg\)\n)?", re.S)
COLOURS = numpy.random.default_rng(7).integers(64, 256, (1 << 12, 3), numpy.uint8)
WIDTH = 768  # width of a file (pixels)


def painted(picture):
    """The picture as RGB."""
    picture = numpy.asarray(picture)
    if picture.dtype == bool:
        picture = picture * numpy.uint8(255)
    if picture.dtype != numpy.uint8:
        return COLOURS[picture % len(COLOURS)] * (picture > 0)[..., None].astype(numpy.uint8)
    return picture if picture.ndim == 3 else numpy.repeat(picture[..., None], 3, -1)


def save(name, pictures):
    row = Image.fromarray(numpy.concatenate([painted(picture) for picture in pictures], 1))
    row.resize((WIDTH, round(WIDTH * row.height / row.width)), Image.Resampling.BOX).save(
        HERE / "pictures" / f"{name}.jpg", quality=82)


def main(makes_pictures):
    page = PAGE.read_text(encoding="utf-8")
    blocks = BLOCKS.findall(page)
    if page.count("](pictures/") != sum(bool(name) for *_, name in blocks):
        sys.exit(f"{PAGE.name}: a picture has no comment \"pictures:\" above it")
    namespace = {}
    for code, wanted, arrays, name in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, PAGE.name, "exec"), namespace)
        if printed.getvalue() != wanted:
            sys.exit(f"{PAGE.name}: expected\n{wanted}but this was printed:\n{printed.getvalue()}by\n{code}")
        if not name:
            continue
        pictures = eval(f"({arrays},)", namespace)
        if makes_pictures:
            save(name, pictures)
        if not (HERE / "pictures" / f"{name}.jpg").exists():
            sys.exit(f"docs/pictures/{name}.jpg is missing: run docs/python_gallery.py --pictures")


if __name__ == "__main__":
    main(sys.argv[1:] == ["--pictures"])
