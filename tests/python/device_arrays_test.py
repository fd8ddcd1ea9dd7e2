#!/usr/bin/env python3
"""Arrays on CUDA devices: results equal the CPU's, memory is used in place, work follows the stream of the caller, and
processes end without leaks."""

import contextlib
import os
import pathlib
import pickle
import subprocess
import sys
import threading
import unittest
from unittest import mock

import gst_regions
import numpy
from device_libraries import levels, LIBRARIES, noise, STREAMED


def scene(index, shape=(120, 160)):
    """A frame of a video: a bright square that moves over noise."""
    frame = levels((*shape, 3), 24, seed=index) + numpy.uint8(90)
    frame[30:60, 10 + 4 * index:40 + 4 * index] = (200, 60, 30)
    return frame


@unittest.skipUnless(LIBRARIES, "no library of arrays sees a CUDA device")
class Answers(unittest.TestCase):
    def check(self, function, *arrays, **how):
        """Results of device arrays equal the CPU's results and are device arrays of the same library."""
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

    def test_labels_of_device_masks_equal_the_cpu(self):
        for shape in ((1, 1), (1, 70), (65, 1), (33, 47), (480, 640), (9, 33, 47), (1, 20, 30)):
            for connectivity in range(1, len(shape) + 1):
                self.check(gst_regions.label, noise(shape), connectivity=connectivity)
                self.check(gst_regions.label, noise(shape, 0.3), connectivity=connectivity, return_num=True)
        self.check(gst_regions.label, noise((50, 60)), background=1)
        self.check(gst_regions.label, noise((50, 60)), background=-1, return_num=True)

    def test_labels_of_equal_values_on_the_device_equal_the_cpu(self):
        for dtype in (numpy.uint8, numpy.int8, numpy.uint16, numpy.int16):
            for background in (0, 2, -1, 70000):
                for shape in ((90, 70), (5, 30, 40)):
                    self.check(gst_regions.label, levels(shape, 4, dtype), background=background, return_num=True)
        self.check(gst_regions.label, numpy.zeros((40, 50), numpy.uint8), return_num=True)
        self.check(gst_regions.label, numpy.full((40, 50), 9, numpy.uint8), return_num=True)

    def test_label_device_equal_values_of_large_types_equal_cpu(self):
        for dtype in (numpy.int32, numpy.int64, numpy.float32, numpy.float64):
            for background in (0, 2, -1):
                self.check(gst_regions.label, levels((40, 50), 5, dtype), background=background, return_num=True)
        self.check(gst_regions.label, levels((3, 40, 50), 5, numpy.int32), batch=True, return_num=True)

    def test_label_device_arrays_with_one_axis_equal_cpu(self):
        self.check(gst_regions.label, noise((70,)), return_num=True)
        self.check(gst_regions.label, levels((3, 70), 4), batch=True)

    def test_label_device_areas_and_largest_regions_equal_cpu(self):
        self.check(gst_regions.label, noise((40, 50)), return_areas=True)
        self.check(gst_regions.label, noise((3, 1, 40, 50)), batch=True, return_areas=True, return_num=True)
        self.check(gst_regions.label, noise((40, 50), 0.4), largest_k=4, return_num=True, return_table=True)

    def test_label_device_thresholds_equal_cpu(self):
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

    def test_labels_of_device_batches_equal_the_cpu(self):
        for how in ({}, {"threshold": 40}, {"threshold": [20, 60, 100.5]}):
            for dtype in (numpy.uint8, numpy.uint16, numpy.float32):
                if how or dtype != numpy.float32:
                    self.check(gst_regions.label, levels((3, 40, 50), 120, dtype), batch=True, return_num=True, **how)
        self.check(gst_regions.label, noise((4, 5, 20, 30)), batch=True, return_num=True)

    def test_label_tables_of_device_arrays_equal_the_cpu(self):
        self.check(gst_regions.label, noise((60, 70)), return_table=True, return_num=True)
        self.check(gst_regions.label, levels((60, 70), 9), threshold=4, return_table=True)

    def test_remove_small_objects_and_holes_on_the_device_equal_the_cpu(self):
        for shape in ((90, 80), (6, 30, 40), (1, 30, 40)):
            for connectivity in range(1, len(shape) + 1):
                for function in (gst_regions.remove_small_objects, gst_regions.remove_small_holes):
                    self.check(function, noise(shape, 0.4), 5, connectivity)
                if connectivity in (1, 2 if shape[0] == 1 else len(shape)):
                    self.check(gst_regions.fill_holes, noise(shape, 0.6), connectivity)

    def test_remove_small_labels_device_arrays_equal_cpu(self):
        for dtype in (numpy.uint8, numpy.int32):
            self.check(gst_regions.remove_small_objects, levels((40, 50), 30, dtype), 60)

    def test_regionprops_table_device_arrays_equal_cpu(self):
        labels = gst_regions.label(noise((40, 50), 0.3))
        for library in LIBRARIES.values():
            found = gst_regions.regionprops_table(library.to(labels), library.to(levels((40, 50), 9)))
            numpy.testing.assert_array_equal(found, gst_regions.regionprops_table(labels, levels((40, 50), 9)))

    def test_mincut_device_source_and_sink_equal_cpu(self):
        source, sink = levels((40, 50), 200), levels((40, 50), 200, seed=9)
        want, flow = gst_regions.mincut((source, sink), 30, 30)
        for library in LIBRARIES.values():
            found, value = gst_regions.mincut((library.to(source), library.to(sink)), 30, 30)
            numpy.testing.assert_array_equal(library.host(found), want)
            self.assertEqual(value, flow)

    def test_slic_device_start_label_0_equals_cpu(self):
        image = numpy.stack([levels((60, 70), 200, seed=k) for k in range(3)], -1)
        self.check(gst_regions.slic, image, 20, start_label=0)

    def test_slic_device_array_equals_cpu(self):
        smooth = numpy.add.outer(numpy.arange(90), numpy.arange(120))
        image = numpy.stack([smooth, smooth[::-1], smooth[:, ::-1]], -1).astype(numpy.uint8)
        self.check(gst_regions.slic, image, 60)
        self.check(gst_regions.slic, image[..., 0].copy(), 40, compactness=3.0, return_table=True)
        self.check(gst_regions.slic, image, 50, return_table=True, return_adjacency=True)

    def test_mincut_on_the_device_equals_the_cpu(self):
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

    def test_background_cut_and_tracker_on_the_device_equal_the_cpu(self):
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
            numpy.testing.assert_array_equal(cuts[1].background, cuts[0].background)
            with self.assertRaisesRegex(ValueError, "only the numbers of changes are known"):
                trackers[1].events
            with self.assertRaisesRegex(ValueError, "tracks on a CUDA device cannot be saved"):
                pickle.dumps(trackers[1])
            for got, want in masks:
                numpy.testing.assert_array_equal(library.host(got), want)
            self.assertGreater(want.sum(), 0)

    def test_background_cut_of_a_host_frame_after_device_frames_equals_a_new_stream(self):
        for library in LIBRARIES.values():
            cut = gst_regions.BackgroundCut(background=library.to(scene(0)))
            fresh = gst_regions.BackgroundCut(background=scene(0))
            for index in range(1, 4):
                numpy.testing.assert_array_equal(library.host(cut.apply(library.to(scene(index)))),
                                                 fresh.apply(scene(index)))
            want = gst_regions.BackgroundCut(background=scene(0)).apply(scene(5))
            numpy.testing.assert_array_equal(cut.apply(scene(5)), want)

    def test_functions_with_invalid_device_arguments_raise_an_error_that_names_it(self):
        for name, library in LIBRARIES.items():
            image = library.to(levels((30, 40), 9))
            for kind, words, call in (
                    (ValueError, "image contains NaN", lambda: gst_regions.label(library.to(
                        levels((30, 40), 9, numpy.float32) * numpy.float32(numpy.nan)))),
                    (TypeError, "type float16", lambda: gst_regions.label(library.to(
                        levels((30, 40), 9, numpy.float16)), threshold=1)),
                    (ValueError, "axes", lambda: gst_regions.label(library.to(levels((3, 3, 3, 3), 9)))),
                    (ValueError, "no elements", lambda: gst_regions.label(library.to(levels((0, 4), 9)))),
                    (ValueError, "threshold is NaN", lambda: gst_regions.label(image, threshold=float("nan"))),
                    (ValueError, "out is not on the device of image", lambda: gst_regions.label(
                        image, out=numpy.empty((30, 40), numpy.int32))),
                    (TypeError, "must have bool", lambda: gst_regions.remove_small_holes(image)),
                    (ValueError, "must be uint8 with 1 or 3 channels", lambda: gst_regions.slic(image, sigma=1)),
                    (ValueError, "a device that the CPU cannot read", lambda: gst_regions.flood(image, (1, 1))),
                    (ValueError, "right is not on the device of terminal", lambda: gst_regions.mincut(
                        library.to(levels((30, 40), 9, numpy.int32)), levels((30, 40), 9, numpy.int32), 3)),
                    (ValueError, "cut on the CPU only", lambda: gst_regions.mincut(
                        library.to(levels((3, 30, 40), 9, numpy.int32)), links=1)),
                    (ValueError, "cut on the CPU only", lambda: gst_regions.mincut(
                        library.to(levels((30, 40), 9, numpy.int32)), (1, 2), 3)),
                    (ValueError, "structure is set for an array on a CUDA device", lambda: gst_regions.label(
                        image, structure=[[0, 0, 0], [1, 1, 1], [0, 0, 0]])),
                    (TypeError, "stream", lambda: gst_regions.label(image, stream="first"))):
                with self.subTest(name, words=words), self.assertRaisesRegex(kind, words):
                    call()
            numpy.testing.assert_array_equal(library.host(gst_regions.label(image)),
                                             gst_regions.label(library.host(image)))


