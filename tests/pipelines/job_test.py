#!/usr/bin/python3
"""transcode/job.py in the test's own process: what a job writes and tells, on tiny clips."""

import json
import os
import pathlib
import subprocess
import unittest
import unittest.mock

import inside
import job  # before what lies beside it
import decoding
import media
import numpy
from gstreamer import Gst
from jobs import LABELLED, PLAIN, JobCase
from transcoding import sound_sum, sound_times


class Jobs(JobCase):
    def test_all_outputs(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1", "-pix_fmt", "yuv420p")
        jobs = []
        transcode = job.Job.transcode
        self.replace(job.Job, "transcode", lambda one: (jobs.append(one), transcode(one)))
        told = self.job(clip, "video", "jsonl", "labels")
        self.assertEqual([one.pipeline.get_state(0).state for one in jobs], [Gst.State.NULL], "nothing plays on")
        parts = [one["part"] for one in told if "part" in one]
        self.assertEqual(len(set(parts)), 4, "one for the picture alone")
        for part in parts:
            self.assertEqual(os.path.dirname(part), str(self.out))
            self.assertFalse(os.path.exists(part))
        done, = [one["done"] for one in told if "done" in one]
        self.assertEqual(done["frames"], 10)
        self.assertAlmostEqual(done["length"], 0.4, places=6)
        self.assertTrue(0 < done["seconds"] < 300)
        self.assertEqual([one for one in told if not {"part", "done", "progress"} & set(one)], [])
        self.assertEqual(self.files(self.out), ["out.jsonl", "out.labels.mkv", "out.mp4"])
        self.assertEqual(media.stream(self.video(), "codec_name", "pix_fmt", "width", "height"),
                         {"codec_name": "h264", "pix_fmt": "yuv420p", "width": "64", "height": "48"})
        self.assertEqual({name: inside.x264_settings(self.video())[name] for name in
                          ("keyint", "bframes", "crf", "subme")},
                         {"keyint": "100", "bframes": "0", "crf": "20.0", "subme": "2"})
        rows = [json.loads(line) for line in pathlib.Path(self.outputs["jsonl"]).read_text().splitlines()]
        self.assertEqual([row["frame"] for row in rows], list(range(10)))
        numpy.testing.assert_allclose([row["time"] for row in rows], numpy.arange(10) / 25, atol=1e-3)
        labels = media.frames(self.outputs["labels"], "gray16le")
        self.assertEqual([row["regions-total"] for row in rows], [picture.max() for picture in labels])
        self.assertGreater(labels.max(), 0)
        for path in (self.video(), self.outputs["labels"]):
            numpy.testing.assert_allclose(media.times(path), media.times(clip), atol=1e-3)
        # The video is the last to have its name.
        names = []
        replace = os.replace
        self.replace(os, "replace", lambda part, path: (names.append(path), replace(part, path)))
        self.job(clip, "video", "jsonl", "labels")
        self.assertEqual(names[-1], self.outputs["video"])
        self.assertEqual(len(names), 3)

    def test_threads(self):
        """As many as a cluster gave to the job, in decoder, filter and encoder."""
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        packets, add, seen = job.Decoder.packets, job.Job.add, []

        def read(decoder, file, picture):
            seen.append(picture.codec_context.thread_count)
            return packets(decoder, file, picture)

        def added(one, part, pad):
            add(one, part, pad)
            seen.extend(element.get_property("cpu-threads") for element in part.children
                        if element.find_property("cpu-threads"))

        self.replace(job.Decoder, "packets", read)
        self.replace(job.Job, "add", added)
        for threads in (1, 3):
            seen.clear()
            self.job(clip, threads=threads)
            self.assertEqual(seen, [threads, threads])
            self.assertEqual(inside.x264_settings(self.video())["threads"], str(threads))

    def test_a_table_alone_makes_no_video(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        self.job(clip, "jsonl")
        self.assertEqual(self.files(self.out), ["out.jsonl"])

    def test_sizes_and_formats(self):
        """Sides that the encoder does not take are black columns and rows more."""
        for size, pixels, profile, written, form in (
                ("63x47", "yuv420p", "mp4", (64, 48), "yuv420p"),
                ("63x48", "yuv444p", "mp4", (64, 48), "yuv444p"), ("64x47", "yuv422p", "mp4", (64, 48), "yuv422p"),
                ("63x47", "yuv420p10le", "mp4", (64, 48), "yuv420p"), ("5x3", "yuv420p", "mp4", (16, 16), "yuv420p"),
                ("17x16", "yuv420p", "mkv", (18, 16), "yuv420p"), ("64x48", "yuv420p10le", "mp4", (64, 48), "yuv420p10le"),
                ("63x47", "yuv420p", "webm", (63, 47), "yuv420p"),
                ("63x47", "yuv420p10le", "lossless", (63, 47), "yuv420p10le"),
                ("64x48", "bgr0", "lossless", (64, 48), "bgr0"), ("64x48", "bgr0", "mp4", (64, 48), "yuv420p")):
            with self.subTest(f"{size} {pixels} {profile}"):
                width, height = map(int, size.split("x"))
                clip = self.clip("in.mkv", f"nullsrc=size={size}:rate=25:duration=0.12,format=gray,geq=lum=200,"
                                 f"format={pixels}", "-c:v", "mpeg4" if width < 16 else "ffv1")  # FFV1 takes no less
                self.assertEqual(media.stream(clip, "width", "height"), {"width": str(width), "height": str(height)})
                self.job(clip, profile=profile)
                found = media.stream(self.video(), "width", "height", "pix_fmt")
                self.assertEqual(found, {"width": str(written[0]), "height": str(written[1]), "pix_fmt": form})
                picture = media.frames(self.video(), "gray")[0]
                self.assertGreater(picture[:height, :width].min(), 150)
                self.assertLess(picture[height + 2:].max(initial=0), 60)
                self.assertLess(picture[:, width + 2:].max(initial=0), 60)

    def test_gray_stays_gray(self):
        """Decoders name no matrix of gray pictures; from GStreamer 1.26 on videoconvert made them green."""
        for pixels in ("gray", "gray16le"):
            clip = self.clip("in.mkv", f"nullsrc=size=64x48:rate=25:duration=0.12,format={pixels},geq=lum="
                             f"{60 if pixels == 'gray' else 60 * 257}", "-c:v", "ffv1")
            for profile in ("mp4", "mkv", "webm", "lossless"):
                with self.subTest(f"{pixels} {profile}"):
                    self.job(clip, profile=profile)
                    frames = media.frames(self.video(), "rgb24").astype(int)
                    self.assertLess(abs(frames - 60).max(), 3)

    def test_labels_as_a_video(self):
        """A filter's gray pictures have no colours of the input."""
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1", "-pix_fmt", "yuv420p", "-colorspace", "bt709", "-color_range",
                         "tv", "-color_primaries", "bt709", "-color_trc", "bt709")
        self.job(clip, filter="cclabel output=labels", profile="lossless")
        self.assertEqual(media.stream(self.video(), "pix_fmt")["pix_fmt"], "gray16le")
        self.job(clip, filter="cclabel output=mask", profile="mp4")
        self.assertEqual(media.stream(self.video(), "pix_fmt")["pix_fmt"], "yuv420p")
        self.assertEqual({*numpy.unique(media.frames(self.video(), "gray") // 128)}, {0, 1})

    def test_colours_are_kept(self):
        names = ("color_space", "color_primaries", "color_transfer", "color_range")
        for matrix, span in (("bt709", "tv"), ("smpte170m", "tv"), ("bt709", "pc")):
            clip = self.clip("in.mkv", PLAIN, "-vf", "scale=out_range=" + span, "-pix_fmt", "yuv420p", "-colorspace",
                             matrix, "-color_primaries", matrix, "-color_trc", matrix, "-color_range", span)
            self.job(clip)
            self.assertEqual(media.stream(self.video(), *names), media.stream(clip, *names))

    def test_the_picture_is_turned_upright(self):
        plain = self.clip("plain.mp4", PLAIN, "-pix_fmt", "yuv420p")
        clip = media.turned(self.folder / "turned.mp4", plain, 90)
        self.job(clip, "video", "labels")
        for path in self.outputs.values():
            self.assertEqual(media.stream(path, "width", "height"), {"width": "48", "height": "64"})
        self.assertNotIn("rotation", media.run("ffprobe", "-v", "error", "-show_streams", self.video()))
        raw = subprocess.run(["ffmpeg", "-v", "error", "-i", clip, "-f", "rawvideo", "-pix_fmt", "gray", "-"],
                             capture_output=True, check=True).stdout  # ffmpeg turns what it decodes
        turned = numpy.frombuffer(raw, numpy.uint8).reshape(-1, 64, 48).astype(int)
        self.assertLess(abs(media.frames(self.video(), "gray") - turned).mean(), 4)

    def test_a_size_that_changes(self):
        """A file has one size: later frames are scaled into it, with borders."""
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        # A filter that crops every frame but the first.
        self.job(clip, filter="videocrop name=a ! " + LABELLED)
        self.assertEqual(media.stream(self.video(), "width")["width"], "64")
        self.job(clip, filter="videoscale ! video/x-raw,width=32,height=32 ! " + LABELLED)
        self.assertEqual(media.stream(self.video(), "width", "height"), {"width": "32", "height": "32"})

    def test_times(self):
        plain = self.clip("plain.h264", PLAIN, "-pix_fmt", "yuv420p", "-f", "h264")
        self.job(plain, with_sound=False)
        numpy.testing.assert_allclose(media.times(self.video()), numpy.arange(10) / 25, atol=1e-3)
        quick = self.clip("quick.mkv", PLAIN.replace("25", "30000/1001"), "-c:v", "ffv1")
        done = [one["done"] for one in self.job(quick, "jsonl") if "done" in one][0]
        self.assertAlmostEqual(done["length"], done["frames"] * 1001 / 30000, places=2)

    def test_sound(self):
        tone = ("-f", "lavfi", "-i", "sine=duration=0.4", "-pix_fmt", "yuv420p")
        clip = self.clip("in.mp4", PLAIN, *tone, "-c:a", "aac")
        told = self.job(clip, "video", "jsonl")
        self.assertEqual(sound_sum(self.video()), sound_sum(clip))
        self.assertEqual(len([one for one in told if "part" in one]), 3, "one for the picture alone")
        self.assertEqual(self.files(self.out), ["out.jsonl", "out.mp4"])
        self.assertEqual([one for one in told if "note" in one], [])
        packed = self.clip("in.mkv", PLAIN, *tone, "-c:a", "wavpack")
        told = self.job(packed)
        self.assertEqual([one["note"] for one in told if "note" in one],
                         ["its wavpack sound is encoded as aac: few players play it in mp4 files"])
        self.assertGreater(len(sound_times(self.video())), 10)
        self.assertEqual(sound_times(self.video())[0] < 0.1, True)
        self.job(clip, with_sound=False)
        self.assertEqual(sound_times(self.video()), [])
        self.job(clip, "jsonl")
        self.assertEqual(self.files(self.out), ["out.jsonl", "out.mp4"])


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
