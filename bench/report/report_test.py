#!/usr/bin/env python3
"""The report on made-up figures: means need all 21 contents, verdicts can go both ways."""
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
from records import ANCHORS, CONTENTS, Figures, geomean, records
from tables import asked, pivot

HD = {"width": 1920, "height": 1080}
MACHINE = {"cpu": "CPU", "cores": 2, "load_before": 0.0, "commit": "c", "date": "today"}


def row(content, us, **more):
    return {"what": "time", "by": "cclabel", "backend": "cuda", "criterion": "binary",
            "connectivity": 8, "task": "labels", "format": "GRAY8", "clock": "graph",
            "content": content, "us": us, "correct": True, "regions": 1, **HD, **more}


def figures(rows):
    return Figures({"figures": rows})


def gpu(rows):
    return labelling.Gpu(figures(rows))


def verdict_on(rows, beginning):
    found = [row for row in rows if row[0].startswith(beginning)]
    return found[0][3]


class Tables(unittest.TestCase):
    def test_what_was_asked_is_read_from_its_text(self):
        for wanted, value, row in (("≤ 50 µs", 50.0, ["50.0 µs", "holds"]),
                                   ("≤ 50 µs", 50.1, ["50.1 µs", "**does not hold**"]),
                                   ("< 1", 1.0, ["1.00", "**does not hold**"]),
                                   ("≥ 1.5×", 1.5, ["1.50×", "holds"]),
                                   ("> 1×", 1.0, ["1.00×", "**does not hold**"]),
                                   ("≥ 30 frames/s", None, ["–", "not measured"])):
            self.assertEqual(asked("it", wanted, value), ["it", wanted, *row])

    def test_a_bound_is_not_rounded_and_a_wrong_answer_never_holds(self):
        self.assertEqual(asked("it", "≤ 35.7 µs", 35.74, bound=35.746)[3], "holds")
        self.assertEqual(asked("it", "≤ 35.7 µs", 35.75, bound=35.746)[3], "**does not hold**")
        self.assertEqual(asked("it", "≤ 1 ms", 0.5, right=False)[3], "**does not hold**")

    def test_a_pivot_has_the_later_of_two_and_a_dash_for_none(self):
        cells = [(("a", 1), "x", "old"), (("a", 1), "x", "new"), (("b", 2), "y", "other")]
        self.assertEqual(pivot(["name", "n"], cells).splitlines()[2:],
                         ["| a | 1 | new | – |", "| b | 2 | – | other |"])


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
            musts = gpu([row(content, us) for content in CONTENTS]).asked()
            self.assertEqual(verdict_on(musts, begin), expected)
        self.assertEqual(verdict_on(gpu([]).asked(), begin), "not measured")

    def test_wrong_answers_show(self):
        musts = gpu([row("maze", 1), row("spiral", 1, correct=False)]).asked()
        self.assertEqual(verdict_on(musts, "answers equal"), "**does not hold**")

    def test_cost_of_the_table(self):
        rows = [row(content, 10) for content in CONTENTS]
        for us, expected in ((14, "holds"), (16, "**does not hold**")):
            with_table = [row(content, us, task="table") for content in CONTENTS]
            self.assertEqual(verdict_on(gpu(rows + with_table).asked(),
                                        "labels and table, 1920x1080"), expected)

    def test_a_frame_that_is_held_back_shows(self):
        pipeline = {"what": "pipeline", "source": "system", "chain": "cclabel output=none",
                    "in_flight": 1, "frames_per_second": 9.0, "latency_us": -1.0}
        musts = pipelines.asked_of_labelling(figures([pipeline]))
        self.assertEqual(verdict_on(musts, "a frame that nothing follows"), "**does not hold**")

    def test_streams_behind_the_decoder(self):
        def of(chain, rate, cpu, connections):
            return {"what": "streams", "source": "launch", "from": "clip", "chain": chain, "streams": 8,
                    "frames_per_second": rate, "cpu_us": cpu, "connections": connections}
        drawn = "cclabel output=none frames-in-flight=2 ! regionoverlay frames-in-flight=2"
        cut = "graphcutbg output=none frames-in-flight=2 ! cclabel source=mask output=none ! regionoverlay"
        for rate, cpu, expected in ((4751.0, 2499.0, "holds"), (2599.0, 2501.0, "**does not hold**")):
            asked = pipelines.asked_of_streams(figures(
                [of("identity", 5000.0, 500.0, 32), of(drawn, rate, cpu, 32), of(cut, rate, cpu, 32),
                 of("identity", 1.0, 1.0, 8), of(drawn, 1.0, 9e9, 8), of(cut, 1.0, 9e9, 8)]))
            self.assertEqual([must[3] for must in asked],
                             [expected, "not measured", expected, expected, "not measured"])
        sixteen = {**of(cut, 100.0, 1.0, 32), "streams": 16}
        for rate, expected in ((191.0, "holds"), (189.0, "**does not hold**")):
            two = {**sixteen, "sources": 2, "frames_per_second": rate}
            self.assertEqual(pipelines.asked_of_streams(figures([two, sixteen]))[-1][3], expected)

    def test_live_streams_beside_their_decoders(self):
        def of(chain, streams, frames, cpu, apart=False):
            return {"what": "streams", "source": "launch", "from": "clip ! identity sync=true", "chain": chain,
                    "streams": streams, "frames_per_second": 30.0, "frames": frames, "frames_expected": 100,
                    "cpu_us": cpu, "connections": 8, "apart": apart}
        alone = {"what": "pipeline", "source": "launch", "from": "clip", "in_flight": 1, "latency_us": 0.0,
                 "frames_per_second": 700.0, "chain": pipelines.FLAGSHIP.replace(" !", " device=cuda !") + " device=cuda"}
        for work, cpu, frames, expected in ((799.0, 1599.0, 90, "holds"), (801.0, 1601.0, 89, "**does not hold**")):
            rows = [of("identity", 1, 100, 1000.0), of(pipelines.FLAGSHIP, 1, 100, cpu),
                    of("identity", 16, 90, 1000.0), of(pipelines.FLAGSHIP, 16, frames, 9e9),
                    of("identity", 16, 80, 1000.0, True), of(pipelines.FLAGSHIP, 16, frames - 10, 9e9, True),
                    {**alone, "work_us": work}]
            self.assertEqual([must[3] for must in pipelines.asked_of_live(figures(rows))], [expected] * 4)
        quiet, busy = of("identity", 1, 100, 1000.0), of(pipelines.FLAGSHIP, 1, 100, 1500.0)
        turns = [quiet, quiet, {**quiet, "cpu_us": 9e9}, busy, busy, {**busy, "cpu_us": 9e9}]
        self.assertEqual(pipelines.asked_of_live(figures(turns))[1][2], "0.50 ms")
        self.assertIn("the median of 3 turns", " ".join(pipelines.streams(figures(turns))))
        self.assertEqual([must[3] for must in pipelines.asked_of_live(figures([]))], ["not measured"] * 4)

    def test_warm_starts_beside_cold_ones(self):
        def of(chain, work, in_flight=1):
            return {"what": "pipeline", "source": "launch", "from": "people", "chain": chain + " frames-in-flight=1 device=cuda",
                    "in_flight": in_flight, "frames_per_second": 700.0, "work_us": work}
        cold, warm = "graphcutbg output=none", "graphcutbg warm-start=true output=none"
        for work, expected in ((618.0, "holds"), (630.0, "**does not hold**")):
            rows = [of(cold, 600.0), of(cold, 900.0, in_flight=4), of(warm, work)]
            self.assertEqual(pipelines.asked_of_graphcutbg(figures(rows))[1][3], expected)
        self.assertEqual(pipelines.frame_of_graphcutbg(figures([of(cold, 600.0), {**of(warm, 1.0), "frames_per_second": 9e9}])),
                         1000 / 700)
        self.assertEqual(pipelines.asked_of_graphcutbg(figures([]))[1][3], "not measured")

    def test_live_streams_and_other_chains_say_nothing_of_all_three_elements(self):
        def of(chain, streams, rate, clip="clip"):
            return {"what": "streams", "source": "launch", "from": clip, "chain": chain, "streams": streams,
                    "frames_per_second": rate, "connections": 8}
        said = performance.of_streams(figures([
            of("identity", 1, 700.0), of("identity", 8, 4800.0), of(pipelines.FLAGSHIP, 1, 690.0),
            of(pipelines.FLAGSHIP, 8, 2800.0), of("cclabel output=none", 8, 4700.0),
            of(pipelines.FLAGSHIP, 1, 30.0, "clip ! identity sync=true")]))
        self.assertEqual(said[0], "1080p decoded on the GPU, then all three elements: 690 frames/s in one stream,"
                         " 2800 in eight; the decoder alone gives 700 and 4800.")

    def test_superpixels_beside_peers(self):
        def peer(name, threads, cpu):
            return {"what": "superpixel-peers", "by": name, "threads": threads, "us": cpu,
                    "cpu_us": cpu, "superpixels": 8000}
        for cpu, expected in ((45.0, "holds"), (46.0, "**does not hold**")):
            rows = [peer("slicsuperpixel", 1, cpu), peer("fast-slic AVX2", 1, 100.0)]
            musts = superpixels.asked_on_cpu(figures(rows))
            self.assertEqual([must[3] for must in musts], [expected, "not measured"])
        self.assertEqual(superpixels.asked_on_cpu(figures([])), [])

    def test_an_iteration_is_what_five_more_take(self):
        for ten, expected in ((145.0, "holds"), (146.0, "**does not hold**")):
            rows = [{"what": "superpixels", "width": 1920, "height": 1080, "content": "footage",
                     "case": f"Lab, {count} iterations of all rows, pieces apart, region size 16",
                     "us": us} for count, us in ((5, 100.0), (10, ten))]
            musts = superpixels.asked_on_gpu(figures(rows))
            self.assertEqual(verdict_on(musts, "superpixels, 1920x1080, an iteration"), expected)
            self.assertEqual(verdict_on(musts, "superpixels, 3840x2160, an iteration"),
                             "not measured")

    def test_what_tracking_adds(self):
        for added, regions, expected in ((20.0, 1000, "holds"), (21.0, 300, "**does not hold**"),
                                         (21.0, 2000, "not measured")):
            row = {"what": "tracking", "backend": "cuda", "clock": "graph", "width": 1920,
                   "height": 1080, "regions": regions, "us_without": 50.0, "us_with": 50.0 + added}
            musts = gpu([row]).tracking()
            self.assertEqual([must[3] for must in musts], [expected])

    def test_the_ladder_is_in_order(self):
        rows = [{"what": "superpixel-ablation", "width": 64, "height": 32, "side": 8, "step": step,
                 "name": name, "us": us} for step, name, us in ((8, "ours", 10.0), (1, "naive", 80.0))]
        text = superpixels.ladder_part(figures(rows))[-1]
        self.assertLess(text.index("naive"), text.index("ours"))
        self.assertIn("8.00×", text)
        self.assertIn("GTX 980", text)

    def test_equal_colours_beside_packages(self):
        self.assertEqual(gpu([]).equal_part(), [])
        of = {"criterion": "equal", "clock": "stream", "format": "RGB"}
        text = gpu([row("blobs", 300.0, by="colorcc 1", correct=False, **of),
                    row("blobs", 60.0, **of)]).equal_part()[-1]
        self.assertEqual(text.splitlines()[0], "| size | content | regions | cclabel | colorcc 1 |")
        self.assertEqual(text.splitlines()[-1], "| 1920x1080 | blobs | 1 | 60.0 | 300 **wrong** |")

    def test_anchors_hold_every_content(self):
        for size, best in ANCHORS["best"].items():
            self.assertEqual(set(best), set(CONTENTS), size)