@unittest.skipUnless(STREAMED, "no library of arrays with streams sees a CUDA device")
class Memory(unittest.TestCase):
    def test_labels_of_device_array_views_equal_the_cpu(self):
        mask = noise((60, 90, 2))
        for library in STREAMED.values():
            there = library.to(mask)
            for view, host in ((there[:, 7:80, 0], mask[:, 7:80, 0]), (there[5:50, :, 1], mask[5:50, :, 1])):
                numpy.testing.assert_array_equal(library.host(gst_regions.label(view)), gst_regions.label(host))
            wide = library.to(mask[..., 0].copy())
            for view, host in ((wide[3:40, 5:77], mask[3:40, 5:77, 0]), (wide.T, mask[..., 0].T), (wide[::2], mask[::2, :, 0])):
                numpy.testing.assert_array_equal(library.host(gst_regions.label(view)), gst_regions.label(host))

    def test_device_out_argument_is_written_in_place(self):
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
            with self.assertRaisesRegex(ValueError, "not C-contiguous"):
                gst_regions.label(library.to(levels((8, 40), 9)), out=out[:8, :40])
            with self.assertRaisesRegex(ValueError, "shares memory"):
                gst_regions.BackgroundCut().apply(there := library.to(levels((8, 40), 9)), out=there)
            with self.assertRaisesRegex(TypeError, "must have int32"):
                gst_regions.label(image, out=image)
            with self.assertRaisesRegex(ValueError, "shape"):
                gst_regions.label(image, out=out[:9])

    def test_label_on_the_device_allocates_only_the_labels(self):
        """PyTorch counts allocated memory; a copy of the picture would be counted, too."""
        torch = STREAMED.get("Torch")
        if not torch:
            self.skipTest("PyTorch sees no device")
        image = torch.to(noise((512, 512)))
        before = torch.module.cuda.memory_allocated()
        torch.module.cuda.reset_peak_memory_stats()
        labels = gst_regions.label(image)
        self.assertEqual(torch.module.cuda.memory_allocated() - before, labels.nelement() * 4)
        self.assertEqual(torch.module.cuda.max_memory_allocated() - before, labels.nelement() * 4)

    def test_kernels_of_label_on_the_device_receive_the_addresses_of_its_arrays(self):
        """The addresses that the kernels receive."""
        passed = []
        real = gst_regions._core.DeviceLabelling

        class Recorder(real):
            def run(self, images, strides, labels, stream):
                passed.append((images, labels))
                return real.run(self, images, strides, labels, stream)
        with mock.patch.object(gst_regions._core, "DeviceLabelling", Recorder):
            for library in STREAMED.values():
                wide = library.to(noise((83, 97, 3)))  # a shape that no other test uses
                for image in (library.to(noise((83, 97))), library.to(noise((83, 98)))[:, 1:], wide.reshape(3, 83, 97)):
                    out = library.to(numpy.zeros(image.shape, numpy.int32))
                    for into in (None, out):
                        labels = gst_regions.label(image, out=into)
                        self.assertEqual(passed[-1], (library.pointer(image), library.pointer(labels)))
        self.assertEqual(len(passed), 6 * len(STREAMED))

    def test_label_on_the_device_copies_nothing(self):
        torch = STREAMED.get("Torch")
        if not torch:
            self.skipTest("PyTorch, whose profiler is asked, sees no device")
        profiler = torch.module.profiler

        def seen(work):
            """Returns the names of the operations on the device."""
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

    def test_labels_of_an_input_with_cuda_array_interface_equal_the_cpu(self):
        class Foreign:
            def __init__(self, array):
                self.__cuda_array_interface__ = array.__cuda_array_interface__
        for library in STREAMED.values():
            mask = noise((30, 40))
            labels = gst_regions.label(Foreign(library.to(mask)))
            host = labels.get() if hasattr(labels, "get") else labels.cpu().numpy()
            numpy.testing.assert_array_equal(host, gst_regions.label(mask))


