#!/usr/bin/env python3
"""Labels, regions of a minimum size, floods, holes and tables, against scikit-image, SciPy and cc3d."""

import unittest
import warnings

import gst_regions
import numpy
from hypothesis import given
from hypothesis import strategies as st
from references import view_of, reference, pictures


def as_whole_numbers(image):
    """Replaces distinct values by distinct integers and keeps 0, because scikit-image rejects floating point."""
    if image.dtype == bool:
        return image
    values, numbers = numpy.unique(image, return_inverse=True)
    numbers = numbers.reshape(image.shape) + 1
    numbers[image == 0] = 0
    return numbers


def in_raster_order(labels):
    """Renumbers labels, because scikit-image uses another order if an axis has one element."""
    if 1 not in labels.shape:
        return labels
    _, first, numbers = numpy.unique(labels, return_index=True, return_inverse=True)
    first[labels.ravel()[first] == 0] = -1
    rank = numpy.argsort(numpy.argsort(first)) + (0 if (first == -1).any() else 1)
    return rank[numbers].reshape(labels.shape)


class EqualValues(unittest.TestCase):
    @given(st.data())
    def test_label_of_equal_values_equals_scikit_image(self, data):
        measure = reference("skimage.measure")
        image = data.draw(pictures())
        connectivity = data.draw(st.sampled_from([None, *range(1, image.ndim + 1)]))
        want, count = measure.label(as_whole_numbers(image), connectivity=connectivity, return_num=True)
        labels, num = gst_regions.label(view_of(data.draw, image), connectivity=connectivity, return_num=True,
                                        threads=data.draw(st.sampled_from([0, 1, 2])))
        self.assertEqual((labels.dtype, num), (numpy.int32, count))
        numpy.testing.assert_array_equal(labels, in_raster_order(want))

    @given(st.data())
    def test_label_with_a_background_value_equals_scikit_image(self, data):
        measure = reference("skimage.measure")
        image = data.draw(pictures(kinds=("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64")))
        background = data.draw(st.sampled_from([int(image.flat[0]), -1, 0, 300, 2**40]))
        want = measure.label(image.astype(numpy.int64), background=background)
        numpy.testing.assert_array_equal(gst_regions.label(image, background=background), in_raster_order(want))

    @given(st.data())
    def test_label_of_a_random_array_equals_cc3d_up_to_numbering(self, data):
        cc3d = reference("cc3d")
        # cc3d 4.1.1 errs with bool and 8 neighbours (SciPy does not), with fractions and with values beyond int64.
        image = data.draw(pictures(kinds=("uint8", "uint16", "int32")))
        connectivity = data.draw(st.integers(1, image.ndim))
        named = {2: (4, 8), 3: (6, 18, 26)}[image.ndim][connectivity - 1]
        want, count = cc3d.connected_components(numpy.ascontiguousarray(image), connectivity=named, return_N=True)
        labels, num = gst_regions.label(image, connectivity=connectivity, return_num=True)
        self.assertEqual(num, count)
        pairs = numpy.unique(numpy.stack([labels.ravel(), want.ravel().astype(numpy.int64)]), axis=1)
        self.assertEqual(pairs.shape[1], len(numpy.unique(labels)), "only the numbers may differ")
        self.assertEqual(pairs.shape[1], len(numpy.unique(want)))
        numpy.testing.assert_array_equal(labels == 0, want == 0)

    def test_label_of_a_large_image_with_no_or_one_object_finds_exactly_that(self):
        for kind in ("bool", "uint16", "float64"):
            image = numpy.zeros((300, 401), kind)
            labels, num, table = gst_regions.label(image, return_num=True, return_table=True)
            self.assertEqual((labels.dtype, labels.shape, labels.any(), num, len(table)),
                             (numpy.int32, image.shape, False, 0, 0))
            self.assertTrue((gst_regions.label(image, background=1) == 1).all())
            image[-1, -1] = 1
            labels, num = gst_regions.label(image, return_num=True)
            self.assertEqual((num, labels.sum(), labels[-1, -1]), (1, 1, 1))
            with self.assertRaisesRegex(ValueError, "threads is -1"):
                gst_regions.label(numpy.zeros((300, 400), kind), threads=-1)
        with self.assertRaisesRegex(ValueError, "65536 elements"):
            gst_regions.label(numpy.zeros((1, 65536), bool))

    def test_label_of_an_image_with_more_than_65536_values_keeps_them_separate(self):
        image = numpy.arange(300 * 301, dtype=numpy.float32).reshape(300, 301) + 1
        image[7, 8] = image[7, 7]
        image.flat[65538] = image.flat[0]  # after value number 2**16
        labels, num = gst_regions.label(image, return_num=True)
        self.assertEqual(num, image.size - 1)
        numpy.testing.assert_array_equal(labels.ravel()[:10], numpy.arange(1, 11))
        self.assertEqual(labels[7, 8], labels[7, 7])
        self.assertEqual(labels[-1, -1], num)

    def test_label_treats_negative_zero_as_zero(self):
        image = numpy.array([[0.0, -0.0, 2.5], [2.5, -0.0, 2.5]], numpy.float32)
        numpy.testing.assert_array_equal(gst_regions.label(image, connectivity=1), [[0, 0, 1], [2, 0, 1]])
        numpy.testing.assert_array_equal(gst_regions.label(image, background=2.5), [[1, 1, 0], [0, 1, 0]])


