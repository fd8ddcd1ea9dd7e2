#!/usr/bin/python3
"""transcode/job.py in the test's own process: jobs that fail, end early, are interrupted or warned."""

import json
import os
import signal
import socket
import subprocess
import sys
import unittest
import unittest.mock

import inside
import media
from jobs import LABELLED, PLAIN, JobCase, job  # first: it makes the programs importable
import joining
from gstreamer import GLib, Gst


class Trouble(JobCase):
    def test_sound_that_cannot_be_kept(self):
        clip = self.clip("in.mp4", PLAIN, "-f", "lavfi", "-i", "sine=duration=0.4", "-pix_fmt", "yuv420p")

        def failing(_picture, _source, _profile, _out, errors, *_):
            return subprocess.Popen(["sh", "-c", "echo first >&2; echo why >&2; exit 3"], stderr=errors), ["a note"]

        self.replace(joining, "add", failing)
        told = self.job(clip, "video", "jsonl", status=1)
        self.assertEqual(told[-2:], [{"note": "a note"},
                                      {"problem": "its other streams cannot be added to the output: why"}])
        self.assertEqual(self.files(self.out), [])
        self.replace(job, "Input", unittest.mock.Mock(side_effect=job.InputProblem("no ffprobe")))
        self.assertEqual(self.problem(clip), "no ffprobe")

    def test_interrupted(self):
        clip = self.clip("in.mkv", "testsrc2=size=64x48:rate=25:duration=30", "-c:v", "rawvideo", "-f", "matroska")
        see = job.Job.see_frame
        for number in (signal.SIGINT, signal.SIGTERM):
            def frame(one, pad, buffer, number=number):
                if one.frames == 3:
                    os.kill(os.getpid(), number)
                    inside.wait_until(lambda: one.interrupted)
                return see(one, pad, buffer)

            with unittest.mock.patch.object(job.Job, "see_frame", frame):
                self.assertEqual(self.problem(clip, "video", "jsonl", "labels", status=130), "interrupted")
        # Also while the sound is joined.
        short = self.clip("in.mp4", PLAIN, "-f", "lavfi", "-i", "sine=duration=0.4", "-pix_fmt", "yuv420p")
        started = []

        def slow(*_):
            os.kill(os.getpid(), signal.SIGINT)
            started.append(subprocess.Popen(["sleep", "60"]))
            return started[0], []

        self.replace(joining, "add", slow)
        self.assertEqual(self.problem(short, status=130), "interrupted")
        self.assertEqual(started[0].wait(10), -signal.SIGKILL)

    def test_inputs_that_are_no_video(self):
        text = self.folder / "text.avi"
        text.write_text("this is no video\n" * 100)
        self.assertRegex(self.problem(text), "^holds no video that can be decoded here: .+")
        tone = self.clip("sound.wav", "sine=duration=0.2")
        self.assertEqual(self.problem(tone), "holds no video stream: only audio")
        self.assertRegex(self.problem(self.folder / "missing"), "No such file or directory$")
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")

        def nothing(one):
            one.decoder = job.Decoder(one.input, None)

        with unittest.mock.patch.object(job.Job, "transcode", nothing):
            self.assertEqual(self.problem(clip), "holds no video frame that can be decoded: the decoder makes no picture of its 10 packets")

    def test_lists_of_other_files(self):
        """Whatever they are called: neither are files taken that they name, nor is anything asked of the network."""
        clip = self.clip("other.ts", PLAIN, "-c:v", "mpeg2video")
        # ffmpeg 7.1 takes no file for one of hls by another name.
        by_name = "extension_picky" in media.run("ffmpeg", "-v", "error", "-h", "demuxer=hls")
        self.clip("other.mkv", PLAIN, "-c:v", "ffv1")
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = f"127.0.0.1:{server.getsockname()[1]}"
            hls = "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:1\n#EXTINF:0.4,\n{}\n#EXT-X-ENDLIST\n"
            dash = ('<?xml version="1.0"?>\n<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" profiles="urn:mpeg:dash:'
                    'profile:isoff-on-demand:2011"><Period><AdaptationSet mimeType="video/mp4"><Representation id="1" '
                    'bandwidth="1"><BaseURL>{}</BaseURL></Representation></AdaptationSet></Period></MPD>\n')
            sdp = "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video {} RTP/AVP 26\n"
            for form, text in (("hls", hls.format(clip.name)), ("hls", hls.format(clip)),
                               ("concat", "ffconcat version 1.0\nfile other.mkv\n"), ("", hls.format(f"http://{address}/a.ts")),
                               ("", f"ffconcat version 1.0\nfile http://{address}/a.mkv\n"),
                               ("", dash.format(f"http://{address}/a.mp4")), ("", sdp.format(server.getsockname()[1]))):
                for name in ("list.mp4", "list.m3u8"):
                    listed = self.folder / name
                    listed.write_text(text)
                    sure = form and not (form == "hls" and by_name and name == "list.mp4")
                    told = rf"^is a list \({form}\) of other files" if sure else "^is a list|^holds no video"
                    self.assertRegex(self.problem(listed), told, text)
            server.settimeout(0)
            self.assertRaises(BlockingIOError, server.accept)

    def test_a_fault_of_its_own_ends_it(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        self.replace(job.Job, "see_frame", unittest.mock.Mock(side_effect=ValueError("of mine")))
        self.assertEqual(self.problem(clip, "video", "jsonl"),
                         "internal error of this program (the input is not the cause): ValueError: of mine")

    def test_filters_that_fail(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        self.assertEqual(self.problem(clip, "jsonl", filter="identity"),
                         "frame 0 has no `regions` metadata: add an element to the filter that finds regions, such as cclabel")
        self.assertEqual(self.problem(clip, "video", "labels", filter="identity"),
                         "frame 0 has no label map: add an element to the filter that attaches one, such as cclabel")
        self.assertIn("Failed after iterations as requested", self.problem(clip, filter="identity error-after=3"))
        self.assertEqual(self.problem(clip, filter="cclabel source=alpha").split(":")[0].count("\n"), 0)

    def test_outputs_that_cannot_be_written(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        os.mkfifo(self.out / "out.mp4")
        told = self.job(clip, status=1)
        self.assertEqual(told, [{"problem": f"cannot write {self.out / 'out.mp4'}: it exists and is not a regular file"}])
        self.assertEqual(self.files(self.out), ["out.mp4"])

    def test_warnings_are_told_once(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")

        def run(one, original=job.Job.transcode):
            original(one)
            for text in ("first", "second", "first"):
                warning = GLib.Error.new_literal(Gst.StreamError.quark(), text, Gst.StreamError.FAILED)
                one.on_message(None, Gst.Message.new_warning(one.pipeline, warning, "detail"))

        self.replace(job.Job, "transcode", run)
        told = self.job(clip)
        self.assertEqual([line["note"] for line in told if "note" in line], ["first (2 times)", "second"])

    def test_errors_of_elements(self):
        one = self.half_done()
        error = GLib.Error.new_literal(Gst.StreamError.quark(), "bad", Gst.StreamError.DECODE)
        one.on_message(None, Gst.Message.new_error(Gst.ElementFactory.make("identity"), error, "line\ncause"))
        one.stop("a later one")
        self.assertEqual(one.problem, "bad (cause)")

    def test_waiting_for_a_frame(self):
        """The first frame, a frame after others, and the first frame that the filter passes."""
        stuck = "no frame left the filter for 120 s: {} frames were decoded, {} filtered"
        for waited, decoded, frames, problem in (
                (119.9, 0, 0, None), (120.1, 0, 0, "no frame could be decoded within 120 s"), (119.9, 9, 7, None),
                (120.1, 9, 7, stuck.format(9, 7)), (120.1, 9, 0, stuck.format(9, 0))):
            one = self.half_done(frames=frames)
            one.decoder.frames = decoded
            with unittest.mock.patch.object(job.time, "monotonic", lambda one=one, w=waited: one.moved + w):
                self.assertTrue(one.tick())
            self.assertEqual(one.problem, problem)

    def test_a_filter_that_stops_giving_frames(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        self.replace(job, "PATIENCE", 1)
        see = job.Job.see_frame

        def frame(one, pad, buffer):
            see(one, pad, buffer)
            inside.wait_until(lambda: one.problem)

        self.replace(job.Job, "see_frame", frame)
        self.assertRegex(self.problem(clip), r"^no frame left the filter for 1 s: \d+ frames were decoded, 1 filtered$")

    def test_progress(self):
        for frames, length, seconds, progress in (
                (30, 4.0, 2.0, {"frame": 30, "of": 100, "rate": 15.0}),
                (130, 4.0, 4.0, {"frame": 130, "of": 130, "rate": 32.5}),
                (30, 0.0, 2.0, {"frame": 30, "of": 0, "rate": 15.0}),
                (3, 0.0, 0.0, {"frame": 3, "of": 0, "rate": 3000.0})):
            told = []
            one = self.half_done(frames=frames, started=50.0, moved=50.0, say=lambda told=told, **what: told.append(what))
            one.input.length = length
            with unittest.mock.patch.object(job.time, "monotonic", lambda s=seconds: 50.0 + s):
                self.assertTrue(one.tick(), "it is asked again")
            self.assertEqual(told, [{"progress": progress}])

    def test_devices_and_label_maps_reach_the_filter(self):
        made = job.filters.made
        calls = []
        self.replace(job.filters, "made", lambda *what: calls.append(what) or made(*what))
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        self.job(clip, "jsonl")
        self.job(clip, "jsonl", "labels", device=3, filter=LABELLED + " device=cpu")
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


# A decoder of whose frames three are taken.
EARLY = """
import sys
sys.path.append("transcode")
import decoding, probe
from gstreamer import Gst

class Full:
    frames = 0

    def emit(self, *_):
        self.frames += 1
        return Gst.FlowReturn.OK if self.frames < 4 else Gst.FlowReturn.EOS

    def set_property(self, *_):
        pass

decoder = decoding.Decoder(probe.Input(sys.argv[1]), Full())
decoder.thread.start()
decoder.thread.join()
"""


class Ends(inside.Case):
    def test_decoders_that_have_frames_in_work(self):
        """Python ends their threads, and waited for them in 2 to 4 of 10 runs."""
        clip = self.clip("in.mp4", "testsrc2=size=640x480:rate=25:duration=2", "-pix_fmt", "yuv420p")
        for _ in range(12):
            done = subprocess.run([sys.executable, "-c", EARLY, clip], cwd=media.ROOT / "pipelines", capture_output=True,
                                  text=True, check=False, timeout=20 * media.PATIENCE)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