@unittest.skipUnless(STREAMED, "no library of arrays with streams sees a CUDA device")
class Order(unittest.TestCase):
    def test_labels_of_a_cuda_graph_replayed_with_other_images_equal_the_cpu(self):
        torch = STREAMED.get("Torch")
        if not torch:
            self.skipTest("PyTorch, which makes graphs, sees no device")
        masks = [noise((90, 110), seed=seed) for seed in range(4)]
        image = torch.to(masks[0])
        for _ in range(3):  # allocates memory
            gst_regions.label(image)
        graph = torch.module.cuda.CUDAGraph()
        with torch.module.cuda.graph(graph):
            labels = gst_regions.label(image)
        for mask in masks:
            image.copy_(torch.module.from_numpy(mask))
            graph.replay()
            numpy.testing.assert_array_equal(torch.host(labels), gst_regions.label(mask))
            numpy.testing.assert_array_equal(torch.host(gst_regions.label(image)), gst_regions.label(mask))

    def test_labels_on_two_gpus_equal_the_cpu_and_mixed_devices_are_refused(self):
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
        """Functions of a mask that do not wait."""
        return (gst_regions.label, gst_regions.remove_small_objects, gst_regions.fill_holes,
                lambda mask: gst_regions.label(mask, batch=False, threshold=[1]))

    def test_results_on_the_current_cuda_stream_equal_the_cpu_without_a_host_wait(self):
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
                        target[...] = False  # after the work
                        waited = library.is_idle()
                        for result in results:
                            numpy.testing.assert_array_equal(library.host(result), want)
                # Only the last call is checked, because earlier calls allocate memory and make graphs.
                self.assertFalse(waited, f"{name}: the call waited")

    def test_labels_with_a_stream_argument_equal_the_cpu(self):
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

    def test_labels_of_an_array_released_before_the_work_ends_equal_the_cpu(self):
        for library in STREAMED.values():
            for index in range(40):
                mask = noise((200, 300), seed=index)
                labels = gst_regions.label(library.to(mask))
                library.to(numpy.ones((200, 300), bool))  # reuses the memory of the mask
                numpy.testing.assert_array_equal(library.host(labels), gst_regions.label(mask))

    def test_labels_on_two_cuda_streams_equal_the_cpu(self):
        """The streams share one workspace, so work on one stream waits for the other stream."""
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

    def test_labels_from_concurrent_threads_equal_the_cpu(self):
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

    def test_label_of_a_device_array_after_fork_raises_only_in_the_child(self):
        """A child cannot use the device. It ends normally, and its parent continues."""
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


PROGRAM = """
import gst_regions
import device_libraries
library = device_libraries.{kind}()
image = library.to(device_libraries.noise((30, 40)))
cut, tracker = gst_regions.BackgroundCut(), gst_regions.Tracker()
kept = gst_regions.label(image), gst_regions.label(image, threshold=1, return_num=True), tracker.apply(image)
moving = cut.apply(library.to(device_libraries.levels((30, 40), 9)))
"""


@unittest.skipUnless(STREAMED, "no library of arrays with streams sees a CUDA device")
class Leaks(unittest.TestCase):
    def test_process_exit_with_live_device_objects_reports_no_leaks(self):
        for kind in STREAMED:
            with self.subTest(kind):
                done = subprocess.run([sys.executable, "-W", "ignore", "-c", PROGRAM.format(kind=kind)], check=True,
                                      timeout=120, cwd=pathlib.Path(__file__).parent, stderr=subprocess.PIPE, text=True)
                self.assertNotIn("leaked", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
