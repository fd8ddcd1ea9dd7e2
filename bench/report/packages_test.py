#!/usr/bin/env python3
"""The tables on the Python package."""
import unittest

import packages
from report_test import figures, row


class Packages(unittest.TestCase):
    def row(self, peer, us, peer_us, **more):
        return {"what": "python", "task": "label", "content": "maze", "size": "1920x1080", "neighbours": 8,
                "threads": 1, "peer": peer, "us": us, "peer_us": peer_us, "correct": True, **more}

    def test_package_table_shows_ratio_largest_noise_and_wrong_answers(self):
        rows = [self.row("cv2 5.0", 10e3, 40e3, fastest_us=9e3, fastest_peer_us=32e3),
                self.row("cc3d 4", 10e3, 20e3, correct=False)]
        text = "".join(packages.Cpu(figures(rows)).part())
        self.assertIn("| content | size | neighbours | cv2 5.0 | cc3d 4 | noise |", text)
        self.assertIn("| maze | 1920x1080 | 8 | 10 / 40 = 4.00× | 10 / 20 = 2.00× **other answer** | 25 % |", text)

    def test_package_part_of_other_arrays_says_so_in_its_titles(self):
        text = "".join(packages.Cpu(figures([self.row("cc3d 4", 10, 20)]), "other arrays").part())
        self.assertIn("## On the CPU: other arrays\n", text)
        self.assertIn("### label, pictures (ms), 1 thread: other arrays\n", text)

    def test_package_table_of_a_record_without_fastest_time_shows_no_noise(self):
        self.assertIn("= 4.00× | – |", "".join(packages.Cpu(figures([self.row("cv2 5.0", 10, 40)])).part()))

    def test_gpu_package_table_includes_the_cpp_program_of_the_same_run(self):
        device = {"what": "python device", "content": "maze", "connectivity": 8, "correct": True}
        rows = [row("maze", 20.0, fastest_us=19.0), row("maze", 1.0, clock="stream"),
                {**device, "by": "gst_regions, CuPy", "us": 25.0},
                {**device, "by": "cuCIM 26", "us": 250.0, "fastest_us": 200.0},
                {"what": "python call", "by": "gst_regions, CuPy", "host_us": 9.0, "least_us": 8.0}]
        text = "".join(packages.Gpu(figures(rows)).part())
        for line in ("| maze | 8 | gst_regions, CuPy | 25 | – | 1.00× |",
                     "| maze | 8 | cuCIM 26 | 250 | 25 % | 10.0× |",
                     "| maze | 8 | C++ | 20 | 5.3 % | 0.80× |", "| gst_regions, CuPy | 9 | 12 % |"):
            self.assertIn(line, text)

    def test_package_section_without_records_is_empty(self):
        for kind in (packages.Cpu, packages.Gpu):
            self.assertEqual(kind(figures([])).part(), [])


if __name__ == "__main__":
    unittest.main()
