#!/usr/bin/env python3
"""Runs docs/guides/python-arrays.md with this Python and compares every expected output with the real one."""

import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from documents import run_page  # noqa: E402

PAGE = ROOT / "docs" / "guides" / "python-arrays.md"


class Guide(unittest.TestCase):
    def test_python_arrays_run_as_printed_matches(self):
        with tempfile.TemporaryDirectory() as folder:
            python = pathlib.Path(folder) / "out" / "venv" / "bin" / "python"  # the guide's environment
            python.parent.mkdir(parents=True)
            python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
            python.chmod(0o755)
            self.assertEqual(run_page(PAGE.read_text(encoding="utf-8"), folder, os.environ), (3, 3))


if __name__ == "__main__":
    unittest.main(verbosity=2)
