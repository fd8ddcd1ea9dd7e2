#!/usr/bin/env python3
"""The benchmark pages on made-up figures, and the pages in docs against the records."""
import os
import re
import unittest
from unittest import mock

import labelling
import performance
import pipelines
import report
import superpixels
import volumes
from records import CONTENTS, PUBLISHED, Figures, geomean, records
from tables import largest_noise, noise, pivot

HD = {"width": 1920, "height": 1080}
MACHINE = {"cpu": "CPU", "cores": 2, "load_before": 0.0, "commit": "c", "date": "today"}


def row(content, us, **more):
    return {"what": "time", "by": "cclabel", "backend": "cuda", "criterion": "binary",
            "connectivity": 8, "task": "labels", "format": "GRAY8", "clock": "graph",
            "content": content, "us": us, "correct": True, "regions": 1, **HD, **more}


def figures(rows):
    return Figures({**MACHINE, "figures": rows})


def gpu(rows):
    return labelling.Gpu(figures(rows))


class Tables(unittest.TestCase):
    def test_pivot_table_with_repeated_or_missing_cell_shows_the_last_or_a_dash(self):
        cells = [(("a", 1), "x", "old"), (("a", 1), "x", "new"), (("b", 2), "y", "other")]
        self.assertEqual(pivot(["name", "n"], cells).splitlines()[2:],
                         ["| a | 1 | new | – |", "| b | 2 | – | other |"])

    def test_timing_noise_is_the_distance_of_median_and_fastest(self):
        for median, fastest, text in ((110.0, 100.0, "10 %"), (101.5, 100.0, "1.5 %"), (5.0, None, "–"),
                                      (None, 5.0, "–")):
            self.assertEqual(noise(median, fastest), text)
        self.assertEqual(largest_noise([(110.0, 100.0), (130.0, 100.0), (9e9, None)]), "30 %")
        self.assertEqual(largest_noise([(110.0, None)]), "–")


class Labels(unittest.TestCase):
    def test_geomean_of_three_values_is_the_cube_root_of_their_product(self):
        self.assertAlmostEqual(geomean([1, 10, 100]), 10)

    def test_mean_time_with_one_content_missing_is_none(self):
        rows = [row(content, 20) for content in CONTENTS]
        self.assertAlmostEqual(gpu(rows).ours("1920x1080", 8), 20)
        self.assertIsNone(gpu(rows[1:]).ours("1920x1080", 8))

    def test_timing_noise_without_a_fastest_time_is_a_dash(self):
        rows = [row(content, 22, fastest_us=20) for content in CONTENTS]
        self.assertEqual(gpu(rows).noise("1920x1080", 8), "10 %")
        self.assertEqual(gpu([row("maze", 22), *rows[:-1]]).noise("1920x1080", 8), "–")

    def test_correctness_with_one_wrong_answer_of_two_says_1_of_2(self):
        self.assertTrue(gpu([row("maze", 1), row("spiral", 1, correct=False)]).correctness().startswith("1 of 2 "))

    def test_peer_rows_show_noise_and_wrong_answers(self):
        rows = [row(content, us, by=by, clock="stream", fastest_us=fastest, correct=by == "cclabel")
                for content in CONTENTS for by, us, fastest in (("cclabel", 20, 20), ("CuPy 14", 60, 50))]
        self.assertEqual([line[3:] for line in gpu(rows).peers()],
                         [["cclabel", "20.0", "0.0 %", "1.00×", "none"],
                          ["CuPy 14", "60.0", "20 %", "3.00×", "21 of 21"]])

    def test_equal_colour_table_has_one_row_per_peer(self):
        self.assertEqual(gpu([]).equal_part(), [])
        of = {"criterion": "equal", "clock": "stream", "format": "RGB"}
        text = gpu([row("blobs", 300.0, by="colorcc 1", correct=False, **of),
                    row("blobs", 60.0, **of)]).equal_part()[-1]
        self.assertEqual(text.splitlines()[2:], ["| 1920x1080 | blobs | 1 | cclabel | 60.0 | – | 1.00× |",
                                                 "| 1920x1080 | blobs | 1 | colorcc 1 | 300 **wrong** | – | 5.00× |"])

    def test_published_figures_of_every_size_have_every_content(self):
        for size, best in PUBLISHED["best_us"].items():
            self.assertEqual(set(best), set(CONTENTS), size)


