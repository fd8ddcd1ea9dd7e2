#!/usr/bin/env python3
"""Arrays on CUDA devices: the answers of the CPU, in the order of the caller's stream, without a copy or a wait.

Of CuPy, PyTorch and JAX those that are installed and see a device; without any, that is said.
"""

import contextlib
import os
import sys
import threading
import unittest

import gst_regions
import numpy

DELAY = 3 * 10**8  # cycles: tenths of a second


class CuPy:
    def __init__(self):
        import cupy
        self.module = cupy
        self.spin = cupy.RawKernel('extern "C" __global__ void spin(long long n) { long long from = clock64();'
                                   " while (clock64() - from < n); }", "spin")
        cupy.arange(3).sum()

    def to(self, array):
        return self.module.asarray(array)

    def host(self, array):
        return array.get()

    def pointer(self, array):
        return array.data.ptr

    def delay(self):
        self.spin((1,), (1,), (DELAY,))

    def new_stream(self):
        return self.module.cuda.Stream(non_blocking=True)

    def use(self, stream):
        return stream

    def is_idle(self):
        return self.module.cuda.get_current_stream().done

    def copy(self, source, target):
        target[...] = source


class Torch(CuPy):
    def __init__(self):
        import torch
        self.module = torch
        if not torch.cuda.is_available():
            raise ImportError("PyTorch sees no device")

    def to(self, array):
        return self.module.from_numpy(numpy.ascontiguousarray(array)).cuda()

    def host(self, array):
        return array.cpu().numpy()

    def pointer(self, array):
        return array.data_ptr()

    def delay(self):
        self.module.cuda._sleep(DELAY)

    def new_stream(self):
        return self.module.cuda.Stream()

    def use(self, stream):
        return self.module.cuda.stream(stream)

    def is_idle(self):
        return self.module.cuda.current_stream().query()

    def copy(self, source, target):
        target.copy_(source)


class Jax:
    def __init__(self):
        import jax
        self.module = jax
        if jax.devices()[0].platform != "gpu":
            raise ImportError("JAX sees no device")

    def to(self, array):
        return self.module.device_put(array)

    def host(self, array):
        return numpy.asarray(array)


LIBRARIES = {}
for kind in (CuPy, Torch, Jax):
    try:
        LIBRARIES[kind.__name__] = kind()
    except Exception as error:  # of many kinds, where there is no device
        print(f"{kind.__name__} is left out: {error}")
STREAMED = {name: library for name, library in LIBRARIES.items() if name != "Jax"}


def noise(shape, density=0.5, seed=1):
    return numpy.random.default_rng(seed).random(shape) < density


def levels(shape, most, dtype=numpy.uint8, seed=2):
    return numpy.random.default_rng(seed).integers(0, most, shape).astype(dtype)


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
                    (TypeError, "equal ones are labelled on the CPU", lambda: gst_regions.label(library.to(
                        levels((30, 40), 9, numpy.float32)))),
                    (TypeError, "type float16", lambda: gst_regions.label(library.to(
                        levels((30, 40), 9, numpy.float16)), threshold=1)),
                    (ValueError, "axes", lambda: gst_regions.label(library.to(levels((3,), 9)))),
                    (ValueError, "no elements", lambda: gst_regions.label(library.to(levels((0, 4), 9)))),
                    (ValueError, "threshold is NaN", lambda: gst_regions.label(image, threshold=float("nan"))),
                    (ValueError, "does not lie on the device", lambda: gst_regions.label(
                        image, out=numpy.empty((30, 40), numpy.int32))),
                    (TypeError, "must have bool", lambda: gst_regions.remove_small_objects(image)),
                    (ValueError, "a device that the CPU cannot read", lambda: gst_regions.regionprops_table(image)),
                    (ValueError, "a device that the CPU cannot read", lambda: gst_regions.flood(image, (1, 1))),
                    (ValueError, "right does not lie on the device", lambda: gst_regions.mincut(
                        library.to(levels((30, 40), 9, numpy.int32)), levels((30, 40), 9, numpy.int32), 3)),
                    (TypeError, "stream", lambda: gst_regions.label(image, stream="first"))):
                with self.subTest(name, words=words), self.assertRaisesRegex(kind, words):
                    call()
            numpy.testing.assert_array_equal(library.host(gst_regions.label(image)),
                                             gst_regions.label(library.host(image)))


@unittest.skipUnless(STREAMED, "no library of arrays with streams sees a CUDA device")
class Order(unittest.TestCase):
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

    def test_other_libraries_by_the_interface(self):
        class Foreign:
            def __init__(self, array):
                self.__cuda_array_interface__ = array.__cuda_array_interface__
        for library in STREAMED.values():
            mask = noise((30, 40))
            labels = gst_regions.label(Foreign(library.to(mask)))
            host = labels.get() if hasattr(labels, "get") else labels.cpu().numpy()
            numpy.testing.assert_array_equal(host, gst_regions.label(mask))

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
