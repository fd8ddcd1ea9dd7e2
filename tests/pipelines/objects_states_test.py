#!/usr/bin/python3
"""The quickstart without a camera, state by state: progress, failures of elements, interrupts."""

import os
import signal
import unittest
import unittest.mock

import inside
import cameras  # beside the programs, as what follows
import media
import objects
from gstreamer import GLib, Gst
from jobs import PLAIN, ObjectsCase

FRAME = "testsrc2=size=160x120:rate=25:duration=40"


class States(ObjectsCase):
    def camera(self, source="rtsp://a/b", **found):
        self.found = objects.Found(inside.gstreamer)
        for name, value in found.items():
            setattr(self.found, name, value)
        return cameras.Camera(inside.gstreamer, source, self.found)

    def test_progress(self):
        for frames, seconds, text in ((30, 2.0, "b: frame 30, 15 frames/s\n"), (1, 2.0, "b: frame 1, 0 frames/s\n"),
                                      (0, 2.0, "")):
            camera = self.camera(frames=frames, started=100.0)
            with unittest.mock.patch.object(cameras.time, "monotonic", lambda seconds=seconds: 100.0 + seconds):
                said = inside.called(camera.show_progress)
            self.assertEqual((said.status, said.out), (True, text), "it is asked again")

    def test_the_report(self):
        """Frames count from the first one in to the last one out."""
        for ended, rate in ((104.0, "2.5"), (100.0, "10000000000.0")):
            self.camera(regions=25, frames=10, best=(4, 7, None), device="cpu: 3 threads", started=100.0, ended=ended)
            self.assertEqual(inside.called(self.found.report).out.splitlines(), [
                "25 regions in 10 frames (2.5 per frame, at most 4 in frame 7)",
                f"{rate} frames/s with decoding, foreground and encoding; labelled on cpu: 3 threads"])

    def test_failures_of_elements(self):
        """Before frames and after; what a camera gave stays."""
        element = Gst.ElementFactory.make("identity")
        for frames, problem, broken in ((0, "bad", None), (7, None, "stopped after 7 frames, which are kept: bad")):
            camera = self.camera(frames=frames)
            camera.entry = unittest.mock.Mock()
            error = GLib.Error.new_literal(Gst.StreamError.quark(), "bad", Gst.StreamError.DECODE)
            message = Gst.Message.new_error(element, error, "detail")
            camera.on_message(None, message)
            camera.on_message(None, message)
            self.assertEqual((camera.problem, camera.broken), (problem, broken))
            self.assertEqual(camera.entry.send_event.call_count, 1 if broken else 0, "the stream ends once")
            if broken:
                self.assertEqual(camera.entry.send_event.call_args[0][0].type, Gst.EventType.EOS)
            self.assertFalse(camera.whole)
        camera.on_message(None, Gst.Message.new_eos(element))
        self.assertTrue(camera.whole)

    def test_camera_is_opened_by_its_name(self):
        for source, kind, name in (("/dev/video3", "v4l2src", "device"), ("/dev/a ! b", "v4l2src", "device"),
                                   ("rtsp://127.0.0.1:9/a ! b", "uridecodebin", "uri")):
            camera = self.camera(source)
            camera.build(objects.FILTER, 1)
            made = {element.get_factory().get_name(): element for element in camera.pipeline.children}
            self.assertEqual(made[kind].get_property(name), source)
            self.assertEqual("v4l2src" in made, kind == "v4l2src")
            self.assertFalse(camera.decoder.get_property("expose-all-streams"))
            self.assertEqual(made["x264enc"].get_property("tune").value_nicks, ["zerolatency"])
            if kind == "v4l2src":
                self.assertIs(camera.decoder, made["decodebin"])
                self.assertIs(made[kind].get_static_pad("src").get_peer().get_parent_element(), camera.decoder)

    def test_streams_without_video(self):
        for linked, problem in ((False, "sends no video that GStreamer can decode here"), (True, None)):
            camera = self.camera()
            camera.entry = unittest.mock.Mock(is_linked=lambda linked=linked: linked)
            camera.expect_video(None)
            self.assertEqual(camera.problem, problem)

    def test_frames_without_times(self):
        """They follow the one before at the rate that is known."""
        camera = self.camera()
        self.assertEqual(camera.frame_time, Gst.SECOND // 25, "of streams that do not tell")
        camera.frame_time = 5
        told = []
        for pts in (Gst.CLOCK_TIME_NONE, Gst.CLOCK_TIME_NONE, 100, Gst.CLOCK_TIME_NONE):
            buffer = Gst.Buffer.new_allocate(None, 1, None)
            buffer.pts = pts
            self.assertEqual(camera.give_time(None, unittest.mock.Mock(get_buffer=lambda buffer=buffer: buffer)),
                             Gst.PadProbeReturn.OK)
            told.append(buffer.pts)
        self.assertEqual(told, [0, 5, 100, 105])

    def test_a_recording_that_broke_off_is_reported(self):
        def record(camera, part, _line):
            os.write(part.fd, b"x")
            part.keep()
            camera.broken = "stopped after 10 frames, which are kept: gone"
            return True

        self.replace(cameras.Camera, "record", record)
        self.replace(objects.Found, "write_still", lambda *_: None)
        self.replace(objects.Found, "report", lambda _: print("the report"))
        said = self.job("rtsp://a/b")
        self.assertEqual((said.status, said.err),
                         (1, "quickstart: rtsp://a/b: stopped after 10 frames, which are kept: gone\n"))
        self.assertTrue(said.out.startswith("the report\nwrote "))
        self.assertEqual(self.files(self.out), ["overlay.mp4"])

    def test_a_fault_of_its_own_ends_it(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        self.replace(objects.Found, "write", unittest.mock.Mock(side_effect=ValueError("of mine")))
        said = self.job(clip)
        self.assertEqual(said.status, 1)
        self.assertTrue(said.err.endswith(f"quickstart: {clip}: a fault of this program, not of the input: ValueError:"
                                          " of mine\n"), said.err)
        self.assertEqual(self.files(self.out), [])

    def test_interrupts(self):
        """A recording is finished, and left at the second interrupt; a file's job is left."""
        for frames, ends, leaves in ((5, 1, [False, True]), (0, 0, [True, True])):
            camera = self.camera(frames=frames)
            camera.pipeline, left = unittest.mock.Mock(), []
            camera.stop = lambda *_, left=left: left.append(True)
            self.assertFalse(camera.interrupted)
            seen = []
            for _ in range(2):
                before = len(left)
                camera.on_interrupt()
                seen.append(len(left) > before)
                self.assertTrue(camera.interrupted)
            self.assertEqual(seen, leaves)
            self.assertEqual(camera.pipeline.send_event.call_count, ends)
        self.replace(cameras.Camera, "record", lambda camera, *_: camera.on_interrupt())
        self.assertEqual(self.job("rtsp://a/b"), (130, "", "quickstart: interrupted; nothing was written\n"))
        clip = self.clip("in.mkv", FRAME, "-c:v", "rawvideo")
        for number in (signal.SIGINT, signal.SIGTERM):
            earlier = self.out / "overlay.mp4"
            earlier.write_text("earlier")

            def write(found, at, *more, original=objects.Found.write, number=number):
                if at == 3:
                    os.kill(os.getpid(), number)
                original(found, at, *more)

            with unittest.mock.patch.object(objects.Found, "write", write):
                said = self.job(clip)
            self.assertEqual(said, (130, "", f"quickstart: {clip}: interrupted\n"))
            self.assertEqual(self.files(self.out), ["overlay.mp4"])
            self.assertEqual(earlier.read_text(), "earlier")

    def test_which_sources_are_live(self):
        self.assertEqual([objects.is_live(source) for source in
                          ("rtsp://a", "/dev/video3", "/dev/null", "a.mp4", "videos/rtsp://")],
                         [True, True, False, False, False])

    def test_sizes_and_rates_of_cameras(self):
        for caps, right, bottom, frame_time in (
                ("width=17,height=16,framerate=30000/1001", -1, 0, Gst.SECOND * 1001 // 30000),
                ("width=3,height=5,framerate=0/1", -13, -11, Gst.SECOND // 25),
                ("width=64,height=47,framerate=50/1", 0, -1, Gst.SECOND // 50)):
            camera = self.camera()
            camera.build(objects.FILTER, 1)
            event = Gst.Event.new_caps(Gst.Caps.from_string("video/x-raw,format=GRAY8,colorimetry=1:4:0:0," + caps))
            camera.take_size(None, unittest.mock.Mock(get_event=lambda event=event: event))
            evened, coded = (camera.pipeline.get_by_name(name) for name in ("evened", "coded"))
            self.assertEqual((evened.get_property("right"), evened.get_property("bottom")), (right, bottom))
            self.assertEqual(camera.frame_time, frame_time)
            self.assertIn("colorimetry=(string)1:4:0:0", coded.get_property("caps").to_string())


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
