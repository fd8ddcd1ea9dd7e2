#!/usr/bin/python3
"""The recipes of docs/archives.md for Slurm and Kubernetes, as they stand there, with fewer workers and a stand-in for
sbatch: what a run over whole files makes."""

import os
import re
import unittest

import media
from archive_runs_test import KEYS, LABELS, SMALL
from transcoding import PROGRAM, TranscodeCase

PAGE = (media.ROOT / "docs" / "archives.md").read_text(encoding="utf-8")
# Slurm gives its words to a shell on a node, once for each number of the array.
SBATCH = """#!/bin/sh -e
[ "$1 $2 $3 $4" = "--wait --array=1-3 --cpus-per-task=4 --wrap" ]
for number in 1 2 3; do
  SLURM_ARRAY_TASK_ID=$number sh -ec "$5"
done
"""


class Recipes(TranscodeCase):
    def setUp(self):
        super().setUp()
        (self.folder / "in").mkdir()
        for name in ("in/one.mp4", "in/two.mp4"):
            self.clip(name, SMALL, *KEYS)

    def here(self, text):
        """A recipe of this machine."""
        text = text.replace("/archive/", f"{self.folder}/").replace("--segments 120", "--segments 0.7")
        return re.sub(r"\b100\b", "3", text)

    def shell(self, text, **more):
        return media.run("sh", "-ec", text, cwd=media.ROOT,
                         env=os.environ | {"PATH": f"{self.folder}:{os.environ['PATH']}"} | more)

    def expect_same(self):
        media.run(PROGRAM, *sorted((self.folder / "in").iterdir()), "-o", self.folder / "plain", "--filter",
                  LABELS.partition(" ")[0], "--json")
        for name in ("one.jsonl", "two.jsonl"):
            self.assertEqual((self.out / name).read_bytes(), (self.folder / "plain" / name).read_bytes())
        self.assertIn('"attempts": 3', (self.out / "summary.json").read_text(), "workers made the segments")

    def test_slurm(self):
        recipe, = re.findall(r"## Slurm\n\n```sh\n(.*?)```", PAGE, re.S)
        sbatch = self.folder / "sbatch"
        sbatch.write_text(SBATCH)
        sbatch.chmod(0o755)
        self.shell(self.here(recipe))
        self.expect_same()

    def test_kubernetes(self):
        command, = re.findall(r'command: \[sh, -c, "(.*?)"\]', PAGE, re.S)
        command = self.here(" ".join(command.split()))
        job = command.removeprefix("exec ").partition(" --segment ")[0]
        self.shell(job + " --plan")
        for number in range(3):
            self.shell(command, JOB_COMPLETION_INDEX=str(number))
        self.shell(job)
        self.expect_same()


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
