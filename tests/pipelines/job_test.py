#!/usr/bin/python3
"""transcode/job.py in the test's own process: what a job writes, tells and leaves, on tiny clips."""

import json
import os
import pathlib
import re
import signal
import subprocess
import unittest
import unittest.mock

import inside
import job
import media
import numpy
import profiles
import sound
from gstreamer import GLib, Gst
from transcoding import sound_sum, sound_times

PLAIN = "testsrc2=size=64x48:rate=25:duration=0.4"
LABELLED = "cclabel min-area=4 output=none"


class Jobs(inside.Case):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"
        self.out.mkdir()

    def job(self, source, *kinds, filter=LABELLED, profile="mp4", status=0, during=None, **settings):
        """Runs a job; returns what it told."""
        names = {"video": "out" + profiles.PROFILES[profile].suffix, "json": "out.jsonl", "labels": "out.labels.mkv"}
        self.outputs = {kind: str(self.out / names[kind]) for kind in kinds or ("video",)}
        settings |= {"source": str(source), "outputs": self.outputs, "filter": filter, "profile": profile}
        reader, writer = os.pipe()
        told = self.folder / "told"
        with open(told, "wb") as file:
            said = inside.called(job.main, os.dup(file.fileno()), json.dumps(settings))
        os.close(reader)
        os.close(writer)
        self.errors = said.err
        self.assertEqual(said.status, status, told.read_text() + said.err)
        return [json.loads(line) for line in told.read_text().splitlines()]

    def problem(self, *arguments, status=1, **settings):
        """What a job says that fails and leaves nothing."""
        told = self.job(*arguments, status=status, **settings)
        self.assertEqual(self.files(self.out), [])
        self.assertEqual([one for one in told if "done" in one], [])
        problem, = [one["problem"] for one in told if "problem" in one]
        return problem

    def video(self):
        return pathlib.Path(self.outputs["video"])

    def test_all_outputs(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1", "-pix_fmt", "yuv420p")
        told = self.job(clip, "video", "json", "labels")
        parts = [one["part"] for one in told if "part" in one]
        self.assertEqual(len(set(parts)), 3)
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
        rows = [json.loads(line) for line in pathlib.Path(self.outputs["json"]).read_text().splitlines()]
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
        self.job(clip, "video", "json", "labels")
        self.assertEqual(names[-1], self.outputs["video"])
        self.assertEqual(len(names), 3)

    def test_a_table_alone_makes_no_video(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        self.job(clip, "json")
        self.assertEqual(self.files(self.out), ["out.jsonl"])

    def test_sizes_and_formats(self):
        """Sides that the encoder does not take are black columns and rows more."""
        for size, pixels, profile, written, form in (
                ("64x48", "yuv420p", "mp4", (64, 48), "yuv420p"), ("63x47", "yuv420p", "mp4", (64, 48), "yuv420p"),
                ("63x48", "yuv444p", "mp4", (64, 48), "yuv444p"), ("64x47", "yuv422p", "mp4", (64, 48), "yuv422p"),
                ("63x47", "yuv420p10le", "mp4", (64, 48), "yuv420p"), ("5x3", "yuv420p", "mp4", (16, 16), "yuv420p"),
                ("17x16", "yuv420p", "mkv", (18, 16), "yuv420p"), ("64x48", "yuv420p10le", "mp4", (64, 48), "yuv420p10le"),
                ("63x47", "yuv420p", "webm", (63, 47), "yuv420p"), ("5x3", "yuv420p", "webm", (16, 16), "yuv420p"),
                ("63x47", "yuv420p10le", "lossless", (63, 47), "yuv420p10le"),
                ("64x48", "bgr0", "lossless", (64, 48), "bgr0"), ("64x48", "bgr0", "mp4", (64, 48), "yuv420p")):
            with self.subTest(f"{size} {pixels} {profile}"):
                width, height = map(int, size.split("x"))
                clip = self.clip("in.mkv", f"nullsrc=size={size}:rate=25:duration=0.12,format=gray,geq=lum=200,"
                                 f"format={pixels}", "-c:v", "ffv1")
                self.assertEqual(media.stream(clip, "width", "height"), {"width": str(width), "height": str(height)})
                self.job(clip, profile=profile)
                found = media.stream(self.video(), "width", "height", "pix_fmt")
                self.assertEqual(found, {"width": str(written[0]), "height": str(written[1]), "pix_fmt": form})
                picture = media.frames(self.video(), "gray")[0]
                self.assertGreater(picture[:height, :width].min(), 150)
                self.assertLess(picture[height + 2:].max(initial=0), 60)
                self.assertLess(picture[:, width + 2:].max(initial=0), 60)

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
        one = job.Job("in", {}, None, None, None)
        self.assertEqual(one.frame_time, Gst.SECOND // 25)
        one.frame_time, given = 5, []
        for pts in (Gst.CLOCK_TIME_NONE, Gst.CLOCK_TIME_NONE, 100, Gst.CLOCK_TIME_NONE):
            buffer = Gst.Buffer.new_allocate(None, 1, None)
            buffer.pts = pts
            self.assertEqual(one.give_time(None, unittest.mock.Mock(get_buffer=lambda buffer=buffer: buffer)),
                             Gst.PadProbeReturn.OK)
            given.append(buffer.pts)
        self.assertEqual(given, [0, 5, 100, 105])
        quick = self.clip("quick.mkv", PLAIN.replace("25", "30000/1001"), "-c:v", "ffv1")
        done = [one["done"] for one in self.job(quick, "json") if "done" in one][0]
        self.assertAlmostEqual(done["length"], done["frames"] * 1001 / 30000, places=2)

    def test_sound(self):
        tone = ("-f", "lavfi", "-i", "sine=duration=0.4", "-pix_fmt", "yuv420p")
        clip = self.clip("in.mp4", PLAIN, *tone, "-c:a", "aac")
        told = self.job(clip, "video", "json")
        self.assertEqual(sound_sum(self.video()), sound_sum(clip))
        self.assertEqual(len([one for one in told if "part" in one]), 3, "one for the picture alone")
        self.assertEqual(self.files(self.out), ["out.jsonl", "out.mp4"])
        self.assertEqual([one for one in told if "note" in one], [])
        flac = self.clip("in.mkv", PLAIN, *tone, "-c:a", "flac")
        told = self.job(flac)
        self.assertEqual([one["note"] for one in told if "note" in one],
                         ["its flac sound is encoded as aac: mp4 files cannot hold it"])
        self.assertGreater(len(sound_times(self.video())), 10)
        self.assertEqual(sound_times(self.video())[0] < 0.1, True)
        self.job(clip, with_sound=False)
        self.assertEqual(sound_times(self.video()), [])
        self.job(clip, "json")
        self.assertEqual(self.files(self.out), ["out.jsonl", "out.mp4"])

    def test_sound_that_cannot_be_kept(self):
        clip = self.clip("in.mp4", PLAIN, "-f", "lavfi", "-i", "sine=duration=0.4", "-pix_fmt", "yuv420p")

        def failing(*_):
            return subprocess.Popen(["sh", "-c", "echo first >&2; echo why >&2; exit 3"], text=True,
                                    stderr=subprocess.PIPE), ["a note"]

        self.replace(sound, "add", failing)
        told = self.job(clip, "video", "json", status=1)
        self.assertEqual(told[-2:], [{"note": "a note"}, {"problem": "its sound cannot be kept: why"}])
        self.assertEqual(self.files(self.out), [])
        self.replace(sound, "streams", unittest.mock.Mock(side_effect=sound.SoundProblem("no ffprobe")))
        self.assertEqual(self.problem(clip), "no ffprobe")

    def test_interrupted(self):
        clip = self.clip("in.mkv", "testsrc2=size=64x48:rate=25:duration=30", "-c:v", "rawvideo", "-f", "matroska")
        see = job.Job.see_frame
        for number in (signal.SIGINT, signal.SIGTERM):
            def frame(one, pad, buffer, number=number):
                if one.frames == 3:
                    os.kill(os.getpid(), number)
                see(one, pad, buffer)

            with unittest.mock.patch.object(job.Job, "see_frame", frame):
                self.assertEqual(self.problem(clip, "video", "json", "labels", status=130), "interrupted")
        # Also while the sound is joined.
        short = self.clip("in.mp4", PLAIN, "-f", "lavfi", "-i", "sine=duration=0.4", "-pix_fmt", "yuv420p")
        started = []

        def slow(*_):
            os.kill(os.getpid(), signal.SIGINT)
            started.append(subprocess.Popen(["sleep", "60"], stderr=subprocess.PIPE))
            return started[0], []

        self.replace(sound, "add", slow)
        self.assertEqual(self.problem(short, status=130), "interrupted")
        self.assertEqual(started[0].wait(10), -signal.SIGKILL)
        started[0].stderr.close()

    def test_inputs_that_are_no_video(self):
        self.replace(sound, "streams", lambda _: ([], 0, None))
        text = self.folder / "text.avi"
        text.write_text("this is no video\n" * 100)
        self.assertRegex(self.problem(text), "^holds no video that can be decoded here: .+")
        tone = self.clip("sound.wav", "sine=duration=0.2")
        self.assertRegex(self.problem(tone), "^holds no video that can be decoded here")
        self.assertEqual(self.problem(self.folder / "missing"), 
                         f'Resource not found. (No such file "{self.folder / "missing"}")')
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        with unittest.mock.patch.object(job.Job, "transcode", lambda one: None):
            self.assertEqual(self.problem(clip), "holds no video frame")

    def test_filters_that_fail(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        self.assertEqual(self.problem(clip, "json", filter="identity"),
                         "frame 0 has no regions: no element of the filter finds any")
        self.assertEqual(self.problem(clip, "video", "labels", filter="identity"),
                         "frame 0 has no label map: no element of the filter attaches one")
        self.assertIn("Failed after iterations as requested", self.problem(clip, filter="identity error-after=3"))
        self.assertEqual(self.problem(clip, filter="cclabel source=alpha").split(":")[0].count("\n"), 0)

    def test_outputs_that_cannot_be_written(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        os.mkfifo(self.out / "out.mp4")
        told = self.job(clip, status=1)
        self.assertEqual(told, [{"problem": f"cannot write {self.out / 'out.mp4'}: it is there, and no regular file"}])
        self.assertEqual(self.files(self.out), ["out.mp4"])

    def test_a_file_that_ends_early(self):
        """What could be read is written; more than a fiftieth, or a second, must lack."""
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        for length, cut in ((None, False), (0.0, False), (0.4, False), (1.39, False), (1.45, True), (60.0, True)):
            self.replace(sound, "streams", lambda _, length=length: ([], 0, length))
            told = self.job(clip, status=int(cut))
            self.assertEqual(self.files(self.out), ["out.mp4"])
            problems = [one["problem"] for one in told if "problem" in one]
            self.assertEqual(problems, [f"ends after 0.4 s of {length:.1f} s: it is cut off or damaged (what could be"
                                        " read was written)"] if cut else [])
            self.assertEqual([one["done"]["frames"] for one in told if "done" in one], [10])
        for end, cut in ((98.1, False), (97.9, True)):
            one = self.half_done(end=end * Gst.SECOND)
            self.replace(sound, "streams", lambda _: ([], 0, 100.0))
            one.transcode_and_keep()
            self.assertEqual(bool(one.problem), cut)

    def half_done(self, **state):
        """A job whose pipeline did its work."""
        one = job.Job("in", {}, None, None, lambda **_: None)
        one.transcode = one.finish = lambda: None
        one.frames = 1
        for name, value in state.items():
            setattr(one, name, value)
        return one

    def test_warnings_are_told_once(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")

        def run(one, original=job.Job.transcode):
            original(one)
            for text in ("first", "second", "first"):
                warning = GLib.Error.new_literal(Gst.StreamError.quark(), text, Gst.StreamError.FAILED)
                one.on_message(None, Gst.Message.new_warning(one.pipeline, warning, "detail"))

        self.replace(job.Job, "transcode", run)
        told = self.job(clip)
        self.assertEqual([one["note"] for one in told if "note" in one], ["first (2 times)", "second (1 times)"])

    def test_errors_of_elements(self):
        decoder = Gst.Bin.new("decoder")
        inner, outer = Gst.ElementFactory.make("identity"), Gst.ElementFactory.make("identity")
        decoder.add(inner)
        for frames, element, problem in ((0, inner, "holds no video that can be decoded here: bad (cause)"),
                                         (1, inner, "bad (cause)"), (0, outer, "bad (cause)")):
            one = self.half_done(frames=frames, decoder=decoder)
            error = GLib.Error.new_literal(Gst.StreamError.quark(), "bad", Gst.StreamError.DECODE)
            one.on_message(None, Gst.Message.new_error(element, error, "line\ncause"))
            one.stop("a later one")
            self.assertEqual(one.problem, problem)

    def test_waiting_for_the_first_frame(self):
        for waited, started, problem in ((19.9, None, None), (20.1, None, "holds no video that can be decoded here: no"
                                                              " frame within 20 s"), (99, 7.0, None)):
            one = self.half_done(started=started, decoded_pad=unittest.mock.Mock(query_duration=lambda _: (False, 0)))
            with unittest.mock.patch.object(job.time, "monotonic", lambda one=one, w=waited: one.began + w):
                self.assertTrue(one.tick())
            self.assertEqual(one.problem, problem)

    def test_progress(self):
        for frames, known, length, seconds, progress in (
                (30, True, 4 * Gst.SECOND, 2.0, {"frame": 30, "of": 100, "rate": 15.0}),
                (130, True, 4 * Gst.SECOND, 4.0, {"frame": 130, "of": 130, "rate": 32.5}),
                (30, False, -1, 2.0, {"frame": 30, "of": 0, "rate": 15.0}),
                (30, True, 0, 2.0, {"frame": 30, "of": 0, "rate": 15.0}),
                (3, False, 0, 0.0, {"frame": 3, "of": 0, "rate": 3000.0})):
            told = []
            one = self.half_done(frames=frames, started=50.0, say=lambda told=told, **what: told.append(what),
                                 decoded_pad=unittest.mock.Mock(query_duration=lambda _, k=known, n=length: (k, n)))
            with unittest.mock.patch.object(job.time, "monotonic", lambda s=seconds: 50.0 + s):
                self.assertTrue(one.tick(), "it is asked again")
            self.assertEqual(told, [{"progress": progress}])

    def test_devices_and_label_maps_reach_the_filter(self):
        made = job.filters.made
        calls = []
        self.replace(job.filters, "made", lambda *what: calls.append(what) or made(*what))
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        self.job(clip, "json")
        self.job(clip, "json", "labels", device=3, filter=LABELLED + " device=cpu")
        self.assertEqual(calls, [(LABELLED, (), -1, False), (LABELLED + " device=cpu", (), 3, True)])

    def test_it_ends_when_its_input_is_closed(self):
        clip = self.clip("in.mkv", "testsrc2=size=64x48:rate=25:duration=30", "-c:v", "rawvideo", "-f", "matroska")
        reader, writer = os.pipe()
        settings = {"source": str(clip), "outputs": {"video": str(self.out / "out.mp4")}, "profile": "mp4",
                    "filter": "identity sleep-time=10000 ! " + LABELLED}
        work = subprocess.Popen(["/usr/bin/python3", job.__file__, str(writer), json.dumps(settings)],
                                stdin=subprocess.PIPE, pass_fds=(writer,))
        os.close(writer)
        with open(reader, encoding="utf-8") as told:
            said = [json.loads(told.readline()), json.loads(told.readline())]
            self.assertEqual([list(one) for one in said], [["part"], ["progress"]])
            work.stdin.close()
            rest = [json.loads(line) for line in told]
        self.assertEqual(work.wait(60), 130)
        self.assertEqual(rest[-1], {"problem": "interrupted"})
        self.assertEqual(self.files(self.out), [])


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
