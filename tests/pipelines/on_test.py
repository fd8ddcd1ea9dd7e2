#!/usr/bin/python3
"""tests/on without another system: a folder of this one stands in for it, with scripts that end as the
case wants."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import media

PROGRAM = media.ROOT / "tests" / "on"


def program():
    loader = importlib.machinery.SourceFileLoader("tests_on", str(PROGRAM))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("tests_on", loader))
    loader.exec_module(module)
    return module


class Here:
    """Commands run in this system."""

    def start(self):
        pass

    def remove(self):
        pass

    def command(self, text):
        return ["bash", "-c", text]


class On(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.on = program()
        self.on.PLACE = self.on.CACHE = self.folder
        self.on.RECORD, self.on.PAGE = self.folder / "systems.json", self.folder / "systems.md"
        self.put_files, self.on.put_files = self.on.put_files, lambda _system: None
        self.on.system_for = lambda _distribution: Here()

    def scripts(self, quickstart, tests):
        for name, text in (("pipelines/quickstart", quickstart), ("tests/run", tests)):
            path = self.folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_text("#!/bin/sh\n" + text)
            path.chmod(0o755)

    def run_on(self, *words):
        """The exit status and the last line."""
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            status = self.on.main([*words])
        return status, printed.getvalue().splitlines()[-1]

    def test_counts_are_printed_and_recorded(self):
        self.scripts("echo 'a.cpp:1:2: warning: strange'", "echo '12 passed, 0 failed, 3 skipped'")
        status, line = self.run_on("trixie")
        self.assertEqual(status, 0)
        self.assertRegex(line, r"^trixie: quickstart passed; 12 passed, 0 failed, 3 skipped; 1 warnings")
        found = json.loads(self.on.RECORD.read_text())["trixie"]
        self.assertEqual([found[key] for key in ("passed", "failed", "skipped", "warnings")],
                         [12, 0, 3, 1])
        self.assertRegex(self.on.PAGE.read_text(), r"\| Debian 13 \|.*\| passed \| 12 \| 0 \| 3 \| 1 \|")
        # Another distribution joins the first.
        self.run_on("forky")
        self.assertEqual(sorted(json.loads(self.on.RECORD.read_text())), ["forky", "trixie"])

    def test_what_fails_is_a_failure(self):
        for quickstart, tests, expected in (
                ("exit 1", "echo '12 passed, 0 failed, 3 skipped'", "quickstart failed; 12 passed, 0"),
                ("true", "echo '11 passed, 1 failed, 3 skipped'; exit 1", "passed; 11 passed, 1 failed"),
                ("true", "echo 'the build failed'; exit 1", "passed; 0 passed, 1 failed"),
                ("true", "echo '12 passed, 0 failed, 3 skipped'; exit 1", "passed; 12 passed, 1 failed")):
            self.scripts(quickstart, tests)
            status, line = self.run_on("trixie")
            self.assertEqual(status, 1, line)
            self.assertIn(expected, line)

    def test_a_part_is_not_recorded(self):
        self.scripts("true", "echo \"$*\" >asked; echo '1 passed, 0 failed, 0 skipped'")
        self.assertEqual(self.run_on("trixie", "--", "docs", "lint")[0], 0)
        self.assertEqual((self.folder / "asked").read_text(), "docs lint\n")
        self.assertFalse(self.on.RECORD.exists())

    def test_files_of_a_kept_system(self):
        """What changed is newer than a build of what was there before, whenever it was written."""
        source, place = self.folder / "source", self.folder / "place"
        source.mkdir()
        self.on.UNPACK = self.on.UNPACK.replace("/src/gst-regions", str(place))
        self.on.ROOT = source

        def put(**texts):
            subprocess.run(["git", "init", "-q", source], check=True)
            for path in source.glob("*.cpp"):
                path.unlink()
            for name, text in texts.items():
                path = source / f"{name}.cpp"
                path.write_text(text)
                os.utime(path, (1000, 1000))
            subprocess.run(["git", "-C", source, "add", "-A"], check=True)
            self.put_files(Here())

        put(same="1", changed="2", gone="3")
        for path in place.iterdir():
            os.utime(path, (2000, 2000))
        (place / "build").mkdir()
        put(same="1", changed="4", new="5")
        self.assertEqual(sorted(path.name for path in place.iterdir()),
                         ["build", "changed.cpp", "new.cpp", "same.cpp"])
        self.assertEqual((place / "same.cpp").stat().st_mtime, 2000)
        self.assertGreater((place / "changed.cpp").stat().st_mtime, 2000)
        self.assertEqual((place / "changed.cpp").read_text(), "4")

    def test_refusals(self):
        self.assertIn("name a distribution", media.run(PROGRAM, status=2))
        self.assertIn("'sarge'", media.run(PROGRAM, "sarge", status=2))

    def test_the_page_says_what_the_record_says(self):
        self.assertEqual(media.run(PROGRAM, "--table"),
                         (media.ROOT / "docs" / "systems.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
