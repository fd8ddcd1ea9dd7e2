#!/usr/bin/python3
"""Runs that are killed at random moments, with all processes that they started, as when power fails: a file that has
its final name is whole, a video's name comes after those of what is written beside it, and the next run ends the work."""

import os
import random
import signal
import subprocess
import sys
import time
import unittest

import media
from transcoding import DRAWN, PROGRAM, TranscodeCase

KILLS = 30
FRAMES = 60


def kill_session(leader):
    """Kills a process and all that it started, which have process groups of their own, until none is left: one may
    start another while they are looked through."""
    found = True
    while found:
        found = False
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
                    state, _, _, session = file.read().rpartition(")")[2].split()[:4]
                if int(session) == leader and state != "Z":
                    os.kill(int(process), signal.SIGKILL)
                    found = True
            except (FileNotFoundError, ProcessLookupError):
                pass


class Killed(TranscodeCase):
    def command(self, clip, number):
        if number % 3:
            return [PROGRAM, "-o", self.out, "--filter", DRAWN, "--json", "--labels", "--profile", "mkv", clip]
        return [media.script("overlay"), clip, self.out / "drawn.mkv"]

    def expect_whole(self):
        for name in self.written():
            path = self.out / name
            if name.startswith(".regions-"):
                continue
            if name.endswith(".jsonl"):
                self.assertEqual([row["frame"] for row in media.tables(path.read_text())], list(range(FRAMES)))
            else:
                self.assertEqual(len(media.times(path)), FRAMES, name)
                self.assertEqual(media.run("ffmpeg", "-v", "error", "-i", path, "-f", "null", "-"), "", name)

    def test_kills(self):
        clip = self.clip("in.mkv", f"testsrc2=size=160x120:rate=25:duration={FRAMES / 25}", "-f", "lavfi", "-i",
                         f"sine=duration={FRAMES / 25}", "-c:v", "ffv1", "-c:a", "flac")
        lengths = []
        for number in range(2):
            began = time.monotonic()
            self.out.mkdir(exist_ok=True)
            subprocess.run(self.command(clip, number), check=True, capture_output=True)
            lengths.append(time.monotonic() - began)
            self.expect_whole()
            for path in self.out.iterdir():
                path.unlink()
        seed = int.from_bytes(os.urandom(4), "big")
        print(f"seed {seed}", file=sys.stderr)
        numbers, names = random.Random(seed), {"in.jsonl", "in.labels.mkv", "in.mkv"}
        for number in range(KILLS):
            with self.subTest(number=number, seed=seed):
                with subprocess.Popen(self.command(clip, number), start_new_session=True, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL) as process:
                    # Most of the dangers are at the end, where files get their names.
                    time.sleep(lengths[bool(number % 3)] * max(numbers.random(), numbers.random()))
                    kill_session(process.pid)
                self.expect_whole()
                if number % 3 and "in.mkv" in self.written():
                    self.assertLessEqual(names, {*self.written()})
                if number % 3 == 2:  # the next run finds what two left
                    self.transcode(clip, "--json", "--labels", "--profile", "mkv", "--force", chain=DRAWN)
                    self.expect_whole()
                    self.assertEqual({*self.written()} - {"drawn.mkv"}, names, "nothing else is left")
                    for path in self.out.iterdir():
                        path.unlink()


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
