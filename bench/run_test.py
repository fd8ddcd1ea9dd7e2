#!/usr/bin/python3
"""bench/run's choice of an interpreter. Debian's Python has NumPy as a package."""

import importlib.machinery
import importlib.util
import os
import pathlib
import sys
import unittest
from unittest import mock

PATH = str(pathlib.Path(__file__).resolve().parent / "run")


class Interpreters(unittest.TestCase):
    def setUp(self):
        loader = importlib.machinery.SourceFileLoader("run", PATH)
        self.program = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
        loader.exec_module(self.program)

    def chosen(self, executable, has_numpy):
        """The arguments of os.execv, or None if it was not called."""
        with (mock.patch.object(importlib.util, "find_spec", lambda _: has_numpy or None),
              mock.patch.object(sys, "executable", executable),
              mock.patch.object(sys, "argv", ["bench/run", "--quick"]),
              mock.patch.object(os, "execv") as begun):
            self.program.with_numpy()
        return begun.call_args and begun.call_args.args

    def test_bench_run_with_numpy_does_not_restart(self):
        self.assertIsNone(self.chosen("/opt/bin/python3", True))
        self.assertIsNone(self.chosen(self.program.DEBIANS, True))

    def test_bench_run_without_numpy_restarts_in_debian_python(self):
        self.assertEqual(self.chosen("/opt/bin/python3", False),
                         (self.program.DEBIANS, [self.program.DEBIANS, "bench/run", "--quick"]))

    def test_bench_run_without_numpy_anywhere_exits_with_advice(self):
        with self.assertRaisesRegex(SystemExit, "NumPy is not installed for /usr/bin/python3; pipelines/setup"):
            self.chosen(self.program.DEBIANS, False)


if __name__ == "__main__":
    unittest.main()
