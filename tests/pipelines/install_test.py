#!/usr/bin/python3
"""An installation by meson works and can be removed.

  install_test.py BUILD ELEMENT…

Installs into temporary folders and does not change the machine.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import media
import numpy
from scipy import ndimage

EXAMPLE = media.ROOT / "library" / "label_image.c"


def output_of(*command, env=None):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=env, check=False)
    if done.returncode:
        raise AssertionError(f"{command}: {done.stderr.decode()}")
    return done.stdout


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


class Case(unittest.TestCase):
    elements = ()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def expect_working(self, root, prefix):
        """Runs the elements and the library below root, as if root were /."""
        plugin, = (root / prefix).rglob("libgstregions.so")
        env = dict(os.environ, GST_PLUGIN_PATH_1_0=str(plugin.parent),
                   LD_PRELOAD=os.environ.get("REGIONS_PRELOAD", ""),
                   GST_REGISTRY_1_0=str(self.folder / "registry.bin"))
        for element in self.elements:
            self.assertIn(element.encode(), output_of("gst-inspect-1.0", element, env=env))

        pc, = (root / prefix).rglob("regions.pc")
        origin, = re.findall(r"Origin URL +(.+)", output_of("gst-inspect-1.0", "regions", env=env).decode())
        urls = re.findall(r"^URL: (.+)", pc.read_text(encoding="utf-8"), re.M)
        self.assertEqual(urls, [origin] if "://" in origin else [])
        flags = output_of("pkg-config", "--cflags", "--libs", "regions", env=dict(
            os.environ, PKG_CONFIG_PATH=str(pc.parent), PKG_CONFIG_SYSROOT_DIR=str(root),
            PKG_CONFIG_ALLOW_SYSTEM_CFLAGS="1", PKG_CONFIG_ALLOW_SYSTEM_LIBS="1")).decode().split()
        program = self.folder / "label_image"
        output_of("cc", EXAMPLE, "-o", program, *flags)
        picture = numpy.random.default_rng(1).integers(0, 256, (61, 97), numpy.uint8)
        (self.folder / "in.pgm").write_bytes(b"P5\n97 61\n255\n" + picture.tobytes())
        env["LD_LIBRARY_PATH"] = str(pc.parent.parent)
        text = output_of(program, self.folder / "in.pgm", self.folder / "out.pgm", "threshold=0.8",
                         env=env).decode()
        labels, count = ndimage.label(picture >= 204, numpy.ones((3, 3)))
        self.assertTrue(text.startswith(f"{count} regions"), text[:100])
        written = (self.folder / "out.pgm").read_bytes()[-2 * picture.size:]
        self.assertTrue((numpy.frombuffer(written, ">u2").reshape(picture.shape) == labels).all())


class Install(Case):
    build = None

    def test_meson_install_makes_elements_and_library_usable_and_uninstall_removes_all(self):
        stage = self.folder / "stage"
        output_of("meson", "install", "-C", self.build, "--no-rebuild", "--destdir", stage)
        prefix, = {path.parents[3].relative_to(stage) for path in stage.rglob("libgstregions.so")}
        self.expect_working(stage, prefix)
        output_of("ninja", "-C", self.build, "uninstall", env=dict(os.environ, DESTDIR=str(stage)))
        self.assertEqual(files_below(stage), [])


if __name__ == "__main__":
    _, Install.build, *Case.elements = sys.argv
    unittest.main(argv=sys.argv[:1])
