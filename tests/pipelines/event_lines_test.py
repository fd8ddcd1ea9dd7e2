#!/usr/bin/python3
"""regions-transcode --events and --find: events of archives, which equal the events of a live pipeline."""

import json

import jsonschema
import media
import numpy
from cases import PROGRAM, Case, main

FILTER = "cclabel threshold=0.5 track=true output=none"
# A square that moves to and fro, with key frames at which segments begin.
SQUARE = ("color=black:s=160x120:r=25:d=8[b];color=white:s=16x16:r=25:d=8[w];[b][w]overlay=x='72+60*sin(t*4)':y=50")
CODED = ("-c:v", "libx264", "-qp", "0", "-pix_fmt", "yuv420p", "-g", "50", "-bf", "0")
RULES = {"width": 160, "height": 120,
         "zones": [{"id": "right", "points": [[80, 0], [160, 0], [160, 120], [80, 120]], "loitering-time": 0.5}],
         "lines": [{"id": "gate", "points": [[60, 0], [60, 120]]}]}


class Archives(Case):
    def setUp(self):
        super().setUp()
        self.rules = self.write(RULES)

    def write(self, rules):
        path = self.folder / "rules.json"
        path.write_text(rules if isinstance(rules, str) else json.dumps(rules), encoding="utf-8")
        return path

    def square(self):
        return self.clip("in.mkv", SQUARE, *CODED)

    def transcode(self, *options, status=0, more=""):
        return media.run(PROGRAM, self.square(), "-o", self.out, "--filter", FILTER + more, "--profile", "lossless",
                         "--rules", self.rules, "--events", *options, status=status)

    def written(self):
        return [json.loads(line) for line in (self.out / "in.events.jsonl").read_text(encoding="utf-8").splitlines()]

    def find(self, *words, status=0, of="all"):
        text = media.run(PROGRAM, "--find", of, "--rules", self.rules, *words, status=status)
        return text if status else [json.loads(line) for line in text.splitlines()]

    def live(self):
        text = media.run(media.script("events"), self.square(), "--rules", self.rules, "--filter", FILTER)
        return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def alone(events, *names):
    """The events without these fields."""
    return [{name: value for name, value in event.items() if name not in names} for event in events]


class Events(Archives):
    def test_events_file_equals_the_events_of_a_live_pipeline(self):
        self.transcode("--json")
        events, live = self.written(), self.live()
        self.assertGreater(len(events), 20)
        self.assertEqual(alone(events, "frame"), alone(live, "source"))
        schema = json.loads((media.ROOT / "docs" / "events.schema.json").read_text(encoding="utf-8"))
        for event in events:
            jsonschema.validate(event, schema)
            self.assertEqual(event["frame"], round(event["time"] * 25))
        self.assertEqual(alone(self.find(self.out / "in.jsonl"), "source"), events)

    def test_segments_have_the_events_of_the_whole_file(self):
        self.transcode("--json")
        whole = self.written()
        self.transcode("--json", "--segments", "1.9", "--warm-up", "1", "--force", "-j", "2")
        self.assertEqual(self.written(), whole)

    def test_changed_rules_make_the_output_again(self):
        self.transcode()
        self.write(RULES | {"lines": []})
        self.assertIn("rules was", self.transcode(status=1))
        self.transcode("--force")
        self.assertNotIn("crossing", {event["event"] for event in self.written()})

    def test_share_of_area_requires_runs_in_the_regions(self):
        self.write({"zones": [RULES["zones"][0] | {"anchor": "area", "min-share": 0.5}]})
        self.assertIn("zone 'right' requires the pixels of the objects", self.transcode(status=1))
        self.transcode("--json", more=" attach-runs=true")
        events = self.written()
        self.assertIn("leave", {event["event"] for event in events})
        self.assertEqual(alone(self.find(self.out / "in.jsonl"), "source"), events)

    def test_rules_that_do_not_fit_fail_the_file(self):
        self.write(RULES | {"width": 100, "height": 100})
        said = self.transcode(status=1)
        self.assertIn("frame 0: the rules are for 100x100 pixels, but the video has 160x120", said)
        self.assertEqual(self.files(self.out), [])

    def test_invalid_rules_are_refused_before_anything_is_written(self):
        for rules, message in (('{"zones": [{"id": "z"}]}', "rules: zone 'z' requires \"points\" or \"rings\""),
                               ("rules.json", "expected JSON, an object or an array"), ("", "expected JSON"),
                               ("[" * 100, "more than 8 levels")):
            with self.subTest(rules):
                self.write(rules)
                self.assertIn(message, self.transcode(status=2))
                self.assertFalse(self.out.exists())
        self.rules.unlink()
        self.assertIn("No such file", self.transcode(status=2))


class Stored(Archives):
    def stored(self, *lines):
        path = self.folder / "in.jsonl"
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    @staticmethod
    def line(frame, x, **changes):
        return json.dumps({"frame": frame, "time": frame / 25, "algorithm": "cclabel", "width": 160, "height": 120,
                           "regions-total": 1, "columns": ["id", "track", "x", "y", "width", "height", "first-seen"],
                           "regions": [[1, 1, x, 50, 10, 10, 0]]} | changes)


