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

    @given(st.data())
    def test_slic_general_images_equal_scikit_image(self, data):
        segmentation = reference("skimage.segmentation")
        choose = numpy.random.default_rng(data.draw(st.integers(0, 10**6)))
        shape = data.draw(st.sampled_from([(20, 27), (1, 30), (6, 9, 11), (3, 4, 30)]))
        channels = data.draw(st.sampled_from([None, 1, 3, 4, 7]))
        image = choose.random(shape + (() if channels is None else (channels,)))
        image = numpy.round(image * 200).astype(data.draw(st.sampled_from(["float64", "uint16", "int32"])))
        axis = None if channels is None else data.draw(st.sampled_from([-1, len(shape), 0]))
        if axis == 0:
            image = numpy.moveaxis(image, -1, 0)
        how = {"n_segments": data.draw(st.integers(2, 60)), "channel_axis": axis,
               "compactness": data.draw(st.sampled_from([0.05, 0.5, 10])),
               "max_num_iter": data.draw(st.sampled_from([1, 10])), "slic_zero": data.draw(st.booleans()),
               "sigma": data.draw(st.sampled_from([0, 1.5, (0.5,) * len(shape)])),
               "spacing": data.draw(st.sampled_from([None, tuple(range(1, len(shape) + 1))])),
               "enforce_connectivity": data.draw(st.booleans()), "start_label": data.draw(st.integers(0, 1)),
               "min_size_factor": data.draw(st.sampled_from([0.1, 0.5])),
               "max_size_factor": data.draw(st.sampled_from([1.3, 3])),
               "convert2lab": data.draw(st.sampled_from([None, False]))}
        want = segmentation.slic(image, **how)
        labels = gst_regions.slic(image, **how)
        self.assertEqual((labels.dtype, labels.shape), (numpy.int32, want.shape))
        # A pixel that fits two superpixels equally well may differ by rounding, and change further pixels.
        self.assertGreater((labels == want).mean(), 0.97 if how["max_num_iter"] == 1 else 0.8)

    def test_slic_gallery_call_of_scikit_image_gives_equal_labels(self):
        segmentation, skimage = reference("skimage.segmentation"), reference("skimage")
        image = skimage.util.img_as_float(reference("skimage.data").astronaut()[::4, ::4])
        how = {"n_segments": 250, "compactness": 10, "sigma": 1, "start_label": 1}
        numpy.testing.assert_array_equal(gst_regions.slic(image, **how), segmentation.slic(image, **how))
        numpy.testing.assert_array_equal(gst_regions.slic(image.astype("float32"), 250, 10, 10, 1).shape, (128, 128))

    def test_slic_mask_limits_the_superpixels(self):
        segmentation = reference("skimage.segmentation")
        choose = numpy.random.default_rng(3)
        image = choose.random((40, 50, 3))
        mask = numpy.hypot(*(numpy.indices((40, 50)) - 22)) < 18
        image[~mask] = numpy.nan
        with numpy.errstate(invalid="ignore"):
            want = segmentation.slic(numpy.nan_to_num(image), 30, mask=mask)
        labels, table = gst_regions.slic(image, 30, mask=mask, return_table=True)
        numpy.testing.assert_array_equal(labels > 0, mask)
        self.assertLess(abs(int(labels.max()) - int(want.max())), 4)
        self.assertGreater((labels == want).mean(), 0.8)
        self.assertEqual(table["area"].sum(), mask.sum())
        zero = gst_regions.slic(image, 30, mask=mask, start_label=0)
        numpy.testing.assert_array_equal(zero, labels - 1)

    def test_slic_start_label_0_shifts_labels_tables_and_pairs(self):
        for image in (quarters(50, 70)[0], quarters(50, 70)[0] / 255):
            want = gst_regions.slic(image, 20, return_table=True, return_adjacency=True)
            out = numpy.empty((50, 70), numpy.int32)
            got = gst_regions.slic(image, 20, return_table=True, return_adjacency=True, start_label=0, out=out)
            self.assertIs(got[0], out)
            numpy.testing.assert_array_equal(got[0], want[0] - 1)
            numpy.testing.assert_array_equal(got[1]["label"], want[1]["label"] - 1)
            numpy.testing.assert_array_equal(got[1]["area"], want[1]["area"])
            numpy.testing.assert_array_equal(got[2], want[2] - 1)
            numpy.testing.assert_array_equal(gst_regions.slic(image, 20, start_label=0), out)

    def test_slic_half_precision_and_whole_numbers_are_accepted(self):
        for kind in ("float16", "float32", "int64", "bool"):
            image = (numpy.random.default_rng(2).random((28, 28)) * 9).astype(kind)
            self.assertEqual(gst_regions.slic(image, channel_axis=None).shape, (28, 28))

    def test_slic_each_parameter_changed_changes_labels(self):
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
