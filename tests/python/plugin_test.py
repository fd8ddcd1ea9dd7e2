#!/usr/bin/env python3
"""The GStreamer plugin and the commands of the wheel: paths, usage, and elements that GStreamer finds."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest
from unittest import mock

import gst_regions
from gst_regions import commands, gstreamer

ROOT = pathlib.Path(__file__).resolve().parents[2]
NO_COMMANDS = {"quickstart", "setup", "with-plugin"}  # for developers
PATHS = ("GST_PLUGIN_PATH_1_0", "GST_PLUGIN_PATH")


def is_wheel():
    return (gstreamer.FOLDER / "libgstregions.so").exists()


class Setup(unittest.TestCase):
    def setUp(self):
        folder = gstreamer.FOLDER if is_wheel() else pathlib.Path(os.environ.get("REGIONS_PLUGIN", "none"))
        if not (folder / "libgstregions.so").exists():
            self.skipTest("the plugin is not built")
        for patch in (mock.patch.object(gstreamer, "FOLDER", folder), mock.patch.dict(os.environ),
                      mock.patch.object(gstreamer, "_version", return_value=(1, 22))):
            patch.start()
            self.addCleanup(patch.stop)
        self.folder = str(folder)
        for name in PATHS:
            os.environ.pop(name, None)

    def expect_paths(self, want):
        self.assertEqual(gst_regions.setup(), self.folder)
        self.assertEqual([os.environ[name] for name in PATHS], [want] * 2)

    def test_plugin_setup_when_called_twice_sets_the_paths_once(self):
        self.expect_paths(self.folder)
        self.expect_paths(self.folder)  # the second call changes nothing
        os.environ["GST_PLUGIN_PATH_1_0"] = ""  # hides GST_PLUGIN_PATH, even if empty
        os.environ["GST_PLUGIN_PATH"] = "/hidden"
        self.expect_paths(self.folder)

    def test_plugin_setup_keeps_the_paths_of_the_user(self):
        os.environ["GST_PLUGIN_PATH"] = "/one:/two"
        self.expect_paths(f"{self.folder}:/one:/two")
        os.environ["GST_PLUGIN_PATH_1_0"] = "/three"
        self.expect_paths(f"{self.folder}:/three")

    def test_plugin_setup_without_gstreamer_or_plugin_raises_an_error_that_names_it(self):
        for version, words in ((None, "GStreamer is not installed; on Debian"),
                               ((1, 20), "GStreamer is 1.20, must be 1.22 or later")):
            with mock.patch.object(gstreamer, "_version", return_value=version):
                self.assertRaisesRegex(RuntimeError, words, gst_regions.setup)
        with mock.patch.object(gstreamer, "FOLDER", pathlib.Path("/nowhere")):
            self.assertRaisesRegex(RuntimeError, "this build of gst_regions has no GStreamer plugin", gst_regions.setup)
        self.assertNotIn("GST_PLUGIN_PATH", os.environ)

    def test_version_of_an_installed_gstreamer_is_found(self):
        mock.patch.stopall()
        found = gstreamer._version()
        if found is None:
            self.skipTest("GStreamer is not installed")
        self.assertGreaterEqual(found, (1, 0))


class Commands(unittest.TestCase):
    def test_executable_scripts_all_have_a_regions_command(self):
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        scripts = {path.name for path in (ROOT / "pipelines").iterdir()
                   if path.is_file() and path.suffix == "" and os.access(path, os.X_OK)}
        want = {f"regions-{name}" for name in scripts - NO_COMMANDS} | {"regions-transcode"}
        self.assertEqual(set(project["scripts"]), want)
        if is_wheel():
            for name in scripts - NO_COMMANDS:
                self.assertTrue((commands.SCRIPTS / name).exists(), name)

    def module(self, *arguments, **variables):
        return subprocess.run([sys.executable, "-m", "gst_regions", *arguments], capture_output=True, text=True,
                              check=False, env=os.environ | variables)

    def test_package_command_without_arguments_prints_usage(self):
        self.assertIn("usage: python -m gst_regions COMMAND", self.module("--help").stdout)
        run = self.module()
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("usage", run.stderr)

    def test_package_command_gst_inspect_finds_the_elements(self):
        if not is_wheel():
            self.skipTest("only a wheel holds the plugin")
        if shutil.which("gst-inspect-1.0") is None:
            self.skipTest("GStreamer's tools are not installed")
        run = self.module("gst-inspect-1.0", "cclabel", GST_PLUGIN_PATH_1_0="/nowhere")
        self.assertIn(f"Filename                 {gstreamer.FOLDER / 'libgstregions.so'}", run.stdout, run.stderr)
        run = self.module("gst-no-such-thing")
        self.assertEqual(run.returncode, 1)
        self.assertRegex(run.stderr, "^gst_regions: command gst-no-such-thing not found; on Debian")

    def test_regions_command_without_python_bindings_prints_an_error_that_names_them(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "toy").write_text("#!/no/such/python3\n", encoding="utf-8")
            with mock.patch.object(commands, "SCRIPTS", pathlib.Path(folder)), mock.patch("sys.stderr") as stderr:
                with mock.patch.object(sys, "argv", ["/bin/regions-toy"]):
                    self.assertRaises(SystemExit, commands.run)
                with mock.patch.object(sys, "argv", ["/bin/regions-none"]):
                    self.assertRaises(SystemExit, commands.run)
        words = "".join(call.args[0] for call in stderr.write.call_args_list)
        self.assertRegex(words, "regions-toy runs with /no/such/python3, which has no GStreamer bindings; on Debian")
        self.assertIn(folder + "/none does not exist", words)
        self.assertFalse(commands.has_bindings("false"))
        self.assertTrue(commands.has_bindings("true"))

    def test_regions_overlay_and_transcode_with_help_option_print_usage(self):
        if not is_wheel() or gstreamer._version() is None:
            self.skipTest("needs a wheel, and GStreamer")
        for name, usage in (("regions-overlay", "usage: overlay"), ("regions-transcode", "usage: regions-transcode")):
            program = f"import sys; sys.argv = ['/bin/{name}', '--help']; from gst_regions.commands import run; run()"
            run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
            self.assertIn(usage, run.stdout, run.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
