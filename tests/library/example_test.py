#!/usr/bin/python3
"""The C example library/label_image: output, written file, and error messages.

  example_test.py LABEL_IMAGE
"""

import pathlib
import resource
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)
GREY = b"P5\n# by hand\n4 3\n255\n" + bytes([255, 255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 200])


class Example(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.picture = self.folder / "in.pgm"
        self.picture.write_bytes(GREY)

    def label(self, *arguments, status=0):
        done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stderr if status else done.stdout

    def test_label_image_with_a_pgm_picture_prints_regions_and_writes_labels(self):
        out = self.folder / "out.pgm"
        printed = self.label(self.picture, out, "threshold=0.5").splitlines()
        self.assertRegex(printed[0], "^2 regions, on ")
        self.assertEqual(printed[1:], ["1: 2x1 at (0, 0), 2 pixels, centre (0.50, 0.00)",
                                    "2: 1x1 at (3, 2), 1 pixels, centre (3.00, 2.00)"])
        head, labels = out.read_bytes()[:15], out.read_bytes()[15:]
        self.assertEqual(head, b"P5\n4 3\n65535\n" + struct.pack(">H", 1))
        self.assertEqual(struct.unpack(">11H", labels), (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2))

    def test_label_image_with_a_ppm_picture_finds_its_region(self):
        self.picture.write_bytes(b"P6 2 1 255\n" + bytes([255, 255, 255, 0, 0, 0]))
        self.assertRegex(self.label(self.picture), "^1 regions")

    def test_label_image_with_unreadable_file_prints_an_error(self):
        for data in (b"", b"P5 4 3 255\n123", b"P5 4 3 65535\n" + bytes(24), b"P4 4 3\n", b"P5 0 3 255\n"):
            self.picture.write_bytes(data)
            self.assertIn("cannot be read as a binary PGM or PPM with 8 bits per sample", self.label(self.picture, status=1))
        self.assertIn("cannot be read as", self.label(self.folder / "none.pgm", status=1))

    def test_label_image_with_invalid_argument_prints_an_error(self):
        out = self.folder / "out.pgm"
        self.assertIn("usage: label_image IN.pgm", self.label(status=1))
        self.assertIn("threshold: expected PROPERTY=VALUE", self.label(self.picture, out, "threshold", status=1))
        self.assertRegex(self.label(self.picture, out, "threshold=much", status=1), "label_image: threshold: .*much")
        self.assertIn("cannot be written", self.label(self.picture, self.folder / "none" / "out.pgm", status=1))

    def test_label_image_with_little_memory_prints_the_reason_or_the_regions(self):
        if any(name in pathlib.Path(PROGRAM).read_bytes() for name in (b"__asan_init", b"__tsan_init")):
            self.skipTest("a sanitizer reserves more memory than the limit")
        side = 2000
        self.picture.write_bytes(b"P5 %d %d 255\n" % (side, side) + bytes(side * side // 2) + b"\xff" * (side * side // 2))
        reasons = "label_image: (labels: out of memory|cclabel: .*(out of memory|another thread)|.*cannot be read as)"
        ends = set()
        for megabytes in (24, 28, 32, 36, 40, 48, 64, 96, 128, 8192):
            limits = (megabytes << 20, megabytes << 20)
            done = subprocess.run([PROGRAM, self.picture], capture_output=True, text=True, check=False,
                                  preexec_fn=lambda limits=limits: resource.setrlimit(resource.RLIMIT_AS, limits))
            with self.subTest(megabytes):
                self.assertRegex(done.stderr if done.returncode else done.stdout, reasons if done.returncode else "^1 regions")
            ends.add(done.returncode)
        self.assertEqual(ends, {0, 1})


if __name__ == "__main__":
    unittest.main(verbosity=2)
