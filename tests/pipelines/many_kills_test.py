#!/usr/bin/python3
"""One job on Ray of which ten parts are killed at random: processes of segments, Ray's workers, its node, and the program
with all that it started. The same command goes on, and makes what a run over the whole file makes."""

import os
import random
import signal
import sys
import time
import unittest

import media
from archive_test import pictures
from cluster_test import PYTHON, OnCluster
from killed_test import kill_session
from transcoding import PROGRAM

# What is killed: words of a command line, or None for the program and all that it started.
VICTIMS = ["segment.py"] * 4 + ["ray::in.mkv"] * 3 + ["raylet/raylet", None, None]
CHAIN = "identity sleep-time=20000 ! cclabel output=none"


class Kills(OnCluster):
    CLIP = ("in.mkv", "testsrc2=size=64x48:rate=25:duration=7.68", "-pix_fmt", "yuv420p", "-g", "8")
    WORDS = ("--segments", "0.3", "--attempts", "20", "--profile", "lossless")

    def test_ten_kills(self):
        plain = self.folder / "plain"
        media.run(PYTHON, PROGRAM, self.source, "-o", plain, "--filter", CHAIN, "--json", "--profile", "lossless")
        seed = int(os.environ.get("REGIONS_SEED", "7"))
        print(f"seed {seed}", file=sys.stderr)
        numbers, work = random.Random(seed), None
        for victim in numbers.sample(VICTIMS, len(VICTIMS)):
            if not work or work.poll() is not None:
                work = self.start(CHAIN)
            found = self.wait_for(work, victim or "segment.py")
            time.sleep(numbers.uniform(0, 0.3))
            if not victim:
                kill_session(work.pid)
                work.communicate()
                continue
            try:
                os.kill(found, signal.SIGKILL)
            except ProcessLookupError:  # it ended meanwhile
                os.kill(self.wait_for(work, victim), signal.SIGKILL)
            if victim.startswith("raylet"):
                self.assertIn("the connection to the cluster is lost", self.finished(work, 1))
        if work.poll() is not None:
            work = self.start(CHAIN)
        self.finished(work)
        segments, attempts = self.attempts()
        self.assertEqual(segments, 24)
        self.assertLessEqual(attempts, segments + 20, f"seed {seed}: finished segments were repeated")
        self.assertEqual((self.out / "in.jsonl").read_bytes(), (plain / "in.jsonl").read_bytes(), f"seed {seed}")
        self.assertEqual(pictures(self.out / "in.mkv"), pictures(plain / "in.mkv"), f"seed {seed}")


if __name__ == "__main__":
    media.expect_tools()
    if not PYTHON.with_name("ray").exists():
        print("pipelines/cluster_requirements.txt is not installed into .venv/cluster")
        sys.exit(media.SKIPPED)
    unittest.main(verbosity=2)
