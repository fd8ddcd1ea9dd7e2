#!/usr/bin/env python3
"""The report on made-up figures: means need all 21 contents, verdicts can go both ways."""
import os
import sys
import unittest
from unittest import mock

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cpu_report
import quality_tables
import report
import superpixel_tables
import tracking_tables
import volume_tables
from figures import CONTENTS, Figures, anchors, geomean

HD = {"width": 1920, "height": 1080}


def row(content, us, **more):
    return {"what": "time", "by": "cclabel", "backend": "cuda", "criterion": "binary",
            "connectivity": 8, "task": "labels", "format": "GRAY8", "clock": "graph",
            "content": content, "us": us, "correct": True, "regions": 1, **HD, **more}


def gpu(rows):
    return report.Gpu(Figures({"figures": rows}))


def verdict_on(musts, beginning):
    found = [must for must in musts if must[0].startswith(beginning)]
    return found[0][3]


class Report(unittest.TestCase):
    def test_geomean(self):
        self.assertAlmostEqual(geomean([1, 10, 100]), 10)

    def test_mean_needs_every_content(self):
        rows = [row(content, 20) for content in CONTENTS]
        self.assertAlmostEqual(gpu(rows).ours("1920x1080", 8), 20)
        self.assertIsNone(gpu(rows[1:]).ours("1920x1080", 8))

    def test_verdicts(self):
        begin = "labels, 8 neighbours, 1920x1080"
        for us, expected in ((35.6, "holds"), (35.8, "**does not hold**")):
            musts = gpu([row(content, us) for content in CONTENTS]).musts()
            self.assertEqual(verdict_on(musts, begin), expected)
        self.assertEqual(verdict_on(gpu([]).musts(), begin), "not measured")

    def test_wrong_answers_show(self):
        musts = gpu([row("maze", 1), row("spiral", 1, correct=False)]).musts()
        self.assertEqual(verdict_on(musts, "answers equal"), "**does not hold**")

    def test_cost_of_the_table(self):
        rows = [row(content, 10) for content in CONTENTS]
        for us, expected in ((14, "holds"), (16, "**does not hold**")):
            with_table = [row(content, us, task="table") for content in CONTENTS]
            self.assertEqual(verdict_on(gpu(rows + with_table).musts(),
                                        "labels and table, 1920x1080"), expected)

    def test_a_frame_that_is_held_back_shows(self):
        pipeline = {"what": "pipeline", "source": "system", "chain": "cclabel output=none",
                    "in_flight": 1, "frames_per_second": 9.0, "latency_us": -1.0}
        musts = gpu([pipeline]).element_musts()
        self.assertEqual(verdict_on(musts, "a frame that nothing follows"), "**does not hold**")

    def test_superpixels_beside_peers(self):
        def peer(name, threads, cpu):
            return {"what": "superpixel-peers", "by": name, "threads": threads, "us": cpu,
                    "cpu_us": cpu, "superpixels": 8000}
        for cpu, expected in ((90.0, "holds"), (110.0, "**does not hold**")):
            rows = [peer("slicsuperpixel", 1, cpu), peer("fast-slic AVX2", 1, 100.0)]
            musts = superpixel_tables.musts(Figures({"figures": rows}))
            self.assertEqual([must[3] for must in musts], [expected, "not measured"])
        self.assertEqual(superpixel_tables.musts(None), [])

    def test_an_iteration_is_what_five_more_take(self):
        for ten, expected in ((145.0, "holds"), (146.0, "**does not hold**")):
            rows = [{"what": "superpixels", "width": 1920, "height": 1080, "content": "footage",
                     "case": f"Lab, {count} iterations of all rows, pieces apart, region size 16",
                     "us": us} for count, us in ((5, 100.0), (10, ten))]
            musts = superpixel_tables.gpu_musts(Figures({"figures": rows}))
            self.assertEqual(verdict_on(musts, "superpixels, 1920x1080, an iteration"), expected)
            self.assertEqual(verdict_on(musts, "superpixels, 3840x2160, an iteration"),
                             "not measured")

    def test_what_tracking_adds(self):
        for added, regions, expected in ((20.0, 1000, "holds"), (21.0, 300, "**does not hold**"),
                                         (21.0, 2000, "not measured")):
            row = {"what": "tracking", "backend": "cuda", "clock": "graph", "width": 1920,
                   "height": 1080, "regions": regions, "us_without": 50.0, "us_with": 50.0 + added}
            musts = tracking_tables.musts(Figures({"figures": [row]}))
            self.assertEqual([must[3] for must in musts], [expected])

    def test_the_ladder_is_in_order(self):
        rows = [{"what": "superpixel-ablation", "width": 64, "height": 32, "side": 8, "step": step,
                 "name": name, "us": us} for step, name, us in ((8, "ours", 10.0), (1, "naive", 80.0))]
        text = superpixel_tables.ablation(Figures({"figures": rows}), anchors())[-1]
        self.assertLess(text.index("naive"), text.index("ours"))
        self.assertIn("8.00×", text)
        self.assertIn("GTX 980", text)

    def test_anchors_hold_every_content(self):
        for size, best in anchors()["best"].items():
            self.assertEqual(set(best), set(CONTENTS), size)


