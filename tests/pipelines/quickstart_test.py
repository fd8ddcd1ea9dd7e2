#!/usr/bin/python3
"""The main job on a real clip, on awkward inputs, on bad ones, and interrupted."""

import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

import media
import numpy
from camera import Camera

SOURCE = "testsrc2=size=320x240:rate=25:duration=1"


class Quickstart(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"

    def expect_same_frames(self, source):
        """As many frames as the input, at the same times from the first one on."""
        out = media.times(self.out / "overlay.mp4")
        self.assertEqual(len(set(out)), len(out))
        expected = media.times(source)
        numpy.testing.assert_allclose(out, numpy.array(expected) - expected[0], atol=2e-3)

    def test_clip(self):
        clip = self.folder / "people.avi"
        media.run("ffmpeg", "-v", "error", "-i", media.CLIP, "-frames:v", "200", "-c", "copy", clip)
        text = media.objects(clip, "--out", self.out)
        self.expect_same_frames(clip)
        self.assertEqual(len(media.times(clip)), 200)
        self.assertEqual(media.stream(self.out / "overlay.mp4", "codec_name", "width", "height"),
                         {"codec_name": "h264", "width": "768", "height": "576"})
        regions = int(re.search(r"(\d+) regions in 200 frames", text)[1])
        # Two to ten people are in the picture nearly all the time.
        self.assertGreater(regions, 2 * 200)
        self.assertLess(regions, 10 * 200)
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

    def test_awkward_inputs(self):
        clips = {
            "odd.mkv": ("testsrc=size=321x241:rate=30000/1001:duration=1", "-c:v", "ffv1"),
            "tiny.mkv": ("testsrc=size=3x5:rate=25:duration=1", "-c:v", "ffv1"),
            "gray.mkv": (SOURCE, "-pix_fmt", "gray", "-c:v", "ffv1"),
            "deep.mkv": (SOURCE, "-pix_fmt", "yuv420p10le", "-c:v", "ffv1"),
            "hd.mp4": ("testsrc2=size=1280x720:rate=25:duration=0.4", "-pix_fmt", "yuv420p",
                       "-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"),
            "uneven.mkv": (SOURCE, "-vf", "select='not(mod(n,3))+not(mod(n,5))'", "-fps_mode", "vfr"),
            "sound.mp4": (SOURCE, "-f", "lavfi", "-i", "sine=duration=1", "-pix_fmt", "yuv420p"),
        }
        for name, options in clips.items():
            with self.subTest(name):
                clip = media.make(self.folder / name, *options)
                media.objects("--out", self.out, clip)
                self.expect_same_frames(clip)

    def test_without_timestamps(self):
        clip = media.make(self.folder / "plain.h264", SOURCE, "-pix_fmt", "yuv420p", "-f", "h264")
        media.objects("--out", self.out, clip)
        numpy.testing.assert_allclose(media.times(self.out / "overlay.mp4"), numpy.arange(25) / 25,
                                      atol=1e-3)

    def test_bad_inputs(self):
        (self.folder / "empty").write_bytes(b"")
        (self.folder / "text").write_text("this is no video\n" * 100)
        (self.folder / "noise").write_bytes(numpy.random.default_rng(1).bytes(5000))
        whole = media.make(self.folder / "whole.mp4", SOURCE)
        (self.folder / "cut.mp4").write_bytes(whole.read_bytes()[:20000])
        media.make(self.folder / "sound.wav", "sine=duration=1")
        for arguments, status, reason in (
                ([self.folder / "missing"], 2, "No such file"),
                ([self.folder], 2, "it is a folder"),
                ([self.folder / "empty"], 2, "the file is empty"),
                (["/dev/video77"], 2, "No such file"),
                (["--nonsense"], 2, "unrecognized arguments: --nonsense"),
                ([self.folder / "text"], 1, "holds no video that can be decoded"),
                ([self.folder / "noise"], 1, "holds no video that can be decoded"),
                ([self.folder / "cut.mp4"], 1, "holds no video that can be decoded"),
                ([self.folder / "sound.wav"], 1, "holds no video stream: only audio"),
                (["rtsp://127.0.0.1:9/none"], 1, "Could not")):
            with self.subTest(str(arguments)):
                text = media.objects("--out", self.out, *arguments, status=status)
                self.assertIn(reason, text)
                self.assertNotIn("Traceback", text)
                self.assertEqual(list(self.out.iterdir()) if self.out.exists() else [], [])

    def interrupted(self, *arguments):
        """A job that gets Ctrl-C once frames are on their way, and what it printed."""
        job = subprocess.Popen([str(media.script("with-plugin")), sys.executable,
                                str(media.script("objects.py")), "--out", str(self.out), *arguments],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        progress = job.stdout.readline()
        job.send_signal(signal.SIGINT)
        return job, progress + job.communicate(timeout=100)[0]

    def test_interrupted_camera(self):
        address = Camera(self).address
        job, text = self.interrupted(address)
        self.assertEqual(job.returncode, 0, text)
        count = int(re.search(r"regions in (\d+) frames", text)[1])
        written = media.times(self.out / "overlay.mp4")
        self.assertEqual(len(set(written)), count)
        self.assertEqual(sorted(path.name for path in self.out.iterdir()),
                         ["overlay.mp4", "still.png"])

    def test_interrupt(self):
        job, text = self.interrupted()
        self.assertEqual(job.returncode, 130, text)
        self.assertIn("vtest.avi: interrupted", text)
        self.assertEqual(list(self.out.iterdir()), [])

    def test_a_failure_keeps_earlier_results(self):
        self.out.mkdir()
        (self.out / "overlay.mp4").write_text("earlier")
        media.objects("--out", self.out, self.folder / "missing", status=2)
        self.assertEqual((self.out / "overlay.mp4").read_text(), "earlier")


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