class Pipelines(unittest.TestCase):
    def test_live_rows_of_several_runs_show_medians_and_ranges(self):
        def of(chain, frames, cpu):
            return {"what": "streams", "source": "launch", "from": "clip ! identity sync=true", "chain": chain,
                    "streams": 16, "frames_per_second": 30.0, "frames": frames, "frames_expected": 100,
                    "cpu_us": cpu, "connections": 8, "apart": False}
        turns = ((90, 1500.0), (80, 1200.0), (99, 9e9))
        rows = [of("identity", 100, 1000.0), *[of(pipelines.FLAGSHIP, *each) for each in turns]]
        text = pipelines.live_part(figures(rows))[-1]
        self.assertIn("| 16 | nothing | together | 0 of 100 | 1.00 | 0.0 % | 1 |", text)
        self.assertIn(f"| 16 | `{pipelines.FLAGSHIP}` | together | 10 (1 to 20) of 100 | 1.50 | 25 % | 3 |", text)
        self.assertEqual(pipelines.live_part(figures([])), [])

    def test_graphcutbg_rate_ignores_warm_starts(self):
        def of(chain, rate):
            return {"what": "pipeline", "source": "launch", "from": "people",
                    "chain": chain + " frames-in-flight=1 device=cuda", "in_flight": 1,
                    "frames_per_second": rate, "work_us": 1.0}
        rows = [of("graphcutbg output=none", 700.0), of("graphcutbg warm-start=true output=none", 9e9)]
        self.assertEqual(pipelines.frame_of_graphcutbg(figures(rows)), 1000 / 700)

    def test_stream_sentence_ignores_live_streams_and_other_chains(self):
        def of(chain, streams, rate, clip="clip"):
            return {"what": "streams", "source": "launch", "from": clip, "chain": chain, "streams": streams,
                    "frames_per_second": rate, "connections": 8}
        found = performance.of_streams(figures([
            of("identity", 1, 700.0), of("identity", 8, 4800.0), of(pipelines.FLAGSHIP, 1, 690.0),
            of(pipelines.FLAGSHIP, 8, 2800.0), of("cclabel output=none", 8, 4700.0),
            of(pipelines.FLAGSHIP, 1, 30.0, "clip ! identity sync=true")]))
        for part in ("690 frames/s in one stream and 2800 in eight", "700 and 4800"):
            self.assertIn(part, found[0])

    def test_transcode_table_with_several_runs_uses_the_median_run(self):
        record = Figures({**MACHINE, "figures": [
            {"what": "transcode", "clip": "a.avi", "filter": name, "frames": 300, "seconds": seconds, "cpu_seconds": cpu}
            for name, seconds, cpu in (("cclabel", [8.0, 30.0, 10.0], [12, 15, 18]), ("ffmpeg", [5, 5, 5], [6, 6, 6]))] + [
            {"what": "starts", "files": 40, "jobs": 2, "seconds": [8, 8, 9], "cpu_seconds": [16, 17, 16]}]})
        text = "".join(pipelines.transcode_part(record))
        for row in ("| a.avi | `cclabel` | 300 | 30.0 | 25 % | 0.50× | 50.0 | 2.50× |", "| 40 | 2 | 8.00 | 0.20 | 0.40 |"):
            self.assertIn(row, text)
        self.assertEqual(pipelines.transcode_part(figures([])), [])

    def test_view_tables_show_the_cost_of_a_viewer(self):
        text = "".join(pipelines.view_part(figures([
            {"what": "latency", "transport": "video", "frames": 90, "median_ms": 36.2, "p95_ms": 50, "longest_ms": 120.4},
            {"what": "cost", "transport": "video", "without_viewer": 0.5, "with_viewer": 0.75},
            {"what": "cameras", "cameras": 10, "rate": 5, "seconds": 20, "fewest_pictures": 90, "cpu": 1.25}])))
        for row in ("| WebRTC | 90 | 36.2 | 50.0 | 120 |", "| WebRTC | 0.50 | 0.75 | 0.25 |", "| 10 | 5 | 4.50 | 1.25 |"):
            self.assertIn(row, text)
        self.assertEqual(pipelines.view_part(figures([])), [])


