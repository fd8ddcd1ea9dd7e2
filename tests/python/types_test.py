#!/usr/bin/env python3
"""mypy over the package, and over a program that uses it."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import gst_regions
from judges import judge

USE = """import gst_regions
import numpy as np
image = np.zeros((3, 4), np.uint8)
labels = gst_regions.label(image, connectivity=1, threads=1)
table = gst_regions.regionprops_table(labels)
flow: int = gst_regions.mincut(labels, 1, 1)[1]
"""
MISUSE = {"gst_regions.label(image, conectivity=1)": "call-arg", "gst_regions.slic(image, 'many')": "arg-type",
          "flow = gst_regions.mincut(labels, 1, 1)[1] + 'x'": "operator"}


class Types(unittest.TestCase):
    def mypy(self, *arguments):
        judge("mypy")
        package = pathlib.Path(gst_regions.__file__).parent
        return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", self.folder, *arguments],
                              cwd=package.parent, capture_output=True, text=True, check=False)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_package(self):
        run = self.mypy("gst_regions")
        self.assertEqual(run.returncode, 0, run.stdout)

    def test_use(self):
        run = self.mypy("-c", USE)
        self.assertEqual(run.returncode, 0, run.stdout)
        run = self.mypy("-c", USE + "\n".join(MISUSE))
        for line, kind in MISUSE.items():
            self.assertIn(f"[{kind}]", run.stdout, line)
        self.assertIn(f"Found {len(MISUSE)} errors", run.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
