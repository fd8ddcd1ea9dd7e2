#!/usr/bin/env python3
"""Calls of label with arrays of a library of devices, without a device: what is asked of the library, what is kept from
call to call, and answers, which the CPU gives for the memory that the library tells of."""

import contextlib
import types
import unittest
from unittest import mock

import gst_regions
import numpy
from gst_regions import _device_arrays

HOST = -1  # as a device's number: the CPU


class Elsewhere:
    """An array whose elements the package cannot see."""

    def __init__(self, hidden):
        self.hidden = hidden
        self.shape, self.dtype = hidden.shape, hidden.dtype

    def __ge__(self, value):
        return Elsewhere(self.hidden >= value)

    def __eq__(self, other):
        return Elsewhere(self.hidden == other.hidden)

    def __ne__(self, other):
        return Elsewhere(self.hidden != other.hidden)

    def __invert__(self):
        return Elsewhere(~self.hidden)


class FakeLibrary(_device_arrays.Library):
    def __init__(self):
        super().__init__(types.SimpleNamespace(
            stack=lambda arrays, axis: Elsewhere(numpy.stack([array.hidden for array in arrays], axis))))
        self.made, self.copied, self.on_streams = [], 0, []

    def device_of(self, array):
        return HOST

    def is_packed(self, array):
        return array.hidden.flags.c_contiguous

    def strides(self, array):
        return tuple(stride // array.hidden.itemsize for stride in array.hidden.strides)

    def address(self, array):
        return array.hidden.ctypes.data

    def stream(self, device):
        return self.on_streams[-1] if self.on_streams else 0

    @contextlib.contextmanager
    def on(self, stream, device):
        self.on_streams.append(stream)
        yield

    def packed(self, array):
        self.copied += 1
        return Elsewhere(numpy.ascontiguousarray(array.hidden))

    def empty(self, shape, dtype, like):
        self.made.append(shape)
        return Elsewhere(numpy.full(shape, -7, dtype))


def noise(shape, seed=1):
    return numpy.random.default_rng(seed).random(shape) < 0.5


def levels(shape, most, dtype=numpy.uint8):
    return numpy.random.default_rng(2).integers(0, most, shape).astype(dtype)


class Calls(unittest.TestCase):
    def setUp(self):
        self.library = FakeLibrary()
        patch = mock.patch.object(_device_arrays, "_library_of", lambda kind: self.library if kind is Elsewhere else None)
        patch.start()
        self.addCleanup(patch.stop)

    def check(self, image, **how):
        """Twice: the second call finds what the first one worked out."""
        want = gst_regions.label(image, return_num=True, **how)
        for _ in range(2):
            labels, count = gst_regions.label(Elsewhere(image), return_num=True, **how)
            numpy.testing.assert_array_equal(labels.hidden, want[0])
            numpy.testing.assert_array_equal(count, want[1])
            self.assertEqual(type(count), type(want[1]))
            labels = gst_regions.label(Elsewhere(image), **how)
            self.assertIsInstance(labels, Elsewhere)
            numpy.testing.assert_array_equal(labels.hidden, want[0])

    def test_pictures_and_volumes(self):
        for shape in ((30, 41), (5, 20, 33), (1, 9, 8), (7, 1)):
            for connectivity in range(1, len(shape) + 1):
                self.check(noise(shape), connectivity=connectivity)
        self.check(noise((30, 40)), background=True)
        self.check(noise((30, 40)), background=2)

    def test_thresholds_and_batches(self):
        for dtype in (numpy.uint8, numpy.uint16, numpy.int16, numpy.float32):
            image = levels((4, 20, 31), 120, dtype)
            for threshold in (40, 40.5, [20, 60, 100.5], [-1, 1e9], float("inf")):
                self.check(image[0], threshold=threshold)
                self.check(image, threshold=threshold)
                self.check(image, threshold=threshold, batch=True)
        self.check(noise((3, 4, 10, 12)), batch=True)

    def test_calls_that_differ_in_one_argument(self):
        image = levels((20, 31), 200)
        for how in ({"threshold": 1}, {"threshold": 2}, {"threshold": [2]}, {"threshold": 2, "connectivity": 1},
                    {"threshold": 1}):
            self.check(image, **how)
            self.check(image[:, 1:].copy(), **how)
            self.check(image.astype(numpy.uint16), **how)

    def test_views_are_read_where_they_lie(self):
        wide = noise((3, 40, 60))
        for view in (wide[0, 3:30, 5:41], wide[0, ::2], wide[1:]):
            self.check(view)
        self.check(wide[:, 3:30, 5:41], batch=True)
        self.assertEqual(self.library.copied, 0)
        self.check(wide[0].T)
        self.check(wide[:, 3:30, 5:41])  # slices with a gap between them
        self.assertEqual(self.library.copied, 8)

    def test_what_a_call_makes(self):
        gst_regions.label(Elsewhere(noise((20, 30))))
        self.assertEqual(self.library.made, [(20, 30)])
        gst_regions.label(Elsewhere(levels((2, 20, 30), 99)), threshold=[1, 2, 3], batch=True)
        self.assertEqual(self.library.made[1:], [(2, 3, 20, 30)])

    def test_out_lies_apart(self):
        memory = numpy.zeros(4 * 800, numpy.uint8)
        out = Elsewhere(memory[400:2000].view(numpy.int32).reshape(20, 20))
        image = numpy.random.default_rng(3).random((20, 20)) < 0.5
        want = gst_regions.label(image)
        for first, step, apart in ((0, 1, True), (1, 1, False), (1999, 1, False), (2000, 1, True), (399, -1, True),
                                   (400, -1, False), (2399, -1, True), (2398, -1, False)):
            flat = memory[first:first + 400] if step > 0 else memory[first::-1][:400]
            there = flat.reshape(20, 20).view(bool)
            there[...] = image
            with self.subTest(first=first, step=step):
                if apart:
                    self.assertIs(gst_regions.label(Elsewhere(there), out=out), out)
                    numpy.testing.assert_array_equal(out.hidden, want)
                else:
                    with self.assertRaisesRegex(ValueError, "out shares memory with image"):
                        gst_regions.label(Elsewhere(there), out=out)
        with self.assertRaisesRegex(ValueError, "is not C-contiguous"):
            gst_regions.label(Elsewhere(noise((20, 20))), out=Elsewhere(numpy.zeros((20, 40), numpy.int32)[:, ::2]))

    def test_streams(self):
        runs = []
        real = gst_regions._core.DeviceLabelling

        class Told(real):
            def run(self, images, strides, labels, stream):
                runs.append((stream, tuple(strides)))
                return real.run(self, images, strides, labels, stream)
        with mock.patch.object(gst_regions._core, "DeviceLabelling", Told):
            image = noise((21, 30))
            gst_regions.label(Elsewhere(image), stream=77)
            gst_regions.label(Elsewhere(image[:, 1:]), stream=mock.Mock(spec=["__cuda_stream__"],
                                                                        __cuda_stream__=lambda: (0, 78)))
        self.assertEqual(runs, [(77, ()), (78, (30, 1))])

    def test_refusals(self):
        for kind, words, image, how in (
                (ValueError, "axes", noise(4), {}), (ValueError, "no elements", noise((0, 4)), {}),
                (ValueError, "65536 elements", noise((1, 65536)), {}),
                # Memory that is never touched, and labels of which are never made.
                (ValueError, "must have at most 2147483647", numpy.zeros((50000, 43000), bool), {}),
                (ValueError, "threshold is NaN", levels((4, 4), 9), {"threshold": float("nan")}),
                (ValueError, "background and threshold", levels((4, 4), 9), {"threshold": 1, "background": 0}),
                (ValueError, "connectivity is 3", noise((4, 4)), {"connectivity": 3}),
                (ValueError, "return_table cannot be combined", noise((4, 4, 4)),
                 {"return_table": True, "batch": True}),
                (TypeError, "float32; without threshold, only bool", levels((4, 4), 9, numpy.float32), {}),
                (TypeError, "type float16", levels((4, 4), 9, numpy.float16), {"threshold": 1}),
                (TypeError, "stream is 'x'", noise((4, 4)), {"stream": "x"})):
            for _ in range(2):
                with self.subTest(words), self.assertRaisesRegex(kind, words):
                    gst_regions.label(Elsewhere(image), **how)


if __name__ == "__main__":
    unittest.main(verbosity=2)