class VolumeTables(unittest.TestCase):
    def test_a_record_without_volumes_has_no_section(self):
        self.assertEqual(volumes.Gpu(figures([])).part(), [])
        self.assertEqual(volumes.Cpu(figures([])).part(), [])

    def test_rows_stand_beside_their_peers(self):
        cube = {"what": "volume", "backend": "cuda", "clock": "graph", "by": "cclabel",
                "width": 128, "content": "smooth", "connectivity": 26, "thresholds": 1, "us": 34.6}
        variant = {"what": "ablation", "content": "maze", "width": 512, "height": 512, "depth": 1,
                   "thresholds": 1, "variant": "global, one", "us": 75193.0, "passes": 15026,
                   "correct": False}
        text = "".join(volumes.Gpu(Figures({**MACHINE, "figures": [cube, variant]})).part())
        self.assertIn("| 128³ | smooth | – | – | 34.6 | 81 CVCUDA_3D | 66.1 BKE_3D |", text)
        self.assertIn("| global, one | 75193 (15026) **wrong** |", text)


class QualityTables(unittest.TestCase):
    def test_being_behind_in_one_measure_shows(self):
        ours = {"by": "slicsuperpixel", "wanted": 200, "superpixels": 200.0, "images": 1, "br": 0.9,
                "ue": 0.1, "asa": 0.95, "ev": 0.8, "co": 0.2}
        peer = {**ours, "by": "peer", "br": 0.8, "ue": 0.2, "asa": 0.9, "ev": 0.7}
        for rows, expected in (([ours, peer], "holds"),
                               ([ours, {**peer, "ue": 0.05}], "**does not hold**")):
            with mock.patch.object(superpixels, "quality_rows", return_value=rows):
                self.assertEqual(superpixels.asked_of_quality()[0][3], expected)
                self.assertIn("| 200 | peer |", "".join(superpixels.quality_part()))

    def test_peers_measured_elsewhere_count_on_the_same_pictures_alone(self):
        ours = {"by": "slicsuperpixel", "wanted": 200, "superpixels": 200.0, "br": 0.86, "ue": 0.11,
                "asa": 0.945, "ev": 0.8, "co": 0.2}
        peer = {**ours, "by": "peer", "br": 0.8, "ue": 0.2, "asa": 0.9, "ev": 0.7}
        for images, recall, named, expected in ((20, 0.86, True, "holds"),
                                                (20, 0.82, True, "**does not hold**"),
                                                (10, 0.82, False, "holds")):
            rows = [{**row, "images": images} for row in ({**ours, "br": recall}, peer)]
            with mock.patch.object(superpixels, "quality_rows", return_value=rows):
                self.assertEqual(superpixels.asked_of_quality()[0][3], expected)
                self.assertEqual("| 200 | EPFL |" in "".join(superpixels.quality_part()), named)


