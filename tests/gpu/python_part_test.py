#!/usr/bin/env python3
"""What the suite makes of the Python package's tests."""
import os
import sys
import unittest
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import python_part


class Host(python_part.PythonPart):
    """On which the tests write this."""

    def __init__(self, status, text):
        self.answer, self.failures, self.runner = (status, text), [], mock.Mock()
        self.counts = {"passed": 0, "failed": 0, "skipped": 0}

    def call(self, *_):
        return self.answer

    def fail(self, text):
        self.failures.append(text)

    def program(self, name):
        return name


class Part(unittest.TestCase):
    def counts(self, status, text):
        host = Host(status, text)
        host.python()
        return tuple(host.counts.values()), len(host.failures)

    def test_counts_what_unittest_wrote(self):
        self.assertEqual(self.counts(0, "Ran 20 tests in 1.5s\n\nOK\n"), ((20, 0, 0), 0))
        self.assertEqual(self.counts(0, "Ran 20 tests in 1.5s\n\nOK (skipped=3)\n"), ((17, 0, 3), 0))
        self.assertEqual(self.counts(1, "Ran 20 tests in 1.5s\n\nFAILED (failures=1, errors=2, skipped=3)\n"),
                         ((14, 3, 3), 1))

    def test_nothing_that_ran_is_a_failure(self):
        self.assertEqual(self.counts(0, "Ran 4 tests in 0.1s\n\nOK (skipped=4)\n"), ((0, 0, 4), 1))
        self.assertEqual(self.counts(1, "Ran 5 tests in 0.1s\n\nFAILED (errors=6)\n"), ((0, 6, 0), 1))
        self.assertEqual(self.counts(None, "no end"), ((0, 0, 0), 1))
        said = "test_a ... skipped 'no library of arrays with streams sees a CUDA device'\n"
        self.assertEqual(self.counts(0, said + "Ran 9 tests in 1s\n\nOK (skipped=1)\n"), ((8, 0, 1), 1))


if __name__ == "__main__":
    unittest.main()