class VolumeTables(unittest.TestCase):
    def test_a_record_without_volumes_has_no_section(self):
        self.assertEqual(volume_tables.parts(Figures({"figures": []}), anchors(), report.table), [])

    def test_rows_stand_beside_their_peers(self):
        cube = {"what": "volume", "backend": "cuda", "clock": "graph", "by": "cclabel",
                "width": 128, "content": "smooth", "connectivity": 26, "thresholds": 1, "us": 34.6}
        variant = {"what": "ablation", "content": "maze", "width": 512, "height": 512, "depth": 1,
                   "thresholds": 1, "variant": "global, one", "us": 75193.0, "passes": 15026,
                   "correct": False}
        text = "".join(volume_tables.parts(Figures({"figures": [cube, variant]}), anchors(), report.table))
        self.assertIn("| 128³ | smooth | – | – | 34.6 | 81 CVCUDA_3D | 66.1 BKE_3D |", text)
        self.assertIn("| global, one | 75193 (15026) **wrong** |", text)


class QualityTables(unittest.TestCase):
    def test_being_behind_in_one_measure_shows(self):
        ours = {"by": "slicsuperpixel", "wanted": 200, "superpixels": 200.0, "images": 1, "br": 0.9,
                "ue": 0.1, "asa": 0.95, "ev": 0.8, "co": 0.2}
        peer = {**ours, "by": "peer", "br": 0.8, "ue": 0.2, "asa": 0.9, "ev": 0.7}
        for rows, expected in (([ours, peer], "holds"),
                               ([ours, {**peer, "ue": 0.05}], "**does not hold**")):
            with mock.patch.object(quality_tables, "rows_of", return_value=rows):
                self.assertEqual(quality_tables.musts(report.verdict)[0][3], expected)
                self.assertIn("| 200 | peer |", "".join(quality_tables.quality()))

    def test_peers_measured_elsewhere_count_on_the_same_pictures_alone(self):
        ours = {"by": "slicsuperpixel", "wanted": 200, "superpixels": 200.0, "br": 0.86, "ue": 0.11,
                "asa": 0.945, "ev": 0.8, "co": 0.2}
        peer = {**ours, "by": "peer", "br": 0.8, "ue": 0.2, "asa": 0.9, "ev": 0.7}
        for images, recall, named, expected in ((20, 0.86, True, "holds"),
                                                (20, 0.82, True, "**does not hold**"),
                                                (10, 0.82, False, "holds")):
            rows = [{**row, "images": images} for row in ({**ours, "br": recall}, peer)]
            with mock.patch.object(quality_tables, "rows_of", return_value=rows):
                self.assertEqual(quality_tables.musts(report.verdict)[0][3], expected)
                self.assertEqual("| 200 | EPFL |" in "".join(quality_tables.quality()), named)


class Transcodes(unittest.TestCase):
    def verdict_at(self, seconds):
        figures = Figures({"cores": 2, "figures": [
            {"what": "transcode", "clip": "a.avi", "filter": "cclabel", "frames": 300,
             "seconds": seconds},
            {"what": "transcode", "clip": "a.avi", "filter": "identity", "frames": 300,
             "seconds": [1.0]}]})
        [row] = cpu_report.transcode_musts(figures)
        return row[2:]

    def test_the_median_of_the_turns_counts(self):
        self.assertEqual(self.verdict_at([8.0, 30.0, 10.0]), ["30.0 frames/s", "holds"])
        self.assertEqual(self.verdict_at([1.0, 10.1, 12.0]),
                         ["29.7 frames/s", "**does not hold**"])

    def test_without_a_record_nothing_is_said(self):
        self.assertEqual(cpu_report.transcode_musts(None), [])
        self.assertEqual(cpu_report.transcode_part(None), [])


if __name__ == "__main__":
    unittest.main()
