#!/usr/bin/python3
"""transcode/exports.py: regions as JSON, CSV, tracks of the MOTChallenge and masks of COCO. (How other programs
read them: exports_judged_test.py.)"""

import csv
import json
import unittest
import unittest.mock

import inside
import jsonschema
import media
import exports  # beside the programs, as what follows
import numpy
from exports import SidecarProblem
from gstreamer import Gst

FIELDS = {"id", "track", "x", "y", "width", "height", "area", "cx", "cy", "red", "green", "blue"}


class Exports(inside.Case):
    def samples(self, line="cclabel output=none track=true attach-labels=always"):
        pipeline = Gst.parse_launch("videotestsrc num-buffers=2 ! video/x-raw,format=GRAY8,width=53,height=30,"
                                    f"framerate=25/1 ! {line} ! appsink name=frames sync=false")
        pipeline.set_state(Gst.State.PLAYING)
        found = []
        while sample := pipeline.get_by_name("frames").emit("pull-sample"):
            found.append(sample.get_buffer())
        pipeline.set_state(Gst.State.NULL)
        return found

    def written(self, kind, buffers):
        with open(self.folder / "out", "w+b") as file:
            lines = exports.WRITERS[kind](file.fileno())
            for number, buffer in enumerate(buffers):
                lines.write(number, number * Gst.SECOND // 3, buffer, None)
            lines.close()
            file.seek(0)
            return file.read().decode()

    def regions(self, buffer):
        return list(map(inside.gstreamer.fields, buffer.get_custom_meta("regions").get_structure().get_value("regions")))

    def test_lines_of_other_frames(self):
        """A line is copied as one of another frame is written, also of a frame before the first."""
        for line in ("cclabel output=none track=true", "cclabel output=none"):
            buffers = self.samples(line)
            wanted = self.written("jsonl", buffers * 6)
            source = self.written("jsonl", buffers).splitlines(keepends=True)
            source[0] = source[0].replace('"frame":0', '"frame":-1', 1)
            times = [json.loads(one)["time"] for one in wanted.splitlines()]
            with open(self.folder / "copy", "w+b") as file:
                lines = exports.JsonLines(file.fileno())
                for number, time in enumerate(times):
                    lines.copy(source[number % 2].replace(f'"time":{number % 2 and times[1]}', f'"time":{time}', 1), number)
                lines.close()
                file.seek(0)
                self.assertEqual(file.read().decode(), wanted)

    def test_json(self):
        buffers = self.samples()
        rows = media.tables(self.written("jsonl", buffers))
        self.assertEqual([(row["frame"], row["time"]) for row in rows], [(0, 0.0), (1, 0.333333)])
        for row, buffer in zip(rows, buffers):
            self.assertEqual(list(row)[:2], ["frame", "time"])
            for found, region in zip(row["regions"], self.regions(buffer), strict=True):
                self.assertEqual(set(found), set(region))
                self.assertTrue(FIELDS <= set(found))
                for name, value in region.items():
                    self.assertLessEqual(abs(found[name] - value), {"cx": 0.005, "cy": 0.005}.get(name, 0.05))
        self.assertLess(max(len(str(region["cx"])) for row in rows for region in row["regions"]), 6, "digits with a meaning")
        with self.assertRaisesRegex(SidecarProblem, "^frame 0 has no regions: the filter has no element that finds regions, such as cclabel$"):
            self.written("jsonl", self.samples("identity"))

    def test_many_regions_take_few_bytes(self):
        """90 VGA frames of people, with some 300 regions each."""
        with open(self.folder / "out", "w+b") as file:
            lines = exports.JsonLines(file.fileno())
            pipeline = Gst.parse_launch(f"filesrc location={media.CLIP} ! decodebin ! videoconvert ! videoscale"
                                        " ! video/x-raw,width=640,height=480 ! cclabel output=none"
                                        " ! identity eos-after=91 ! appsink name=frames sync=false")
            pipeline.set_state(Gst.State.PLAYING)
            number = 0
            while sample := pipeline.get_by_name("frames").emit("pull-sample"):
                lines.write(number, sample.get_buffer().pts, sample.get_buffer(), None)
                number += 1
            pipeline.set_state(Gst.State.NULL)
            lines.close()
            self.assertEqual(number, 90)
            self.assertGreater(sum(len(row["regions"]) for row in media.tables((self.folder / "out").read_text())), 25000)
            self.assertLess(file.seek(0, 2), 2_500_000)

    def test_the_schema(self):
        """docs/regions.schema.json holds what is written, and refuses other things."""
        schema = json.loads((media.ROOT / "docs" / "regions.schema.json").read_text())
        lines = [self.written("jsonl", self.samples(line)).splitlines()[0] for line in (
            "cclabel output=none track=true attach-runs=true", "cclabel output=none", "slicsuperpixel output=none")]
        for line in lines:
            jsonschema.validate(json.loads(line), schema)
        for change in ({"frame": -1}, {"regions": [{"id": 1}]}, {"regions": [[1]]}, {"columns": 3}, {"time": "0"}):
            with self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate(json.loads(lines[0]) | change, schema)

    def test_csv(self):
        buffers = self.samples()
        rows = list(csv.DictReader(self.written("csv", buffers).splitlines()))
        expected = [(number, region) for number, buffer in enumerate(buffers) for region in self.regions(buffer)]
        self.assertEqual(len(rows), len(expected))
        for row, (number, region) in zip(rows, expected):
            self.assertEqual([int(row[name]) for name in ("frame", "id", "area")], [number, region["id"], region["area"]])
            self.assertAlmostEqual(float(row["cx"]), region["cx"], delta=0.0051)

    def test_tracks(self):
        buffers = self.samples()
        rows = numpy.loadtxt(self.written("mot", buffers).splitlines(), delimiter=",")
        self.assertEqual(rows.shape[1], 10)
        expected = [[number + 1, *(region[name] + more for name, more in (
            ("track", 0), ("x", 1), ("y", 1), ("width", 0), ("height", 0)))]
            for number, buffer in enumerate(buffers) for region in self.regions(buffer)]
        numpy.testing.assert_array_equal(rows[:, :6], expected)
        with self.assertRaisesRegex(SidecarProblem, "track=true"):
            self.written("mot", self.samples("cclabel output=none"))

    def test_masks(self):
        buffers = self.samples()
        found = json.loads(self.written("coco-rle", buffers))
        self.assertEqual([image["id"] for image in found["images"]], [1, 2])
        self.assertEqual(len(found["annotations"]), sum(len(self.regions(buffer)) for buffer in buffers))
        for annotation in found["annotations"]:
            counts, (height, width) = annotation["segmentation"]["counts"], annotation["segmentation"]["size"]
            mask = numpy.repeat(numpy.arange(len(counts)) % 2, counts).reshape(width, height).T
            self.assertEqual(mask.sum(), annotation["area"])
            rows, columns = numpy.nonzero(mask)
            self.assertEqual(annotation["bbox"], [columns.min(), rows.min(), numpy.ptp(columns) + 1, numpy.ptp(rows) + 1])
    def test_masks_of_regions_that_tracks_share(self):
        """One for each region, with its own box: pixels belong to no track alone."""
        labels = numpy.array([[0, 1, 1, 1, 1, 0, 0], [0, 1, 1, 1, 1, 0, 2]])
        columns = ["id", "track", "first-seen", "x", "y", "width", "height", "area"]
        table = {"columns": columns, "regions": [(1, 5, 0, 1, 0, 2, 2, 4), (2, 6, 0, 6, 1, 1, 1, 1),
                                                 (1, 7, 0, 3, 0, 2, 2, 4)]}
        with (unittest.mock.patch.object(exports, "table_of", lambda *_: table),
              unittest.mock.patch.object(exports, "label_map", lambda *_: labels)):
            found = json.loads(self.written("coco-rle", [None]))["annotations"]
        self.assertEqual([(one["track_id"], one["bbox"], one["area"]) for one in found],
                         [(5, [1, 0, 4, 2], 8), (6, [6, 1, 1, 1], 1)])

    def test_regions_whose_track_is_not_born_yet(self):
        columns = ["id", "track", "first-seen", "x", "y", "width", "height", "area"]
        table = {"frame": 0, "columns": columns, "regions": [(1, 0, 0, 1, 0, 2, 2, 4), (2, 6, 0, 6, 1, 1, 1, 1)]}
        labels = numpy.array([[0, 1, 1, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0, 2]])
        with (unittest.mock.patch.object(exports, "table_of", lambda *_: table),
              unittest.mock.patch.object(exports, "label_map", lambda *_: labels)):
            self.assertEqual(self.written("mot", [None]), "1,6,7,2,1,1,1,-1,-1,-1\n")
            found = json.loads(self.written("coco-rle", [None]))["annotations"]
        self.assertEqual([one.get("track_id") for one in found], [None, 6])

    def test_runs(self):
        self.assertEqual(exports.runs_of(numpy.array([[1, 0], [1, 1]], bool)), [0, 2, 1, 1])


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
