#!/usr/bin/env python3
"""The report on archives, on made-up figures: verdicts go both ways, and what was not measured is not told."""
import unittest
from unittest import mock

import segments
from records import Figures

MACHINE = {"cpu": "CPU", "cores": 2, "load_before": 0.0, "commit": "c", "date": "today"}


def archives(**rows):
    """Of figures by suite."""
    with mock.patch.object(segments, "of_suite", lambda suite: Figures({**MACHINE, "figures": rows.get(suite, [])})):
        return segments.Archives()


def turns(how, *seconds):
    return {"what": "cluster", "clip": "a.avi", "filter": "cclabel", "how": how, "seconds": seconds, "segments": 24}


class Archives(unittest.TestCase):
    def test_the_medians_of_nodes_count(self):
        for two, one, expected in ((20.0, 36.0, ["holds", "holds"]), (20.1, 36.0, ["**does not hold**", "holds"]),
                                   (20.0, 36.4, ["holds", "**does not hold**"])):
            asked = archives(cluster=[turns("plain", 33.0, 1.0, 99.0), turns("segments", 34.0), turns("one node", one),
                                      turns("two nodes", two)]).asked_on_cpu()
            self.assertEqual([row[3] for row in asked], expected)

    def test_two_gpus_beside_one(self):
        def of(gpus, seconds):
            return {"what": "devices", "gpus": gpus, "jobs": 8, "seconds": seconds, "frames": 100, "frames_per_second": 1,
                    "busy": [97.5] * gpus}
        for seconds, expected in ((10.0, "holds"), (10.1, "**does not hold**")):
            found = archives(devices=[of(1, 19.0), of(2, seconds)])
            self.assertEqual(found.asked_on_gpu()[0][3], expected)
            self.assertIn("| 98 %, 98 % |", "".join(found.part()))
        self.assertEqual(archives(devices=[of(1, 19.0)]).asked_on_gpu(), [])

    def test_the_model_is_of_what_segments_cost(self):
        rows = [{"what": "costs", "size": "64x48", "frames": 800, "segments": count, "cpu_seconds": [0.0, seconds, 99.0]}
                for count, seconds in ((1, 2.0), (2, 4.0), (16, 11.0))]
        text = "".join(archives(cluster=rows).part())
        self.assertIn("a segment costs 0.50 s, and a file that is cut 1.00 s to plan", text)
        self.assertIn("| starts of segments, per node | 5.0 min | 5.0 min | 1.0 min |", text)
        self.assertIn("| warm-up, per node | 0 | 2.1 h | 25.0 min |", text)
        self.assertIn("Plans and joins, of files of an hour: 2.8 h of processor", text)

    def test_without_records_nothing_is_said(self):
        empty = archives()
        self.assertEqual((empty.asked_on_cpu(), empty.asked_on_gpu(), empty.part()), ([], [], []))


if __name__ == "__main__":
    unittest.main()
