#!/usr/bin/env python3
"""Runs docs/guides/python-arrays.md and README's Python with this interpreter, and compares every expected output."""

import contextlib
import io
import os
import pathlib
import sys
import tempfile
import unittest

import numpy

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from documents import blocks_of, expect, run_page  # noqa: E402

PAGE = ROOT / "docs" / "guides" / "python-arrays.md"


class Guide(unittest.TestCase):
    def test_python_arrays_run_as_printed_matches(self):
        with tempfile.TemporaryDirectory() as folder:
            python = pathlib.Path(folder) / "out" / "venv" / "bin" / "python"  # the guide's environment
            python.parent.mkdir(parents=True)
            python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
            python.chmod(0o755)
            self.assertEqual(run_page(PAGE.read_text(encoding="utf-8"), folder, os.environ), (3, 3))

    def test_readme_and_package_page_python_blocks_run(self):
        for name in ("README.md", "docs/python.md"):
            blocks = [block for block in blocks_of((ROOT / name).read_text(encoding="utf-8"))
                      if block.language == "python" and "cupy" not in block.text]
            self.assertGreaterEqual(len(blocks), 1, name)
            for block in blocks:
                with self.subTest(f"{name}:\n{block.text}"):
                    self.run_python(block)

    def run_python(self, block):
        """The variables are the inputs that these pages assume."""
        random = numpy.random.default_rng(1)
        frame = random.integers(0, 256, (240, 320, 3)).astype(numpy.uint8)
        variables = {"image": frame[..., 0], "rgb": frame, "frame": frame, "video": [frame, frame],
                     "terminal": random.integers(-50, 50, (240, 320)).astype(numpy.int32)}
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block.text, "page", "exec"), variables)
        expect(block, printed.getvalue())


if __name__ == "__main__":
    unittest.main(verbosity=2)