class SuperpixelTables(unittest.TestCase):
    def test_superpixel_peers_are_compared_at_equal_thread_counts(self):
        rows = [{"what": "superpixel-peers", "by": by, "threads": threads, "us": us, "cpu_us": us, "superpixels": 8000}
                for by, threads, us in (("slicsuperpixel", 1, 40000.0), ("fast-slic AVX2", 1, 100000.0),
                                        ("slicsuperpixel", 2, 20000.0), ("fast-slic AVX2", 2, 60000.0))]
        text = superpixels.cpu_part(figures(rows))[-1]
        self.assertIn("| 1 | fast-slic AVX2 | 8000 | 100 | – | 100 | 2.50× | 2.50× |", text)
        self.assertIn("| 2 | fast-slic AVX2 | 8000 | 60.0 | – | 60.0 | 3.00× | 3.00× |", text)

    def test_superpixel_steps_in_any_order_are_sorted(self):
        rows = [{"what": "superpixel-ablation", "width": 64, "height": 32, "side": 8, "step": step,
                 "name": name, "us": us} for step, name, us in ((8, "ours", 10.0), (1, "naive", 80.0))]
        text = superpixels.ladder_part(figures(rows))[-1]
        self.assertLess(text.index("naive"), text.index("ours"))
        self.assertIn("8.00×", text)
        self.assertIn("GTX 980", text)

    def test_published_quality_of_other_pictures_is_not_shown(self):
        ours = {"by": "slicsuperpixel", "wanted": 200, "superpixels": 200.0, "br": 0.86, "ue": 0.11,
                "asa": 0.945, "ev": 0.8, "co": 0.2}
        for images, named in ((20, True), (10, False)):
            with mock.patch.object(superpixels, "quality_rows", return_value=[{**ours, "images": images}]):
                self.assertEqual("| 200 | EPFL |" in "".join(superpixels.quality_part()), named)


class VolumeTables(unittest.TestCase):
    def test_volume_section_without_records_is_empty(self):
        self.assertEqual(volumes.Gpu(figures([])).part(), [])
        self.assertEqual(volumes.Cpu(figures([])).part(), [])

    def test_volume_rows_show_their_published_peers(self):
        cube = {"what": "volume", "backend": "cuda", "clock": "graph", "by": "cclabel", "width": 128,
                "content": "smooth", "connectivity": 26, "thresholds": 1, "us": 34.6, "fastest_us": 34.0}
        variant = {"what": "ablation", "content": "maze", "width": 512, "height": 512, "depth": 1,
                   "thresholds": 1, "variant": "global, one", "us": 75193.0, "passes": 15026,
                   "correct": False}
        text = "".join(volumes.Gpu(figures([cube, variant])).part())
        self.assertIn("| 128³ | smooth | – | – | 34.6 | 1.8 % | 81 CVCUDA_3D | 66.1 BKE_3D |", text)
        self.assertIn("| global, one | 75193 (15026) **wrong** |", text)


class Documents(unittest.TestCase):
    """The pages in docs."""

    @classmethod
    def setUpClass(cls):
        cls.texts = report.texts(report.Report(records()))

    def test_pages_in_docs_equal_those_made_from_the_records(self):
        for name, text in self.texts.items():
            with open(os.path.join(report.DOCS, name), encoding="utf-8") as file:
                self.assertEqual(file.read(), text, f"docs/{name}: run bench/run --report")

    def test_benchmarks_folder_contains_only_generated_pages(self):
        self.assertEqual(sorted(os.listdir(os.path.join(report.DOCS, "benchmarks"))),
                         sorted(os.path.basename(name) for name in self.texts if "/" in name))

    def test_first_sentence_of_pages_names_subject_and_device(self):
        for name, text in self.texts.items():
            first = text.splitlines()[2]
            self.assertRegex(first, r"^This page shows .* on [A-Z]", name)
            self.assertNotIn("on –", first, name)

    def test_performance_page_is_short_and_has_two_plots(self):
        page = self.texts["performance.md"]
        self.assertLessEqual(page.count("\n"), 130)
        self.assertEqual(page.count("!["), 2)
        for element in performance.ELEMENTS:
            self.assertIn(f"| {element} | ", page)

    def test_links_of_pages_lead_to_existing_files(self):
        for name, text in self.texts.items():
            for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
                path = os.path.join(report.DOCS, os.path.dirname(name), link)
                self.assertTrue(os.path.exists(path), f"{name}: {link}")


if __name__ == "__main__":
    unittest.main()
