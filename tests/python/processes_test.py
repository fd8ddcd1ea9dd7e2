#!/usr/bin/env python3
"""Threads and processes: calls release the interpreter lock and run in parallel, children of fork() work, a process
can end during a call, and the module shares nothing with other modules."""

import os
import shutil
import subprocess
import sys
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor

import gst_regions
import numpy

CHOOSE = numpy.random.default_rng(23)
IMAGES = [CHOOSE.integers(0, 2, (40 + i, 60), numpy.uint8) for i in range(12)]
WANT = [gst_regions.label(image, threads=1) for image in IMAGES]


def stderr_of(program):
    """Runs a program and returns its standard error."""
    return subprocess.run([sys.executable, "-c", program], check=True, timeout=60, stderr=subprocess.PIPE, text=True).stderr


def label_all():
    for image, want in zip(IMAGES, WANT):
        numpy.testing.assert_array_equal(gst_regions.label(image), want)


class Threads(unittest.TestCase):
    def test_label_in_parallel_calls_equals_single_calls(self):
        with ThreadPoolExecutor(8) as pool:
            for future in [pool.submit(label_all) for _ in range(40)]:
                future.result()

    def test_label_of_arrays_released_during_the_call_returns_correct_labels(self):
        """Only the call holds references to its arrays while other arrays are allocated."""
        source = CHOOSE.integers(0, 2, (700, 900), numpy.uint8)
        want = gst_regions.label(source)
        with ThreadPoolExecutor(2) as pool:
            for _ in range(20):
                images, outs = [source.copy()], [numpy.empty(source.shape, numpy.int32)]
                call = pool.submit(lambda images=images, outs=outs: gst_regions.label(images.pop(), out=outs.pop()))
                while not call.done():
                    numpy.full(source.shape, 3, numpy.uint8)
                    numpy.full(source.shape, 3, numpy.int32)
                numpy.testing.assert_array_equal(call.result(), want)

    def test_label_releases_the_interpreter_lock_during_the_call(self):
        image = CHOOSE.integers(0, 2, (3000, 3000)).astype(numpy.float64)
        seen, begin = [], threading.Event()
        thread = threading.Thread(target=lambda: (begin.wait(), seen.append(None)))
        thread.start()
        usual = sys.getswitchinterval()
        sys.setswitchinterval(1000)  # seconds: a thread keeps the lock until it releases it
        try:
            begin.set()
            gst_regions._core.label_equal(image, image[0, :0], numpy.empty(image.shape, numpy.int32),
                                          [("output", "none")], 2, 1)
            during = len(seen)
        finally:
            sys.setswitchinterval(usual)
        thread.join()
        self.assertEqual(during, 1)


class Processes(unittest.TestCase):
    def test_label_in_a_child_of_fork_equals_that_in_the_parent(self):
        for _ in range(5):
            label_all()
            child = os.fork()
            if child == 0:
                try:
                    label_all()
                    os._exit(0)
                except BaseException:
                    os._exit(1)
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
            label_all()

    def test_label_in_a_child_forked_during_calls_of_other_threads_returns(self):
        stop = threading.Event()

        def work():
            while not stop.is_set():
                label_all()

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(20):
                child = os.fork()
                if child == 0:
                    gst_regions.label(IMAGES[0])
                    os._exit(0)
                self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        finally:
            stop.set()
        for thread in threads:
            thread.join()

    def test_process_exit_during_a_call_prints_nothing(self):
        program = ("import gst_regions, numpy, threading, time\n"
                   "image = numpy.random.default_rng(0).random((400, 400)) < 0.5\n"
                   "gst_regions.label(image)\n"
                   "def work():\n"
                   "    tracker = gst_regions.Tracker()\n"
                   "    while True:\n"
                   "        gst_regions.label(image)\n"
                   "        tracker.apply(image)\n"
                   "for _ in range(3): threading.Thread(target=work, daemon=True).start()\n"
                   "time.sleep(0.2)\n")
        for _ in range(5):
            self.assertEqual(stderr_of(program), "")

    def test_process_exit_with_live_objects_prints_nothing(self):
        """nanobind reports no leaks."""
        self.assertEqual(stderr_of("import gst_regions, numpy\n"
                                 "cut, tracker, graph = gst_regions.BackgroundCut(), gst_regions.Tracker(), gst_regions.WarmCut()\n"
                                 "masks = [cut.apply(numpy.zeros((9, 9, 3), numpy.uint8)), tracker.apply(numpy.eye(9, dtype=bool))]\n"
                                 "gst_regions.kept = masks, cut, tracker, graph\n"), "")


class Symbols(unittest.TestCase):
    @unittest.skipUnless(shutil.which("nm"), "nm is missing: install binutils")
    def test_module_exports_only_the_function_that_python_calls(self):
        command = ["nm", "--dynamic", "--defined-only", "--extern-only", gst_regions._core.__file__]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
        self.assertEqual([line.split()[-1] for line in lines], ["PyInit__core"])


class Memory(unittest.TestCase):
    """Peak memory beyond the input, measured in a new process."""

    def peak(self, call):
        program = f"""
import resource, numpy, gst_regions
image = numpy.zeros((9000, 9000), bool)
image[5, 5] = image[4000:4050, 700:2000] = True
gst_regions.label(image[:100, :100])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
kept = {call}
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / image.size)"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        return float(done.stdout)

    def test_memory_of_large_masks_is_at_most_8_bytes_per_pixel(self):
        for call in ("gst_regions.label(image)", "gst_regions.label(image, connectivity=1)",
                     "gst_regions.label(image.view('uint8'))", "gst_regions.remove_small_objects(image)",
                     "gst_regions.remove_small_holes(image)", "gst_regions.fill_holes(image)",
                     "gst_regions.flood(image, (0, 0))"):
            with self.subTest(call):
                self.assertLess(self.peak(call), 8)


if __name__ == "__main__":
    unittest.main(verbosity=2)
