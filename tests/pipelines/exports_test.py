#!/usr/bin/python3
"""transcode/exports.py: regions as JSON lines, CSV, tracks of the MOTChallenge and masks of COCO, label videos, and how other
programs read them."""

import csv
import gc
import json
import subprocess
import unittest.mock

import jsonschema
import numpy

import media
from cases import Case, TranscodeCase, main
import gstreamer  # after cases, which sets the path
from gstreamer import Gst
from transcode import exports
from transcode.exports import SidecarProblem


FIELDS = {"id", "track", "x", "y", "width", "height", "area", "cx", "cy", "red", "green", "blue"}


class Exports(Case):
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
        return list(map(gstreamer.fields, buffer.get_custom_meta("regions").get_structure().get_value("regions")))

    def test_json_lines_copied_from_segments_equal_directly_written_lines(self):
        """A copied line equals a written line of that frame, also for frames of the warm-up."""
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

    def test_discarded_lines_leave_later_files_with_the_same_descriptor_unchanged(self):
        with open(self.folder / "out", "w+b") as file:
            lines, number = exports.JsonLines(file.fileno()), file.fileno()
            lines.write(0, 0, self.samples()[0], None)
            lines.discard()
            self.assertEqual(file.read(), b"")
        with open(self.folder / "next", "w+b") as file:
            self.assertEqual(file.fileno(), number)
            del lines
            gc.collect()
            self.assertEqual(file.read(), b"")

    def test_json_lines_of_any_frame_equal_its_metadata(self):
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
        with self.assertRaisesRegex(SidecarProblem, "^frame 0 has no `regions` metadata: add an element to the filter that finds regions, such as cclabel$"):
            self.written("jsonl", self.samples("identity"))

    def test_json_lines_of_25000_regions_take_less_than_2500000_bytes(self):
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

    def test_json_lines_match_the_schema_and_invalid_changes_of_them_do_not(self):
        """docs/regions.schema.json accepts the written lines and refuses others."""
        schema = json.loads((media.ROOT / "docs" / "regions.schema.json").read_text())
        lines = [self.written("jsonl", self.samples(line)).splitlines()[0] for line in (
            "cclabel output=none track=true attach-runs=true", "cclabel output=none", "slicsuperpixel output=none")]
        for line in lines:
            jsonschema.validate(json.loads(line), schema)
        for change in ({"frame": -1}, {"regions": [{"id": 1}]}, {"regions": [[1]]}, {"columns": 3}, {"time": "0"}):
            with self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate(json.loads(lines[0]) | change, schema)

    def test_csv_export_has_one_row_per_region(self):
        buffers = self.samples()
        rows = list(csv.DictReader(self.written("csv", buffers).splitlines()))
        expected = [(number, region) for number, buffer in enumerate(buffers) for region in self.regions(buffer)]
        self.assertEqual(len(rows), len(expected))
        for row, (number, region) in zip(rows, expected):
            self.assertEqual([int(row[name]) for name in ("frame", "id", "area")], [number, region["id"], region["area"]])
            self.assertAlmostEqual(float(row["cx"]), region["cx"], delta=0.0051)

    def test_mot_export_has_one_row_per_track(self):
        buffers = self.samples()
        rows = numpy.loadtxt(self.written("mot", buffers).splitlines(), delimiter=",")
        self.assertEqual(rows.shape[1], 10)
        expected = [[number + 1, *(region[name] + more for name, more in (
            ("track", 0), ("x", 1), ("y", 1), ("width", 0), ("height", 0)))]
            for number, buffer in enumerate(buffers) for region in self.regions(buffer) if region["track"]]
        numpy.testing.assert_array_equal(rows[:, :6], expected)
        with self.assertRaisesRegex(SidecarProblem, "track=true"):
            self.written("mot", self.samples("cclabel output=none"))

    def test_masks_in_coco_export_have_the_area_and_box_of_their_annotation(self):
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

    def test_coco_export_of_a_region_shared_by_tracks_has_one_mask(self):
        """Each region has one mask with the region's box, because tracks share its pixels."""
        labels = numpy.array([[0, 1, 1, 1, 1, 0, 0], [0, 1, 1, 1, 1, 0, 2]])
        columns = ["id", "track", "first-seen", "x", "y", "width", "height", "area"]
        table = {"columns": columns, "regions": [(1, 5, 0, 1, 0, 2, 2, 4), (2, 6, 0, 6, 1, 1, 1, 1),
                                                 (1, 7, 0, 3, 0, 2, 2, 4)]}
        with (unittest.mock.patch.object(exports, "table_of", lambda *_: table),
              unittest.mock.patch.object(exports, "label_map", lambda *_: labels)):
            found = json.loads(self.written("coco-rle", [None]))["annotations"]
        self.assertEqual([(one["track_id"], one["bbox"], one["area"]) for one in found],
                         [(5, [1, 0, 4, 2], 8), (6, [6, 1, 1, 1], 1)])

    def test_mot_export_leaves_out_regions_without_a_track(self):
        columns = ["id", "track", "first-seen", "x", "y", "width", "height", "area"]
        table = {"frame": 0, "columns": columns, "regions": [(1, 0, 0, 1, 0, 2, 2, 4), (2, 6, 0, 6, 1, 1, 1, 1)]}
        labels = numpy.array([[0, 1, 1, 0, 0, 0, 0], [0, 1, 1, 0, 0, 0, 2]])
        with (unittest.mock.patch.object(exports, "table_of", lambda *_: table),
              unittest.mock.patch.object(exports, "label_map", lambda *_: labels)):
            self.assertEqual(self.written("mot", [None]), "1,6,7,2,1,1,1,-1,-1,-1\n")
            found = json.loads(self.written("coco-rle", [None]))["annotations"]
        self.assertEqual([one.get("track_id") for one in found], [None, 6])

    def test_coco_run_lengths_begin_with_a_background_run(self):
        self.assertEqual(exports.runs_of(numpy.array([[1, 0], [1, 1]], bool)), [0, 2, 1, 1])


