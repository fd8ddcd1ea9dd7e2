#!/usr/bin/env python3
"""Processes that end after calls with arrays on CUDA devices: nothing is told of leaks."""

import pathlib
import subprocess
import sys
import unittest

from device_libraries import STREAMED

PROGRAM = """
import gst_regions
import device_libraries
library = device_libraries.{kind}()
image = library.to(device_libraries.noise((30, 40)))
cut, tracker = gst_regions.BackgroundCut(), gst_regions.Tracker()
kept = gst_regions.label(image), gst_regions.label(image, threshold=1, return_num=True), tracker.apply(image)
moving = cut.apply(library.to(device_libraries.levels((30, 40), 9)))
"""


@unittest.skipUnless(STREAMED, "no library of arrays with streams sees a CUDA device")
class Leaks(unittest.TestCase):
    def test_end_of_a_process(self):
        for kind in STREAMED:
            with self.subTest(kind):
                done = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM.format(kind=kind)], check=True,
                                      timeout=120, cwd=pathlib.Path(__file__).parent, stderr=subprocess.PIPE, text=True)
                self.assertNotIn("leaked", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
