#!/usr/bin/python3
"""Symbols that the plugin and the library export and import.

  exports_test.py libgstregions.so libregions.so regions.h
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

SKIPPED = 77


def output_of(*command, env=None):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=env,
                          check=False)
    if done.returncode:
        raise AssertionError(f"{command}: {done.stderr}")
    return done.stdout + done.stderr


def exported(file):
    lines = output_of("nm", "--dynamic", "--defined-only", "--extern-only", file).splitlines()
    return sorted(line.split()[-1].split("@")[0] for line in lines)


class Exports(unittest.TestCase):
    plugin = library = header = None

    def test_plugin_symbols_are_only_gstreamer_entry_points(self):
        name = self.plugin.stem.removeprefix("libgst")
        self.assertEqual(exported(self.plugin),
                         [f"gst_plugin_{name}_get_desc", f"gst_plugin_{name}_register"])

    def test_library_symbols_are_only_functions_of_the_header(self):
        declared = re.findall(r"^REGIONS_API [^;(]*?(\w+)\(", self.header.read_text(), re.M)
        self.assertGreater(len(declared), 5)
        self.assertEqual(exported(self.library), sorted(declared))

    def test_library_soname_contains_the_major_version(self):
        version = self.library.name.split(".so.")[1]
        text = output_of("objdump", "-p", self.library)
        self.assertRegex(text, rf"SONAME +libregions\.so\.{version.split('.')[0]}\n")

    def test_plugin_and_library_when_loaded_together_do_not_call_each_other(self):
        for preloaded, other in ((self.library, self.plugin), (self.plugin, self.library)):
            program = ("import ctypes, os, sys; "
                       "ctypes.CDLL(sys.argv[1], mode=os.RTLD_NOW | os.RTLD_GLOBAL); "
                       "ctypes.CDLL(sys.argv[2], mode=os.RTLD_NOW)")
            env = dict(os.environ, LD_DEBUG="bindings",
                       LD_PRELOAD=os.environ.get("REGIONS_PRELOAD", ""))
            text = output_of(sys.executable, "-c", program, preloaded, other, env=env)
            calls = [line for line in text.splitlines()
                     if f"binding file {other}" in line and f" to {preloaded}" in line]
            self.assertIn(f"binding file {other}", text)
            self.assertEqual(calls, [])


if __name__ == "__main__":
    if not shutil.which("nm"):
        print("nm is missing: install binutils")
        sys.exit(SKIPPED)
    Exports.header = pathlib.Path(sys.argv.pop()).resolve()
    Exports.library = pathlib.Path(sys.argv.pop()).resolve()
    Exports.plugin = pathlib.Path(sys.argv.pop()).resolve()
    unittest.main()
