#!/usr/bin/python3
"""transcode/progress.py: how far a job in segments is told to be."""

import unittest
import unittest.mock

import inside  # before what lies beside the programs
import progress


class Whole(inside.Case):
    def setUp(self):
        super().setUp()
        self.now = 100.0
        self.replace(progress.time, "monotonic", lambda: self.now)
        self.screen = unittest.mock.Mock()

    def shown(self):
        """What was last told of a file, and of the whole."""
        return tuple(call.args for call in self.screen.show.call_args_list[-2:])

    def test_a_job(self):
        known = progress.Progress(self.screen, 3)
        known.begin("a", [{"packets": 40}, {"packets": 60}])
        self.now += 2
        known.hear("a", 1, 10, 60)
        # The two files that are not planned yet are taken for as long.
        self.assertEqual(self.shown(), (("a", 10, 100, 5), ("", 10, 300, 5, "0 of 3 files, 0 of 2 segments")))
        known.fail()
        known.hear("a", 1, 4, 60)
        self.assertEqual(self.shown()[1], ("", 4, 300, 2, "0 of 3 files, 0 of 2 segments, 1 retry"))
        known.fail()
        known.finish("a", 1, 60)
        known.finish("a", 0, 40)
        known.end("a")
        known.end("b")  # is skipped
        known.begin("c", [None])
        known.hear("c", 0, 25, 50)
        self.assertEqual(self.shown(), (("c", 25, 50, 12.5), ("", 125, 150, 62.5, "2 of 3 files, 2 of 3 segments, 2 retries")))

    def test_what_an_earlier_run_made(self):
        """Counts, but not for the pace."""
        known = progress.Progress(self.screen, 1)
        known.begin("a", [{"packets": 40}, {"packets": 60}])
        known.finish("a", 0, 40, by_earlier=True)
        self.now += 4
        known.hear("a", 1, 20, 60)
        self.assertEqual(self.shown()[1], ("", 60, 100, 5, "0 of 1 files, 1 of 2 segments"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
