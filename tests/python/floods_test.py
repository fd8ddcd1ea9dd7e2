#!/usr/bin/env python3
"""flood, flood_fill and fill_holes against scikit-image and SciPy."""

import unittest
import warnings

import gst_regions
import numpy
from hypothesis import given
from hypothesis import strategies as st
from judges import as_seen, judge, pictures

WHOLE = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64")
PICTURE = numpy.array([[1, 2, 9], [3, 9, 2], [9, 9, 9]], numpy.uint8)


def seeds(draw, image):
    return tuple(draw(st.integers(-side, side - 1)) for side in image.shape)


class Floods(unittest.TestCase):
    @given(st.data())
    def test_as_scikit_image(self, data):
        morphology = judge("skimage.morphology")
        image = data.draw(pictures(kinds=(*WHOLE, "float32", "float64"), values=5))
        if image.dtype.kind == "f":
            image = numpy.nan_to_num(image, posinf=7, neginf=-7)
        seed = seeds(data.draw, image)
        connectivity = data.draw(st.sampled_from([None, *range(1, image.ndim + 1)]))
        tolerance = data.draw(st.sampled_from([None, 0, 1, 2, -1, 10**6]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            want = morphology.flood(image, seed, connectivity=connectivity, tolerance=tolerance)
        found = gst_regions.flood(as_seen(data.draw, image), seed, connectivity=connectivity, tolerance=tolerance)
        self.assertEqual(found.dtype, bool)
        numpy.testing.assert_array_equal(found, want)

    @given(st.data())
    def test_fill_as_scikit_image(self, data):
        morphology = judge("skimage.morphology")
        image = data.draw(pictures(kinds=("uint8", "int32", "float32")))
        seed = seeds(data.draw, image)
        tolerance = data.draw(st.sampled_from([None, 1]))
        want = morphology.flood_fill(image, seed, 77, tolerance=tolerance)
        seen = as_seen(data.draw, image)
        numpy.testing.assert_array_equal(gst_regions.flood_fill(seen, seed, 77, tolerance=tolerance), want)
        numpy.testing.assert_array_equal(seen, image)
        self.assertIs(gst_regions.flood_fill(seen, seed, 77, tolerance=tolerance, in_place=True), seen)
        numpy.testing.assert_array_equal(seen, want)

    def test_tolerance_is_exact(self):
        great = numpy.array([[2**53, 2**53 + 1, 2**53 + 2, 2**63 - 1]], numpy.int64)
        self.assertEqual(gst_regions.flood(great, (0, 0), tolerance=1).tolist(), [[True, True, False, False]])
        self.assertEqual(gst_regions.flood(great, (0, 0), tolerance=1.9).tolist(), [[True, True, False, False]])
        self.assertEqual(gst_regions.flood(great, (0, 0), tolerance=float("inf")).tolist(), [[True] * 4])
        self.assertEqual(gst_regions.flood(PICTURE, (0, 0), tolerance=2).tolist(),
                         [[True, True, False], [True, False, True], [False] * 3])

    def test_refusals(self):
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
    def test_as_scipy(self, data):
        ndimage = judge("scipy.ndimage")
        image = data.draw(pictures(kinds=("bool",)))
        if data.draw(st.booleans()):  # few pixels of background are enclosed among half of each
            image |= numpy.random.default_rng(data.draw(st.integers(0, 99))).random(image.shape) < 0.6
        connectivity = data.draw(st.integers(1, image.ndim))
        want = ndimage.binary_fill_holes(image, ndimage.generate_binary_structure(image.ndim, connectivity))
        found = gst_regions.fill_holes(as_seen(data.draw, image), connectivity,
                                       threads=data.draw(st.sampled_from([0, 1, 2])))
        self.assertEqual(found.dtype, bool)
        numpy.testing.assert_array_equal(found.view(numpy.uint8), want.view(numpy.uint8))

    def test_hollow_volumes(self):
        hollow = numpy.ones((5, 6, 7), bool)
        hollow[1:-1, 1:-1, 1:-1] = False
        self.assertTrue(gst_regions.fill_holes(hollow).all())
        hollow[0, 2, 3] = False
        numpy.testing.assert_array_equal(gst_regions.fill_holes(hollow), hollow)

    def test_refusals(self):
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
