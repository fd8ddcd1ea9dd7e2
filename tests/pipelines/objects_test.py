#!/usr/bin/python3
"""The quickstart's job on short clips: what it writes, counts, tells and refuses. (quickstart_test.py
has it on the real one.)"""

import os
import re
import socket
import stat
import subprocess
import unittest
import unittest.mock

import inside
import filters  # beside the programs, as what follows
import media
import numpy
import objects
from gstreamer import Gst
from jobs import PLAIN, ObjectsCase
from transcoding import sound_sum

GRAY = "nullsrc=size=64x48:rate=25:duration=0.4,format=gray,geq=lum=200"
# Two boxes of 12 x 8 in a video of 40 frames, one in the last 12 and one in the last 5.
BOXES = ("nullsrc=size=160x120:rate=25:duration=1.6,format=gray,geq=lum='60"
         "+150*gt(N\\,27)*between(X\\,20\\,31)*between(Y\\,30\\,37)"
         "+150*gt(N\\,34)*between(X\\,80\\,91)*between(Y\\,60\\,67)'")


class Objects(ObjectsCase):
    def test_what_is_written_and_told(self):
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
        # The still is the 36th frame of the video, before it was coded.
        frames, picture = media.frames(video, "rgb24").astype(int), media.frames(still, "rgb24")
        self.assertEqual(picture.shape, (1, 120, 160, 3))
        self.assertLess(abs(frames[35] - picture[0]).mean(), 3)
        self.assertGreater(abs(frames[34] - picture[0]).max(), 60)
        for path in (video, still):
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o666 & ~self.umask())
        # Drawn are boxes, outlines and ids in colours; the ground stays.
        self.assertLess(abs(frames[18] - 60).max(), 6, "gray, and no darker")
        self.assertGreater(numpy.ptp(frames[35], axis=2).max(), 40)
        self.assertEqual({name: inside.x264_settings(video)[name] for name in ("keyint", "bframes", "crf", "subme")},
                         {"keyint": "100", "bframes": "0", "crf": "20.0", "subme": "2"})

    def umask(self):
        mask = os.umask(0)
        os.umask(mask)
        return mask

    def test_small_regions_and_holes_go_by_the_size(self):
        """250 pixels of 768 x 576 count as an object, fewer do not."""
        made = filters.made(objects.FILTER)
        found = objects.Found(inside.gstreamer)
        found.prepare(made)
        labeller, drawn = (next(element for element in made.children if element.get_factory().get_name() == name)
                           for name in ("cclabel", "regionoverlay"))
        self.assertTrue(labeller.get_property("track"))
        self.assertEqual([labeller.get_property(name).value_nick for name in ("source", "output")], ["mask", "none"])
        self.assertEqual(drawn.get_property("style").value_nicks, ["boxes", "outlines", "ids"])
        for width, height, least in ((768, 576, 250), (384, 288, 62), (160, 120, 10), (63, 47, 1)):
            found.take_size(inside.gstreamer.first_structure(Gst.Caps.from_string(
                f"video/x-raw,format=I420,width={width},height={height}")))
            self.assertEqual([labeller.get_property(name) for name in ("min-area", "fill-holes")], [least, least])

    def test_sides_that_the_encoder_does_not_take(self):
        for width, height, wide, high in ((3, 5, 16, 16), (17, 16, 18, 16), (16, 17, 16, 18), (64, 48, 64, 48)):
            clip = self.clip("side.mkv", GRAY.replace("64x48", f"{width}x{height}"), "-c:v", "ffv1")
            self.assertEqual(self.job(clip).status, 0)
            video = self.out / "overlay.mp4"
            self.assertEqual(media.stream(video, "width", "height"), {"width": str(wide), "height": str(high)})
            picture = media.frames(video, "gray")[0]
            self.assertGreater(picture[:height, :width].min(), 180)
            self.assertLess(picture[height + 2:].max(initial=0), 60, "black below")
            self.assertLess(picture[:, width + 2:].max(initial=0), 60, "black at the right")

    def test_sound_is_kept(self):
        clip = self.clip("in.mkv", "sine=duration=0.4", "-f", "lavfi", "-i", PLAIN, "-c:v", "ffv1", "-c:a", "aac")
        self.assertEqual(self.job(clip).err, "")
        video = self.out / "overlay.mp4"
        self.assertEqual(media.run("ffprobe", "-v", "error", "-show_entries", "stream=codec_name", "-of", "csv=p=0",
                                   video).split(), ["h264", "aac"])
        self.assertEqual(sound_sum(video), sound_sum(clip))
        numpy.testing.assert_allclose(media.times(video), media.times(clip), atol=1e-3)

    def test_turned_clips(self):
        plain = self.clip("plain.mp4", PLAIN.replace("64x48", "63x47"), "-pix_fmt", "yuv420p")
        for degrees in (90, 180, 270):
            clip = media.turned(self.folder / "turned.mp4", plain, degrees)
            self.assertEqual(self.job(clip).status, 0)
            video = self.out / "overlay.mp4"
            self.assertEqual(media.stream(video, "width", "height"),
                             dict(zip(("width", "height"), ("62", "46") if degrees == 180 else ("46", "62"))))
            self.assertNotIn("rotation", media.run("ffprobe", "-v", "error", "-show_streams", video))
            raw = subprocess.run(["ffmpeg", "-v", "error", "-i", clip, "-f", "rawvideo", "-pix_fmt", "gray", "-"],
                                 capture_output=True, check=True).stdout  # ffmpeg turns what it decodes
            after = media.frames(video, "gray").astype(int)
            before = numpy.frombuffer(raw, numpy.uint8).reshape(after.shape)
            # What is drawn differs; the rest is where it was.
            self.assertLess(numpy.median(abs(after - before)), 5)

    def test_times_of_frames(self):
        plain = self.clip("plain.h264", PLAIN, "-pix_fmt", "yuv420p", "-f", "h264")
        self.assertEqual(self.job(plain).status, 0)
        numpy.testing.assert_allclose(media.times(self.out / "overlay.mp4"), numpy.arange(10) / 25, atol=1e-3)

    def test_files_that_are_not_whole(self):
        """What could be read has another name, as with the other programs."""
        whole = self.clip("whole.avi", PLAIN.replace("0.4", "4"), "-c:v", "mjpeg")
        cut = self.folder / "cut.avi"
        cut.write_bytes(whole.read_bytes()[:whole.stat().st_size // 2])
        said = self.job(cut)
        self.assertEqual((said.status, said.out), (1, ""))
        self.assertRegex(said.err, rf"quickstart: {cut}: \d+ packets are there of 100: it is cut off or damaged; the readable"
                         " part is in files with .partial in their names\n$")
        self.assertEqual(self.files(self.out), ["overlay.partial.mp4"])

    def test_refusals_before_anything_is_made(self):
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
            said = inside.called(objects.main, ["--out", "/proc", str(source)])
            self.assertEqual(said, (1, "", "quickstart: cannot write into the folder /proc: No such file or directory\n"))
        self.refused(2, "quickstart: cannot read http://a/b: expected a file, /dev/videoN, or the rtsp:// address of a camera\n",
                     "http://a/b")
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
        self.assertIn("Finds the moving objects of a video and draws boxes, outlines and ids on them.", said.out)
        self.assertIn("video file or camera; default: the clip of people walking from Debian's opencv-doc",
                      re.sub(r"\s+", " ", said.out))
        self.assertIn("folder for the results; default: out", said.out)
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
        self.assertEqual(said.err, f"quickstart: {sound}: holds no video stream: only audio\n")
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            address = f"rtsp://127.0.0.1:{closed.getsockname()[1]}/none"
        said = self.job(address)
        self.assertEqual((said.status, said.out), (1, ""))
        self.assertTrue(said.err.startswith(f"quickstart: {address}: Could not"), said.err)
        self.assertNotIn("holds no video", said.err)
        self.assertEqual(self.files(self.out), [])


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
