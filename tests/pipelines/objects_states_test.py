#!/usr/bin/python3
"""The quickstart's job without a pipeline, state by state: progress, failures of elements, interrupts."""

import os
import signal
import unittest
import unittest.mock

import inside
import media
import objects
from gstreamer import GLib, Gst
from jobs import PLAIN, ObjectsCase


class States(ObjectsCase):
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

    def test_the_report(self):
        """Frames count from the first one in to the last one out."""
        job = objects.Job(inside.gstreamer, "in", str(self.folder))
        job.regions, job.frames, job.best, job.device = 25, 10, (4, 7, None), "cpu: 3 threads"
        for ended, rate in ((104.0, "2.5"), (100.0, "10000000000.0")):
            job.started, job.ended = 100.0, ended
            said = inside.called(job.report)
            self.assertEqual(said.out.splitlines()[:2], [
                "25 regions in 10 frames (2.5 a frame, most 4 in frame 7)",
                f"{rate} frames/s with decoding, foreground and encoding; labelled on cpu: 3 threads"])

    def test_failures_of_elements(self):
        """Before frames and after; what a camera gave stays."""
        element = Gst.ElementFactory.make("identity")
        for source, frames, problem, broken in (
                ("in", 0, "in: bad", None), ("in", 1, "in: bad", None), ("rtsp://a", 0, "rtsp://a: bad", None),
                ("rtsp://a", 7, None, "rtsp://a: stopped after 7 frames, which are kept: bad")):
            job = objects.Job(inside.gstreamer, source, "out")
            job.frames, job.entry = frames, unittest.mock.Mock()
            error = GLib.Error.new_literal(Gst.StreamError.quark(), "bad", Gst.StreamError.DECODE)
            message = Gst.Message.new_error(element, error, "detail")
            job.on_message(None, message)
            job.on_message(None, message)
            self.assertEqual((job.problem, job.broken), (problem, broken))
            self.assertEqual(job.entry.send_event.call_count, 1 if broken else 0, "the stream ends once")
            if broken:
                self.assertEqual(job.entry.send_event.call_args[0][0].type, Gst.EventType.EOS)
            self.assertFalse(job.whole)
        job.on_message(None, Gst.Message.new_eos(element))
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

    def test_a_fault_of_its_own_ends_it(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        self.replace(objects.Job, "count", unittest.mock.Mock(side_effect=ValueError("of mine")))
        said = self.job(clip)
        self.assertEqual(said.status, 1)
        self.assertTrue(said.err.endswith(f"quickstart: {clip}: a fault of this program, not of the input: ValueError:"
                                          " of mine\n"), said.err)
        self.assertEqual(self.files(self.out), [])

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
        clip = self.clip("in.mkv", "testsrc2=size=160x120:rate=25:duration=40", "-c:v", "rawvideo")
        for number in (signal.SIGINT, signal.SIGTERM):
            earlier = self.out / "overlay.mp4"
            self.out.mkdir(exist_ok=True)
            earlier.write_text("earlier")

            def count(job, pad, info, original=objects.Job.count, number=number):
                if job.frames == 3:
                    os.kill(os.getpid(), number)
                    inside.wait_until(lambda: job.interrupted)
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
        self.assertTrue(file.startswith("appsrc name=frames format=time block=true max-buffers=4 max-bytes=0 ! queue"
                                        " name=decoded ! "))
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
    unittest.main(verbosity=2)
