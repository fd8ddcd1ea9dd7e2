#!/usr/bin/python3
"""dpkg-buildpackage makes the source package and the binary packages, lintian accepts them, and they work.

  package_test.py FOLDER ELEMENT…

Writes the packages into FOLDER and installs them in a temporary folder, for the CPU and without optimisation. Does not
change the machine.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

import install_test
import media
from install_test import files_below, output_of

SCRIPT = media.ROOT / "packaging" / "deb"
TOOLS = {"dpkg-buildpackage": "dpkg-dev", "dh": "debhelper", "lintian": "lintian"}
PACKAGES = {"gst-regions", "gstreamer1.0-regions", "libregions-dev", "libregions0"}


class Package(install_test.Case):
    out = None

    @classmethod
    def setUpClass(cls):
        shutil.rmtree(cls.out, ignore_errors=True)
        made = output_of(SCRIPT, "--no-cuda", "-o", cls.out, env=os.environ | {"DEB_BUILD_OPTIONS": "noopt parallel=2"})
        cls.files = [pathlib.Path(line) for line in made.decode().splitlines()]
        cls.packages = {path.name.split("_")[0]: path for path in cls.files
                        if path.suffix == ".deb" and "-dbgsym_" not in path.name}

    def test_packages_made_by_dpkg_buildpackage_are_complete(self):
        self.assertEqual(set(self.packages), PACKAGES)
        self.assertEqual(sum(path.suffix in (".dsc", ".changes", ".xz") for path in self.files), 3)

    def test_packages_checked_by_lintian_have_no_errors_or_warnings(self):
        changes, = (path for path in self.files if path.suffix == ".changes")
        done = subprocess.run(["lintian", "--allow-root", "--profile", "debian", changes], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_packages_installed_make_elements_and_library_usable_and_purge_removes_all(self):
        version = self.packages["libregions0"].name.split("_")[1]
        self.assertEqual(output_of("dpkg-deb", "--info", self.packages["libregions0"], "shlibs").decode(),
                         f"libregions 0 libregions0 (>= {version})\n")
        root = self.folder / "root"
        (root / "var/lib/dpkg").mkdir(parents=True)
        (root / "var/lib/dpkg/status").touch()
        # The machine contains the dependencies, but dpkg sees only the root, where no program can run.
        dpkg = ("dpkg", f"--root={root}", "--force-depends", "--force-not-root", "--force-script-chrootless",
                "--log=/dev/null")
        output_of(*dpkg, "--install", *self.packages.values())
        self.expect_working(root, "usr")
        installed = files_below(root)
        for name in ("gst-regions/copyright", "gst-regions/docs/elements/cclabel.md"):
            self.assertIn("usr/share/doc/" + name, installed)
        script = root / "usr/share/gst-regions/pipelines/quickstart"
        self.assertIn(b"Without an argument", output_of(script, "--help"))
        output_of(*dpkg, "--purge", *PACKAGES)
        self.assertEqual([name for name in files_below(root) if name.startswith("usr")], [])

    def test_build_with_cuda_option_without_value_or_unknown_option_exits_with_1(self):
        media.run(SCRIPT, "--gpu-library", status=1)
        media.run(SCRIPT, "--bulid", status=1)


if __name__ == "__main__":
    missing = [package for tool, package in TOOLS.items() if not shutil.which(tool)]
    if missing:
        print(f"missing: {', '.join(missing)}; pipelines/setup --tests installs the packages")
        sys.exit(media.SKIPPED)
    _, Package.out, *install_test.Case.elements = sys.argv
    unittest.main(argv=sys.argv[:1], verbosity=2)
