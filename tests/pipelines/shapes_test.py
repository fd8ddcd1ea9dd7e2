#!/usr/bin/python3
"""Files whose pictures change their size or their pixel aspect ratio: the output has the first shape, regions are in its
pixels, and a note names the change. Outputs that store each pixel are refused."""

import json
import os
import unittest

import inside
import cutting
import media
import numpy
import segment
import shapes
from jobs import JobCase
from kinds_test import notes

# A white box in the middle half of a black picture.
BOX = ("color=black:size={size}:rate=25:duration=1,drawbox=x=iw/4:y=ih/4:w=iw/2:h=ih/2:color=white:t=fill,setsar={ratio}")
SIZES = (("320x180", "1"), ("640x360", "1"))
RATIOS = (("320x240", "1"), ("320x240", "4/3"))
H264 = ("-c:v", "libx264", "-g", "10", "-bf", "2")
# FFmpeg's decoder of MPEG-2 drops a frame where the sequence changes.
LENGTHS = {"h264.ts": (25, 25), "mpeg2.ts": (24, 25), "mpeg4.ts": (25, 25)}
FILTER = "cclabel threshold=0.5 min-area=100 output=none"
MIDDLE = [80, 45, 160, 90]
SQUARE, FLAT = [80, 60, 160, 120], [80, 75, 160, 90]  # pixels of 1:1; pixels of 4:3 with borders above and below
BIGGER = "its pictures change from 320x180 to 640x360 at 1.0 s"
WIDER = "its pictures change from 320x240 (pixel aspect ratio 1:1) to 320x240 (pixel aspect ratio 4:3) at 1.0 s"


