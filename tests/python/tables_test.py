#!/usr/bin/env python3
"""regionprops_table, and the tables of label and slic, against scikit-image."""

import unittest

import gst_regions
import numpy
from hypothesis import given
from hypothesis import strategies as st
from judges import as_seen, judge, pictures

PROPERTIES = ("label", "area", "bbox", "centroid", "intensity_mean")


def expect_equal(case, table, want):
    case.assertEqual(set(table.dtype.names), set(want))
    for name, column in want.items():
        if name.startswith("intensity"):
            scale = numpy.abs(column).max(initial=0)
            numpy.testing.assert_allclose(table[name], column, rtol=1e-12, atol=1e-12 * scale, err_msg=name)
        elif name.startswith("centroid"):
            numpy.testing.assert_allclose(table[name], column, rtol=1e-12, err_msg=name)
        else:
            numpy.testing.assert_array_equal(table[name], column, name)


class Tables(unittest.TestCase):
    @given(st.data())
    def test_as_scikit_image(self, data):
        measure = judge("skimage.measure")
        labels = data.draw(pictures(kinds=("uint8", "int32", "uint64"), values=5))
        labels = numpy.minimum(labels, 50).astype(labels.dtype) if data.draw(st.booleans()) else labels
        labels = numpy.clip(labels, 0, 2**31 - 1).astype(labels.dtype)
        kind = data.draw(st.sampled_from(["uint8", "int16", "float64"]))
        choose = numpy.random.default_rng(data.draw(st.integers(0, 99)))
        channels = data.draw(st.sampled_from([(), (3,)]))
        intensity = choose.integers(0, 100, labels.shape + channels).astype(kind)
        judged = labels
        if labels.max(initial=0) > 10**6:  # scikit-image makes a list as long as the greatest label
            values, judged = numpy.unique(labels, return_inverse=True)
            judged = judged.reshape(labels.shape) + int(values[0] != 0)
        want = measure.regionprops_table(judged.astype(numpy.int64), intensity, PROPERTIES)
        want["label"] = numpy.unique(labels[labels != 0])
        expect_equal(self, gst_regions.regionprops_table(as_seen(data.draw, labels), as_seen(data.draw, intensity)), want)

    @given(st.data())
    def test_of_label(self, data):
        image = data.draw(pictures(kinds=("bool", "uint8", "float32")))
        image = numpy.clip(image, -1e6, 1e6).astype(image.dtype)  # or sums of squares in the judge overflow
        threshold = data.draw(st.sampled_from([None, 1.0]))
        labels, num, table = gst_regions.label(image, threshold=threshold, return_num=True, return_table=True)
        numpy.testing.assert_array_equal(table["label"], numpy.arange(1, num + 1))
        for row in table:
            inside = labels == row["label"]
            places = numpy.nonzero(inside)
            self.assertEqual(row["area"], inside.sum())
            self.assertAlmostEqual(row["intensity_mean"], image[inside].astype(numpy.float64).mean(), delta=1e-6)
            for axis, place in enumerate(places):
                self.assertEqual(row[f"bbox-{axis}"], place.min())
                self.assertEqual(row[f"bbox-{axis + image.ndim}"], place.max() + 1)
                self.assertAlmostEqual(row[f"centroid-{axis}"], place.mean())

    def test_intensity_of_another_image(self):
        mask = numpy.array([[1, 1, 0, 1]], bool)
        _, table = gst_regions.label(mask, return_table=True, intensity_image=numpy.array([[2, 4, 9, 5]]))
        numpy.testing.assert_array_equal(table["intensity_mean"], [3, 5])

    def test_great_labels_without_background(self):
        labels = numpy.array([[2**62, 7], [7, 2**40]])
        table = gst_regions.regionprops_table(labels, numpy.array([[1, 2], [4, 8]]))
        numpy.testing.assert_array_equal(table["label"], [7, 2**40, 2**62])
        numpy.testing.assert_array_equal(table["area"], [2, 1, 1])
        numpy.testing.assert_array_equal(table["intensity_mean"], [3, 8, 1])

    def test_without_regions(self):
        table = gst_regions.regionprops_table(numpy.zeros((3, 4), numpy.int32), numpy.ones((3, 4)))
        self.assertEqual((len(table), table.dtype.names[:2]), (0, ("label", "area")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
