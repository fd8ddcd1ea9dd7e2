#!/usr/bin/python3
"""Differences between systems: caps in newer Python bindings of GStreamer, the caller's variables, warnings, missing
displays, and Ctrl-C while a camera is silent. Each case runs on every system."""

import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

import cases
import media

PLUGIN = pathlib.Path(os.environ["GST_PLUGIN_PATH_1_0"].split(":")[0])
SOURCE = "testsrc2=size=64x48:rate=25:duration=1"
FAULT = "internal error of this program (the input is not the cause): RuntimeError: thrown by the test"
QUICKSTART = f"""
import sys
sys.path.insert(0, "{media.ROOT}/pipelines")
import objects
def broken(*_):
    raise RuntimeError("thrown by the test")
objects.Found.write = broken
sys.exit(objects.main(sys.argv[1:]))
"""
TRANSCODE = f"""
import sys
sys.path.insert(0, "{media.ROOT}/pipelines")
from transcode import job
def broken(*_):
    raise RuntimeError("thrown by the test")
job.Job.see_frame = broken
sys.exit(job.main(1, sys.argv[1]))
"""


class QuickstartCaps(cases.QuickstartCase):
    def test_quickstart_reads_caps_that_python_bindings_return_as_contexts(self):
        self.give_contexts()
        said = self.job(self.clip("in.mp4"))
        self.assertEqual((said.status, said.err), (0, ""))


class TranscodeCaps(cases.JobCase):
    def test_transcode_reads_caps_that_python_bindings_return_as_contexts(self):
        self.give_contexts()
        self.job(self.clip("in.mp4"), "video", "jsonl", "labels")
        self.assertEqual(len(self.files(self.out)), 3)


class SilentCamera:
    """Accepts a connection and sends nothing."""

    def __init__(self, test):
        self.listener = socket.create_server(("127.0.0.1", 0))
        test.addCleanup(self.listener.close)
        self.address = f"rtsp://127.0.0.1:{self.listener.getsockname()[1]}/silent"

    def wait_for(self, test):
        """Waits for the connection of a program, which has installed its signal handlers by then."""
        self.listener.settimeout(60 * media.PATIENCE)
        connection, _ = self.listener.accept()
        test.addCleanup(connection.close)


class Systems(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"

    def clip(self):
        return media.make(self.folder / "in.mp4", SOURCE, "-pix_fmt", "yuv420p")

    def test_programs_with_an_internal_error_do_not_blame_the_input(self):
        clip = self.clip()
        settings = (f'{{"source": "{clip}", "outputs": {{"video": "{self.out}/in.mp4"}},'
                    ' "filter": "cclabel output=none", "profile": "mp4"}')
        self.out.mkdir()
        parent = os.pipe()  # a job ends when this is closed
        self.addCleanup(lambda: [os.close(end) for end in parent])
        for name, program, arguments in (
                ("quickstart", QUICKSTART, ("--out", self.out, clip)),
                ("transcode", TRANSCODE, (settings,))):
            with self.subTest(name):
                text = media.run(media.script("with-plugin"), sys.executable, "-c", program, *arguments,
                                 status=1, stdin=parent[0])
                self.assertIn(FAULT, text)
                self.assertIn("Traceback", text)
                self.assertNotIn("holds no video", text)
                self.assertEqual(list(self.out.iterdir()), [])

    def test_programs_print_no_deprecation_warning(self):
        clip = self.clip()
        text = media.objects("--out", self.out, clip)
        text += media.run(media.script("transcode/regions-transcode"), "-o", self.out, "--labels",
                          "--json", "--filter", "cclabel output=none", clip)
        text += media.run(media.script("table"), clip)
        self.assertNotIn("Warning", text)
        self.assertNotIn("eprecated", text)

    def test_quickstart_when_interrupted_before_the_first_frame_writes_nothing(self):
        camera = SilentCamera(self)
        job = subprocess.Popen([str(media.script("with-plugin")), sys.executable,
                                str(media.script("objects.py")), "--out", str(self.out), camera.address],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(job.kill)
        camera.wait_for(self)
        job.send_signal(signal.SIGINT)
        text = job.communicate(timeout=60 * media.PATIENCE)[0]
        self.assertEqual((job.returncode, text), (130, "quickstart: interrupted; nothing was written\n"))
        self.assertEqual(list(self.out.iterdir()), [])

    def test_live_when_interrupted_before_the_first_frame_exits_with_0(self):
        camera = SilentCamera(self)
        player = subprocess.Popen([str(media.script("live")), camera.address], text=True,
                                  env=os.environ | {"SINK": "fakesink"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(player.kill)
        camera.wait_for(self)
        player.send_signal(signal.SIGINT)
        text = player.communicate(timeout=60 * media.PATIENCE)[0]
        self.assertEqual(player.returncode, 0, text)

    def test_live_without_display_advises_another_sink(self):
        text = media.run("env", "-u", "DISPLAY", "-u", "WAYLAND_DISPLAY", media.script("live"), "test",
                         status=1)
        self.assertEqual(text, "live: no display was found for a window: set SINK to another sink, such as"
                         " fakesink\n")

    def environment(self):
        """The variables of a caller with another GStreamer."""
        elsewhere = {"GST_PLUGIN_PATH": "/elsewhere", "GST_PLUGIN_PATH_1_0": "/elsewhere/1.0",
                     "GST_REGISTRY": f"{self.folder}/elsewhere.bin",
                     "GST_REGISTRY_1_0": f"{self.folder}/elsewhere-1.0.bin"}
        return os.environ | elsewhere

    def variables(self, *command):
        lines = media.run(*command, "env", env=self.environment()).splitlines()
        return dict(line.split("=", 1) for line in lines if line.startswith("GST_"))

    def test_with_plugin_puts_the_path_variables_of_the_caller_last(self):
        """Runs a copy of with-plugin in a folder with this build's plugin."""
        (self.folder / "pipelines").mkdir()
        (self.folder / "build").mkdir()
        os.symlink(PLUGIN, self.folder / "build" / "plugin")
        program = self.folder / "pipelines" / "with-plugin"
        program.write_bytes(media.script("with-plugin").read_bytes())
        program.chmod(0o755)
        self.assertIn("cclabel", media.run(program, "gst-inspect-1.0", "cclabel", env=self.environment()))
        found = self.variables(program)
        for end in ("", "_1_0"):
            self.assertEqual(found["GST_PLUGIN_PATH" + end], f"{self.folder}/build/plugin:/elsewhere/1.0")
            self.assertEqual(found["GST_REGISTRY" + end], f"{self.folder}/build/gst-registry.bin")

    def test_plugin_folder_comes_first_in_the_path_variables_of_meson_devenv(self):
        found = self.variables("meson", "devenv", "-C", PLUGIN.parent)
        for end in ("", "_1_0"):
            self.assertEqual(found["GST_PLUGIN_PATH" + end].split(":")[0], str(PLUGIN))
            self.assertEqual(found["GST_REGISTRY" + end], str(PLUGIN.parent / "gst-registry.bin"))


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
