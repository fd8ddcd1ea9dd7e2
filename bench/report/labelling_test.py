#!/usr/bin/env python3
"""What the report says of labels beside peers that ran elsewhere."""
import unittest

import labelling
from records import ANCHORS, CONTENTS
from report_test import HD, gpu, row, verdict_on

SIZE = "1920x1080"


class BesidePeersElsewhere(unittest.TestCase):
    def verdict(self, shares, floor=5.0):
        """Of contents that take `shares` of their best peers' multiples of the floor kernel, the others half."""
        rows = [row(content, shares.get(content, 0.5) * floor * ANCHORS["best"][SIZE][content]["8"][0]
                    / ANCHORS["floor_us"][SIZE]) for content in CONTENTS]
        rows.append({"what": "floor", "clock": "graph", "us": floor, **HD})
        return verdict_on(gpu(rows).asked(), f"labels, 8 neighbours, {SIZE}, contents behind")

    def test_two_contents_may_be_behind_a_little(self):
        for shares, expected in (({}, "holds"), ({"maze": 1.09, "spiral": 1.01}, "holds"),
                                 ({"maze": 1.11}, "**does not hold**"),
                                 ({"maze": 1.01, "spiral": 1.01, "smooth": 1.01}, "**does not hold**")):
            self.assertEqual(self.verdict(shares), expected)
        self.assertEqual(verdict_on(gpu([]).asked(), f"labels, 8 neighbours, {SIZE}, contents behind"), "not measured")

    def test_small_pictures_by_multiples_of_the_floor(self):
        small = {"width": 512, "height": 512}
        for us, expected in ((10.1, "holds"), (10.3, "**does not hold**")):
            rows = [row(content, us, **small) for content in CONTENTS]
            rows.append({"what": "floor", "clock": "graph", "us": 1.0, **small})
            self.assertEqual(verdict_on(gpu(rows).asked(), "labels, 8 neighbours, 512x512"), expected)

    def test_peers_that_did_not_run_are_not_spoken_of(self):
        self.assertEqual(labelling.waiting(["cclabel", "CuPy 14.2.0", "bkeccl 0.1.0"]),
                         " For the GPU wait, inside their calls: CuPy.")
        self.assertEqual(labelling.waiting(["cclabel"]), "")


if __name__ == "__main__":
    unittest.main()
