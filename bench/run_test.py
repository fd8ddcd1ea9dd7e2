#!/usr/bin/python3
"""bench/run's choice of an interpreter: NumPy is Debian's package, of its own Python."""

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
        """The words that it goes on with, or None."""
        with (mock.patch.object(importlib.util, "find_spec", lambda _: has_numpy or None),
              mock.patch.object(sys, "executable", executable), mock.patch.object(sys, "argv", ["bench/run", "--quick"]),
              mock.patch.object(os, "execv") as begun):
            self.program.with_numpy()
        return begun.call_args and begun.call_args.args

    def test_one_with_numpy_goes_on(self):
        self.assertIsNone(self.chosen("/opt/bin/python3", True))
        self.assertIsNone(self.chosen(self.program.DEBIANS, True))

    def test_another_gives_way_to_debians(self):
        self.assertEqual(self.chosen("/opt/bin/python3", False),
                         (self.program.DEBIANS, [self.program.DEBIANS, "bench/run", "--quick"]))

    def test_where_debians_has_none_it_is_said(self):
        with self.assertRaisesRegex(SystemExit, "there is no NumPy for /usr/bin/python3: pipelines/setup installs it"):
            self.chosen(self.program.DEBIANS, False)


if __name__ == "__main__":
    unittest.main()
