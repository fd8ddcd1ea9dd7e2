#!/usr/bin/env python3
"""Arrays on CUDA devices: the answers of the CPU, as arrays of the same library, and what is refused."""

import unittest

import gst_regions
import numpy
from device_libraries import LIBRARIES, levels, noise


def scene(index, shape=(120, 160)):
    """A frame of a video: a bright square that moves over noise."""
    frame = levels((*shape, 3), 24, seed=index) + numpy.uint8(90)
    frame[30:60, 10 + 4 * index:40 + 4 * index] = (200, 60, 30)
    return frame


@unittest.skipUnless(LIBRARIES, "no library of arrays sees a CUDA device")
class Answers(unittest.TestCase):
    def check(self, function, *arrays, **how):
        """That of arrays on the device is the CPU's, and is an array there of the same library."""
        want = function(*arrays, **how)
        for name, library in LIBRARIES.items():
            with self.subTest(name, function=function.__name__, shape=arrays[0].shape, **how):
                given = [library.to(array) if isinstance(array, numpy.ndarray) else array for array in arrays]
                got = function(*given, **how)
                several = isinstance(want, tuple)
                for one, wanted in zip(got if several else [got], want if several else [want], strict=True):
                    if type(one) is type(given[0]):
                        one = library.host(one)
                    else:
                        self.assertFalse(one is got, "an array of another kind")
                    numpy.testing.assert_array_equal(one, wanted)
                for array, before in zip(given, arrays, strict=True):
                    if isinstance(before, numpy.ndarray):
                        numpy.testing.assert_array_equal(library.host(array), before)

    def test_label_masks(self):
        for shape in ((1, 1), (1, 70), (65, 1), (33, 47), (480, 640), (9, 33, 47), (1, 20, 30)):
            for connectivity in range(1, len(shape) + 1):
                self.check(gst_regions.label, noise(shape), connectivity=connectivity)
                self.check(gst_regions.label, noise(shape, 0.3), connectivity=connectivity, return_num=True)
        self.check(gst_regions.label, noise((50, 60)), background=1)
        self.check(gst_regions.label, noise((50, 60)), background=-1, return_num=True)

    def test_label_equal_values(self):
        for dtype in (numpy.uint8, numpy.int8, numpy.uint16, numpy.int16):
            for background in (0, 2, -1, 70000):
                for shape in ((90, 70), (5, 30, 40)):
                    self.check(gst_regions.label, levels(shape, 4, dtype), background=background, return_num=True)
        self.check(gst_regions.label, numpy.zeros((40, 50), numpy.uint8), return_num=True)
        self.check(gst_regions.label, numpy.full((40, 50), 9, numpy.uint8), return_num=True)

    def test_thresholds(self):
        values = [-1.0, 0, 0.5, 1, 7, 7.5, 250, 255, 256, 1e9, float("inf"), float("-inf")]
        for dtype in (numpy.uint8, numpy.int8, numpy.uint16, numpy.int16, numpy.int32, numpy.float32, numpy.float64):
            image = levels((60, 70), 120, dtype)
            for value in values:
                self.check(gst_regions.label, image, threshold=value, return_num=True)
            self.check(gst_regions.label, image, threshold=values, return_num=True)
            self.check(gst_regions.label, image, threshold=[3, 90, 30], return_num=True)
        broken = numpy.where(noise((40, 50)), numpy.float32(numpy.nan), numpy.float32(2))
        self.check(gst_regions.label, broken, threshold=1)
        self.check(gst_regions.label, noise((40, 50)), threshold=[0.2, 1, 2])

    def test_batches(self):
        for how in ({}, {"threshold": 40}, {"threshold": [20, 60, 100.5]}):
            for dtype in (numpy.uint8, numpy.uint16, numpy.float32):
                if how or dtype != numpy.float32:
                    self.check(gst_regions.label, levels((3, 40, 50), 120, dtype), batch=True, return_num=True, **how)
        self.check(gst_regions.label, noise((4, 5, 20, 30)), batch=True, return_num=True)

    def test_tables(self):
        self.check(gst_regions.label, noise((60, 70)), return_table=True, return_num=True)
        self.check(gst_regions.label, levels((60, 70), 9), threshold=4, return_table=True)

    def test_masks(self):
        for shape in ((90, 80), (6, 30, 40), (1, 30, 40)):
            for connectivity in range(1, len(shape) + 1):
                for function in (gst_regions.remove_small_objects, gst_regions.remove_small_holes):
                    self.check(function, noise(shape, 0.4), 5, connectivity)
                if connectivity in (1, 2 if shape[0] == 1 else len(shape)):
                    self.check(gst_regions.fill_holes, noise(shape, 0.6), connectivity)

    def test_superpixels(self):
        smooth = numpy.add.outer(numpy.arange(90), numpy.arange(120))
        image = numpy.stack([smooth, smooth[::-1], smooth[:, ::-1]], -1).astype(numpy.uint8)
        self.check(gst_regions.slic, image, 60)
        self.check(gst_regions.slic, image[..., 0].copy(), 40, compactness=3.0, return_table=True)
        self.check(gst_regions.slic, image, 50, return_table=True, return_adjacency=True)

    def test_cuts(self):
        terminal = levels((40, 60), 41, numpy.int32) - 20
        links = [levels(terminal.shape, 12, numpy.int32, seed) for seed in range(4)]
        self.check(gst_regions.mincut, terminal, *links[:2])
        self.check(gst_regions.mincut, terminal, *links)
        for library in LIBRARIES.values():
            foreground, flow = gst_regions.mincut(library.to(terminal.astype(numpy.int16)), 7, 3)
            want, most = gst_regions.mincut(terminal, 7, 3)
            numpy.testing.assert_array_equal(library.host(foreground), want)
            self.assertEqual(flow, most)
            warm = gst_regions.WarmCut()
            for step in range(4):
                changed = terminal + levels(terminal.shape, 5, numpy.int32, seed=step)
                want, most = gst_regions.mincut(changed, *links[:2])
                foreground, flow = warm.cut(library.to(changed), *map(library.to, links[:2]))
                numpy.testing.assert_array_equal(library.host(foreground), want)
                self.assertEqual(flow, most)

    def test_streams_of_pictures(self):
        for library in LIBRARIES.values():
            cuts = gst_regions.BackgroundCut(), gst_regions.BackgroundCut()
            trackers = gst_regions.Tracker(), gst_regions.Tracker()
            masks = []
            for index in range(12):
                frame = scene(index)
                want = cuts[0].apply(frame)
                masks.append((cuts[1].apply(library.to(frame)), want))
                if index % 3 == 2:
                    self.assertEqual((cuts[1].flow, cuts[1].exact, cuts[1].restarted),
                                     (cuts[0].flow, cuts[0].exact, cuts[0].restarted))
                labels, table = trackers[0].apply(want)
                got, found = trackers[1].apply(library.to(want))
                numpy.testing.assert_array_equal(library.host(got), labels)
                numpy.testing.assert_array_equal(found, table)
                self.assertEqual(trackers[1].changes, trackers[0].changes)
            for got, want in masks:
                numpy.testing.assert_array_equal(library.host(got), want)
            self.assertGreater(want.sum(), 0)

    def test_a_stream_of_pictures_changes_its_memory(self):
        for library in LIBRARIES.values():
            cut = gst_regions.BackgroundCut(background=library.to(scene(0)))
            fresh = gst_regions.BackgroundCut(background=scene(0))
            for index in range(1, 4):
                numpy.testing.assert_array_equal(library.host(cut.apply(library.to(scene(index)))),
                                                 fresh.apply(scene(index)))
            want = gst_regions.BackgroundCut(background=scene(0)).apply(scene(5))
            numpy.testing.assert_array_equal(cut.apply(scene(5)), want)

    def test_errors(self):
        for name, library in LIBRARIES.items():
            image = library.to(levels((30, 40), 9))
            for kind, words, call in (
                    (TypeError, "float32; without threshold, only bool", lambda: gst_regions.label(library.to(
                        levels((30, 40), 9, numpy.float32)))),
                    (TypeError, "type float16", lambda: gst_regions.label(library.to(
                        levels((30, 40), 9, numpy.float16)), threshold=1)),
                    (ValueError, "axes", lambda: gst_regions.label(library.to(levels((3,), 9)))),
                    (ValueError, "no elements", lambda: gst_regions.label(library.to(levels((0, 4), 9)))),
                    (ValueError, "threshold is NaN", lambda: gst_regions.label(image, threshold=float("nan"))),
                    (ValueError, "out is not on the device of image", lambda: gst_regions.label(
                        image, out=numpy.empty((30, 40), numpy.int32))),
                    (TypeError, "must have bool", lambda: gst_regions.remove_small_objects(image)),
                    (ValueError, "a device that the CPU cannot read", lambda: gst_regions.regionprops_table(image)),
                    (ValueError, "a device that the CPU cannot read", lambda: gst_regions.flood(image, (1, 1))),
                    (ValueError, "right is not on the device of terminal", lambda: gst_regions.mincut(
                        library.to(levels((30, 40), 9, numpy.int32)), levels((30, 40), 9, numpy.int32), 3)),
                    (TypeError, "stream", lambda: gst_regions.label(image, stream="first"))):
                with self.subTest(name, words=words), self.assertRaisesRegex(kind, words):
                    call()
            numpy.testing.assert_array_equal(library.host(gst_regions.label(image)),
                                             gst_regions.label(library.host(image)))


if __name__ == "__main__":
    unittest.main()