class Find(Stored):
    def test_find_with_names_of_events_prints_only_these(self):
        path = self.stored(*(self.line(frame, 10 * frame) for frame in range(16)))
        self.assertEqual([event["event"] for event in self.find(path)], ["crossing", "enter"])
        event, = self.find(path, of="enter")
        self.assertEqual(event, {"event": "enter", "zone": "right", "time": 0.32, "track": 1, "id": 1, "x": 85, "y": 59.5,
                                 "frame": 8, "source": str(path)})
        self.assertEqual(self.find(path, of="loitering,leave"), [])

    def test_find_faulty_lines_are_reported_with_their_number(self):
        good = self.line(0, 10)
        for bad in ("", "{", "[]", "3", "{}", '{"frame": 0}', self.line(1, "x"), self.line(1, 1e99), self.line(1, 1, width="1"),
                    self.line(1, 1, regions=[[1]]), self.line(1, 1, columns=["id, x=(int)3", *"abcdef"]),
                    self.line(1, 1, time=-1), self.line(1, 1, runs=[[1, 2, 3]]), self.line(1, 1, regions=3)):
            with self.subTest(bad):
                self.assertIn("line 2 is not a frame of regions-transcode --json",
                              self.find(self.stored(good, bad, good), status=1))

    def test_find_unreadable_file_goes_on_with_the_next_one(self):
        good = self.stored(*(self.line(frame, 10 * frame) for frame in range(16)))
        text = self.find(self.folder / "none.jsonl", good, status=1)
        self.assertIn("none.jsonl cannot be read: No such file or directory", text)
        self.assertIn('"enter"', text)

    def test_find_wrong_options_are_refused(self):
        path = self.stored(self.line(0, 10))
        self.assertIn("unknown event; expected enter, leave", self.find(path, of="entering", status=2))
        for words, message in ((("--find", "all", path), "--rules FILE belongs to --events or --find"),
                               (("--rules", self.rules, path, "-o", self.out, "--filter", "identity"),
                                "--rules FILE belongs to"),
                               (("--find", "all", "--rules", self.rules), "--find requires files of regions"),
                               (("--find", "all", "--rules", self.rules, path, "-o", self.out), "and no -o"),
                               ((path,), "required: -o/--out")):
            with self.subTest(words):
                self.assertIn(message, media.run(PROGRAM, *words, status=2))


class HeatMap(Stored):
    def heat(self, *words, status=0):
        return media.run(PROGRAM, "--heatmap", self.folder / "heat.png", *words, status=status)

    def pixels(self):
        """The picture as an array [height][width][3]."""
        raw = self.folder / "heat.rgb"
        media.run("ffmpeg", "-v", "error", "-y", "-i", self.folder / "heat.png", "-f", "rawvideo", "-pix_fmt", "rgb24", raw)
        return numpy.fromfile(raw, numpy.uint8).reshape(120, 160, 3)

    def test_heat_map_marks_the_pixels_that_were_foreground(self):
        runs = [[1, 20, 30, 10]], [[1, 25, 30, 10], [1, 155, 119, 5]], []
        path = self.stored(*(self.line(frame, 20, runs=found) for frame, found in enumerate(runs)))
        said = self.heat(path)
        self.assertIn("3 frames; foreground at 0.1% of the pixels, most often at 25, 30 (66.7% of the frames)", said)
        pixels = self.pixels()
        is_marked = (pixels != 96).any(axis=2)
        expected = numpy.zeros((120, 160), bool)
        expected[30, 20:35] = expected[119, 155:] = True
        self.assertTrue((is_marked == expected).all())
        self.assertGreater(pixels[30, 27, 0], pixels[30, 20, 0], "more frequent pixels are redder")

    def test_heat_map_of_a_clip_is_drawn_over_its_picture(self):
        self.transcode("--json", more=" attach-runs=true")
        clip = self.square()
        self.heat(self.out / "in.jsonl", "--background", clip)
        pixels = self.pixels()
        self.assertTrue((pixels[0, 0] == 0).all(), "black, as the clip")
        self.assertTrue((pixels[58, 80] != 0).any(), "the square was here")

    def test_heat_map_unusable_files_are_refused_with_the_reason(self):
        good = self.line(0, 10, runs=[[1, 2, 3, 4]])
        for line, message in ((self.line(1, 10), "line 2: the regions have no pixels: use cclabel attach-runs=true"),
                              (self.line(1, 10, runs=[[1, 155, 3, 6]]), "line 2: a run is outside of the picture"),
                              (self.line(1, 10, runs=[[1, 0, 120, 1]]), "line 2: a run is outside of the picture"),
                              (self.line(1, 10, width=99, runs=[]), "99 x 120 pixels, but earlier frames have 160 x 120"),
                              (self.line(1, 10, width=10 ** 9, runs=[]), "a side has at most 16384"),
                              ("{", "line 2 is not a frame of regions-transcode --json")):
            with self.subTest(line):
                self.assertIn(message, self.heat(self.stored(good, line), status=1))
        self.assertIn("the files have no frames", self.heat(self.stored(), status=1))
        self.assertIn("is not a picture or video", self.heat(self.stored(good), "--background", self.rules, status=1))
        self.assertIn("cannot be read", self.heat(self.folder / "none.jsonl", status=1))
        self.assertEqual([name for name in self.files() if name.startswith("heat")], [])
        self.assertIn("--background requires --heatmap", media.run(PROGRAM, "--background", "x", good, status=2))


if __name__ == "__main__":
    main()
