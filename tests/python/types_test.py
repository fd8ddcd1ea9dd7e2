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
count: int = gst_regions.label(image, return_num=True)[1]
counts: np.ndarray[tuple[int], np.dtype[np.int64]] = gst_regions.label(image, return_num=True, threshold=[1.0, 2.0])[1]
pieces, areas, pairs = gst_regions.slic(image, return_table=True, return_adjacency=True)
mask = gst_regions.BackgroundCut(lambda_=3).apply(image)
"""
MISUSE = {"gst_regions.flood(image, seed=1)": "call-arg",
          "gst_regions.fill_holes(image > 1, '2')": "arg-type",
          "text: str = gst_regions.label(image, return_num=True)[1]": "assignment",
          "labels, num = gst_regions.label(image)[0], gst_regions.slic(image, return_table=True).shape": "attr-defined", 
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
        run = self.mypy("gst_regions", "--exclude", "pipelines")  # scripts of their own
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
