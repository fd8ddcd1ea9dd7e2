#!/usr/bin/env python3
"""Arrays and arguments of everyday programs: results equal the results for a plain NumPy array, or an error
names the problem."""

import pathlib
import subprocess
import sys
import tempfile
import unittest
import warnings

import gst_regions
import numpy
from references import reference

CHOOSE = numpy.random.default_rng(43)
MASK = CHOOSE.random((12, 17)) < 0.4
IMAGE = MASK.astype(numpy.uint8) * numpy.uint8(3)
LABELS = gst_regions.label(IMAGE)
FUNCTIONS = {
    "label": gst_regions.label, "threshold": lambda image: gst_regions.label(image, threshold=1),
    "remove_small_objects": lambda image: gst_regions.remove_small_objects(image, max_size=2),
    "fill_holes": gst_regions.fill_holes, "dust": lambda image: gst_regions.dust(image, 3),
    "flood": lambda image: gst_regions.flood(image, (0, 0)), "fill": lambda image: gst_regions.flood_fill(image, (0, 0), 1),
    "table": lambda image: gst_regions.regionprops_table(image)["area"], "slic": lambda image: gst_regions.slic(image, 5),
    "tracker": lambda image: gst_regions.Tracker(threshold=0.002).apply(image)[0],
    "background": lambda image: gst_regions.BackgroundCut().apply(image)}


class Containers(unittest.TestCase):
    def expect_equal(self, image, plain=IMAGE, functions=tuple(FUNCTIONS)):
        """The functions give the same results for `image` and for the NumPy array `plain`."""
        for name in functions:
            with self.subTest(name, container=type(image).__name__), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                want, found = FUNCTIONS[name](plain), FUNCTIONS[name](image)
                self.assertEqual(found.dtype.newbyteorder("="), want.dtype.newbyteorder("="))
                numpy.testing.assert_array_equal(found, want)

    def test_views_of_numpy_arrays_equal_a_copy(self):
        wide = numpy.zeros((24, 51), numpy.uint8)
        wide[::2, ::3] = IMAGE
        read_only = IMAGE.copy()
        read_only.flags.writeable = False
        for view in (wide[::2, ::3], IMAGE[::-1].copy()[::-1], IMAGE[:, ::-1].copy()[:, ::-1], numpy.asfortranarray(IMAGE),
                     read_only, numpy.frombuffer(b"x" + IMAGE.tobytes(), numpy.uint8, offset=1).reshape(IMAGE.shape),
                     IMAGE.view(type("Subclass", (numpy.ndarray,), {})), numpy.rec.array(IMAGE), memoryview(IMAGE)):
            self.expect_equal(view)
        rows = numpy.broadcast_to(IMAGE[0], IMAGE.shape)
        self.expect_equal(rows, rows.copy())
        windows = numpy.lib.stride_tricks.sliding_window_view(IMAGE[0], 5)
        self.expect_equal(windows, windows.copy())

    def test_matrix_and_mapped_file_equal_an_array(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.expect_equal(numpy.asmatrix(IMAGE))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "image")
            IMAGE.tofile(path)
            for mode in ("r", "c", "r+"):
                self.expect_equal(numpy.memmap(path, numpy.uint8, mode, shape=IMAGE.shape))
            mapped = numpy.memmap(path, numpy.uint8, "r+", shape=IMAGE.shape)
            self.assertIs(gst_regions.flood_fill(mapped, (0, 0), 9, in_place=True), mapped)
            mapped.flush()
            self.assertEqual(numpy.fromfile(path, numpy.uint8)[0], 9)
            with self.assertRaisesRegex(ValueError, "read-only"):
                gst_regions.flood_fill(numpy.memmap(path, numpy.uint8, "r", shape=IMAGE.shape), (0, 0), 9, in_place=True)

    def test_unaligned_and_swapped_elements_equal_native_ones(self):
        functions = [name for name in FUNCTIONS if name not in ("tracker", "background")]
        for kind in ("i2", "u4", "i8"):
            native = IMAGE.astype(kind)
            unaligned = numpy.frombuffer(b"x" + native.tobytes(), kind, offset=1).reshape(IMAGE.shape)
            for image in (unaligned, native.astype(">" + kind)):
                self.expect_equal(image, image.astype(kind), functions)

    def test_lists_and_pictures_of_pillow_equal_an_array(self):
        self.expect_equal(IMAGE.tolist(), IMAGE.astype(int), [name for name in FUNCTIONS if name not in ("tracker", "background")])
        pillow = reference("PIL.Image")
        self.expect_equal(pillow.fromarray(IMAGE))
        self.expect_equal(pillow.fromarray(MASK), MASK, ("label", "fill_holes", "flood"))

    def test_frames_of_pandas_and_polars_equal_an_array(self):
        for name in ("pandas", "polars"):
            with self.subTest(name):
                self.expect_equal(reference(name).DataFrame(IMAGE))

    def test_chunked_and_named_arrays_equal_an_array(self):
        for name, make in (("zarr", lambda zarr: zarr.array(IMAGE)), ("xarray", lambda xarray: xarray.DataArray(IMAGE)),
                           ("dask.array", lambda dask: dask.from_array(IMAGE, chunks=5))):
            with self.subTest(name):
                self.expect_equal(make(reference(name)))

    def test_masked_array_gives_a_warning(self):
        masked = numpy.ma.masked_array(IMAGE, mask=MASK)
        for name, function in FUNCTIONS.items():
            with self.subTest(name), self.assertWarnsRegex(UserWarning, "is a masked array, and its mask is ignored"):
                function(masked)

    def test_values_that_are_no_arrays_are_refused(self):
        for words, value in (("image is a NoneType, must be an array", None), ("image is a dict", {1: 2}),
                             ("image is a set", {1}), ("elements of type <U3", "abc"), ("type object", IMAGE.astype(object)),
                             ("type float16", IMAGE.astype(numpy.float16)), ("type complex128", IMAGE * 1j),
                             ("type datetime64", IMAGE.astype("M8[s]")), ("type", numpy.zeros(3, [("a", int)]))):
            with self.subTest(words), self.assertRaisesRegex(TypeError, words):
                gst_regions.label(value)
        with self.assertRaisesRegex(TypeError, "image is a csr_array, must be an array; convert it first"):
            gst_regions.label(reference("scipy.sparse").csr_array(IMAGE))


