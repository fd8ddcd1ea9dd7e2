#!/usr/bin/env python3
"""Invalid arguments: types, shapes, values and parameters outside their range, and their error messages."""

import unittest

import gst_regions
import numpy

BOOLS = numpy.eye(4, dtype=bool)
BYTES = numpy.arange(16, dtype=numpy.uint8).reshape(4, 4)
COLOURS = numpy.zeros((4, 5, 3), numpy.uint8)
WHOLE = numpy.ones((4, 4), numpy.int32)
NAN = numpy.array([[1, numpy.nan]], numpy.float32)


class Arguments(unittest.TestCase):
    def expect(self, error, words, function, *arguments, **named):
        with self.subTest(words):
            with self.assertRaises(error) as caught:
                function(*arguments, **named)
            self.assertRegex(str(caught.exception), words)

    def test_functions_with_wrong_argument_type_raise_an_error_that_names_it(self):
        label = gst_regions.label
        self.expect(TypeError, "image has elements of type complex128", label, BYTES * 1j)
        self.expect(TypeError, "image has elements of type float16", label, BYTES.astype(numpy.float16))
        self.expect(TypeError, "image has elements of type float128", label, BYTES.astype(numpy.longdouble))
        self.expect(TypeError, "image has elements of type <U1", label, "x")
        self.expect(TypeError, "image has elements of type object", label, [[None]])
        self.expect(TypeError, "ar has elements of type float64", gst_regions.remove_small_objects, BYTES * 1.0)
        self.expect(TypeError, "ar has elements of type float64", gst_regions.remove_small_holes, BYTES * 1.0)
        self.expect(TypeError, "image has elements of type complex128", gst_regions.slic, COLOURS * 1j)
        self.expect(TypeError, "label_image has elements of type float64", gst_regions.regionprops_table, BYTES * 1.0)
        self.expect(TypeError, "right has elements of type complex128", gst_regions.mincut, WHOLE, 0.5j, 1)
        self.expect(TypeError, "terminal has elements of type bool", gst_regions.mincut, BOOLS, 1, 1)

    def test_functions_with_wrong_argument_shape_raise_an_error_that_names_it(self):
        label = gst_regions.label
        self.expect(ValueError, "image has 0 axes, must have at least 2", label, BYTES[0, 0], batch=True)
        self.expect(ValueError, "image has 1 axes, must have at least 2", label, BYTES[0], batch=True)
        self.expect(ValueError, "65536 elements", gst_regions.slic, numpy.zeros((65536, 1), numpy.uint8))
        self.expect(ValueError, "65536 elements", gst_regions.mincut, numpy.zeros((65536, 1), numpy.int32), 1, 1)
        # The size is checked before any memory is accessed.
        large = numpy.zeros((50000, 43000), bool)
        self.expect(ValueError, "2150000000 elements, must have at most 2147483647", label, large)
        self.expect(ValueError, "2150000000 elements, must have at most 2147483647", label, large[None],
                    connectivity=1)
        self.expect(ValueError, "2150000000 elements, must have at most 2147483647",
                    gst_regions.remove_small_objects, large)
        self.expect(ValueError, "image has 2 channels, must have 3", gst_regions.slic, COLOURS[..., :2], convert2lab=True)
        self.expect(ValueError, "image has no channels, must have 3", gst_regions.slic, BYTES * 1.0, convert2lab=True)
        self.expect(ValueError, "image has 1 axes", gst_regions.slic, BYTES[0])
        self.expect(ValueError, "image has 4 axes", gst_regions.slic, COLOURS[None], channel_axis=None)
        self.expect(ValueError, r"mask has shape \(4, 4\), must have \(4, 5\)", gst_regions.slic, COLOURS, mask=BOOLS)
        self.expect(ValueError, "sigma has shape", gst_regions.slic, COLOURS, sigma=(1,))
        self.expect(ValueError, "spacing has shape", gst_regions.slic, COLOURS, spacing=(1, 2, 3, 4))
        self.expect(ValueError, "has no elements", gst_regions.slic, COLOURS[:0])
        self.expect(ValueError, "intensity_image has shape", gst_regions.regionprops_table, WHOLE, WHOLE[1:])
        self.expect(ValueError, "intensity_image has shape", label, BOOLS, return_table=True, intensity_image=WHOLE.T[1:])
        self.expect(ValueError, "down has shape", gst_regions.mincut, WHOLE, 1, WHOLE[1:])
        self.expect(ValueError, "terminal has 3 axes", gst_regions.mincut, WHOLE[None], 1, 1)

    def test_functions_with_invalid_argument_value_raise_an_error_that_names_it(self):
        label = gst_regions.label
        self.expect(ValueError, "NaN at row 0, column 1", label, NAN)
        self.expect(ValueError, "NaN at row 0, column 1", label, NAN.astype(numpy.float64))
        self.expect(ValueError, "threshold is NaN", label, BYTES, threshold=float("nan"))
        self.expect(TypeError, "threshold contains 'x', must contain numbers", label, BYTES, threshold=["x"])
        self.expect(ValueError, "delta is -1, must be at least 0", label, BYTES, delta=-1)
        self.expect(ValueError, "delta is nan, must be at least 0", label, BYTES, delta=float("nan"))
        self.expect(ValueError, "delta and threshold cannot be combined", label, BYTES, delta=1, threshold=1)
        self.expect(ValueError, "delta and periodic cannot be combined", label, BYTES, delta=1, periodic=True)
        self.expect(ValueError, "largest_k is 0, must be at least 1", label, BYTES, largest_k=0)
        self.expect(ValueError, "largest_k cannot be combined with batch", label, BYTES, largest_k=1, batch=True)
        self.expect(TypeError, "connectivity is 1.0, must be an int", label, BYTES, connectivity=1.0)
        label(BYTES, connectivity=1)
        self.expect(TypeError, "connectivity is 1.0, must be an int", label, BYTES, connectivity=1.0)
        self.expect(ValueError, "threshold is NaN", label, BYTES, threshold=[1, float("nan")])
        self.expect(ValueError, r"threshold has shape \(0,\), must be a number or a list", label, BYTES, threshold=[])
        self.expect(ValueError, r"threshold has shape \(1, 1\), must be a number", label, BYTES, threshold=[[1]])
        self.expect(ValueError, "up to 128 numbers, not 129", label, BYTES, threshold=list(range(129)))
        self.expect(ValueError, "background is NaN", label, NAN, background=float("nan"))
        self.expect(ValueError, "the negative label -1, must have labels of at least 0",
                    gst_regions.regionprops_table, -WHOLE)
        self.expect(ValueError, "capacity between pixels is negative", gst_regions.mincut, WHOLE, -1, 1)
        self.expect(ValueError, "right has capacities from 2147483648 to 2147483648, must fit in int32",
                    gst_regions.mincut, WHOLE, 2**31, 1)
        self.expect(ValueError, "terminal has capacities from .* int32", gst_regions.mincut, WHOLE.astype(int) * 2**40, 1, 1)
        self.expect(ValueError, "terminal has capacities from .* int32", gst_regions.mincut, WHOLE.astype(int) * -2**40, 1, 1)

    def test_functions_with_parameters_out_of_range_raise_an_error_that_names_them(self):
        label, slic = gst_regions.label, gst_regions.slic
        self.expect(ValueError, "connectivity is 3, must be 1 to 2", label, BYTES, connectivity=3)
        self.expect(ValueError, "connectivity is 0, must be 1 to 3", label, BYTES[None], connectivity=0)
        self.expect(ValueError, "background and threshold cannot be combined", label, BYTES, 0, threshold=3)
        self.expect(ValueError, "return_table cannot be combined", label, BYTES, threshold=[3], return_table=True)
        self.expect(ValueError, "return_table cannot be combined", label, BYTES[None], batch=True, return_table=True)
        self.expect(ValueError, "threads is -1", label, BYTES, threads=-1)
        self.expect(ValueError, "max_size is -1", gst_regions.remove_small_objects, BOOLS, -1)
        self.expect(TypeError, "max_size is 'x', must be a number", gst_regions.remove_small_objects, BOOLS, "x")
        self.assertFalse(gst_regions.remove_small_objects(BOOLS, 2**40).any())
        self.expect(TypeError, "threads is 1.5, must be an int", label, BYTES, threads=1.5)
        label(BYTES, threads=10**10)
        self.expect(ValueError, "n_segments is 0", slic, COLOURS, 0)
        self.expect(ValueError, "start_label is 2, must be 0 or 1", slic, COLOURS, start_label=2)
        self.expect(ValueError, "compactness is 0, must be above 0", slic, COLOURS * 1.0, compactness=0)
        self.expect(ValueError, "max_num_iter is -1, must be 0 to 100", slic, COLOURS * 1.0, max_num_iter=-1)
        self.expect(ValueError, "spacing is .*, must be above 0", slic, COLOURS, spacing=(0, 1))
        self.expect(ValueError, "mask is 0 everywhere", slic, COLOURS, mask=numpy.zeros((4, 5)))
        self.expect(ValueError, "image has NaN or infinite values", slic, COLOURS * numpy.nan)
        self.expect(ValueError, "n_segments", slic, COLOURS, 2**24 + 1)
        self.expect(ValueError, "compactness", slic, COLOURS, compactness=1001.0)
        self.expect(ValueError, "compactness", slic, COLOURS, compactness=float("nan"))
        self.expect(ValueError, "max_num_iter", slic, COLOURS, max_num_iter=101)
        self.expect(ValueError, "min_size_factor", slic, COLOURS, min_size_factor=1.5)
        self.expect(ValueError, "down_right is missing; pass both", gst_regions.mincut, WHOLE, 1, 1, down_left=1)

    def test_functions_with_unsuitable_out_array_raise_an_error_with_the_reason(self):
        label = gst_regions.label
        right = numpy.empty((4, 4), numpy.int32)
        self.expect(TypeError, "out has elements of type int64", label, BYTES, out=right.astype(int))
        self.expect(ValueError, r"out has shape \(4, 3\), must have \(4, 4\)", label, BYTES, out=right[:, 1:])
        self.expect(ValueError, "must be C-contiguous", label, BYTES, out=right.T)
        self.expect(ValueError, "must be C-contiguous", label, BYTES, out=right[::-1])
        right.flags.writeable = False
        self.expect(ValueError, "writeable", label, BYTES, out=right)
        self.expect(ValueError, "shares memory", label, WHOLE, out=WHOLE)
        self.expect(TypeError, "must have bool", gst_regions.mincut, WHOLE, 1, 1, out=WHOLE)
        numpy.testing.assert_array_equal(WHOLE, 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
