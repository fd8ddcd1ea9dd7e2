#!/usr/bin/env python3
"""Renders the digits of track ids and the letters of captions in several sizes, and writes them to a C++ header.

usage: glyphs.py DIGITS.ttf LETTERS.ttf OUTPUT.hpp
"""
import sys

from PIL import Image, ImageDraw, ImageFont

EMS = (11, 13, 16, 20, 24, 30, 38, 48, 64)  # font heights in pixels; drawing.cpp chooses one by the height of the picture
DIGITS = "0123456789"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ#-.:/?"  # of a font whose characters all have one width


def render(font, letter_font):
    """Returns the width and height of a cell (pixels), and the coverage of digits and letters, row by row (0 to 255). The
    digits determine the cell. Letters have their height, and are narrower."""
    boxes = [font.getbbox(digit) for digit in DIGITS]
    top, bottom = min(b[1] for b in boxes), max(b[3] for b in boxes)
    width, height = round(font.getlength("0")), bottom - top
    coverage = []
    base_line = font.getmetrics()[0] - top
    left = (width - round(letter_font.getlength("A"))) // 2
    for text, used, shift in ((DIGITS, font, 0), (LETTERS, letter_font, left)):
        for character in text:
            cell = Image.new("L", (width, height), 0)
            ImageDraw.Draw(cell).text((shift, base_line), character, font=used, fill=255, anchor="ls")
            coverage += cell.tobytes()
    return width, height, coverage


def main():
    *font_paths, output = sys.argv[1:]
    sizes, table = [], []
    for em in EMS:
        width, height, coverage = render(*(ImageFont.truetype(path, em) for path in font_paths))
        sizes.append(f"    {{{em}, {width}, {height}, {len(table)}}},")
        table += coverage
    rows = [", ".join(map(str, table[i : i + 24])) for i in range(0, len(table), 24)]
    with open(output, "w", encoding="ascii") as header:
        header.write(
            "// Made by core/drawing/glyphs.py. Include it in one file of a backend.\n#pragma once\n\n"
            '#include "core/drawing/stamp.hpp"\n\nnamespace regions {\n\n'
            f'inline constexpr char kGlyphCharacters[] = "{DIGITS + LETTERS}";\n'
            "inline constexpr GlyphSize kGlyphSizes[] = {\n" + "\n".join(sizes) + "\n};\n\n"
            "// The GPU requires a copy in device memory.\n"
            "#ifdef __CUDACC__\n__device__\n#endif\n"
            "const uint8_t kGlyphCoverage[] = {\n    " + ",\n    ".join(rows) + "};\n\n"
            "}  // namespace regions\n"
        )


if __name__ == "__main__":
    main()