class Thresholds(unittest.TestCase):
    @given(st.data())
    def test_label_with_any_threshold_equals_scipy(self, data):
        ndimage = reference("scipy.ndimage")
        image = data.draw(pictures())
        threshold = data.draw(st.sampled_from([float(image.flat[0]), 0.0, 0.5, 1.5, -1e300, 2.0**64]))
        level = image.dtype.type(threshold) if image.dtype.kind == "f" else threshold
        # As Python compares: NumPy rounds 2**63 - 1 to 2**63 first.
        foreground = numpy.array([value >= level for value in image.ravel().tolist()]).reshape(image.shape)
        want, count = ndimage.label(foreground, ndimage.generate_binary_structure(image.ndim, image.ndim))
        labels, num = gst_regions.label(view_of(data.draw, image), threshold=threshold, return_num=True)
        self.assertEqual(num, count)
        numpy.testing.assert_array_equal(labels, want)

    @given(st.data())
    def test_label_with_several_thresholds_equals_calls_with_one_threshold(self, data):
        image = data.draw(pictures(kinds=("uint8", "int16", "float32", "float64"), values=6))
        thresholds = data.draw(st.lists(st.sampled_from([*map(float, numpy.unique(image)), 0.5]), min_size=1,
                                        max_size=5))
        labels, nums = gst_regions.label(image, threshold=thresholds, return_num=True)
        self.assertEqual(labels.shape, (len(thresholds), *image.shape))
        for layer, threshold, num in zip(labels, thresholds, nums):
            want, count = gst_regions.label(image, threshold=threshold, return_num=True)
            self.assertEqual(num, count)
            numpy.testing.assert_array_equal(layer, want)

    def test_label_with_threshold_counts_nan_pixels_as_background(self):
        image = numpy.array([[numpy.nan, 1, numpy.nan, 2]], numpy.float32)
        numpy.testing.assert_array_equal(gst_regions.label(image, threshold=-numpy.inf), [[0, 1, 0, 2]])


class Batches(unittest.TestCase):
    @given(st.data())
    def test_label_of_a_batch_equals_calls_with_single_images(self, data):
        image = data.draw(pictures(least=3, most=4))
        if image.ndim == 2:
            image = image[:, None]
        threshold = data.draw(st.sampled_from([None, 1, [1, 2]]))
        labels, nums = gst_regions.label(image, threshold=threshold, batch=True, return_num=True)
        for one, found, num in zip(image, labels, nums):
            want, count = gst_regions.label(one, threshold=threshold, return_num=True)
            numpy.testing.assert_array_equal(found, want)
            numpy.testing.assert_array_equal(num, count)


class Small(unittest.TestCase):
    @given(st.data())
    def test_remove_small_objects_and_holes_equal_scikit_image(self, data):
        morphology = reference("skimage.morphology")
        image = data.draw(pictures(kinds=("bool",)))
        connectivity = data.draw(st.integers(1, image.ndim))
        size = data.draw(st.integers(0, 20))
        for ours, theirs in ((gst_regions.remove_small_objects, morphology.remove_small_objects),
                             (gst_regions.remove_small_holes, morphology.remove_small_holes)):
            want = theirs(image, max_size=size, connectivity=connectivity)
            found = ours(view_of(data.draw, image), size, connectivity)
            self.assertEqual(found.dtype, bool)
            numpy.testing.assert_array_equal(found.view(numpy.uint8), want.view(numpy.uint8))


WHOLE = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64")
PICTURE = numpy.array([[1, 2, 9], [3, 9, 2], [9, 9, 9]], numpy.uint8)


