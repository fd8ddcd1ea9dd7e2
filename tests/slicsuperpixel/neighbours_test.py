#!/usr/bin/env python3
"""Adjacency and covariances in the metadata of slicsuperpixel, read from Python, against the label map."""
import json
import os
import sys
import unittest

import numpy

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from metadata import frames, gstreamer

PIPELINE = ("videotestsrc pattern=ball num-buffers=3 ! video/x-raw,format=RGB,width=180,height=100"
            " ! slicsuperpixel device=cpu output=none region-size=20 attach-adjacency=true"
            " attach-covariance=true")


def label_map(buffer):
    found = buffer.get_custom_meta("regions").get_structure()
    labels = found.get_value("labels")
    data = labels.extract_dup(0, labels.get_size())
    return numpy.frombuffer(data, numpy.uint32).reshape(found.get_value("height"),
                                                         found.get_value("width"))


def borders_of(labels):
    """Sorted [smaller label, larger label, length of the border], computed from all pixels."""
    across = numpy.stack([labels[:, 1:].ravel(), labels[:, :-1].ravel()])
    down = numpy.stack([labels[1:].ravel(), labels[:-1].ravel()])
    pairs = numpy.sort(numpy.concatenate([across, down], axis=1), axis=0)
    pairs, sides = numpy.unique(pairs[:, pairs[0] != pairs[1]], axis=1, return_counts=True)
    return [[int(a), int(b), int(n)] for a, b, n in zip(*pairs, sides)]


class Adjacency(unittest.TestCase):
    def test_adjacency_and_covariance_in_metadata_equal_those_computed_from_the_label_map(self):
        count = 0
        for buffer in frames(PIPELINE):
            table = json.loads(json.dumps(gstreamer.regions_table(buffer)))
            labels = label_map(buffer)
            self.assertEqual(table["adjacency"], borders_of(labels))
            self.assertGreater(len(table["adjacency"]), 10)
            for region in (dict(zip(table["columns"], row)) for row in table["regions"]):
                ys, xs = numpy.nonzero(labels == region["id"])
                expected = numpy.cov(xs, ys, ddof=0)
                self.assertAlmostEqual(region["cov-xx"], expected[0, 0], places=6)
                self.assertAlmostEqual(region["cov-xy"], expected[0, 1], places=6)
                self.assertAlmostEqual(region["cov-yy"], expected[1, 1], places=6)
                self.assertTrue(0 <= region["lab-l"] <= 100)
            count += 1
        self.assertEqual(count, 3)


if __name__ == "__main__":
    unittest.main()
