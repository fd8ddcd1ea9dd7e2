#!/usr/bin/env python3
"""The tables on minimum cuts and on motion."""
import unittest
from unittest import mock

import cuts
import foreground
from report_test import figures

ROW = {"file": "bgdiff_vga.gcg", "neighbours": 4, "solver": "cuda resident", "ms": 0.3, "fastest_ms": 0.2,
       "expected": True}


def of(*rows):
    found = cuts.Cuts(figures(rows))
    found.record = {**found.record, "device": "device"}
    return found


class Cuts(unittest.TestCase):
    def test_fastest_solver_ignores_warm_starts_and_peers(self):
        found = of(ROW, *({**ROW, "solver": solver, "ms": 0.1}
                         for solver in ("cuda resident, warm", "PyMaxflow 1.3.2")))
        self.assertEqual(found.fastest_of_ours(), {("bgdiff_vga", 4): 0.3})

    def test_gpu_row_with_two_solvers_shows_the_faster_one(self):
        self.assertEqual(of(ROW, {**ROW, "solver": "cuda sparse", "ms": 0.25}).on_gpu("bgdiff_vga")["ms"], 0.25)
        self.assertIsNone(of({**ROW, "solver": "cuda plain"}).on_gpu("bgdiff_vga"))

    def test_cut_rows_show_noise_ratio_and_wrong_answers(self):
        text = "".join(of(ROW, {**ROW, "solver": "PyMaxflow 1.3.2", "ms": 0.9, "expected": False}).part())
        self.assertIn("| bgdiff_vga | 4 | cuda resident | 0.3 | 50 % | 1.00× |", text)
        self.assertIn("| bgdiff_vga | 4 | PyMaxflow 1.3.2 | 0.9 **wrong** | 350 % | 3.00× |", text)
        self.assertIn("1 of 1 cuts of ours equal", text)

    def test_exactness_with_one_wrong_cut_of_two_says_1_of_2(self):
        self.assertTrue(of(ROW, {**ROW, "expected": False}).exactness()[0].startswith("1 of 2 "))
        self.assertEqual(of().exactness(), [])


class Motion(unittest.TestCase):
    def test_motion_rows_show_cost_noise_and_box_scores(self):
        rows = [{"what": "motion", "by": "motion", "cpu_ms": 1.1, "least_cpu_ms": 1.0, "of_peer": 2.0,
                 "peer": "absdiff"}, {"what": "motion", "by": "absdiff", "cpu_ms": 0.55},
                {"what": "boxes", "by": "motion", "mean_f": 0.7}]
        with mock.patch.object(foreground, "of_suite", lambda _: figures(rows)):
            text = foreground.motion_part()[-1]
        self.assertIn("| motion | 1.10 | 10 % | 2.00× absdiff | 0.70 |", text)
        self.assertIn("| absdiff | 0.55 | – | – | – |", text)


if __name__ == "__main__":
    unittest.main()
