#!/usr/bin/python3
"""Runs docs/guides/add-an-algorithm.md in a copy of the sources: builds the new element and checks its output.

  new_algorithm_test.py [--werror]

--werror: compiler warnings are errors. With the same value as the build of the sources, ccache reuses its objects.
"""

import os
import pathlib
import shutil
import sys
import tempfile
import unittest

import media

sys.path.insert(0, str(media.ROOT / "tests"))
from documents import run_page  # noqa: E402

PAGE = media.ROOT / "docs" / "guides" / "add-an-algorithm.md"


def copy_sources(folder):
    """Copies all sources, but neither build folders nor outputs."""
    for path in media.ROOT.iterdir():
        if path.name.startswith((".", "build", "out")):
            continue
        if path.is_dir():
            shutil.copytree(path, folder / path.name, symlinks=True)
        else:
            shutil.copy(path, folder / path.name)
    (folder / "out").mkdir()


def make_warnings_errors(folder):
    """Changes the default options of the sources in a folder."""
    path = folder / "meson.build"
    path.write_text(path.read_text(encoding="utf-8").replace("default_options: [", "default_options: ['werror=true', ", 1),
                    encoding="utf-8")


class Guide(unittest.TestCase):
    has_werror = False

    def test_commands_of_the_guide_add_an_algorithm_print_the_shown_output(self):
        with tempfile.TemporaryDirectory() as folder:
            copy_sources(pathlib.Path(folder))
            if self.has_werror:
                make_warnings_errors(pathlib.Path(folder))
            self.assertEqual(run_page(PAGE.read_text(encoding="utf-8"), folder, os.environ, timeout=1800), (5, 4))


if __name__ == "__main__":
    for tool in ("meson", "ninja", "c++"):
        if not shutil.which(tool):
            print(f"missing: {tool}")
            sys.exit(media.SKIPPED)
    media.expect_tools()
    if "--werror" in sys.argv:
        sys.argv.remove("--werror")
        Guide.has_werror = True
    unittest.main(verbosity=2)