class Documents(unittest.TestCase):
    """Those that lie in docs."""

    @classmethod
    def setUpClass(cls):
        cls.report = report.Report(records())
        cls.texts = report.texts(cls.report)

    def test_they_are_what_the_records_say(self):
        for name, text in self.texts.items():
            with open(os.path.join(report.DOCS, name), encoding="utf-8") as file:
                self.assertEqual(file.read(), text, f"docs/{name}: run bench/run --report")

    def test_the_page_for_users_is_one_page_with_two_plots(self):
        page = self.texts["performance.md"]
        self.assertLessEqual(page.count("\n"), 100)
        self.assertEqual(page.count("!["), 2)
        for element in performance.ELEMENTS:
            self.assertIn(f"| {element} | ", page)

    def test_what_does_not_hold_is_a_known_limit(self):
        rows = self.report.asked_on_gpu() + self.report.asked_on_cpu()
        said = performance.limits(self.report)
        for what, *_, holds in rows:
            is_said = any(limit.startswith(f"{what}: ") for limit in said)
            self.assertEqual(is_said, holds != "holds", what)

    def test_links_lead_somewhere(self):
        for name, text in self.texts.items():
            for link in re.findall(r"\]\(([^)#]+)\)", text):
                path = os.path.join(report.DOCS, os.path.dirname(name), link)
                self.assertTrue(os.path.exists(path), f"{name}: {link}")


class Transcodes(unittest.TestCase):
    def verdict_at(self, seconds):
        record = Figures({"cores": 2, "figures": [
            {"what": "transcode", "clip": "a.avi", "filter": "cclabel", "frames": 300,
             "seconds": seconds},
            {"what": "transcode", "clip": "a.avi", "filter": "identity", "frames": 300,
             "seconds": [1.0]}]})
        [row] = pipelines.asked_of_transcode(record)
        return row[2:]

    def test_the_median_of_the_turns_counts(self):
        self.assertEqual(self.verdict_at([8.0, 30.0, 10.0]), ["30.0 frames/s", "holds"])
        self.assertEqual(self.verdict_at([1.0, 10.1, 12.0]),
                         ["29.7 frames/s", "**does not hold**"])

    def test_without_a_record_nothing_is_said(self):
        self.assertEqual(pipelines.asked_of_transcode(figures([])), [])
        self.assertEqual(pipelines.transcode_part(figures([])), [])


if __name__ == "__main__":
    unittest.main()
