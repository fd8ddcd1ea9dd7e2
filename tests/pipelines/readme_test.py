#!/usr/bin/python3
"""The lines of README.md as they are printed, on a machine without a GPU and without a camera: a
local server stands in for one in the network, and windows are left out."""

import json
import os
import pathlib
import re
import shlex
import tempfile
import unittest

import media
from camera import Camera

README = (media.ROOT / "README.md").read_text(encoding="utf-8").replace("\\\n", "")
LINES = [line.strip() for block in re.findall(r"^```sh\n(.*?)^```", README, re.M | re.S)
         for line in block.splitlines() if line and not line.startswith("#")]


# The build whose plugin the tests take.
BUILD = pathlib.Path(os.environ["GST_PLUGIN_PATH_1_0"].split(":")[0]).parent


def lines(start):
    found = [line for line in LINES if line.startswith(start)]
    if not found:
        raise AssertionError(f"README has no line that begins with '{start}'")
    return found


class Readme(unittest.TestCase):
    """Each test runs in a folder that looks like the repository's, with a clip in.mp4 in it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("pipelines", "library"):
            os.symlink(media.ROOT / name, self.folder / name)
        os.symlink(BUILD, self.folder / "build")
        media.make(self.folder / "in.mp4", "testsrc2=size=320x240:rate=25:duration=1", "-f", "lavfi",
                   "-i", "sine=duration=1", "-pix_fmt", "yuv420p", "-c:a", "aac")

    def run_line(self, line, status=0, **environment):
        return media.run("bash", "-c", line, status=status, cwd=self.folder,
                         env=os.environ | environment)

    def test_camera(self):
        addresses = []
        for line in lines("pipelines/live"):
            camera = shlex.split(line)[1]
            addresses.append(camera.split(":")[0])
            if camera.startswith("rtsp"):
                line = line.replace(camera, Camera(self).address)
            absent = camera.startswith("/dev/") and not os.path.exists(camera)
            text = self.run_line(line, status=1 if absent else 0, SINK="fakesink", FRAMES="10")
            self.assertIn(f"live: {camera}: cannot be played" if absent else "live: ended after", text)
        self.assertEqual(addresses, ["/dev/video0", "rtsp", "in.mp4"])

    def test_transcode(self):
        line, = lines("pipelines/transcode/regions-transcode")
        self.run_line(line)
        self.assertEqual(sorted(path.name for path in (self.folder / "out").iterdir()),
                         ["in.jsonl", "in.mp4", "in.mp4.made.json"])
        self.assertEqual(len(media.times(self.folder / "out" / "in.mp4")), 25)
        rows = (self.folder / "out" / "in.jsonl").read_text().splitlines()
        self.assertEqual([json.loads(row)["frame"] for row in rows], list(range(25)))

    def test_embed(self):
        compiler, = lines("cc pipelines/embed")
        self.run_line(compiler)
        runs = lines("pipelines/with-plugin")
        self.assertEqual(len(runs), 2)
        told = [self.run_line(line, LD_PRELOAD=os.environ.get("REGIONS_PRELOAD", "")).splitlines()
                for line in runs]
        for text in told:
            self.assertEqual(len(text), 25)
            self.assertRegex(text[-1], r"frame 24: \d+ regions, the largest is")
        # Until the threshold changes, which frame by frame depends on how many are in flight.
        self.assertEqual(told[0][:10], told[1][:10])

    def test_library(self):
        export, = lines("export PKG_CONFIG_PATH")
        compiler, = lines("cc library/")
        program, = lines("./label_image")
        media.run("ffmpeg", "-v", "error", "-i", self.folder / "in.mp4", "-frames:v", "1",
                  self.folder / "picture.pgm")
        self.run_line(f"{export}; {compiler}")
        text = self.run_line(f"{export}; {program}", LD_PRELOAD=os.environ.get("REGIONS_PRELOAD", ""))
        self.assertRegex(text, r"^\d+ regions")
        self.assertTrue((self.folder / "labels.pgm").exists())

    def test_launch_lines(self):
        """With a file in place of the window."""
        launches = lines("meson devenv -C build gst-launch-1.0")
        self.assertGreaterEqual(len(launches), 3)
        for line in launches:
            line = line.replace("meson devenv -C build", "pipelines/with-plugin")
            line = line.replace("ximagesink", "fakesink")
            self.run_line(line.replace("videotestsrc", "videotestsrc num-buffers=10"))
        self.assertEqual(len(media.frames(self.folder / "labels.mkv", "gray16le")), 25)

    def test_windows_without_a_display(self):
        """It is said; GStreamer's automatic choice of a sink crashes."""
        line = lines("meson devenv -C build gst-launch-1.0")[0].replace("meson devenv -C build", "pipelines/with-plugin")
        self.assertIn("Could not open display", self.run_line(line, status=255, DISPLAY=""))


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
