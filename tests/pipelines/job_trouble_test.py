#!/usr/bin/python3
"""transcode/job.py in the test's own process: jobs that fail, end early, are interrupted or warned."""

import json
import os
import signal
import subprocess
import unittest
import unittest.mock

import inside
import media
from jobs import LABELLED, PLAIN, JobCase, job  # before what lies beside the programs
import sound
from gstreamer import GLib, Gst


class Trouble(JobCase):
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
                    inside.wait_until(lambda: one.interrupted)
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
        self.assertTrue(self.problem(self.folder / "missing").startswith("Resource not found."))
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        with unittest.mock.patch.object(job.Job, "transcode", lambda one: None):
            self.assertEqual(self.problem(clip), "holds no video frame")

    def test_a_fault_of_its_own_ends_it(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        self.replace(job.Job, "see_frame", unittest.mock.Mock(side_effect=ValueError("of mine")))
        self.assertEqual(self.problem(clip, "video", "json"),
                         "a fault of this program, not of the input: ValueError: of mine")

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