class Shapes(JobCase):
    def clips(self, name, parts, *options):
        """A stream whose pictures have one shape after another, one second each."""
        clips = [self.clip(f"{number}.ts", BOX.format(size=size, ratio=ratio), "-pix_fmt", "yuv420p", *options,
                           "-output_ts_offset", str(number + 0.08), "-muxdelay", "0") for number, (size, ratio) in enumerate(parts)]
        whole = self.folder / "whole.ts"
        whole.write_bytes(b"".join(part.read_bytes() for part in clips))
        path = self.folder / name
        if path.suffix == ".ts":
            return whole.rename(path)
        media.run("ffmpeg", "-v", "error", "-y", "-i", whole, "-c", "copy", path)
        return path

    def boxes(self):
        """The box of the region of each frame."""
        tables = media.tables((self.out / "out.jsonl").read_text())
        return [[table["regions"][0][name] for name in ("x", "y", "width", "height")] for table in tables]

    def expect_boxes(self, *expected, of=(25, 25, 25)):
        """A box for each second."""
        numpy.testing.assert_allclose(self.boxes(), [box for box, number in zip(expected, of) for _ in range(number)], atol=2)

    def expect_shape(self, width=320, height=180, ratio="1:1"):
        self.assertEqual(media.stream(self.video(), "width", "height", "sample_aspect_ratio"),
                         {"width": str(width), "height": str(height), "sample_aspect_ratio": ratio})

    def expect_pixels(self, box):
        """The last picture shows its box where the table has it."""
        picture = media.frames(self.video(), "gray")[-1]
        x, y, width, height = box
        inner = picture[y + 4:y + height - 4, x + 4:x + width - 4]
        self.assertGreater(inner.min(), 200)
        self.assertEqual(numpy.count_nonzero(picture > 128), (picture[y - 2:y + height + 2, x - 2:x + width + 2] > 128).sum())

    def test_sizes_that_change_are_scaled(self):
        clips = [self.clips("h264.ts", SIZES, *H264), self.clips("mpeg2.ts", SIZES, "-c:v", "mpeg2video")]
        for clip in clips:
            for profile in ("mp4", "mkv", "webm"):
                with self.subTest(f"{clip.name} {profile}"):
                    said = notes(self.job(clip, "video", "jsonl", filter=FILTER, profile=profile))
                    self.assertEqual(said, [f"{BIGGER}: they are scaled to 320x180"])
                    self.expect_shape()
                    self.expect_boxes(MIDDLE, MIDDLE, of=LENGTHS[clip.name])
                    self.expect_pixels(MIDDLE)

    def test_ratios_that_change_get_borders(self):
        for clip in (self.clips("h264.ts", RATIOS, *H264), self.clips("mpeg4.ts", RATIOS, "-c:v", "mpeg4", "-g", "10", "-bf", "2"),
                     self.clips("mpeg2.ts", RATIOS, "-c:v", "mpeg2video")):
            with self.subTest(clip.name):
                said = notes(self.job(clip, "video", "jsonl", filter=FILTER))
                self.expect_shape(320, 240)
                self.expect_boxes(SQUARE, FLAT, of=LENGTHS[clip.name])
                self.expect_pixels(FLAT)
                self.assertEqual(said, [f"{WIDER}: they are scaled to 320x240 (pixel aspect ratio 1:1)"])

    def test_a_ratio_that_the_container_stores_is_kept(self):
        """As ffmpeg does: MP4 and Matroska have a ratio that hides the codec's."""
        for name in ("in.mp4", "in.mkv"):
            clip = self.clips(name, RATIOS, *H264)
            self.assertEqual(notes(self.job(clip, "video", "jsonl", filter=FILTER)), [])
            self.expect_shape(320, 240)
            self.expect_boxes(SQUARE, SQUARE)

    def test_changes_back_and_forth_are_one_note(self):
        clip = self.clips("in.ts", (*SIZES, SIZES[0]), *H264)
        self.assertEqual(notes(self.job(clip, "video", "jsonl", filter=FILTER)),
                         [f"{BIGGER} and once more: they are scaled to 320x180"])
        self.expect_boxes(MIDDLE, MIDDLE, MIDDLE)

    def test_turned_pictures_are_scaled_before_they_are_turned(self):
        plain = self.clips("plain.mkv", SIZES, *H264, "-x264-params", "repeat-headers=1")
        clip = media.turned(self.folder / "turned.mp4", plain, 90)
        self.assertEqual(notes(self.job(clip, "video", "jsonl", filter=FILTER)), [f"{BIGGER}: they are scaled to 320x180"])
        self.expect_shape(180, 320)
        self.expect_boxes([45, 80, 90, 160], [45, 80, 90, 160])

    def test_outputs_of_each_pixel_are_refused(self):
        clip = self.clips("in.ts", SIZES, *H264)
        why = (f"{BIGGER}, and {{}} has one size: cut the file there, or use --profile mp4, mkv or webm without --labels,"
               " where pictures are scaled")
        self.assertEqual(self.problem(clip, filter=FILTER, profile="lossless"),
                         why.format("FFV1 in Matroska"))
        self.assertEqual(self.problem(clip, "video", "labels", filter=FILTER), why.format("a label video"))

    def segments(self, clip, profile, status=0):
        """Transcodes a file in segments. Returns the messages of each segment."""
        plan = cutting.plan(str(clip), 0.4, 0)
        self.assertGreater(len(plan["spans"]), 2, plan["why"])
        said = []
        for number, span in enumerate(plan["spans"]):
            outputs = {"video": str(self.out / f"{number}.mp4"), "jsonl": str(self.out / f"{number}.jsonl")}
            told = self.folder / "told"
            with open(told, "wb") as file:
                ended = inside.called(segment.job.main, os.dup(file.fileno()), json.dumps(
                    {"source": str(clip), "outputs": outputs, "filter": FILTER, "profile": profile, "span": span,
                     "probed": plan["probed"]}), segment.Segment)
            said.append([json.loads(line) for line in told.read_text().splitlines()])
            if ended.status:
                self.assertEqual(ended.status, status)
                return said
        return said

    def test_segments_have_the_first_shape(self):
        for parts, height, first, second, sentence in ((SIZES, 180, MIDDLE, MIDDLE, f"{BIGGER}: they are scaled to 320x180"), (
                RATIOS, 240, SQUARE, FLAT, f"{WIDER}: they are scaled to 320x240 (pixel aspect ratio 1:1)")):
            clip = self.clips("in.ts", parts, *H264)
            said = self.segments(clip, "mp4")
            boxes = []
            for number, lines in enumerate(said):
                tables = media.tables((self.out / f"{number}.jsonl").read_text())
                boxes += [[table["regions"][0][name] for name in ("x", "y", "width", "height")] for table in tables]
                self.assertEqual(media.stream(self.out / f"{number}.mp4", "width", "height", "sample_aspect_ratio"),
                                 {"width": "320", "height": str(height), "sample_aspect_ratio": "1:1"})
                self.assertEqual([line for line in lines if "note" in line], [])
            numpy.testing.assert_allclose(boxes, [first] * 25 + [second] * 25, atol=2)
            changes = [line["done"]["shapes"] for lines in said for line in lines if "done" in line]
            self.assertEqual(shapes.note(*shapes.joined(changes)), sentence)


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
