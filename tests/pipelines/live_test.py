#!/usr/bin/python3
"""What cameras do: pipelines/live and the quickstart with cameras that play, stop, come back, or are
not there."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

import media
from camera import Camera

FRAME = 320 * 240 * 3 // 2  # bytes


class Live(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def live(self, *arguments, frames=20, status=0):
        return media.run("env", f"FRAMES={frames}", "SINK=fakesink", *arguments, status=status)

    def test_the_chain_and_each_element(self):
        for chain in (None, "cclabel min-area=100", "graphcutbg output=replace", "slicsuperpixel",
                      "cclabel output=none ! regionoverlay style=boxes"):
            with self.subTest(chain):
                more = [chain] if chain else []
                self.assertIn("live: ended after", self.live(media.script("live"), "test", *more))
        self.assertIn("live: ended after", self.live(media.script("live-superpixels"), "test", "region-size=12"))

    def test_a_camera_in_the_network(self):
        self.assertIn("live: ended after", self.live(media.script("live"), Camera(self).address))

    def test_a_file_plays_as_if_live(self):
        clip = media.make(self.folder / "in.mp4", "testsrc2=size=320x240:rate=25:duration=1",
                          "-pix_fmt", "yuv420p")
        text = media.run("env", "SINK=fakesink sync=false", media.script("live"), clip)
        seconds = float(re.search(r"live: ended after ([\d.]+) s", text)[1])
        self.assertGreater(seconds, 0.9)

    def test_what_is_not_there_is_named(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)  # which would be waited for, also after Ctrl-C
        for camera, why in (("/dev/video77", "played: "), ("missing.mp4", "played: "), (pipe, "read: not a regular file")):
            text = self.live(media.script("live"), camera, status=1)
            self.assertIn(f"live: {camera}: cannot be {why}", text)
        text = self.live(media.script("live"), "test", "nonsense", status=2)
        self.assertIn('no element "nonsense"', text)

    def test_a_camera_that_stops_and_comes_back(self):
        camera = Camera(self)
        pipe = self.folder / "frames"
        os.mkfifo(pipe)
        player = subprocess.Popen(
            ["env", f"SINK=filesink location={pipe}", str(media.script("live")), camera.address],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(player.communicate)
        self.addCleanup(player.kill)
        with open(pipe, "rb") as frames:
            self.assertEqual(len(frames.read(20 * FRAME)), 20 * FRAME)
            camera.stop()
            frames.read()  # to the end: the player has let go
        Camera(self, camera.port)
        with open(pipe, "rb") as frames:  # the player asks again
            self.assertEqual(len(frames.read(20 * FRAME)), 20 * FRAME)
            player.send_signal(signal.SIGINT)
            frames.read()
        text = player.communicate(timeout=60)[0]
        self.assertEqual(player.returncode, 0, text)
        self.assertIn(f"live: {camera.address}: stopped, trying again", text)

    def test_a_recording_of_a_camera_that_stops_is_kept(self):
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
    media.expect_tools()
    unittest.main(verbosity=2)
