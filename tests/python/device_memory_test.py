#!/usr/bin/env python3
"""Arrays on CUDA devices are read and written where they lie: by their addresses, by what is allocated, and by what a
profiler sees."""

import unittest
from unittest import mock

import gst_regions
import numpy
from device_libraries import STREAMED, levels, noise


@unittest.skipUnless(STREAMED, "no library of arrays with streams sees a CUDA device")
class Memory(unittest.TestCase):
    def test_views_are_read_in_place(self):
        mask = noise((60, 90, 2))
        for library in STREAMED.values():
            there = library.to(mask)
            for view, host in ((there[:, 7:80, 0], mask[:, 7:80, 0]), (there[5:50, :, 1], mask[5:50, :, 1])):
                numpy.testing.assert_array_equal(library.host(gst_regions.label(view)), gst_regions.label(host))
            wide = library.to(mask[..., 0].copy())
            for view, host in ((wide[3:40, 5:77], mask[3:40, 5:77, 0]), (wide.T, mask[..., 0].T), (wide[::2], mask[::2, :, 0])):
                numpy.testing.assert_array_equal(library.host(gst_regions.label(view)), gst_regions.label(host))

    def test_out_is_written_and_nothing_else_made(self):
        mask = noise((480, 640))
        for library in STREAMED.values():
            image, out = library.to(mask), library.to(numpy.full(mask.shape, 7, numpy.int32))
            at = library.pointer(out)
            self.assertIs(gst_regions.label(image, out=out), out)
            self.assertEqual(library.pointer(out), at)
            numpy.testing.assert_array_equal(library.host(out), gst_regions.label(mask))
            kept = library.to(numpy.zeros(mask.shape, bool))
            self.assertIs(gst_regions.remove_small_objects(image, 9, out=kept), kept)
            numpy.testing.assert_array_equal(library.host(kept), gst_regions.remove_small_objects(mask, 9))
            with self.assertRaisesRegex(ValueError, "shares memory"):
                gst_regions.label(library.to(levels((8, 40), 9)), out=out[:8, :40])
            with self.assertRaisesRegex(ValueError, "shares memory"):
                gst_regions.BackgroundCut().apply(there := library.to(levels((8, 40), 9)), out=there)
            with self.assertRaisesRegex(TypeError, "must have int32"):
                gst_regions.label(image, out=image)
            with self.assertRaisesRegex(ValueError, "shape"):
                gst_regions.label(image, out=out[:9])

    def test_memory_of_a_call_is_that_of_its_labels(self):
        """PyTorch counts what it gives; a copy of the picture would be counted, too."""
        torch = STREAMED.get("Torch")
        if not torch:
            self.skipTest("PyTorch sees no device")
        image = torch.to(noise((512, 512)))
        before = torch.module.cuda.memory_allocated()
        torch.module.cuda.reset_peak_memory_stats()
        labels = gst_regions.label(image)
        self.assertEqual(torch.module.cuda.memory_allocated() - before, labels.nelement() * 4)
        self.assertEqual(torch.module.cuda.max_memory_allocated() - before, labels.nelement() * 4)

    def test_addresses_are_those_of_the_arrays(self):
        """What the kernels are given."""
        told = []
        real = gst_regions._core.DeviceLabelling

        class Told(real):
            def run(self, images, strides, labels, stream):
                told.append((images, labels))
                return real.run(self, images, strides, labels, stream)
        with mock.patch.object(gst_regions._core, "DeviceLabelling", Told):
            for library in STREAMED.values():
                wide = library.to(noise((83, 97, 3)))  # of a shape that no other test has
                for image in (library.to(noise((83, 97))), library.to(noise((83, 98)))[:, 1:], wide.reshape(3, 83, 97)):
                    out = library.to(numpy.zeros(image.shape, numpy.int32))
                    for into in (None, out):
                        labels = gst_regions.label(image, out=into)
                        self.assertEqual(told[-1], (library.pointer(image), library.pointer(labels)))
        self.assertEqual(len(told), 6 * len(STREAMED))

    def test_a_profiler_sees_no_copy(self):
        torch = STREAMED.get("Torch")
        if not torch:
            self.skipTest("PyTorch, whose profiler is asked, sees no device")
        profiler = torch.module.profiler

        def seen(work):
            """Names of what the device did."""
            work()
            torch.module.cuda.synchronize()
            with profiler.profile(activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.CUDA]) as profile:
                work()
                torch.module.cuda.synchronize()
            return [event.name for event in profile.events() if event.device_type == torch.module.autograd.DeviceType.CUDA]
        for name, library in STREAMED.items():
            image, out = library.to(noise((480, 640))), library.to(numpy.zeros((480, 640), numpy.int32))
            grey = library.to(levels((480, 640), 200))
            for call in (lambda: gst_regions.label(image), lambda: gst_regions.label(image[:, 3:600]),
                         lambda: gst_regions.label(image, out=out), lambda: gst_regions.label(grey, threshold=[50, 90])):
                did = seen(lambda call=call: [call() for _ in range(4)])
                self.assertGreaterEqual(len(did), 4, name)
                self.assertEqual([what for what in did if "memcpy" in what.lower()], [], name)
            copies = [what for what in seen(lambda: library.copy(grey, library.to(levels((480, 640), 9))))
                      if "memcpy" in what.lower()]
            self.assertGreater(len(copies), 0, "the profiler sees no copies")

    def test_other_libraries_by_the_interface(self):
        class Foreign:
            def __init__(self, array):
                self.__cuda_array_interface__ = array.__cuda_array_interface__
        for library in STREAMED.values():
            mask = noise((30, 40))
            labels = gst_regions.label(Foreign(library.to(mask)))
            host = labels.get() if hasattr(labels, "get") else labels.cpu().numpy()
            numpy.testing.assert_array_equal(host, gst_regions.label(mask))


if __name__ == "__main__":
    unittest.main()
