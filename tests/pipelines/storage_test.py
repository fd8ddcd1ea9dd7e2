#!/usr/bin/python3
"""Inputs and outputs on object storage, with a server of S3 in a process of its own. Skipped where `tests/run --all` did
not fill .venv/cluster."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

import media
from archive_runs_test import KEYS, LABELS, SMALL
from cluster_test import PYTHON
from killed_test import kill_session
from transcoding import PROGRAM, TranscodeCase

CUT = ("--segments", "0.7", "-j", "2")
NAMES = ("a b%#.mp4", "a b%#.jsonl")


class Stored(TranscodeCase):
    @classmethod
    def setUpClass(cls):
        cls.server = s3_server.Server()
        cls.addClassCleanup(cls.server.stop)
        os.environ.update(cls.server.environment)

    def setUp(self):
        super().setUp()
        self.environment = os.environ | {"TMPDIR": str(self.folder)}
        self.files = fsspec.filesystem("s3", use_listings_cache=False)
        self.bucket = "bucket-" + self.id().rpartition(".")[2].replace("_", "-")[:40]
        self.files.mkdir(self.bucket)
        self.source = self.clip("a b%#.mp4", SMALL, *KEYS)
        self.files.put_file(str(self.source), f"{self.bucket}/in/{self.source.name}")

    def command(self, *arguments):
        return [str(word) for word in (PYTHON, PROGRAM, "--filter", LABELS, "--json", *arguments)]

    def run_on(self, *arguments, status=0, **changed):
        return media.run(*self.command(*arguments), status=status, env=self.environment | changed)

    def address(self, name):
        return f"s3://{self.bucket}/{name}"

    def stored(self, folder):
        return sorted(name.partition(f"/{folder}/")[2] for name in self.files.find(f"{self.bucket}/{folder}"))

    def contents(self, folder):
        return [self.files.cat_file(f"{self.bucket}/{folder}/{name}") for name in NAMES]

    def wanted(self, *how):
        """What a run over files makes."""
        media.run(*self.command(self.source, "-o", self.out, *how))
        return [(self.out / name).read_bytes() for name in NAMES]

    def expect_clean(self):
        """No input, output or segment is left on this machine."""
        left = [path for path in self.folder.glob("regions-*/**/*") if path.suffix in (".mp4", ".part")
                and "in" not in path.relative_to(self.folder).parts]
        self.assertEqual([path for path in left if path.is_file()], [])

    def test_whole_files(self):
        text = self.run_on(self.address("in/*.mp4"), "-o", self.address("out/"))
        self.assertIn(f"wrote {self.address('out/a b%#.mp4')}", text)
        self.assertEqual(self.stored("out"), sorted([*NAMES, "a b%#.mp4.made.json"]))
        self.assertEqual(self.contents("out"), self.wanted())
        self.expect_clean()
        text = self.run_on(self.address("in/a b%#.mp4"), "-o", self.address("out"))
        self.assertIn(f"a b%#.mp4: skipped: {self.address('out/a b%#.mp4')} exists", text)
        # Between files and storage, either way.
        self.run_on(self.source, "-o", self.address("from-file"))
        self.assertEqual(self.contents("from-file"), self.contents("out"))
        self.run_on(self.address("in/a b%#.mp4"), "-o", self.folder / "to-file")
        self.assertEqual((self.folder / "to-file" / NAMES[1]).read_bytes(), self.contents("out")[1])
        # Another object by the same name.
        other = self.clip("other.mp4", SMALL.replace("testsrc2", "testsrc"), *KEYS)
        self.files.put_file(str(other), f"{self.bucket}/in/{self.source.name}")
        text = self.run_on(self.address("in/a b%#.mp4"), "-o", self.address("out"), status=1)
        self.assertRegex(text, r"exists, but size was \d+ and is now \d+; --force writes it again")

    def test_segments_of_several_machines(self):
        """Each command has a TMPDIR of its own, as on machines that share nothing but the storage."""
        job, wanted = (self.address("in/*.mp4"), "-o", self.address("out"), *CUT), self.wanted(*CUT)
        self.assertIn("3 segments", self.run_on(*job, "--plan"))
        for number in (1, 2):
            (self.folder / f"worker{number}").mkdir()
            self.run_on(*job, "--segment", f"{number}/2", TMPDIR=str(self.folder / f"worker{number}"))
        (self.folder / "status").mkdir()
        text = self.run_on("-o", self.address("out"), "--status", status=1, TMPDIR=str(self.folder / "status"))
        self.assertIn("a b%#.mp4: 3 done", text)
        self.run_on(*job)
        self.assertEqual(self.contents("out"), wanted)
        self.assertEqual(self.stored("out"), sorted([*NAMES, "a b%#.mp4.made.json", "job.json", "summary.json"]))
        told = json.loads(self.files.cat_file(f"{self.bucket}/out/summary.json"))
        self.assertEqual([file["attempts"] for file in told["inputs"].values()], [3], "each once")
        self.assertIn("1 of 1 files", self.run_on("-o", self.address("out"), "--status"))
        self.expect_clean()

    def test_cluster(self):
        self.run_on(self.address("in/*.mp4"), "-o", self.address("out"), *CUT, "--cluster")
        self.assertEqual(self.contents("out"), self.wanted(*CUT))
        self.expect_clean()

    def test_an_upload_that_is_cut_off(self):
        """Its output is not there, and the next run, on another machine, repeats no segment."""
        wire = s3_server.Wire(self.server, f"PUT /{self.bucket}/out/a%20b%25%23.mp4 ".encode())
        job = self.command(self.address("in/*.mp4"), "-o", self.address("out"), *CUT)
        with subprocess.Popen(job, env=self.environment | s3_server.environment(wire.address), start_new_session=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as work:
            cut_off = wire.stopped.wait(60 * media.PATIENCE)
            kill_session(work.pid)
        self.assertTrue(cut_off)
        self.assertNotIn(NAMES[0], self.stored("out"))
        segments = [name for name in self.stored("out") if name.startswith("a b%#.mp4.segments/0")]
        self.assertEqual(len(segments), 9, segments)
        (self.folder / "second").mkdir()
        self.run_on(*job[5:], TMPDIR=str(self.folder / "second"))
        told = json.loads(self.files.cat_file(f"{self.bucket}/out/summary.json"))
        self.assertEqual([file["attempts"] for file in told["inputs"].values()], [3], "none was repeated")
        self.assertEqual(self.contents("out"), self.wanted(*CUT))

    def test_a_damaged_segment(self):
        """What is stored is compared with its checksum, and made again."""
        job = (self.address("in/*.mp4"), "-o", self.address("out"), *CUT)
        self.run_on(*job, "--plan")
        self.run_on(*job, "--segment", "1/1")
        self.files.pipe_file(f"{self.bucket}/out/a b%#.mp4.segments/0001.jsonl", b"{}\n")
        self.run_on(*job)
        told = json.loads(self.files.cat_file(f"{self.bucket}/out/summary.json"))
        self.assertEqual([file["attempts"] for file in told["inputs"].values()], [4])
        self.assertEqual(self.contents("out"), self.wanted(*CUT))

    def test_refusals(self):
        """One line each."""
        here, out = self.address("in/a b%#.mp4"), self.address("out")
        for arguments, changed, status, why in (
                ((here, "-o", "s3://no-such-bucket/out"), {}, 2, "s3://no-such-bucket/out: The specified bucket does not"),
                (("s3://no-such-bucket/*.mp4", "-o", out), {}, 2, "s3://no-such-bucket/*.mp4: no object"),
                ((self.address("in/*.mkv"), "-o", out), {}, 2, f"{self.address('in/*.mkv')}: no object matches"),
                ((self.address("in/b.mp4"), "-o", out), {}, 1, "cannot be read: s3://"),
                ((here, "-o", self.address("in")), {}, 2, "which is an input; choose another folder"),
                ((here, "-o", out), {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, 2,
                 f"{out}: Unable to locate credentials"),
                ((here, "-o", out), {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, 2, f"{out}: Could not connect to the")):
            with self.subTest(why):
                text = self.run_on(*arguments, status=status, **changed)
                self.assertIn(why, text)
                self.assertLessEqual(text.count("\n"), 2)
        self.assertEqual(self.stored("out"), [])

    def test_without_fsspec(self):
        text = media.run(sys.base_prefix + "/bin/python3", PROGRAM, "--filter", LABELS, self.source, "-o",
                         self.address("out"), status=2)
        self.assertRegex(text, r"^regions-transcode: s3://\S+ requires the Python packages fsspec and s3fs \(.*\): run"
                         r" pipelines/setup --cluster, and start regions-transcode with \S+\n$")


if __name__ == "__main__":
    media.expect_tools()
    if not PYTHON.with_name("moto_server").exists():
        print("tests/pipelines/cluster_requirements.txt is not installed into .venv/cluster")
        sys.exit(media.SKIPPED)
    if pathlib.Path(sys.prefix) != PYTHON.parent.parent:
        os.execv(PYTHON, [str(PYTHON), *sys.argv])
    import fsspec
    import s3_server
    unittest.main(verbosity=2)