def seeds(draw, image):
    return tuple(draw(st.integers(-side, side - 1)) for side in image.shape)


class Floods(unittest.TestCase):
    @given(st.data())
    def test_flood_from_any_seed_equals_scikit_image(self, data):
        morphology = reference("skimage.morphology")
        image = data.draw(pictures(kinds=(*WHOLE, "float32", "float64"), values=5))
        if image.dtype.kind == "f":
            image = numpy.nan_to_num(image, posinf=7, neginf=-7)
        seed = seeds(data.draw, image)
        connectivity = data.draw(st.sampled_from([None, *range(1, image.ndim + 1)]))
        tolerance = data.draw(st.sampled_from([None, 0, 1, 2, -1, 10**6]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = morphology.flood(image, seed, connectivity=connectivity, tolerance=tolerance)
        found = gst_regions.flood(view_of(data.draw, image), seed, connectivity=connectivity, tolerance=tolerance)
        self.assertEqual(found.dtype, bool)
        numpy.testing.assert_array_equal(found, want)

    @given(st.data())
    def test_flood_fill_from_any_seed_equals_scikit_image(self, data):
        morphology = reference("skimage.morphology")
        image = data.draw(pictures(kinds=("uint8", "int32", "float32")))
        seed = seeds(data.draw, image)
        tolerance = data.draw(st.sampled_from([None, 1]))
        want = morphology.flood_fill(image, seed, 77, tolerance=tolerance)
        seen = view_of(data.draw, image)
        numpy.testing.assert_array_equal(gst_regions.flood_fill(seen, seed, 77, tolerance=tolerance), want)
        numpy.testing.assert_array_equal(seen, image)
        self.assertIs(gst_regions.flood_fill(seen, seed, 77, tolerance=tolerance, in_place=True), seen)
        numpy.testing.assert_array_equal(seen, want)

    def test_flood_with_a_tolerance_on_large_integers_is_exact(self):
        great = numpy.array([[2**53, 2**53 + 1, 2**53 + 2, 2**63 - 1]], numpy.int64)
        self.assertEqual(gst_regions.flood(great, (0, 0), tolerance=1).tolist(), [[True, True, False, False]])
        self.assertEqual(gst_regions.flood(great, (0, 0), tolerance=1.9).tolist(), [[True, True, False, False]])
        self.assertEqual(gst_regions.flood(great, (0, 0), tolerance=float("inf")).tolist(), [[True] * 4])
        self.assertEqual(gst_regions.flood(PICTURE, (0, 0), tolerance=2).tolist(),
                         [[True, True, False], [True, False, True], [False] * 3])

    def test_flood_with_invalid_argument_raises_an_error_that_names_it(self):
        for error, words, arguments, named in (
                (ValueError, r"seed_point is \(3, 0\)", (PICTURE, (3, 0)), {}),
                (ValueError, "must be a point inside the image of shape", (PICTURE, (0, 0, 0)), {}),
                (ValueError, "must be a point inside", (PICTURE, (0, -4)), {}),
                (TypeError, "float", (PICTURE, (0.5, 0)), {}),
                (TypeError, "iterable", (PICTURE, 3), {}),
                (ValueError, "tolerance is NaN", (PICTURE, (0, 0)), {"tolerance": float("nan")}),
                (ValueError, r"image is NaN at seed_point \(0, 0\)", (PICTURE * numpy.nan, (0, 0)), {}),
                (ValueError, "connectivity is 3", (PICTURE, (0, 0)), {"connectivity": 3}),
                (ValueError, "no elements", (PICTURE[:0], (0, 0)), {}),
                (TypeError, "float16", (PICTURE.astype(numpy.float16), (0, 0)), {})):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                gst_regions.flood(*arguments, **named)
        with self.assertRaisesRegex(ValueError, "new_value is 256, must be 0 to 255 for elements of type uint8"):
            gst_regions.flood_fill(PICTURE, (0, 0), 256)
        with self.assertRaisesRegex(TypeError, "float"):
            gst_regions.flood_fill(PICTURE, (0, 0), 0.5)
        fixed = PICTURE.copy()
        fixed.flags.writeable = False
        with self.assertRaisesRegex(ValueError, "read-only"):
            gst_regions.flood_fill(fixed, (0, 0), 5, in_place=True)


class Holes(unittest.TestCase):
    @given(st.data())
    def test_fill_holes_of_a_random_mask_equals_scipy(self, data):
        ndimage = reference("scipy.ndimage")
        image = data.draw(pictures(kinds=("bool",)))
        if data.draw(st.booleans()):  # with equal shares, few background pixels are enclosed
            image |= numpy.random.default_rng(data.draw(st.integers(0, 99))).random(image.shape) < 0.6
        connectivity = data.draw(st.integers(1, image.ndim))
        want = ndimage.binary_fill_holes(image, ndimage.generate_binary_structure(image.ndim, connectivity))
        found = gst_regions.fill_holes(view_of(data.draw, image), connectivity,
                                       threads=data.draw(st.sampled_from([0, 1, 2])))
        self.assertEqual(found.dtype, bool)
        numpy.testing.assert_array_equal(found.view(numpy.uint8), want.view(numpy.uint8))

    def test_fill_holes_of_a_hollow_volume_fills_it_only_if_closed(self):
        hollow = numpy.ones((5, 6, 7), bool)
        hollow[1:-1, 1:-1, 1:-1] = False
        self.assertTrue(gst_regions.fill_holes(hollow).all())
        hollow[0, 2, 3] = False
        numpy.testing.assert_array_equal(gst_regions.fill_holes(hollow), hollow)

    def test_fill_holes_with_invalid_argument_raises_an_error_that_names_it(self):
        with self.assertRaisesRegex(TypeError, "ar has elements of type uint8"):
            gst_regions.fill_holes(PICTURE)
        mask = PICTURE > 2
        with self.assertRaisesRegex(ValueError, "shares memory with ar"):
            gst_regions.fill_holes(mask, out=mask)
        with self.assertRaisesRegex(ValueError, "connectivity is 3"):
            gst_regions.fill_holes(mask, 3)
        out = numpy.zeros_like(mask)
        self.assertIs(gst_regions.fill_holes(mask, out=out), out)
        numpy.testing.assert_array_equal(out, gst_regions.fill_holes(mask))


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
    def test_regionprops_table_equals_scikit_image(self, data):
        measure = reference("skimage.measure")
        labels = data.draw(pictures(kinds=("uint8", "int32", "uint64"), values=5))
        labels = numpy.minimum(labels, 50).astype(labels.dtype) if data.draw(st.booleans()) else labels
        labels = numpy.clip(labels, 0, 2**31 - 1).astype(labels.dtype)
        kind = data.draw(st.sampled_from(["uint8", "int16", "float64"]))
        choose = numpy.random.default_rng(data.draw(st.integers(0, 99)))
        channels = data.draw(st.sampled_from([(), (3,)]))
        intensity = choose.integers(0, 100, labels.shape + channels).astype(kind)
        compacted = labels
        if labels.max(initial=0) > 10**6:  # scikit-image makes a list as long as the greatest label
            values, compacted = numpy.unique(labels, return_inverse=True)
            compacted = compacted.reshape(labels.shape) + int(values[0] != 0)
        want = measure.regionprops_table(compacted.astype(numpy.int64), intensity, PROPERTIES)
        want["label"] = numpy.unique(labels[labels != 0])
        expect_equal(self, gst_regions.regionprops_table(view_of(data.draw, labels), view_of(data.draw, intensity)), want)

    @given(st.data())
    def test_label_table_areas_boxes_and_means_equal_those_of_the_labels(self, data):
        image = data.draw(pictures(kinds=("bool", "uint8", "float32")))
        image = numpy.clip(image, -1e6, 1e6).astype(image.dtype)  # or sums of squares in the reference overflow
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

    def test_label_table_with_an_intensity_image_has_its_means(self):
        mask = numpy.array([[1, 1, 0, 1]], bool)
        _, table = gst_regions.label(mask, return_table=True, intensity_image=numpy.array([[2, 4, 9, 5]]))
        numpy.testing.assert_array_equal(table["intensity_mean"], [3, 5])

    def test_regionprops_table_of_large_labels_keeps_them(self):
        labels = numpy.array([[2**62, 7], [7, 2**40]])
        table = gst_regions.regionprops_table(labels, numpy.array([[1, 2], [4, 8]]))
        numpy.testing.assert_array_equal(table["label"], [7, 2**40, 2**62])
        numpy.testing.assert_array_equal(table["area"], [2, 1, 1])
        numpy.testing.assert_array_equal(table["intensity_mean"], [3, 8, 1])

    def test_regionprops_table_without_regions_is_empty(self):
        table = gst_regions.regionprops_table(numpy.zeros((3, 4), numpy.int32), numpy.ones((3, 4)))
        self.assertEqual((len(table), table.dtype.names[:2]), (0, ("label", "area")))


if __name__ == "__main__":
    unittest.main(verbosity=2)
