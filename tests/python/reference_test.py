#!/usr/bin/env python3
"""docs/python-reference.md is what docs/python_reference.py prints, docs/python-gallery.md what its blocks print, and what
docs/python.md compares holds."""

import inspect
import pathlib
import re
import subprocess
import sys
import unittest

import gst_regions
import numpy
from judges import judge

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHOOSE = numpy.random.default_rng(5)
MASK = CHOOSE.integers(0, 2, (30, 40)).astype(numpy.uint8) * 255


class Reference(unittest.TestCase):
    def test_is_up_to_date(self):
        printed = subprocess.run([sys.executable, ROOT / "docs" / "python_reference.py"], capture_output=True, text=True,
                                 check=True).stdout
        written = (ROOT / "docs" / "python-reference.md").read_text(encoding="utf-8")
        self.assertEqual(written, printed, "run docs/python_reference.py > docs/python-reference.md")

    def test_gallery_prints_what_it_says(self):
        for name in ("skimage", "PIL"):
            judge(name)
        done = subprocess.run([sys.executable, ROOT / "docs" / "python_gallery.py"], capture_output=True, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_every_parameter_is_described(self):
        for name in gst_regions.__all__:
            function = getattr(gst_regions, name)
            if not callable(function) or name == "remove_small_holes":  # which refers to another
                continue
            described = re.findall(r"^(\w[\w, ]*) : ", function.__doc__.replace("    ", ""), re.M)
            words = {word for names in described for word in names.split(", ")} | {"down_right", "down_left"}
            arguments = set(inspect.signature(function).parameters)
            self.assertEqual(arguments - words, set(), name)


class Comparisons(unittest.TestCase):
    def test_cv2(self):
        cv2 = judge("cv2")
        for theirs, ours in ((4, 1), (8, 2)):
            count, want, stats, centroids = cv2.connectedComponentsWithStats(MASK, connectivity=theirs)
            labels, num, table = gst_regions.label(MASK, threshold=1, connectivity=ours, return_num=True,
                                                   return_table=True)
            self.assertEqual(num, count - 1)
            order = numpy.unique(want[want > 0], return_index=True)[1].argsort()
            numpy.testing.assert_array_equal(numpy.sort(table["area"]), numpy.sort(stats[1:, cv2.CC_STAT_AREA]))
            numpy.testing.assert_array_equal(table["area"], stats[1:, cv2.CC_STAT_AREA][order])
            numpy.testing.assert_array_equal(table["bbox-3"] - table["bbox-1"],
                                             stats[1:, cv2.CC_STAT_WIDTH][order])
            numpy.testing.assert_allclose(table["centroid-1"], centroids[1:, 0][order])

    def test_scipy(self):
        ndimage = judge("scipy.ndimage")
        numpy.testing.assert_array_equal(gst_regions.label(MASK != 0, connectivity=1), ndimage.label(MASK)[0])

    def test_cc3d_dust(self):
        cc3d = judge("cc3d")
        volume = CHOOSE.integers(0, 4, (9, 10, 11)) == 0
        numpy.testing.assert_array_equal(gst_regions.remove_small_objects(volume, 4, connectivity=3),
                                         cc3d.dust(volume, threshold=5, connectivity=26))

    def test_pymaxflow(self):
        maxflow = judge("maxflow")
        source, sink = (CHOOSE.integers(0, 50, (12, 13)) for _ in range(2))
        graph = maxflow.GraphInt()
        nodes = graph.add_grid_nodes(source.shape)
        graph.add_grid_edges(nodes, 7)
        graph.add_grid_tedges(nodes, source, sink)
        flow = graph.maxflow()
        self.assertEqual(gst_regions.mincut(source - sink, 7, 7)[1], flow - numpy.minimum(source, sink).sum())


if __name__ == "__main__":
    unittest.main(verbosity=2)
