#!/usr/bin/python3
"""Runs the commands of README.md and compares its expected output with the real one.

The tests need neither a GPU nor a camera: a local server replaces the network camera, and `fakesink` replaces windows.
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
import urllib.request

import media
from camera import Camera

sys.path.insert(0, str(media.ROOT / "tests"))
from documents import Shell, blocks_of, expect  # noqa: E402

README = (media.ROOT / "README.md").read_text(encoding="utf-8").replace("\\\n", "")
BLOCKS = [block for block in blocks_of(README) if block.language == "sh"]
LINES = [line.strip() for block in BLOCKS for line in block.text.splitlines() if line and not line.startswith("#")]
# Commands that install or build. tests/run runs them before or among the tests. The test `container` runs docker's.
PREPARATIONS = ("pipelines/setup", "tests/run", "meson setup build", "packaging/wheel", "pip install out/", "docker ")

# The build whose plugin the tests use.
BUILD = pathlib.Path(os.environ["GST_PLUGIN_PATH_1_0"].split(":")[0]).parent


def lines(start):
    found = [line for line in LINES if line.startswith(start)]
    if not found:
        raise AssertionError(f"README has no line that begins with '{start}'")
    return found


def without_build_and_window(line):
    """The command without building first, and with `fakesink` instead of a window."""
    objects = "pipelines/with-plugin /usr/bin/python3 pipelines/objects.py --out out"
    line = re.sub(r"^pipelines/quickstart", objects, line)
    line = line.replace("meson devenv -C build", "pipelines/with-plugin").replace("ximagesink", "fakesink")
    return line.replace("autovideosink", "fakesink")


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

    def test_readme_blocks_with_expected_output_print_it(self):
        shown = [block for block in BLOCKS if block.expected is not None]
        self.assertGreaterEqual(len(shown), 1, "README.md shows no expected output")
        for block in shown:
            lines_of_block = block.text.splitlines()
            for line in lines_of_block:
                self.assertFalse(line.startswith(PREPARATIONS), f"a test cannot compare the output of '{line}'")
            with self.subTest(block.text):
                shell = Shell(self.folder, os.environ, timeout=300)
                expect(block, shell.run("\n".join(map(without_build_and_window, lines_of_block))))

    def test_readme_command_lines_are_all_in_the_list_of_tested_lines(self):
        tested = ("pipelines/live", "pipelines/events", "pipelines/view", "pipelines/transcode/regions-transcode", "cc pipelines/embed",
                  "cc library/", "pipelines/with-plugin", "export PKG_CONFIG_PATH", "./label_image",
                  "meson devenv -C build gst-launch-1.0", "meson devenv -C build gst-inspect-1.0", *PREPARATIONS)
        shown = {line.strip() for block in BLOCKS if block.expected is not None for line in block.text.splitlines()}
        for line in LINES:
            self.assertTrue(line.startswith(tested) or line in shown, f"no test runs '{line}'")

    def test_readme_live_lines_play_cameras_and_files(self):
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

    def test_readme_events_line_reads_a_camera(self):
        line, = lines("pipelines/events")
        (self.folder / "rules.json").write_text(
            '[{"id": "all", "points": [[0, 0], [320, 0], [320, 240], [0, 240]], "occupancy": true}]')
        line = line.replace(shlex.split(line)[1], Camera(self).address)
        self.assertIn('{"event": "occupancy", "zone": "all"', self.run_line(
            line + " --filter 'cclabel track=true output=none'", FRAMES="20"))

    def test_readme_view_line_serves_a_page_of_a_camera(self):
        line, = lines("pipelines/view")
        line = line.replace(shlex.split(line)[1], Camera(self).address)
        program = subprocess.Popen(["bash", "-c", f"exec {line} --listen localhost:0"], cwd=self.folder, stdout=subprocess.PIPE, text=True)
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.wait)
        self.addCleanup(program.terminate)
        address = program.stdout.readline().split()[-1]
        with urllib.request.urlopen(address) as page:
            self.assertIn("<title>Regions</title>", page.read().decode())
        self.assertTrue((self.folder / "clips").is_dir())

    def test_readme_transcode_line_writes_video_and_regions(self):
        line, *_ = lines("pipelines/transcode/regions-transcode")
        self.run_line(line)
        self.assertEqual(sorted(path.name for path in (self.folder / "out").iterdir()),
                         ["in.jsonl", "in.mp4", "in.mp4.made.json"])
        self.assertEqual(len(media.times(self.folder / "out" / "in.mp4")), 25)
        rows = (self.folder / "out" / "in.jsonl").read_text().splitlines()
        self.assertEqual([json.loads(row)["frame"] for row in rows], list(range(25)))

    def test_readme_archive_lines_write_and_find_events(self):
        (self.folder / "rules.json").write_text('{"units": "fractions", "zones": [{"id": "all", "points": [[0, 0], [1, 0],'
                                                ' [1, 1], [0, 1]]}]}')
        _, transcode, find = lines("pipelines/transcode/regions-transcode")
        self.run_line(transcode)
        self.assertEqual(sorted(path.name for path in (self.folder / "events").iterdir()),
                         ["in.events.jsonl", "in.jsonl", "in.mp4", "in.mp4.made.json"])
        written = (self.folder / "events" / "in.events.jsonl").read_text()
        self.assertEqual(self.run_line(find).count('"enter"'), written.count('"enter"'))
        self.assertIn('"enter"', written)

    def test_readme_embed_lines_print_the_regions_of_each_frame(self):
        compiler, = lines("cc pipelines/embed")
        self.run_line(compiler)
        runs = lines("pipelines/with-plugin")
        self.assertEqual(len(runs), 2)
        outputs = [self.run_line(line, LD_PRELOAD=os.environ.get("REGIONS_PRELOAD", "")).splitlines()
                   for line in runs]
        for text in outputs:
            self.assertEqual(len(text), 25)
            self.assertRegex(text[-1], r"frame 24: \d+ regions, the largest is")
        # The frame at which the new threshold applies depends on the number of frames in flight.
        self.assertEqual(outputs[0][:10], outputs[1][:10])

    def test_readme_library_lines_write_a_label_picture(self):
        export, = lines("export PKG_CONFIG_PATH")
        compiler, = lines("cc library/")
        program, = lines("./label_image")
        media.run("ffmpeg", "-v", "error", "-i", self.folder / "in.mp4", "-frames:v", "1",
                  self.folder / "picture.pgm")
        self.run_line(f"{export}; {compiler}")
        text = self.run_line(f"{export}; {program}", LD_PRELOAD=os.environ.get("REGIONS_PRELOAD", ""))
        self.assertRegex(text, r"^\d+ regions")
        self.assertTrue((self.folder / "labels.pgm").exists())

    def test_readme_gst_inspect_lines_print_the_element(self):
        for line in lines("meson devenv -C build gst-inspect-1.0"):
            self.assertIn("Factory Details", self.run_line(without_build_and_window(line)))

    def test_readme_gst_launch_lines_without_windows_succeed(self):
        launches = lines("meson devenv -C build gst-launch-1.0")
        self.assertGreaterEqual(len(launches), 3)
        for line in launches:
            line = without_build_and_window(line)
            endless = "videotestsrc" in line and "num-buffers" not in line
            self.run_line(line.replace("videotestsrc", "videotestsrc num-buffers=10") if endless else line)
        self.assertEqual(len(media.frames(self.folder / "labels.mkv", "gray16le")), 25)

    def test_readme_window_line_without_display_prints_an_error_about_the_display(self):
        """An error names the display. GStreamer's automatic choice of a sink would crash."""
        window = next(line for line in lines("meson devenv -C build gst-launch-1.0") if "ximagesink" in line)
        line = window.replace("meson devenv -C build", "pipelines/with-plugin")
        self.assertIn("Could not open display", self.run_line(line, status=255, DISPLAY=""))


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
