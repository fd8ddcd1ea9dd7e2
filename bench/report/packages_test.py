#!/usr/bin/env python3
"""What the report says of the Python package beside those of others."""
import unittest

import packages
from report_test import figures, row, verdict_on


class Packages(unittest.TestCase):
    def row(self, task, peer, us, peer_us, **more):
        return {"what": "python", "task": task, "content": "maze", "size": "1920x1080", "neighbours": 8, "threads": 1,
                "peer": peer, "us": us, "peer_us": peer_us, "correct": True, **more}

    def test_the_least_ratio_counts_and_a_wrong_answer_never_holds(self):
        for more, expected in (([], "holds"), ([self.row("label", "cv2 5.0", 10, 14)], "**does not hold**"),
                               ([self.row("label", "cv2 5.0", 10, 90, correct=False)], "**does not hold**")):
            rows = [self.row("label", "cv2 5.0", 10, 40), *more]
            asked_for = packages.Cpu(figures(rows)).asked()
            self.assertEqual(verdict_on(asked_for, "`gst_regions.label`, 1920x1080, times as fast as cv2"), expected)
            self.assertEqual(verdict_on(asked_for, "`gst_regions.slic`"), "not measured")

    def test_other_peers_are_met_with_all_threads(self):
        rows = [self.row("label", "skimage 0.26", us, 100, threads=threads) for us, threads in ((20, 1), (8, 4))]
        self.assertEqual(verdict_on(packages.Cpu(figures(rows)).asked(),
                                    "`gst_regions.label`, 1920x1080, times as fast as scikit-image, 4 threads"), "holds")

    def test_arrays_on_a_device_beside_the_program_of_the_same_run(self):
        device = {"what": "python device", "content": "maze", "connectivity": 8, "correct": True}
        for us, host_us, expected in ((25, 14, "holds"), (27, 16, "**does not hold**")):
            rows = [row("maze", 20), row("maze", 1, clock="stream"),
                    *[{**device, "by": f"gst_regions, {name}", "us": us} for name in packages.LIBRARIES],
                    {**device, "by": "cupyx.scipy.ndimage 14", "us": us * 11},
                    *[{"what": "python call", "by": f"gst_regions, {name}", "host_us": host_us}
                      for name in packages.LIBRARIES]]
            asked_for = packages.Gpu(figures(rows)).asked()
            for name in packages.LIBRARIES:
                begin = f"`gst_regions.label` of {name} arrays"
                self.assertEqual(verdict_on(asked_for, begin + ", 1920x1080, of the C++"), expected)
                self.assertEqual(verdict_on(asked_for, begin + ", 1920x1080, times as fast as cupyx"), "holds")
                self.assertEqual(verdict_on(asked_for, begin + ", the caller's"), expected)

    def test_without_records_nothing_is_said(self):
        for kind in (packages.Cpu, packages.Gpu):
            self.assertEqual((kind(figures([])).asked(), kind(figures([])).part()), ([], []))


if __name__ == "__main__":
    unittest.main()
