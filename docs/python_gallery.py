#!/usr/bin/env python3
"""Runs the blocks of Python in docs/python-gallery.md, one after the other, in one namespace.

What a block prints must be the block of text behind it. A block calls show(NAME, PICTURE…) for the picture that stands
behind it, docs/pictures/NAME.jpg; with --pictures those are made, of pictures side by side: colours and gray as they
are, labels each in a colour of its own.
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
BLOCKS = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?(?:\n!\[[^\]]*\]\(pictures/([\w-]+)\.jpg\)\n)?", re.S)
COLOURS = numpy.random.default_rng(7).integers(64, 256, (1 << 12, 3), numpy.uint8)
WIDTH = 768  # pixels, of all pictures of a row


def painted(picture):
    """As RGB."""
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
    namespace, shown = {}, []

    def show(name, *pictures):
        shown.append(name)
        if makes_pictures:
            save(name, pictures)
    namespace["show"] = show
    for code, wanted, picture in BLOCKS.findall(PAGE.read_text(encoding="utf-8")):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, PAGE.name, "exec"), namespace)
        if printed.getvalue() != wanted:
            sys.exit(f"{PAGE.name}: not what is said there is printed, but\n{printed.getvalue()}by\n{code}")
        if shown != [picture] * bool(picture):
            sys.exit(f"{PAGE.name}: {shown} is shown, not {picture!r}, by\n{code}")
        shown.clear()
        if picture and not (HERE / "pictures" / f"{picture}.jpg").exists():
            sys.exit(f"docs/pictures/{picture}.jpg is not there: docs/python_gallery.py --pictures makes it")


if __name__ == "__main__":
    main(sys.argv[1:] == ["--pictures"])
