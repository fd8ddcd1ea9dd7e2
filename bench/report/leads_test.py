#!/usr/bin/env python3
"""The list of leads names each peer that is better, and no other."""
import types
import unittest
from unittest import mock

import cuts
import leads
import packages
from records import CONTENTS, PUBLISHED
from report_test import HD, MACHINE, figures, row

SIZE = "1920x1080"


class Leads(unittest.TestCase):
    def of_suite(self, function, rows):
        with mock.patch.object(leads, "of_suite", lambda _: figures(rows)):
            return function(None)

    def test_label_time_slower_than_published_peer_is_named(self):
        for shares, named in (({}, 0), ({"maze": 1.09}, 1)):
            rows = [row(content, shares.get(content, 0.5) * PUBLISHED["best_us"][SIZE][content]["8"][0])
                    for content in CONTENTS]
            rows.append({"what": "floor", "clock": "graph", "us": PUBLISHED["floor_us"][SIZE], **HD})
            found = leads.in_labels(types.SimpleNamespace(gpu=figures(rows)))
            self.assertEqual(len(found), named)
            self.assertEqual(any("maze (1.09×)" in sentence for sentence in found), bool(named))
        self.assertEqual(leads.in_labels(types.SimpleNamespace(gpu=None)), [])

    def test_python_peer_faster_than_this_project_is_named(self):
        for us, named in ((10.0, 0), (40.0, 1)):
            rows = [{"what": "python", "task": "label", "content": "maze", "size": SIZE, "threads": 1, "us": us,
                     "peer": "cv2 5.0", "peer_us": 20.0}]
            self.assertEqual(len(leads.in_python(types.SimpleNamespace(package=packages.Cpu(figures(rows))))), named)

    def test_cut_peer_faster_than_this_project_is_named_but_not_the_floor(self):
        ours = {"file": "a.gcg", "neighbours": 4, "solver": "cpu: 1 thread", "ms": 5.0, "expected": True}
        floor = {**ours, "solver": "floor: weights read, mask written", "ms": 0.1}
        for ms, named in ((6.0, 0), (4.0, 1)):
            rows = [ours, floor, {**ours, "solver": "PyMaxflow 1.3.2", "ms": ms}]
            found = leads.in_cuts(types.SimpleNamespace(cuts_on_cpus=[cuts.Cuts(figures(rows))]))
            self.assertEqual(len(found), named)

    def test_motion_peer_cheaper_than_this_project_is_named_with_its_score(self):
        for ms, named in ((2.0, 0), (0.5, 1)):
            rows = [{"what": "motion", "by": "motion", "cpu_ms": 1.0},
                    {"what": "motion", "by": "absdiff", "cpu_ms": ms},
                    {"what": "boxes", "by": "absdiff", "mean_f": 0.2}]
            found = self.of_suite(leads.in_motion, rows)
            self.assertEqual(len(found), named)
            self.assertEqual(any("boxes is 0.20" in sentence for sentence in found), bool(named))
        self.assertEqual(self.of_suite(leads.in_motion, []), [])

    def test_track_peer_better_than_this_project_is_named(self):
        for idf1, named in ((0.8, 0), (0.95, 1)):
            rows = [{"what": "tracks", "clip": "pole", "by": by, "idf1": value}
                    for by, value in (("cclabel", 0.9), ("SORT", 0.1), ("OC-SORT", idf1))]
            found = self.of_suite(leads.in_tracks, rows)
            self.assertEqual([sentence for sentence in found if "OC-SORT has IDF1" in sentence], found)
            self.assertEqual(len(found), named)

    def test_foreground_peer_better_than_this_project_is_named(self):
        for f, named in ((0.8, 0), (0.95, 1)):
            summary = [{"who": "graphcutbg", "f": {"plain": 0.9}}, {"who": "MOG2", "f": {"plain": f}}]
            for record, other in (("quality", "categories"), ("categories", "quality")):
                with mock.patch.object(leads.foreground, record, lambda: {"summary": summary}), \
                        mock.patch.object(leads.foreground, other, lambda: {"summary": []}):
                    self.assertEqual(len(leads.in_foreground(None)), named)

    def test_superpixel_peer_better_than_this_project_is_named(self):
        ours = {"by": "slicsuperpixel", "wanted": 200, "images": 1, "br": 0.9, "ue": 0.1, "asa": 0.95, "ev": 0.8}
        for error, named in ((0.2, []), (0.05, ["Superpixels: peer is better in error (of 200)."])):
            peer = {"by": "peer", "wanted": 200, "images": 1, "br": 0.8, "ue": error, "asa": 0.9, "ev": 0.7}
            with mock.patch.object(leads.superpixels, "quality_rows", lambda: [ours, peer]):
                self.assertEqual(leads.in_superpixels(None), named)


if __name__ == "__main__":
    unittest.main()
