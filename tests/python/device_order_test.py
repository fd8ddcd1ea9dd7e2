#!/usr/bin/env python3
"""Arrays on CUDA devices: work goes onto the caller's stream and no call waits; graphs, threads, devices and processes."""

import contextlib
import os
import sys
import threading
import unittest

import gst_regions
import numpy
from device_libraries import STREAMED, levels, noise


@unittest.skipUnless(STREAMED, "no library of arrays with streams sees a CUDA device")
class Order(unittest.TestCase):
    def test_calls_become_part_of_a_graph(self):
        torch = STREAMED.get("Torch")
        if not torch:
            self.skipTest("PyTorch, which makes graphs, sees no device")
        masks = [noise((90, 110), seed=seed) for seed in range(4)]
        image = torch.to(masks[0])
        for _ in range(3):  # memory is there from here on
            gst_regions.label(image)
        graph = torch.module.cuda.CUDAGraph()
        with torch.module.cuda.graph(graph):
            labels = gst_regions.label(image)
        for mask in masks:
            image.copy_(torch.module.from_numpy(mask))
            graph.replay()
            numpy.testing.assert_array_equal(torch.host(labels), gst_regions.label(mask))
            numpy.testing.assert_array_equal(torch.host(gst_regions.label(image)), gst_regions.label(mask))

    def test_devices_side_by_side(self):
        torch = STREAMED.get("Torch")
        if not torch or torch.module.cuda.device_count() < 2:
            self.skipTest("PyTorch sees one device")
        for index in range(12):
            mask = noise((200, 300), seed=index)
            images = [torch.to(mask).to(f"cuda:{device}") for device in range(2)]
            for image in images:
                labels = gst_regions.label(image)
                self.assertEqual(labels.device, image.device)
                numpy.testing.assert_array_equal(torch.host(labels), gst_regions.label(mask))
            with self.assertRaisesRegex(ValueError, "is not on the device of"):
                gst_regions.label(images[0], out=gst_regions.label(images[1]))

    def calls(self):
        """Functions that do not wait, of a mask."""
        return (gst_regions.label, gst_regions.remove_small_objects, gst_regions.fill_holes,
                lambda mask: gst_regions.label(mask, batch=False, threshold=[1]))

    def test_work_follows_the_stream_and_the_stream_the_work(self):
        mask = noise((300, 400))
        for name, library in STREAMED.items():
            source = library.to(mask)
            for call in self.calls():
                want = call(mask)
                for own in (False, False, True, True):
                    stream = library.new_stream() if own else None
                    with library.use(stream) if own else contextlib.nullcontext():
                        target = library.to(numpy.zeros_like(mask))
                        library.delay()
                        library.copy(source, target)
                        results = [call(target) for _ in range(3)]
                        target[...] = False  # behind the work
                        waited = library.is_idle()
                        for result in results:
                            numpy.testing.assert_array_equal(library.host(result), want)
                # The last time: before, memory, graphs and the library's own kernels were made.
                self.assertFalse(waited, f"{name}: the call waited")

    def test_a_stream_that_is_given(self):
        mask = noise((300, 400))
        for library in STREAMED.values():
            source = library.to(mask)
            stream = library.new_stream()
            library.host(source)
            with library.use(stream):
                target = library.to(numpy.zeros_like(mask))
                library.delay()
                library.copy(source, target)
            handle = getattr(stream, "ptr", None) or stream.cuda_stream
            for given in (stream, handle):
                labels = gst_regions.label(target, stream=given)
                with library.use(stream):
                    numpy.testing.assert_array_equal(library.host(labels), gst_regions.label(mask))

    def test_arrays_that_end_before_the_work(self):
        for library in STREAMED.values():
            for index in range(40):
                mask = noise((200, 300), seed=index)
                labels = gst_regions.label(library.to(mask))
                library.to(numpy.ones((200, 300), bool))  # in the place of the mask
                numpy.testing.assert_array_equal(library.host(labels), gst_regions.label(mask))

    def test_the_default_stream_and_another_take_turns(self):
        """With one working memory: what it does on a stream waits for what it did on the other."""
        masks = [noise((700, 900), seed=seed) for seed in range(2)]
        wanted = [gst_regions.label(mask) for mask in masks]
        for library in STREAMED.values():
            images = [library.to(mask) for mask in masks]
            other = library.new_stream()
            library.host(images[1])
            for _ in range(4):
                library.delay()
                first = gst_regions.label(images[0])
                with library.use(other):
                    numpy.testing.assert_array_equal(library.host(gst_regions.label(images[1])), wanted[1])
                numpy.testing.assert_array_equal(library.host(first), wanted[0])

    def test_calls_of_threads(self):
        for library in STREAMED.values():
            faults = []

            def work(seed, library=library, faults=faults):
                try:
                    with library.use(library.new_stream()):
                        for index in range(30):
                            mask = noise((64, 64 + 8 * (index % 3)), seed=seed * 100 + index)
                            numpy.testing.assert_array_equal(library.host(gst_regions.label(library.to(mask))),
                                                             gst_regions.label(mask))
                except BaseException as error:
                    faults.append(error)
            workers = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            self.assertEqual(faults, [])

    def test_fork(self):
        """A child cannot use the device; it ends as it should, and its parent goes on."""
        library = next(iter(STREAMED.values()))
        mask = noise((30, 40))
        image, cut = library.to(mask), gst_regions.BackgroundCut()
        cut.apply(library.to(levels((30, 40), 9)))
        gst_regions.label(image, return_num=True)
        sys.stdout.flush()
        child = os.fork()
        if not child:
            status = 1
            try:
                for size in range(8):
                    gst_regions.label(noise((30, 40 + size)))
                with contextlib.suppress(RuntimeError, ValueError):
                    gst_regions.label(image, return_num=True)
                    status = 2
                del cut
                status = 0 if status == 1 else status
            finally:
                os._exit(status)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        numpy.testing.assert_array_equal(library.host(gst_regions.label(image)), gst_regions.label(mask))


if __name__ == "__main__":
    unittest.main()