class Arguments(unittest.TestCase):
    def test_numbers_of_other_types_are_accepted(self):
        one, two = numpy.array(1), numpy.int64(2)
        for how, same in (({"connectivity": one}, {"connectivity": 1}), ({"connectivity": two}, {"connectivity": 2}),
                          ({"background": numpy.array(3)}, {"background": 3}), ({"background": 3.0}, {"background": 3}),
                          ({"background": numpy.uint8(3)}, {"background": 3}), ({"background": numpy.float32(0)}, {}),
                          ({"threads": two}, {}), ({"delta": numpy.float64(2)}, {"delta": 2}), ({"delta": one}, {"delta": 1})):
            numpy.testing.assert_array_equal(gst_regions.label(IMAGE, **how), gst_regions.label(IMAGE, **same))
        remove = gst_regions.remove_small_objects
        for size in (2.0, 2.9, numpy.float32(2.5), numpy.array(2)):
            numpy.testing.assert_array_equal(remove(MASK, max_size=size), remove(MASK, max_size=2))
        self.assertFalse(remove(MASK, max_size=numpy.inf).any())
        with self.assertWarns(FutureWarning):
            numpy.testing.assert_array_equal(remove(MASK, min_size=2.5), remove(MASK, max_size=2))
        numpy.testing.assert_array_equal(gst_regions.slic(IMAGE, 5.9), gst_regions.slic(IMAGE, 5))
        numpy.testing.assert_array_equal(gst_regions.flood(IMAGE, numpy.array([0, 0]), tolerance=numpy.array(3)),
                                         gst_regions.flood(IMAGE, (0, 0), tolerance=3))

    def test_wrong_arguments_error_names_them(self):
        label, flood, dust, remove = gst_regions.label, gst_regions.flood, gst_regions.dust, gst_regions.remove_small_objects
        for error, words, call in (
                (TypeError, r"connectivity is \[1\], must be an int", lambda: label(IMAGE, connectivity=[1])),
                (TypeError, "connectivity is '1', must be an int", lambda: label(IMAGE, connectivity="1")),
                (TypeError, r"background is \[0\], must be a number", lambda: label(IMAGE, background=[0])),
                (TypeError, "background is 1j, must be a number", lambda: label(IMAGE, background=1j)),
                (TypeError, "threads is 1.5, must be an int", lambda: label(IMAGE, threads=1.5)),
                (TypeError, "largest_k is 2.0, must be an int", lambda: label(IMAGE, largest_k=2.0)),
                (TypeError, "delta is 'a', must be a number", lambda: label(IMAGE, delta="a")),
                (TypeError, "tolerance is '1', must be a number", lambda: flood(IMAGE, (0, 0), tolerance="1")),
                (TypeError, "seed_point is 0.0, must be an int", lambda: flood(IMAGE, (0.0, 0))),
                (TypeError, "seed_point is None, must be a sequence of 2 ints", lambda: flood(IMAGE, None)),
                (TypeError, "seed_point is 5, must be a sequence of 2 ints", lambda: flood(IMAGE, 5)),
                (TypeError, "seed_point is None, must be an int", lambda: flood(IMAGE[0], None)),
                (TypeError, "max_size is '3', must be a number", lambda: remove(MASK, max_size="3")),
                (ValueError, "max_size is nan, must be at least 0", lambda: remove(MASK, max_size=numpy.nan)),
                (TypeError, "threshold is None, must be a number", lambda: dust(IMAGE, None)),
                (ValueError, "threshold is NaN, must be a number", lambda: dust(IMAGE, numpy.nan)),
                (TypeError, "n_segments is 'a', must be a number", lambda: gst_regions.slic(IMAGE, "a")),
                (ValueError, "n_segments is nan, must be at least 1", lambda: gst_regions.slic(IMAGE, numpy.nan)),
                (TypeError, "properties is 'area', must be a sequence of names",
                 lambda: gst_regions.regionprops_table(LABELS, properties="area")),
                (TypeError, r"properties is \[1\]", lambda: gst_regions.regionprops_table(LABELS, properties=[1]))):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                call()


class Interpreters(unittest.TestCase):
    def run_with(self, *options):
        code = ("import gst_regions, numpy; image = numpy.eye(3, dtype=bool); "
                "print(gst_regions.label(image).max(), gst_regions.Tracker(), gst_regions.slic(image * 9, 1).max())")
        return subprocess.run([sys.executable, *options, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    def test_interpreter_options_change_nothing(self):
        for options in ((), ("-O",), ("-OO",), ("-B", "-X", "dev"), ("-W", "error")):
            with self.subTest(options):
                run = self.run_with(*options)
                self.assertEqual((run.stdout, run.stderr), ("1 Tracker() 1\n", ""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
