#!/usr/bin/env python3
"""slic: connected superpixels, tables, adjacency, and the quality of borders compared with scikit-image."""

import unittest

import gst_regions
import numpy
from hypothesis import given
from hypothesis import strategies as st
from references import view_of, reference, shapes


@st.composite
def photographs(draw):
    """Smooth colours with noise, of shape (H, W, 3) or (H, W)."""
    height, width = draw(shapes(2, 2))
    choose = numpy.random.default_rng(draw(st.integers(0, 2**32)))
    y, x = numpy.mgrid[:height, :width]
    waves = [128 + 90 * numpy.sin(x / choose.uniform(2, 20) + y / choose.uniform(2, 20)) for _ in range(3)]
    noisy = numpy.stack(waves, -1) + choose.normal(0, 8, (height, width, 3))
    image = numpy.clip(noisy, 0, 255).astype(numpy.uint8)
    return image if draw(st.booleans()) else image[..., 1]


def quarters(height, width):
    """A picture of four colours with slanted borders, and the quarter of each pixel."""
    y, x = numpy.mgrid[:height, :width]
    which = (y > 0.37 * height + 0.2 * x) * 2 + (x > 0.61 * width - 0.1 * y)
    return numpy.array([[200, 30, 30], [30, 160, 40], [40, 60, 200], [220, 210, 60]], numpy.uint8)[which], which


def mixed(labels, which):
    """The number of pixels in superpixels that belong mostly to another quarter."""
    counts = numpy.zeros((labels.max() + 1, 4), int)
    numpy.add.at(counts, (labels.ravel(), which.ravel()), 1)
    return int(counts.sum() - counts.max(1).sum())


class Superpixels(unittest.TestCase):
    @given(st.data())
    def test_labels_of_slic_are_connected_and_in_raster_order(self, data):
        image = data.draw(photographs())
        wanted = data.draw(st.integers(1, 60))
        zero = data.draw(st.booleans())
        labels = gst_regions.slic(view_of(data.draw, image), wanted, slic_zero=zero)
        self.assertEqual((labels.shape, labels.dtype, labels.min()), (image.shape[:2], numpy.int32, 1))
        numpy.testing.assert_array_equal(labels, gst_regions.label(labels, connectivity=1),
                                         "labels are connected and in raster order")
        numpy.testing.assert_array_equal(labels, gst_regions.slic(image, wanted, slic_zero=zero, threads=1))

    @given(photographs())
    def test_table_of_slic_has_the_areas_and_means_of_its_labels(self, image):
        labels, table = gst_regions.slic(image, 20, return_table=True)
        numpy.testing.assert_array_equal(table["label"], numpy.arange(1, labels.max() + 1))
        for row in table:
            inside = image[labels == row["label"]]
            self.assertEqual(row["area"], len(inside))
            names = ["intensity_mean"] if image.ndim == 2 else [f"intensity_mean-{c}" for c in range(3)]
            numpy.testing.assert_allclose([row[name] for name in names], numpy.atleast_1d(inside.mean(0)), rtol=1e-12)

    @given(photographs(), st.integers(1, 40))
    def test_adjacency_of_slic_equals_the_pairs_of_touching_labels(self, image, wanted):
        labels, table, pairs = gst_regions.slic(image, wanted, return_table=True, return_adjacency=True)
        touching = set()
        for one, other in ((labels[1:], labels[:-1]), (labels[:, 1:], labels[:, :-1])):
            touching |= {(min(a, b), max(a, b)) for a, b in zip(one.ravel().tolist(), other.ravel().tolist()) if a != b}
        self.assertEqual((pairs.dtype, pairs.shape), (numpy.int32, (len(touching), 2)))
        self.assertEqual(pairs.tolist(), sorted(map(list, touching)))
        self.assertEqual(len(table), labels.max())
        alone, again = gst_regions.slic(image, wanted, return_adjacency=True)
        numpy.testing.assert_array_equal(alone, labels)
        numpy.testing.assert_array_equal(again, pairs)

    def test_slic_borders_of_four_areas_are_as_good_as_scikit_image(self):
        segmentation = reference("skimage.segmentation")
        image, which = quarters(150, 210)
        for wanted in (30, 100, 300):
            labels = gst_regions.slic(image, wanted)
            theirs = segmentation.slic(image, wanted)
            self.assertLess(abs(labels.max() / wanted - 1), 0.25)
            self.assertLessEqual(mixed(labels, which), mixed(theirs, which) + 0.002 * which.size, wanted)

    def test_slic_with_another_value_of_each_parameter_changes_the_labels(self):
        image, which = quarters(150, 210)
        image = image.astype(int) + numpy.random.default_rng(1).normal(0, 40, image.shape)
        image = numpy.clip(image, 0, 255).astype(numpy.uint8)
        usual = gst_regions.slic(image, 100)
        for change in ({"compactness": 40.0}, {"max_num_iter": 1}, {"convert2lab": False}, {"min_size_factor": 0.0},
                       {"slic_zero": True}, {"n_segments": 50}):
            self.assertTrue((gst_regions.slic(image, **{"n_segments": 100, **change}) != usual).any(), change)
        loose, stiff = (gst_regions.slic(image, 100, compactness=c) for c in (5, 200))
        self.assertLess(mixed(loose, which), mixed(stiff, which))


if __name__ == "__main__":
    unittest.main(verbosity=2)
