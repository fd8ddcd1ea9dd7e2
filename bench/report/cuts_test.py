#!/usr/bin/env python3
"""What the report says of minimum cuts."""
import unittest

import cuts
from records import Figures
from report_test import figures, verdict_on


class Cuts(unittest.TestCase):
    def test_a_warm_start_is_another_solver_and_a_wrong_answer_does_not_hold(self):
        row = {"file": "bgdiff_vga.gcg", "neighbours": 4, "solver": "cuda resident", "ms": 0.3,
               "expected": True}
        begin = "minimum cut, bgdiff_vga"
        for more, expected in (({}, "holds"), ({"ms": 0.41}, "**does not hold**"),
                               ({"expected": False}, "**does not hold**"),
                               ({"solver": "cuda resident, warm"}, "not measured")):
            found = cuts.Cuts(figures([{**row, **more}]))
            self.assertEqual(verdict_on(found.asked_on_gpu(), begin), expected)

    def test_the_faster_solver_counts_and_both_are_right(self):
        row = {"file": "bgdiff_vga.gcg", "neighbours": 4, "solver": "cuda resident", "ms": 0.41, "expected": True}
        for more, expected in (({}, "holds"), ({"expected": False}, "**does not hold**")):
            found = cuts.Cuts(figures([row, {**row, "solver": "cuda sparse", "ms": 0.3, **more}]))
            self.assertEqual(verdict_on(found.asked_on_gpu(), "minimum cut, bgdiff_vga"), expected)

    def test_pymaxflow_beside_ours_counts_by_its_share(self):
        ours = {"file": "bgdiff_vga.gcg", "neighbours": 4, "solver": "cpu: 1 thread", "ms": 5.9,
                "expected": True}
        peer = {**ours, "solver": "PyMaxflow 1.3.2", "ms": 60.0}
        for rows, expected in (([ours], "**does not hold**"), ([ours, peer], "holds")):
            found = cuts.Cuts(Figures({"cores": 2, "figures": rows}))
            self.assertEqual(verdict_on(found.asked_on_cpu(), "minimum cut, bgdiff_vga"), expected)

    def test_processor_time_counts_by_what_each_chain_took(self):
        rows = [{"what": "motion", "by": by, "cpu_ms": ms, "of_peer": share}
                for by, ms, share in (("graphcutbg", 44.0, 1.1), ("graphcutbg, one thread", 46.0, 0.93), ("motion", 1.4, 2.0))]
        verdicts = [row[-1] for row in cuts.asked_of_motion(Figures({"cores": 2, "figures": rows}))]
        self.assertEqual(verdicts, ["holds", "**does not hold**", "**does not hold**", "holds", "**does not hold**"])
        self.assertEqual({row[-1] for row in cuts.asked_of_motion(Figures({"cores": 2, "figures": []}))}, {"not measured"})


if __name__ == "__main__":
    unittest.main()
