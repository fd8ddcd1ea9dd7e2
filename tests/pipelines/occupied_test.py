#!/usr/bin/python3
"""What stands in the folder of outputs before regions-transcode comes, at every name that it writes or reads there: nothing
is written through a link, no FIFO is waited for, and what cannot be is told."""

import os
import shutil
import subprocess
import unittest

import media
from archive_runs_test import KEYS, LABELS, SMALL
from transcoding import PROGRAM, TranscodeCase

PYTHON = media.ROOT / ".venv" / "cluster" / "bin" / "python"
OUTPUTS = ("--json", "--labels", "--export", "csv", "--export", "coco-rle", "--export", "mot")
TRACKED = LABELS + " track=true"
SEGMENTS = "in.mp4.segments"
DEVICE = "device "
FORMER = ("video.txt", "labels.txt")  # which joining once wrote
LOCKS = (".regions-in.mp4.lock", ".regions-job.lock", SEGMENTS + "/.regions-0001.lock")


class Occupied(TranscodeCase):
    def setUp(self):
        super().setUp()
        self.source = self.clip("in.mp4", SMALL, *KEYS)

    def make(self, *arguments, python=()):
        """Returns how the program ends, and what it says."""
        seconds = 600 if python else 100  # Ray takes long to start
        done = subprocess.run([*python, PROGRAM, self.source, "-o", self.out, "--filter", TRACKED, *OUTPUTS, *arguments],
                              capture_output=True, text=True, errors="replace", check=False, timeout=seconds * media.PATIENCE)
        self.assertNotIn("Traceback", done.stderr)
        self.assertIn(done.returncode, (0, 1, 2), done.stderr)
        return done.returncode, done.stdout + done.stderr

    def forget(self):
        shutil.rmtree(self.out, ignore_errors=True)

    def names(self, *arguments):
        """All that a run leaves, and what it leaves of segments before it ends, but for the plan, by which it goes on."""
        self.assertEqual(self.make(*arguments, "--plan")[0], 0)
        self.assertEqual(self.make(*arguments, "--segment", "1/1")[0], 0)
        found = {f"{SEGMENTS}/{path.name}" for path in (self.out / SEGMENTS).iterdir()} - {f"{SEGMENTS}/plan.json"}
        self.assertEqual(self.make(*arguments)[0], 0)
        found |= {path.name for path in self.out.iterdir()} | {f"{SEGMENTS}/{name}" for name in FORMER}
        self.forget()
        self.assertGreater(len(found), 8 + 3 * 3, found)
        return sorted(found)

    def linked(self, names):
        """Links of these names in the folder of outputs, each to a file of its own."""
        victims = self.folder / "victims"
        victims.mkdir(exist_ok=True)
        for number, name in enumerate(names):
            (victims / str(number)).write_text("as it was")
            (self.out / name).parent.mkdir(parents=True, exist_ok=True)
            (self.out / name).unlink(missing_ok=True)
            (self.out / name).symlink_to(victims / str(number))
        return victims

    def expect_untouched(self, victims):
        for victim in victims.iterdir():
            self.assertEqual(victim.read_text(), "as it was")

    def expect_links_replaced(self, python=(), more=()):
        cut = ("--segments", "0.7", *more)
        names = self.names("--segments", "0.7")
        for arguments, planned, taken in ((cut, True, names), (("--force", *cut), False, names), (("--force",), False, [
                name for name in names if "/" not in name and name not in ("job.json", "summary.json")])):
            self.forget()
            if planned:
                self.make("--segments", "0.7", "--plan")
            victims = self.linked(taken + ([] if planned else [f"{SEGMENTS}/plan.json"]))
            status, text = self.make(*arguments, python=python if "--segments" in arguments else ())
            self.assertEqual(status, 0, text)
            self.expect_untouched(victims)
            self.assertFalse([path for path in self.out.iterdir() if path.is_symlink()])
            self.assertEqual(len(media.times(self.out / "in.mp4")), 80)

    def test_links_are_replaced(self):
        self.expect_links_replaced()

    def test_links_are_replaced_on_a_cluster(self):
        if not PYTHON.with_name("ray").exists():
            print("SKIP: Ray is not installed")
            self.skipTest("no Ray")
        self.expect_links_replaced([PYTHON], ["--cluster"])

    def test_locks_that_are_links(self):
        for name in LOCKS:
            self.forget()
            self.make("--segments", "0.7", "--plan")
            victims = self.linked([name])
            status, text = self.make("--segments", "0.7", "--attempts", "1")
            self.assertNotEqual(status, 0, text)
            self.assertIn("Too many levels of symbolic links", text)
            self.expect_untouched(victims)

    def test_a_folder_that_is_a_link(self):
        self.make("--segments", "0.7", "--plan")
        (self.out / SEGMENTS).rename(self.folder / "elsewhere")
        (self.out / SEGMENTS).symlink_to(self.folder / "elsewhere")
        status, text = self.make("--segments", "0.7", "--attempts", "1")
        self.assertEqual(status, 1, text)
        self.assertIn(f"{SEGMENTS}: ", text)
        self.assertEqual([path.name for path in (self.folder / "elsewhere").iterdir()], ["plan.json"])

    def test_fifos_and_devices_are_not_waited_for(self):
        names = [*self.names("--segments", "0.7"), *LOCKS, SEGMENTS + "/plan.json", ".regions-x.part",
                 SEGMENTS + "/.regions-x.part"]
        self.make("--segments", "0.7", "--plan")
        planned = self.out.rename(self.folder / "planned")
        for name in names + [DEVICE + name for name in names if name.endswith(".json")]:
            with self.subTest(name):
                self.forget()
                shutil.copytree(planned, self.out)
                path = self.out / name.removeprefix(DEVICE)
                path.unlink(missing_ok=True)
                if name.startswith(DEVICE):
                    path.symlink_to("/dev/zero")
                else:
                    os.mkfifo(path)
                status, text = self.make("--segments", "0.7", "--attempts", "1")
                if status:
                    self.assertIn(path.name.replace(".regions-", "").replace(".lock", ""), text)

    def test_status_of_what_is_no_job(self):
        self.out.mkdir()
        for text in ("", "3", "[" * 200_000, '{"outputs": 3}', '{"outputs": {"a": 3}}', '{"outputs": {"a": {}}}',
                     '{"outputs": {"a": {"video": 3}}}', '{"outputs": {"a": {"video": "\\u0000"}}}',
                     '{"outputs": {"a": {"video": "\\ud800"}}}', "{}", None):
            path = self.out / "job.json"
            path.unlink(missing_ok=True)
            os.mkfifo(path) if text is None else path.write_text(text)
            said = media.run(PROGRAM, "-o", self.out, "--status", status=2)
            self.assertIn("not a regular file" if text is None else "contains no valid job.json", said)
            self.assertNotIn("Traceback", said)

    def test_status_beside_a_damaged_summary(self):
        self.out.mkdir()
        (self.out / "job.json").write_text('{"outputs": {"a.mp4": {"video": "a.mp4"}}, "began": 1}')
        for text in ('{"began": 2, "inputs": 3}', '{"began": 2, "inputs": ["a.mp4"]}', '{"began": 2, "inputs": {"a.mp4": 3}}',
                     '{"began": 2, "inputs": {"a.mp4": {"problem": 3}}}', '{"began": "2", "inputs": {}}'):
            (self.out / "summary.json").write_text(text)
            said = media.run(PROGRAM, "-o", self.out, "--status", status=2)
            self.assertIn("summary.json is damaged: remove it", said)
            self.assertNotIn("Traceback", said)
        for text in ("", "3", "{}", '{"began": 2, "inputs": {"a.mp4": {}}}'):
            (self.out / "summary.json").write_text(text)
            self.assertIn("a.mp4: waiting", media.run(PROGRAM, "-o", self.out, "--status", status=1))
        (self.out / "job.json").write_text('{"outputs": {"a.mp4": {"video": "a.mp4"}}, "began": "1"}')
        self.assertIn("contains no valid job.json", media.run(PROGRAM, "-o", self.out, "--status", status=2))


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
