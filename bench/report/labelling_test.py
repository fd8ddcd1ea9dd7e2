#!/usr/bin/env python3
"""The comparison of labels with published kernels, in multiples of a floor kernel."""
import unittest

import labelling
from records import CONTENTS, PUBLISHED
from report_test import HD, gpu, row

SIZE = "1920x1080"


class PublishedKernels(unittest.TestCase):
    def labels(self, shares, floor):
        """cclabel takes these shares of the best published multiple of the floor, and half of it on other contents."""
        rows = [row(content, shares.get(content, 0.5) * floor * PUBLISHED["best_us"][SIZE][content]["8"][0]
                    / PUBLISHED["floor_us"][SIZE]) for content in CONTENTS]
        return gpu([*rows, {"what": "floor", "clock": "graph", "us": floor, **HD}])

    def test_slower_contents_are_given_in_multiples_of_the_floor_kernel(self):
        for floor in (2.0, 50.0):
            self.assertEqual(self.labels({}, floor).behind(SIZE), {})
            found = self.labels({"maze": 1.25}, floor).behind(SIZE)
            self.assertEqual({content: round(share, 6) for content, share in found.items()}, {"maze": 1.25})
        self.assertEqual(gpu([]).behind(SIZE), {})

    def test_lead_on_a_slow_machine_equals_that_on_a_fast_one(self):
        slow, fast = (self.labels({}, floor).lead(SIZE, 8) for floor in (2.0, 50.0))
        self.assertAlmostEqual(slow, fast)
        self.assertIsNone(gpu([]).lead(SIZE, 8))

    def test_note_on_waiting_peers_names_measured_ones_only(self):
        self.assertEqual(labelling.waiting(["cclabel", "CuPy 14.2.0", "bkeccl 0.1.0"]),
                         " The calls of CuPy wait for the GPU.")
        self.assertEqual(labelling.waiting(["cclabel"]), "")


if __name__ == "__main__":
    unittest.main()
