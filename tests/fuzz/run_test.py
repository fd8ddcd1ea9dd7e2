#!/usr/bin/python3
"""Reports of tests/fuzz/run after normal ends, findings and other ends, with scripts instead of fuzz targets."""

import importlib.machinery
import importlib.util
import pathlib
import tempfile
import unittest

PATH = pathlib.Path(__file__).resolve().parent / "run"
DONE = "#7\\tDONE   cov: 5 ft: 9 corp: 1/1b\nDone 7 runs in 1 second(s)\nstat::number_of_executed_units: 7\n"


def loaded():
    loader = importlib.machinery.SourceFileLoader("run", str(PATH))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
    loader.exec_module(module)
    return module


class Ends(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.run_ = loaded()
        self.kind = self.run_.Kind(False)
        self.kind.build = self.run_.ROOT = pathlib.Path(folder.name)
        self.program = self.kind.program("models")
        self.program.parent.mkdir(parents=True)

    def fuzzed(self, says, end, jobs=1):
        """The record and the messages for a program with this output and this end."""
        self.program.write_text(f"#!/bin/sh\nprintf '{says}'\n{end}\n", encoding="utf-8")
        self.program.chmod(0o755)
        return self.run_.fuzz(self.kind, "models", 0.1, jobs)

    def test_fuzz_run_with_a_normal_end_records_executions(self):
        result, told = self.fuzzed(DONE, "exit 0", jobs=2)
        self.assertEqual(told, [])
        self.assertEqual((result["executions"], result["coverage"], result["features"], result["findings"]), (14, 5, 9, 0))

    def test_fuzz_run_with_a_crash_reports_input_and_cause(self):
        found = self.run_.ROOT / "models-oom-1"
        found.write_bytes(b"\0\xff")
        says = f"==1==ERROR: libFuzzer: out-of-memory (malloc(9))\nTest unit written to {found}\n"
        result, (told,) = self.fuzzed(says, "exit 71")
        self.assertEqual(result["findings"], 1)
        self.assertIn(f"found by {found}", told)
        self.assertIn("input in base64: AP8=\n", told)
        self.assertIn("out-of-memory", told)

    def test_fuzz_run_that_ends_early_reports_its_end_and_last_output(self):
        half = "#3\\tNEW    cov: 5 ft: 9 corp: 1/1b\nlast words\n"
        for end, how in (("kill -KILL $$", "by SIGKILL"), ("kill -SEGV $$", "by SIGSEGV"), ("exit 72", "with status 72"),
                         ("exit 0", "with status 0")):
            result, told = self.fuzzed(half, end, jobs=2)
            self.assertEqual((result["executions"], result["findings"]), (6, 2))
            for one in told:
                self.assertIn(f"models: ended {how} after 3 executions, see ", one)
                self.assertIn("last words", one)
        _, (told,) = self.fuzzed("", "kill -KILL $$")
        self.assertIn("models: ended by SIGKILL after no executions", told)

    def test_fuzz_replay_that_ends_early_or_fails_reports_one_problem(self):
        for says, end, told in (("Running: a\n", "kill -KILL $$", 1), ("Running: a\n", "exit 0", 1),
                                ("Executed x in 1 ms\n" * 500, "exit 1", 1)):
            self.program.write_text(f"#!/bin/sh\nprintf '{says}'\n{end}\n", encoding="utf-8")
            self.program.chmod(0o755)
            count, problems = self.run_.replay(self.kind, "models")
            self.assertEqual(len(problems), told, says[:20])
            self.assertGreater(count, 10)


if __name__ == "__main__":
    unittest.main(verbosity=2)