class LabelVideos(Case):
    SOURCE = "videotestsrc num-buffers=2 ! video/x-raw,format=GRAY8,width=53,height=30,framerate=25/1"

    def frames(self, line):
        pipeline = Gst.parse_launch(f"{self.SOURCE} ! {line} ! appsink name=frames sync=false")
        pipeline.set_state(Gst.State.PLAYING)
        found = []
        while sample := pipeline.get_by_name("frames").emit("pull-sample"):
            found.append(sample)
        pipeline.set_state(Gst.State.NULL)
        return found

    def refused(self, call, *arguments):
        with self.assertRaises(exports.SidecarProblem) as problem:
            call(*arguments)
        return str(problem.exception)

    def picture(self, line):
        sample = self.frames(line)[0]
        found, view = sample.get_buffer().map(Gst.MapFlags.READ)
        self.assertTrue(found)
        caps = gstreamer.first_structure(sample.get_caps())
        rows = numpy.frombuffer(view.data, "<u2").reshape(caps.get_value("height"), -1)
        pixels = rows[:, :caps.get_value("width")].copy()
        sample.get_buffer().unmap(view)
        return pixels

    def test_label_map_from_metadata_equals_output_labels(self):
        """The map in the metadata equals the picture of output=labels, with layers one below another."""
        for settings in ("threshold=0.3", "thresholds=<0.2,0.5,0.8>"):
            labels = exports.label_map(self.frames(f"cclabel output=none attach-labels=always {settings}")[0]
                                        .get_buffer(), 0)
            expected = self.picture(f"cclabel output=labels {settings} ! video/x-raw,format=GRAY16_LE")
            self.assertEqual(labels.dtype, numpy.uint32)
            self.assertGreater(labels.max(), 0)
            numpy.testing.assert_array_equal(labels, expected)
        # The map of a picture that was scaled afterwards has the old size. The map of a mask has bytes.
        scaled = self.frames("cclabel output=none attach-labels=always ! videoscale ! video/x-raw,width=20,height=10")
        self.assertEqual(exports.label_map(scaled[0].get_buffer(), 0).shape, (30, 53))
        mask = self.frames("graphcutbg output=none")
        self.assertEqual(exports.label_map(mask[0].get_buffer(), 0).shape, (30, 53))

    def test_label_map_of_a_frame_without_one_raises_an_error(self):
        for line in ("identity", "cclabel output=none attach-labels=never"):
            buffer = self.frames(line)[0].get_buffer()
            self.assertEqual(self.refused(exports.label_map, buffer, 7),
                             "frame 7 has no label map: add an element to the filter that attaches one, such as cclabel")

    def buffer_with(self, labels, **more):
        values = {"labels": labels, "labels-format": "U32_LE", "width": 4, "height": 3} | more
        structure = unittest.mock.Mock(get_value=values.get, has_field=values.__contains__)
        return unittest.mock.Mock(get_custom_meta=lambda _: unittest.mock.Mock(get_structure=lambda: structure))

    def test_label_map_that_is_unreadable_or_too_small_raises_an_error(self):
        unreadable = unittest.mock.Mock(map=lambda _: (False, None))
        self.assertEqual(self.refused(exports.label_map, self.buffer_with(unreadable), 5),
                         "the label map of frame 5 cannot be mapped for reading")
        short = Gst.Buffer.new_wrapped(bytes(44))
        self.assertEqual(self.refused(exports.label_map, self.buffer_with(short), 5),
                         "the label map of frame 5 has 44 bytes; expected 48 bytes for 4 x 3 labels")
        layers = self.buffer_with(Gst.Buffer.new_wrapped(bytes(range(24))), layers=2, **{"labels-format": "GRAY8"})
        numpy.testing.assert_array_equal(exports.label_map(layers, 0), numpy.arange(24).reshape(6, 4))
        other = {"labels-width": 6, "labels-height": 2}
        self.assertEqual(exports.label_map(self.buffer_with(Gst.Buffer.new_wrapped(bytes(48)), **other), 0).shape,
                         (2, 6))

    def test_label_video_has_the_labels_and_times_of_its_frames(self):
        """Odd widths, and labels of two bytes. Times equal the frames' times."""
        path = self.folder / "labels.mkv"
        with open(path, "wb") as file:
            pipeline = Gst.parse_launch(exports.LabelVideo.BRANCH.format(file.fileno()))
            video = exports.LabelVideo(pipeline)
            maps = [numpy.arange(15, dtype=numpy.uint32).reshape(3, 5) * n for n in (1, 4000)]
            caps = Gst.Caps.from_string("video/x-raw,framerate=10/1")
            pipeline.set_state(Gst.State.PLAYING)
            for number, labels in enumerate(maps):
                self.replace(exports, "label_map", lambda *_, labels=labels: labels)
                frame = Gst.Buffer.new()
                frame.duration = Gst.SECOND // 10
                video.write(number, (2 + number) * Gst.SECOND // 10, frame, caps)
            for labels, why in ((numpy.zeros((5, 3), numpy.uint32), "frame 9 has 3 x 5 labels, but earlier frames have"
                                 " 5 x 3: a label video requires one size"),
                                (maps[0] + 65522, "frame 9 has the label 65536: a 16-bit label video requires labels up to"
                                 " 65535")):
                self.replace(exports, "label_map", lambda *_, labels=labels: labels)
                self.assertEqual(self.refused(video.write, 9, 0, Gst.Buffer.new(), caps), why)
            video.close()
            message = pipeline.get_bus().timed_pop_filtered(10 * Gst.SECOND,
                                                            Gst.MessageType.EOS | Gst.MessageType.ERROR)
            self.assertEqual(message.type, Gst.MessageType.EOS)
            pipeline.set_state(Gst.State.NULL)
        self.assertEqual(media.stream(path, "codec_name", "pix_fmt", "width", "height"),
                         {"codec_name": "ffv1", "pix_fmt": "gray16le", "width": "5", "height": "3"})
        numpy.testing.assert_array_equal(media.frames(path, "gray16le"), maps)
        numpy.testing.assert_allclose(numpy.diff(media.times(path)), 0.1)
        stopped = Gst.parse_launch(exports.LabelVideo.BRANCH.format(1))
        video = exports.LabelVideo(stopped)
        self.replace(exports, "label_map", lambda *_: maps[0])
        source = unittest.mock.Mock(emit=lambda *_: Gst.FlowReturn.ERROR)
        video.source = source
        self.assertEqual(self.refused(video.write, 0, 0, Gst.Buffer.new(), caps),
                         "frame 0 cannot be written to the label video: its encoder has stopped")
        video.source = unittest.mock.Mock(emit=lambda *_: Gst.FlowReturn.FLUSHING)
        video.write(0, 0, Gst.Buffer.new(), caps)  # the pipeline ends: its own words are better
        self.replace(exports, "label_map", lambda *_: maps[0] + 65521)
        video.write(0, 0, Gst.Buffer.new(), caps)  # 65535 itself is held


PYTHON = media.ROOT / ".venv" / "python" / "bin" / "python"
READER = media.ROOT / "tests" / "pipelines" / "read_exports.py"


class OtherReaders(TranscodeCase):
    def test_exports_read_by_other_programs_have_equal_regions_in_every_format(self):
        if not PYTHON.exists() or subprocess.run([PYTHON, "-c", "import motmetrics, pandas, pycocotools, supervision"],
                                                 capture_output=True, check=False).returncode:
            self.skipTest("missing in .venv/python, which `tests/run --all` fills: motmetrics, pandas, pycocotools,"
                          " supervision")
        clip = self.clip("in.mp4", "testsrc2=size=161x121:rate=25:duration=1")
        self.transcode(clip, "--labels", *(word for kind in ("csv", "mot", "coco-rle") for word in ("--export", kind)),
                       chain="cclabel track=true output=none")
        read = self.folder / "read.npz"
        media.run(PYTHON, READER, *(self.out / f"in.{end}" for end in ("csv", "mot.txt", "coco.json")), read)
        found = numpy.load(read)
        labels = media.frames(self.out / "in.labels.mkv", "gray16le")
        self.assertEqual(len(labels), 25)
        regions = {}  # by frame and label: box and area
        for number, frame in enumerate(labels):
            for label in range(1, frame.max() + 1):
                rows, columns = numpy.nonzero(frame == label)
                regions[number, label] = (columns.min(), rows.min(), numpy.ptp(columns) + 1, numpy.ptp(rows) + 1, len(rows))
        for reader in ("pycocotools", "supervision"):
            numpy.testing.assert_array_equal(found[reader], labels, reader)
        told = list(zip(*(found[f"pandas {name}"].tolist() for name in ("frame", "id"))))
        self.assertEqual(set(told), set(regions))
        table = numpy.stack([found[f"pandas {name}"] for name in ("frame", "x", "y", "width", "height", "area")], 1)
        # If several tracks share a region, each track has a row with its own box. The box of an object contains its pieces.
        wholes = set(zip(found["pandas frame"].tolist(), found["pandas part-of"].tolist()))
        tracks = zip(found["pandas frame"].tolist(), found["pandas track"].tolist())
        alone = [told.count(region) == 1 and track not in wholes for region, track in zip(told, tracks)]
        self.assertGreater(sum(alone), 500)
        numpy.testing.assert_array_equal(table[alone, 1:], [regions[one] for one, is_alone in zip(told, alone) if is_alone])
        # MOTChallenge counts frames from 1, and motmetrics pixels from 0. Pieces of objects have no track.
        is_tracked = found["pandas track"] > 0
        numpy.testing.assert_array_equal(numpy.stack([
            found[f"motmetrics {name}"] for name in ("FrameId", "X", "Y", "Width", "Height")], 1),
            table[is_tracked, :5] + (1, 0, 0, 0, 0))
        numpy.testing.assert_array_equal(found["motmetrics Id"], found["pandas track"][is_tracked])
        self.assertEqual((found["motmetrics mota"], found["motmetrics num_switches"]), (1, 0))
        self.assertEqual(found["motmetrics num_unique_objects"], len(set(found["motmetrics Id"])))


if __name__ == "__main__":
    main()
