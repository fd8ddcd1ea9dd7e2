#!/usr/bin/env python3
"""The tables on archives, on made-up figures."""
import unittest
from unittest import mock

import segments
from report_test import figures


def archives(**rows):
    """Made from figures by suite."""
    with mock.patch.object(segments, "of_suite", lambda suite: figures(rows.get(suite, []))):
        return segments.Archives()


def turns(how, *seconds):
    return {"what": "cluster", "clip": "a.avi", "filter": "cclabel", "how": how, "seconds": seconds, "segments": 24}


class Archives(unittest.TestCase):
    def test_node_rows_of_several_runs_use_medians_and_show_noise(self):
        text = "".join(archives(cluster=[turns("plain", 33.0, 1.0, 99.0), turns("two nodes", 22.0, 20.0, 99.0)]).part())
        self.assertIn("| two nodes | 24 | 22.0 | 10 % | 1.50× |", text)

    def test_device_table_has_one_row_per_number_of_gpus(self):
        rows = [{"what": "devices", "gpus": gpus, "jobs": 8, "seconds": 10.0, "frames": 100, "frames_per_second": 10,
                 "busy": [97.5] * gpus} for gpus in (1, 2)]
        self.assertIn("| 2 | 100 | 10.0 | 10.0 | 98 %, 98 % |", "".join(archives(devices=rows).part()))

    def test_cost_model_uses_the_measured_costs_of_segments(self):
        rows = [{"what": "costs", "size": "64x48", "frames": 800, "segments": count,
                 "cpu_seconds": [0.0, seconds, 99.0]} for count, seconds in ((1, 2.0), (2, 4.0), (16, 11.0))]
        text = "".join(archives(cluster=rows).part())
        self.assertIn("each segment costs 0.50 s, and a file in segments costs 1.00 s for planning", text)
        self.assertIn("| starts of segments, time per node | 5.0 min | 5.0 min | 1.0 min |", text)
        self.assertIn("| warm-up, time per node | 0 | 2.1 h | 25.0 min |", text)
        self.assertIn("Planning and joining files of one hour needs 2.8 h of CPU time", text)

    def test_segments_section_without_records_is_empty(self):
        self.assertEqual(archives().part(), [])


if __name__ == "__main__":
    unittest.main()
