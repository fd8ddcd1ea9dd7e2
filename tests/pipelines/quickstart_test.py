#!/usr/bin/python3
"""The quickstart's job (objects.py, cameras.py): its outputs and messages for files and cameras, and its refusals."""

import os
import re
import signal
import socket
import stat
import subprocess
import sys
import unittest.mock

import numpy

import media
from camera import Camera
from cases import PLAIN, QuickstartCase, called, main
import cameras  # after cases, which sets the path
import filters
import gstreamer
import objects
from gstreamer import GLib, Gst


GRAY = "nullsrc=size=64x48:rate=25:duration=0.4,format=gray,geq=lum=200"
# Two boxes of 12 x 8 in a video of 40 frames, one in the last 12 and one in the last 5.
BOXES = ("nullsrc=size=160x120:rate=25:duration=1.6,format=gray,geq=lum='60"
         "+150*gt(N\\,27)*between(X\\,20\\,31)*between(Y\\,30\\,37)"
         "+150*gt(N\\,34)*between(X\\,80\\,91)*between(Y\\,60\\,67)'")


class Files(QuickstartCase):
    def test_quickstart_with_a_clip_writes_video_still_and_report(self):
        clip = self.clip("boxes.mkv", BOXES, "-c:v", "ffv1")
        said = self.job(clip)
        self.assertEqual((said.status, said.err), (0, ""))
        self.assertEqual(self.files(self.out), ["overlay.mp4", "still.png"])
        video, still = self.out / "overlay.mp4", self.out / "still.png"
        match = re.fullmatch(
            r"17 regions in 40 frames \(0\.4 per frame, at most 2 in frame (\d+)\)\n"
            r"(\d+\.\d) frames/s including decoding and encoding; labelled on (cpu|cuda).*\n"
            rf"wrote {re.escape(os.path.relpath(video))} and {re.escape(os.path.relpath(still))}\n", said.out)
        self.assertTrue(match, said.out)
        self.assertEqual(match[1], "35", "the first frame with the most")
        self.assertLess(float(match[2]), 1e6, "frames a second")
        self.assertEqual(media.stream(video, "codec_name", "pix_fmt", "width", "height"),
                         {"codec_name": "h264", "pix_fmt": "yuvj420p", "width": "160", "height": "120"},
                         "gray video has the whole range")
        numpy.testing.assert_allclose(media.times(video), media.times(clip), atol=1e-3)
        # The still is the 36th frame of the video, without coding.
        frames, picture = media.frames(video, "rgb24").astype(int), media.frames(still, "rgb24")
        self.assertEqual(picture.shape, (1, 120, 160, 3))
        self.assertLess(abs(frames[35] - picture[0]).mean(), 3)
        self.assertGreater(abs(frames[34] - picture[0]).max(), 60)
        for path in (video, still):
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o666 & ~self.umask())
        # Drawn are boxes, outlines and ids in colours; the ground stays.
        self.assertLess(abs(frames[18] - 60).max(), 6, "gray, and no darker")
        self.assertGreater(numpy.ptp(frames[35], axis=2).max(), 40)

    def umask(self):
        mask = os.umask(0)
        os.umask(mask)
        return mask

    def test_quickstart_min_area_is_proportional_to_the_picture_size(self):
        """250 pixels of 768 x 576 count as an object, fewer do not."""
        made = filters.made(objects.FILTER)
        found = objects.Found(gstreamer)
        found.prepare(made)
        labeller, drawn = (next(element for element in made.children if element.get_factory().get_name() == name)
                           for name in ("cclabel", "regionoverlay"))
        self.assertTrue(labeller.get_property("track"))
        self.assertEqual([labeller.get_property(name).value_nick for name in ("source", "output")], ["mask", "none"])
        self.assertEqual(drawn.get_property("style").value_nicks, ["boxes", "outlines", "ids"])
        for width, height, least in ((768, 576, 250), (384, 288, 62), (160, 120, 10), (63, 47, 1)):
            found.take_size(gstreamer.first_structure(Gst.Caps.from_string(
                f"video/x-raw,format=I420,width={width},height={height}")))
            self.assertEqual([labeller.get_property(name) for name in ("min-area", "fill-holes")], [least, least])

    def test_quickstart_with_a_clip_with_sound_keeps_sound_and_times(self):
        clip = self.clip("in.mkv", "sine=duration=0.4", "-f", "lavfi", "-i", PLAIN, "-c:v", "ffv1", "-c:a", "aac")
        self.assertEqual(self.job(clip).err, "")
        video = self.out / "overlay.mp4"
        self.assertEqual(media.run("ffprobe", "-v", "error", "-show_entries", "stream=codec_name", "-of", "csv=p=0",
                                   video).split(), ["h264", "aac"])
        self.assertEqual(media.sound_sum(video), media.sound_sum(clip))
        numpy.testing.assert_allclose(media.times(video), media.times(clip), atol=1e-3)

    def test_quickstart_with_a_cut_off_input_writes_a_partial_output(self):
        """The readable part has another name, as with the other programs."""
        whole = self.clip("whole.avi", PLAIN.replace("0.4", "4"), "-c:v", "mjpeg")
        cut = self.folder / "cut.avi"
        cut.write_bytes(whole.read_bytes()[:whole.stat().st_size // 2])
        said = self.job(cut)
        self.assertEqual((said.status, said.out), (1, ""))
        self.assertRegex(said.err, rf"quickstart: {cut}: \d+ packets are there of 100: it is cut off or damaged; the readable"
                         " part is in files with .partial in their names\n$")
        self.assertEqual(self.files(self.out), ["overlay.partial.mp4"])

    def test_quickstart_with_unusable_input_exits_before_it_writes_anything(self):
        missing, empty = self.folder / "missing", self.folder / "empty"
        empty.write_bytes(b"")
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for source, why in ((missing, "No such file or directory"), (self.folder, "it is a folder; expected a video file"),
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
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        for source in (clip, "rtsp://127.0.0.1:9/a"):
            said = called(objects.main, ["--out", "/proc", str(source)])
            self.assertEqual(said, (1, "", "quickstart: cannot write into the folder /proc: No such file or directory\n"))
        self.refused(2, "quickstart: cannot read http://a/b: expected a file, /dev/videoN, or the rtsp:// address of a camera\n",
                     "http://a/b")
        name = self.folder / "new\nline"
        self.assertIn("new\\nline: No such file", self.job(name).err)

    def test_quickstart_with_check_option_writes_nothing(self):
        clip = self.clip("in.mkv", PLAIN)
        for source in (clip, "/dev/null", "rtsp://127.0.0.1:9/none"):
            self.assertEqual(self.job("--check", source), (0, "", ""))
        # The clip comes with the set-up, which a check precedes.
        self.replace(objects, "CLIP", "/missing/clip")
        self.assertEqual(self.job("--check"), (0, "", ""))
        self.refused(2, "quickstart: cannot read /missing/clip: No such file or directory\n")
        self.refused(2, "quickstart: cannot read /missing: No such file or directory\n", "--check", "/missing")
        self.assertFalse(self.out.exists())

    def test_quickstart_without_options_uses_defaults_and_with_extra_words_exits_with_2(self):
        options = objects.parse([])
        self.assertEqual((options.source, options.out, options.check),
                         ("/usr/share/doc/opencv-doc/examples/data/vtest.avi", "out", False))
        with unittest.mock.patch.object(objects, "check_source", side_effect=objects.InputProblem("no")):
            self.assertEqual(called(objects.main, ["--check"]), (0, "", ""))
            self.assertEqual(called(objects.main, ["--out", str(self.out)]), (2, "", "quickstart: no\n"))
        said = called(objects.main, ["--help"])
        self.assertEqual(said.status, 0)
        self.assertTrue(said.out.startswith("usage: quickstart [-h] [--out FOLDER] [FILE|rtsp://…|/dev/videoN]"))
        self.assertNotIn("--check", said.out)
        self.assertEqual(called(objects.main, ["a", "b"]).status, 2)

    def test_quickstart_with_input_without_video_prints_an_error_that_names_it(self):
        text = self.folder / "text.avi"
        text.write_text("this is no video\n" * 100)
        said = self.job(text)
        self.assertEqual(said.status, 1)
        self.assertRegex(said.err, rf"^quickstart: {text}: holds no video that can be decoded here: .+\n$")
        sound = self.clip("sound.wav", "sine=duration=0.2")
        said = self.job(sound)
        self.assertEqual(said.status, 1)
        self.assertEqual(said.err, f"quickstart: {sound}: holds no video stream: only audio\n")
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            address = f"rtsp://127.0.0.1:{closed.getsockname()[1]}/none"
        said = self.job(address)
        self.assertEqual((said.status, said.out), (1, ""))
        self.assertTrue(said.err.startswith(f"quickstart: {address}: Could not"), said.err)
        self.assertNotIn("holds no video", said.err)
        self.assertEqual(self.files(self.out), [])


FRAME = "testsrc2=size=160x120:rate=25:duration=40"


class Cameras(QuickstartCase):
    def camera(self, source="rtsp://a/b", **found):
        self.found = objects.Found(gstreamer)
        for name, value in found.items():
            setattr(self.found, name, value)
        return cameras.Camera(gstreamer, source, self.found)

    def test_camera_progress_prints_frame_and_rate(self):
        for frames, seconds, text in ((30, 2.0, "b: frame 30, 15 frames/s\n"), (1, 2.0, "b: frame 1, 0 frames/s\n"),
                                      (0, 2.0, "")):
            camera = self.camera(frames=frames, started=100.0)
            with unittest.mock.patch.object(cameras.time, "monotonic", lambda seconds=seconds: 100.0 + seconds):
                said = called(camera.show_progress)
            self.assertEqual((said.status, said.out), (True, text), "it is asked again")

    def test_quickstart_report_has_the_rate_from_the_first_input_to_the_last_output_frame(self):
        """The time is from the first input frame to the last output frame."""
        for ended, rate in ((104.0, "2.5"), (100.0, "10000000000.0")):
            self.camera(regions=25, frames=10, best=(4, 7, None), device="cpu: 3 threads", started=100.0, ended=ended)
            self.assertEqual(called(self.found.report).out.splitlines(), [
                "25 regions in 10 frames (2.5 per frame, at most 4 in frame 7)",
                f"{rate} frames/s including decoding and encoding; labelled on cpu: 3 threads"])

    def test_camera_when_an_error_occurs_after_some_frames_ends_the_stream_once(self):
        """Before the first frame and after it. The recorded frames are kept."""
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

    def test_camera_with_device_or_address_uses_the_matching_source_element(self):
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

    def test_camera_without_video_stream_has_a_problem(self):
        for linked, problem in ((False, "sends no video that GStreamer can decode here"), (True, None)):
            camera = self.camera()
            camera.entry = unittest.mock.Mock(is_linked=lambda linked=linked: linked)
            camera.expect_video(None)
            self.assertEqual(camera.problem, problem)

    def test_camera_frames_without_times_follow_the_previous_frame_at_the_frame_rate(self):
        """They follow the previous frame at the known rate."""
        camera = self.camera()
        self.assertEqual(camera.frame_time, Gst.SECOND // 25, "of streams without a rate")
        camera.frame_time = 5
        told = []
        for pts in (Gst.CLOCK_TIME_NONE, Gst.CLOCK_TIME_NONE, 100, Gst.CLOCK_TIME_NONE):
            buffer = Gst.Buffer.new_allocate(None, 1, None)
            buffer.pts = pts
            self.assertEqual(camera.give_time(None, unittest.mock.Mock(get_buffer=lambda buffer=buffer: buffer)),
                             Gst.PadProbeReturn.OK)
            told.append(buffer.pts)
        self.assertEqual(told, [0, 5, 100, 105])

    def test_recording_when_the_camera_stops_is_kept_and_the_stop_is_reported(self):
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

    def test_quickstart_with_an_internal_error_reports_it_and_writes_nothing(self):
        clip = self.clip("in.mkv", PLAIN, "-c:v", "ffv1")
        self.replace(objects.Found, "write", unittest.mock.Mock(side_effect=ValueError("of mine")))
        said = self.job(clip)
        self.assertEqual(said.status, 1)
        self.assertTrue(said.err.endswith(
            f"quickstart: {clip}: internal error of this program (the input is not the cause): ValueError: of mine\n"), said.err)
        self.assertEqual(self.files(self.out), [])

    def test_interrupt_ends_the_stream_of_a_recording_and_stops_the_job_of_a_file(self):
        """The first interrupt finishes a recording, the second ends it at once. A file's job ends at once."""
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

    def test_only_network_and_video_device_sources_count_as_live(self):
        self.assertEqual([objects.is_live(source) for source in
                          ("rtsp://a", "/dev/video3", "/dev/null", "a.mp4", "videos/rtsp://")],
                         [True, True, False, False, False])

    def test_camera_with_odd_size_pads_it_to_even_and_uses_its_rate(self):
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


SOURCE = "testsrc2=size=320x240:rate=25:duration=1"


class Programs(QuickstartCase):
    """The job on a real clip and on awkward inputs, and as a process."""

    def expect_same_frames(self, source):
        """As many frames as the input, at the same times from the first one on."""
        out = media.times(self.out / "overlay.mp4")
        self.assertEqual(len(set(out)), len(out))
        expected = media.times(source)
        numpy.testing.assert_allclose(out, numpy.array(expected) - expected[0], atol=2e-3)

    def test_quickstart_with_a_clip_of_people_finds_2_to_10_regions_per_frame(self):
        clip = self.folder / "people.avi"
        media.run("ffmpeg", "-v", "error", "-i", media.CLIP, "-frames:v", "100", "-c", "copy", clip)
        text = media.objects(clip, "--out", self.out)
        self.expect_same_frames(clip)
        self.assertEqual(len(media.times(clip)), 100)
        self.assertEqual(media.stream(self.out / "overlay.mp4", "codec_name", "width", "height"),
                         {"codec_name": "h264", "width": "768", "height": "576"})
        regions = int(re.search(r"(\d+) regions in 100 frames", text)[1])
        # Two to ten people are in the picture nearly all the time.
        self.assertGreater(regions, 2 * 100)
        self.assertLess(regions, 10 * 100)
        self.assertRegex(text, r"[\d.]+ frames/s .* labelled on (cpu|cuda)")
        still = media.stream(self.out / "still.png", "width", "height", "codec_name")
        self.assertEqual(still, {"codec_name": "png", "width": "768", "height": "576"})
        # The first frames teach the background: nothing is drawn. Later ones differ, but little.
        before = media.frames(clip, "gray").astype(int)
        after = media.frames(self.out / "overlay.mp4", "gray")
        changed = (abs(after - before) > 60).mean(axis=(1, 2))
        self.assertLess(changed[0], 1e-3)
        self.assertGreater(numpy.median(changed), 1e-3)
        self.assertLess(changed.max(), 0.1)

    def test_quickstart_with_odd_gray_or_10_bit_input_keeps_frames_and_times(self):
        clips = {
            "odd.mkv": ("testsrc=size=321x241:rate=30000/1001:duration=1", "-c:v", "ffv1"),
            "gray.mkv": (SOURCE, "-pix_fmt", "gray", "-c:v", "ffv1"),
            "deep.mkv": (SOURCE, "-pix_fmt", "yuv420p10le", "-c:v", "ffv1"),
            "hd.mp4": ("testsrc2=size=1280x720:rate=25:duration=0.2", "-pix_fmt", "yuv420p",
                       "-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"),
            "uneven.mkv": (SOURCE, "-vf", "select='not(mod(n,3))+not(mod(n,5))'", "-fps_mode", "vfr"),
        }
        for name, options in clips.items():
            with self.subTest(name):
                clip = media.make(self.folder / name, *options)
                self.assertEqual(self.job(clip).status, 0)
                self.expect_same_frames(clip)

    def test_quickstart_with_unusable_input_keeps_the_earlier_output(self):
        self.out.mkdir()
        (self.out / "overlay.mp4").write_text("earlier")
        (self.folder / "noise").write_bytes(numpy.random.default_rng(1).bytes(5000))
        for source, status, reason in (("missing", 2, "No such file"), ("noise", 1, "holds no video that can be decoded")):
            text = media.objects("--out", self.out, self.folder / source, status=status)
            self.assertIn(reason, text)
            self.assertNotIn("Traceback", text)
            self.assertEqual((self.out / "overlay.mp4").read_text(), "earlier")
        self.assertIn("unrecognized arguments: --nonsense", media.objects("--nonsense", status=2))

    def interrupted(self, *arguments):
        """A job that gets Ctrl-C after its first frames, and its output."""
        job = subprocess.Popen([str(media.script("with-plugin")), sys.executable,
                                str(media.script("objects.py")), "--out", str(self.out), *arguments],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        progress = job.stdout.readline()
        job.send_signal(signal.SIGINT)
        return job, progress + job.communicate(timeout=100)[0]

    def test_quickstart_when_interrupted_with_a_camera_finishes_the_video(self):
        address = Camera(self).address
        job, text = self.interrupted(address)
        self.assertEqual(job.returncode, 0, text)
        count = int(re.search(r"regions in (\d+) frames", text)[1])
        written = media.times(self.out / "overlay.mp4")
        self.assertEqual(len(set(written)), count)
        self.assertEqual(sorted(path.name for path in self.out.iterdir()),
                         ["overlay.mp4", "still.png"])

    def test_quickstart_when_interrupted_with_a_file_leaves_no_output(self):
        job, text = self.interrupted()
        self.assertEqual(job.returncode, 130, text)
        self.assertIn("vtest.avi: interrupted", text)
        self.assertEqual(list(self.out.iterdir()), [])

    def test_quickstart_when_the_camera_stops_keeps_the_recording_and_exits_with_1(self):
        camera = Camera(self)
        out = self.folder / "out"
        job = subprocess.Popen([str(media.script("with-plugin")), sys.executable,
                                str(media.script("objects.py")), "--out", str(out), camera.address],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertIn("frame", job.stdout.readline())
        camera.stop()
        text = job.communicate(timeout=100)[0]
        self.assertEqual(job.returncode, 1, text)
        kept = int(re.search(rf"quickstart: {camera.address}: stopped after (\d+) frames, which are kept",
                             text)[1])
        self.assertGreaterEqual(len(set(media.times(out / "overlay.mp4"))), kept)
        self.assertEqual(sorted(path.name for path in out.iterdir()), ["overlay.mp4", "still.png"])


if __name__ == "__main__":
    main()
