#!/usr/bin/python3
"""The quickstart's job on short clips: what it writes, counts, tells and refuses. (quickstart_test.py
has it on the real one.)"""

import os
import re
import signal
import socket
import stat
import sys
import unittest
import unittest.mock

import inside
import media
import numpy
import objects
from gstreamer import GLib, Gst

PLAIN = "nullsrc=size=64x48:rate=25:duration=0.4,format=gray,geq=lum=200"
# Two boxes of 12 x 8 in a video of 40 frames, one in the last 12 and one in the last 5.
BOXES = ("nullsrc=size=160x120:rate=25:duration=1.6,format=gray,geq=lum='60"
         "+150*gt(N\\,27)*between(X\\,20\\,31)*between(Y\\,30\\,37)"
         "+150*gt(N\\,34)*between(X\\,80\\,91)*between(Y\\,60\\,67)'")


class Objects(inside.Case):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"

    def job(self, *arguments):
        return inside.called(objects.main, ["--out", str(self.out), *map(str, arguments)])

    def refused(self, status, text, *arguments):
        said = self.job(*arguments)
        self.assertEqual((said.status, said.out, said.err), (status, "", text))
        self.assertEqual(self.files(self.out) if self.out.exists() else [], [])

    def test_what_is_written_and_told(self):
        clip = self.clip("boxes.mkv", BOXES, "-c:v", "ffv1")
        said = self.job(clip)
        self.assertEqual((said.status, said.err), (0, ""))
        self.assertEqual(self.files(self.out), ["overlay.mp4", "still.png"])
        video, still = self.out / "overlay.mp4", self.out / "still.png"
        match = re.fullmatch(
            r"17 regions in 40 frames \(0\.4 a frame, most 2 in frame (\d+)\)\n"
            r"(\d+\.\d) frames/s with decoding, foreground and encoding; labelled on (cpu|cuda).*\n"
            rf"wrote {re.escape(os.path.relpath(video))} and {re.escape(os.path.relpath(still))}\n", said.out)
        self.assertTrue(match, said.out)
        self.assertEqual(match[1], "35", "the first frame with the most")
        self.assertEqual(media.stream(video, "codec_name", "pix_fmt", "width", "height"),
                         {"codec_name": "h264", "pix_fmt": "yuv420p", "width": "160", "height": "120"})
        numpy.testing.assert_allclose(media.times(video), media.times(clip), atol=1e-3)
        # The still is the 36th frame of the video, before it was coded.
        frames, picture = media.frames(video, "rgb24").astype(int), media.frames(still, "rgb24")
        self.assertEqual(picture.shape, (1, 120, 160, 3))
        self.assertLess(abs(frames[35] - picture[0]).mean(), 3)
        self.assertGreater(abs(frames[34] - picture[0]).max(), 60)
        for path in (video, still):
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o666 & ~self.umask())
        # Drawn are boxes, outlines and ids in colours; the ground stays.
        self.assertLess(abs(frames[18] - 60).max(), 30)
        self.assertGreater(numpy.ptp(frames[35], axis=2).max(), 40)
        self.assertEqual({name: inside.x264_settings(video)[name] for name in ("keyint", "bframes", "crf", "subme")},
                         {"keyint": "100", "bframes": "0", "crf": "20.0", "subme": "2"})

    def umask(self):
        mask = os.umask(0)
        os.umask(mask)
        return mask

    def test_small_regions_and_holes_go_by_the_size(self):
        """250 pixels of 768 x 576 count as an object, fewer do not."""
        for width, height, least in ((768, 576, 250), (384, 288, 62), (160, 120, 10), (63, 47, 1)):
            clip = self.clip("size.mkv", PLAIN.replace("64x48", f"{width}x{height}"), "-c:v",
                             "ffv1")
            job = self.started(clip)
            elements = [job.pipeline.get_by_name(name) for name in ("objects", "evened")]
            self.assertEqual([elements[0].get_property(name) for name in ("min-area", "fill-holes")],
                             [least, least])
            self.assertEqual([elements[1].get_property(name) for name in ("left", "top", "right", "bottom")],
                             [0, 0, -(width % 2), -(height % 2)])

    def started(self, source, frames=None):
        """A job that has run."""
        self.out.mkdir(exist_ok=True)
        job = objects.Job(inside.gstreamer, str(source), str(self.out))
        inside.called(job.run)
        self.assertIsNone(job.problem)
        return job

    def test_sides_that_the_encoder_does_not_take(self):
        for width, height, wide, high in ((3, 5, 16, 16), (17, 16, 18, 16), (16, 17, 16, 18), (64, 48, 64, 48)):
            clip = self.clip("side.mkv", PLAIN.replace("64x48", f"{width}x{height}"), "-c:v", "ffv1")
            self.assertEqual(self.job(clip).status, 0)
            video = self.out / "overlay.mp4"
            self.assertEqual(media.stream(video, "width", "height"), {"width": str(wide), "height": str(high)})
            picture = media.frames(video, "gray")[0]
            self.assertGreater(picture[:height, :width].min(), 180)
            self.assertLess(picture[height + 2:].max(initial=0), 60, "black below")
            self.assertLess(picture[:, width + 2:].max(initial=0), 60, "black at the right")

    def test_times_of_frames(self):
        plain = self.clip("plain.h264", PLAIN, "-pix_fmt", "yuv420p", "-f", "h264")
        self.assertEqual(self.started(plain).frame_time, Gst.SECOND // 25)
        numpy.testing.assert_allclose(media.times(self.out / "overlay.mp4"), numpy.arange(10) / 25, atol=1e-3)
        quick = self.clip("quick.mkv", PLAIN.replace("25", "30000/1001"), "-c:v", "ffv1")
        self.assertEqual(self.started(quick).frame_time, Gst.SECOND * 1001 // 30000)
        # Frames without a time follow the one before at the rate that is known.
        job = objects.Job(inside.gstreamer, "in", "out")
        job.frame_time = 5
        told = []
        for pts in (Gst.CLOCK_TIME_NONE, Gst.CLOCK_TIME_NONE, 100, Gst.CLOCK_TIME_NONE):
            buffer = Gst.Buffer.new_allocate(None, 1, None)
            buffer.pts = pts
            self.assertEqual(job.give_time(None, unittest.mock.Mock(get_buffer=lambda buffer=buffer: buffer)),
                             Gst.PadProbeReturn.OK)
            told.append(buffer.pts)
        self.assertEqual(told, [0, 5, 100, 105])

    def test_refusals_before_anything_is_made(self):
        missing, empty = self.folder / "missing", self.folder / "empty"
        empty.write_bytes(b"")
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for source, why in ((missing, "No such file or directory"), (self.folder, "it is a folder"),
                            (empty, "the file is empty"),
                            (pipe, "it is neither a file nor a video device"),
                            ("/dev/video77", "No such file or directory")):
            for more in ((), ("--check",)):
                self.refused(2, f"quickstart: cannot read {source}: {why}\n", source, *more)
                self.assertFalse(self.out.exists(), "nothing was made")
        readable = os.access
        self.replace(os, "access", lambda path, how: readable(path, how) and not str(path).endswith("shut"))
        (self.folder / "shut").write_bytes(b"x")
        self.refused(2, f"quickstart: cannot read {self.folder / 'shut'}: no permission\n", self.folder / "shut")
        name = self.folder / "new\nline"
        self.assertIn("new\\nline: No such file", self.job(name).err)

    def test_a_check_alone(self):
        clip = self.clip("in.mkv", PLAIN)
        for source in (clip, "/dev/null", "rtsp://127.0.0.1:9/none"):
            self.assertEqual(self.job("--check", source), (0, "", ""))
        # The clip comes with the set-up, which a check precedes.
        self.replace(objects, "CLIP", "/missing/clip")
        self.assertEqual(self.job("--check"), (0, "", ""))
        self.refused(2, "quickstart: cannot read /missing/clip: No such file or directory\n")
        self.refused(2, "quickstart: cannot read /missing: No such file or directory\n", "--check", "/missing")
        self.assertFalse(self.out.exists())

    def test_arguments(self):
        options = objects.parse([])
        self.assertEqual((options.source, options.out, options.check),
                         ("/usr/share/doc/opencv-doc/examples/data/vtest.avi", "out", False))
        with unittest.mock.patch.object(objects, "check_source", side_effect=objects.InputProblem("no")):
            self.assertEqual(inside.called(objects.main, ["--check"]), (0, "", ""))
            self.assertEqual(inside.called(objects.main, ["--out", str(self.out)]), (2, "", "quickstart: no\n"))
        said = inside.called(objects.main, ["--help"])
        self.assertEqual(said.status, 0)
        self.assertTrue(said.out.startswith("usage: quickstart [-h] [--out FOLDER] [FILE|rtsp://…|/dev/videoN]"))
        self.assertIn("Draws the moving objects of a video.", said.out)
        self.assertIn("default: people walking, from Debian's opencv-doc", said.out)
        self.assertIn("where results go", said.out)
        self.assertNotIn("--check", said.out)
        self.assertEqual(inside.called(objects.main, ["a", "b"]).status, 2)

    def test_inputs_that_are_no_video(self):
        text = self.folder / "text.avi"
        text.write_text("this is no video\n" * 100)
        said = self.job(text)
        self.assertEqual(said.status, 1)
        self.assertRegex(said.err, rf"^quickstart: {text}: holds no video that can be decoded here: .+\n$")
        sound = self.clip("sound.wav", "sine=duration=0.2")
        said = self.job(sound)
        self.assertEqual(said.status, 1)
        self.assertTrue(said.err.startswith(f"quickstart: {sound}: holds no video that can be decoded here"))
        for linked, problem in ((False, "in: holds no video that can be decoded here"), (True, None)):
            job = objects.Job(inside.gstreamer, "in", "out")
            job.entry = unittest.mock.Mock(is_linked=lambda linked=linked: linked)
            job.expect_video(None)
            self.assertEqual(job.problem, problem)
        # A video whose frames all get lost.
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        with unittest.mock.patch.object(objects.Job, "play", lambda job: None):
            self.refused(1, f"quickstart: {clip}: holds no video frame\n", clip)
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            address = f"rtsp://127.0.0.1:{closed.getsockname()[1]}/none"
        said = self.job(address)
        self.assertEqual((said.status, said.out), (1, ""))
        self.assertTrue(said.err.startswith(f"quickstart: {address}: Could not"), said.err)
        self.assertNotIn("holds no video", said.err)
        self.assertEqual(self.files(self.out), [])

    def test_a_file_that_gives_no_frame_is_given_up(self):
        """Only a file, only before its first frame, and not before its time."""
        for source, started, waited, problem in (
                ("in.mkv", 0.0, 20.5, "in.mkv: holds no video that can be decoded here: no frame within 20 s"),
                ("in.mkv", 0.0, 19.5, None), ("in.mkv", 7.0, 99.0, None), ("rtsp://a/b", 0.0, 99.0, None),
                ("/dev/video0", 0.0, 99.0, None)):
            job = objects.Job(inside.gstreamer, source, "out")
            job.started = started
            with unittest.mock.patch.object(objects.time, "monotonic", lambda job=job, w=waited: job.began + w):
                self.assertTrue(job.show_progress())
            self.assertEqual(job.problem, problem)

    def progress(self, source, frames, seconds, length, shown=0.0):
        """What a job tells so many seconds after its first frame."""
        job = objects.Job(inside.gstreamer, source, "out")
        job.frames, job.started, job.shown = frames, 100.0, shown
        job.pipeline = unittest.mock.Mock(query_duration=lambda _: length)
        with unittest.mock.patch.object(objects.time, "monotonic", lambda: 100.0 + seconds):
            said = inside.called(job.show_progress)
        self.assertIs(said.status, True, "it is asked again")
        return said.out, job.shown

    def test_progress(self):
        known, unknown = (True, 4 * Gst.SECOND), (False, -1)
        for source, frames, seconds, length, text in (
                ("in.mkv", 30, 2.0, known, "frame 30 of about 100, 15 frames/s\n"),
                ("in.mkv", 130, 4.0, known, "frame 130 of about 130, 32 frames/s\n"),
                ("in.mkv", 30, 2.0, unknown, "frame 30, 15 frames/s\n"),
                ("in.mkv", 30, 2.0, (True, 0), "frame 30, 15 frames/s\n"),
                ("rtsp://a/b", 30, 2.0, known, "frame 30, 15 frames/s\n"),
                ("in.mkv", 1, 2.0, unknown, "frame 1, 0 frames/s\n")):
            self.assertEqual(self.progress(source, frames, seconds, length), (text, 100.0 + seconds))
        self.assertEqual(self.progress("in.mkv", 0, 2.0, known), ("", 0.0))
        # Every two seconds.
        self.assertEqual(self.progress("in.mkv", 9, 2.5, unknown, 101.0), ("", 101.0))
        self.assertEqual(self.progress("in.mkv", 9, 3.0, unknown, 101.0), ("frame 9, 3 frames/s\n", 103.0))

    def test_failures_of_elements(self):
        """`wrong`: what the decoder says of a file, what another element says, before frames and after."""
        bin_ = Gst.Bin.new("decoder")
        inner, outer = Gst.ElementFactory.make("identity"), Gst.ElementFactory.make("identity")
        bin_.add(inner)
        for source, frames, element, problem, broken in (
                ("in", 0, inner, "in: holds no video that can be decoded here: bad", None),
                ("in", 1, inner, "in: bad", None), ("in", 0, outer, "in: bad", None),
                ("rtsp://a", 0, outer, "rtsp://a: bad", None),
                ("rtsp://a", 7, outer, None, "rtsp://a: stopped after 7 frames, which are kept: bad")):
            job = objects.Job(inside.gstreamer, source, "out")
            job.frames, job.decoder, job.entry = frames, bin_, unittest.mock.Mock()
            error = GLib.Error.new_literal(Gst.StreamError.quark(), "bad", Gst.StreamError.DECODE)
            message = Gst.Message.new_error(element, error, "detail")
            job.on_message(None, message)
            job.on_message(None, message)
            self.assertEqual((job.problem, job.broken), (problem, broken))
            self.assertEqual(job.entry.send_event.call_count, 1 if broken else 0, "the stream ends once")
            if broken:
                self.assertEqual(job.entry.send_event.call_args[0][0].type, Gst.EventType.EOS)
            self.assertFalse(job.whole)
        job.on_message(None, Gst.Message.new_eos(outer))
        self.assertTrue(job.whole)

    def test_a_recording_that_broke_off_is_reported(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")

        def run(job, original=objects.Job.run):
            original(job)
            job.broken = "camera: stopped after 10 frames, which are kept: gone"

        self.replace(objects.Job, "run", run)
        said = self.job(clip)
        self.assertEqual((said.status, said.err),
                         (1, "quickstart: camera: stopped after 10 frames, which are kept: gone\n"))
        self.assertIn(" frames/s ", said.out)
        self.assertEqual(self.files(self.out), ["overlay.mp4", "still.png"])

    def test_interrupts(self):
        """A file's job is left, a camera's recording is finished, and left at the second interrupt."""
        for source, frames, ends, leaves in (("in", 5, 0, [True, True]), ("rtsp://a", 5, 1, [False, True]),
                                             ("/dev/video0", 1, 1, [False, True]),
                                             ("rtsp://a", 0, 0, [True, True])):
            job = objects.Job(inside.gstreamer, source, "out")
            job.frames, job.pipeline, left = frames, unittest.mock.Mock(), []
            job.stop = lambda *_, left=left: left.append(True)
            self.assertFalse(job.interrupted)
            seen = []
            for _ in range(2):
                before = len(left)
                job.on_interrupt()
                seen.append(len(left) > before)
                self.assertTrue(job.interrupted)
            self.assertEqual(seen, leaves, source)
            self.assertEqual(job.pipeline.send_event.call_count, ends)
        clip = self.clip("in.mkv", "testsrc2=size=320x240:rate=25:duration=60", "-c:v", "rawvideo")
        for number in (signal.SIGINT, signal.SIGTERM):
            earlier = self.out / "overlay.mp4"
            self.out.mkdir(exist_ok=True)
            earlier.write_text("earlier")

            def count(job, pad, info, original=objects.Job.count, number=number):
                if job.frames == 3:
                    os.kill(os.getpid(), number)
                return original(job, pad, info)

            with unittest.mock.patch.object(objects.Job, "count", count):
                said = self.job(clip)
            self.assertEqual(said, (130, "", "quickstart: interrupted; nothing was written\n"))
            self.assertEqual(self.files(self.out), ["overlay.mp4"])
            self.assertEqual(earlier.read_text(), "earlier")

    def test_live_sources_are_coded_without_delay(self):
        self.assertEqual([objects.is_live(source) for source in
                          ("rtsp://a", "/dev/video3", "/dev/null", "a.mp4", "videos/rtsp://")],
                         [True, True, False, False, False])
        live, file = objects.description("/dev/video0", 7), objects.description("a.mp4", 7)
        self.assertTrue(live.startswith("queue leaky=downstream max-size-buffers=8 name=decoded ! "))
        self.assertTrue(file.startswith("queue name=decoded ! "))
        self.assertIn("tune=zerolatency speed-preset=ultrafast ! h264parse", live)
        self.assertIn("key-int-max=100 speed-preset=veryfast ! h264parse", file)
        self.assertTrue(file.endswith("fdsink sync=false fd=7"))

    def test_a_camera_of_the_machine(self):
        """Its name goes to v4l2src."""
        job = objects.Job(inside.gstreamer, "/dev/video77", str(self.folder))
        job.part = unittest.mock.Mock(fd=1)
        job.build()
        names = {element.get_factory().get_name(): element for element in job.pipeline.children}
        self.assertEqual(names["v4l2src"].get_property("device"), "/dev/video77")
        self.assertTrue(names["v4l2src"].get_static_pad("src").is_linked())
        self.assertIs(job.decoder, names["decodebin"])
        self.assertFalse(job.decoder.get_property("expose-all-streams"))
        job = objects.Job(inside.gstreamer, "rtsp://127.0.0.1/a", str(self.folder))
        job.part = unittest.mock.Mock(fd=1)
        job.build()
        self.assertEqual(job.decoder.get_property("uri"), "rtsp://127.0.0.1/a")
        self.assertFalse(job.decoder.get_property("expose-all-streams"))


if __name__ == "__main__":
    media.expect_tools()
    sys.exit(unittest.main(verbosity=2))
