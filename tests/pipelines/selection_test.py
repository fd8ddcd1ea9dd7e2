#!/usr/bin/python3
"""The scripts that choose regions: the magic wand, and objects of a depth map."""

import pathlib
import tempfile
import unittest

import media
import numpy

SIDE = 64


def disc(x, y, radius):
    rows, columns = numpy.mgrid[:SIDE, :SIDE]
    return (columns - x) ** 2 + (rows - y) ** 2 <= radius ** 2


class Selection(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def picture(self, name, pixels, pixel_format):
        raw, path = self.folder / (name + ".raw"), self.folder / (name + ".png")
        raw.write_bytes(pixels.tobytes())
        media.run("ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", pixel_format, "-s",
                  f"{SIDE}x{SIDE}", "-i", raw, path)
        return path

    def test_wand(self):
        """A disc with a slow gradient is chosen whole; its twin and the rest are not."""
        pixels = numpy.zeros((SIDE, SIDE, 3), numpy.uint8)
        pixels[..., 0] = numpy.arange(SIDE) * 2
        first, second = disc(16, 16, 10), disc(48, 44, 12)
        pixels[first | second, 1] = 200
        photo, out = self.picture("discs", pixels, "rgb24"), self.folder / "mask.png"
        for x, y, expected in ((16, 16, first), (50, 40, second), (2, 60, ~(first | second))):
            media.run(media.script("wand"), photo, x, y, out)
            numpy.testing.assert_array_equal(media.frames(out, "gray")[0] > 0, expected)
        media.run(media.script("wand"), photo, 16, 16, out, "0.001")
        narrow = media.frames(out, "gray")[0] > 0
        self.assertTrue((narrow.sum(axis=0) > 0).sum() == 1, "a column of equal colour alone")

    def test_depth_objects(self):
        """A ramp is one object however much it covers; a disc before it is another; specks go."""
        depth = numpy.tile(numpy.arange(SIDE, dtype=numpy.uint16) * 400, (SIDE, 1))
        near = disc(30, 30, 14)
        depth[near] = 60000
        depth[5, 5] = 65535
        out = self.folder / "objects.png"
        media.run(media.script("depth-objects"), self.picture("depth", depth, "gray16le"), out,
                  "0.01")
        colors = media.frames(out, "rgb24")[0].astype(int)
        ramp = ~near
        ramp[5, 5] = False
        self.assertEqual(len({tuple(color) for color in colors[near]}), 1)
        self.assertEqual(len({tuple(color) for color in colors[ramp]}), 1)
        self.assertFalse((colors[30, 30] == colors[60, 60]).all())
        self.assertFalse(colors[5, 5].any())


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
