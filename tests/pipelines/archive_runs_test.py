#!/usr/bin/python3
"""Runs in segments that fail, are killed, and go on: nothing is lost, and nothing finished is done again."""

import contextlib
import fcntl
import json
import os
import random
import signal
import subprocess
import time
import unittest

import media
from killed_test import kill_session
from transcode_runs_test import family
from transcoding import PROGRAM, TranscodeCase

FRAMES = 80
SMALL = f"testsrc2=size=64x48:rate=25:duration={FRAMES / 25}"
KEYS = ("-pix_fmt", "yuv420p", "-force_key_frames", "0,0.8,1.6")  # two segments of 20 frames, one of 40
SOUND = ("-f", "lavfi", "-i", f"sine=duration={FRAMES / 25}")
LABELS = "cclabel output=none"
REFUSES_LONG = "identity error-after=30 ! " + LABELS  # what has more than 30 frames


class Runs(TranscodeCase):
    def cut(self, *arguments, **options):
        return self.transcode(*arguments, "--segments", "0.7", "-j", "2", "--json", **options)

    def segment(self, name, number):
        return json.loads((self.out / f"{name}.segments" / f"{number:04}.json").read_text())

    def summary(self):
        return json.loads((self.out / "summary.json").read_text())

    def test_quarantine(self):
        """A segment that always fails holds up neither its file nor others, and is tried again by the next run."""
        bad = self.clip("bad.mp4", SMALL, *KEYS)
        good = self.clip("good.mp4", SMALL, "-pix_fmt", "yuv420p", "-g", "20")
        text = self.cut(bad, good, "--attempts", "2", chain=REFUSES_LONG, status=1)
        self.assertRegex(text, r"bad.mp4: segment 3 of 3: quarantined after 2 attempts: .*; finished segments are kept in \S+")
        self.assertEqual(self.written(), ["bad.mp4.segments", "good.jsonl", "good.mp4", "job.json", "summary.json"])
        told = self.summary()
        self.assertEqual(told["files"], {"done": 1, "quarantined": 1})
        self.assertRegex(self.status(1), r"bad.mp4: 2 done, 1 quarantined\n  segment 3 of 3 quarantined: ")
        self.assertEqual([told["inputs"][str(clip)]["attempts"] for clip in (bad, good)], [4, 4])
        self.assertEqual([self.segment("bad.mp4", number)["state"] for number in range(3)],
                         ["done", "done", "quarantined"])
        # A finished segment is done again only where its files are not as they were.
        with open(self.out / "bad.mp4.segments" / "0000.jsonl", "a", encoding="utf-8") as file:
            file.write("{}\n")
        text = self.cut(bad, good, "--attempts", "2", chain=REFUSES_LONG, status=1)
        self.assertIn("good.mp4: skipped", text)
        self.assertEqual([self.segment("bad.mp4", number)["attempts"] for number in range(3)], [2, 1, 4])
        self.assertEqual(self.summary()["files"], {"quarantined": 1, "skipped": 1})

    def test_what_status_tells_of_files_that_failed(self):
        """Inputs that could not be cut, and inputs whose segments could not be joined."""
        text, whole = self.folder / "text.mp4", self.clip("in.mp4", SMALL, *KEYS)
        text.write_text("no video")
        damaged = self.clip("damaged.mkv", SMALL, *KEYS)
        with open(damaged, "rb+") as file:
            file.truncate(damaged.stat().st_size * 2 // 3)
        self.cut(text, whole, damaged, self.folder / "none.mp4", "--attempts", "1", chain=LABELS, status=1)
        told = self.status(1)
        self.assertRegex(told, r"text.mp4: quarantined after 1 attempts?: holds no video")
        self.assertIn("in.mp4: done\n", told)
        self.assertRegex(told, r"damaged.mkv: \d done; quarantined after 1 attempts?: .*cut off or damaged")
        self.assertIn("none.mp4: cannot be read: No such file", told)
        self.cut(text, "--plan", chain=LABELS, status=1)
        self.assertIn("text.mp4: waiting\n", self.status(1), "the result of an earlier job is not reported for this job")

    def test_filters_that_change_how_many_frames_there_are(self):
        text = self.cut(self.clip("in.mp4", SMALL, *KEYS), "--attempts", "1", status=1,
                        chain="videorate ! video/x-raw,framerate=10/1 ! " + LABELS)
        self.assertRegex(text, r"the filter made \d+ frames of \d+: it can not be cut; --exact transcodes files in one segment")

    def test_pictures_that_depend_on_where_decoding_begins(self):
        """A camera stream without whole key frames: the check finds that its seams differ."""
        clip = self.clip("in.mp4", SMALL, "-pix_fmt", "yuv420p", "-x264-params", "intra-refresh=1:keyint=20:scenecut=0")
        text = self.cut(clip, status=1, chain=LABELS)
        self.assertIn("its pictures depend on where decoding begins", text)
        self.cut(clip, "--exact", chain=LABELS)
        self.assertEqual(len(media.times(self.out / "in.mp4")), FRAMES)

    def test_two_jobs_in_one_folder(self):
        clip = self.clip("in.mp4", SMALL, *KEYS)
        self.out.mkdir()
        with open(self.out / ".regions-job.lock", "w", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            text = self.cut(clip, status=2)
        self.assertIn(f"another job is working in {self.out}", text)
        self.assertEqual([path.name for path in self.out.iterdir()], [".regions-job.lock"])

    def test_refusals(self):
        clip = self.clip("in.mp4", SMALL, *KEYS)
        for words, why in ((("--segments", "0"), "--segments 0: expected a number of seconds above 0"),
                           (("--segments", "nan"), "--segments nan: expected a number of seconds above 0"),
                           (("--segments", "1", "--attempts", "0"), "--attempts 0: expected a whole number, 1 or more"),
                           (("--plan",), "--plan and --segment require --segments"),
                           (("--segments", "1", "--segment", "3/2"), "'3/2': expected K/N with K from 1 to N"),
                           (("--segments", "1", "--segment", "0/2"), "'0/2': expected K/N with K from 1 to N"),
                           (("--segments", "1", "--gpus-per-task", "1.5"), "--gpus-per-task 1.5: expected a fraction below 1 or"),
                           (("--segments", "1", "--memory-per-task", "-1"), "--memory-per-task -1: expected a number, 0 or more"),
                           (("--warm-up", "1"), "--warm-up requires --segments"),
                           (("--segments", "1", "--warm-up", "-1"), "--warm-up -1: expected a number of seconds, 0 or more")):
            self.assertIn(why, self.transcode(clip, *words, status=2))
        self.assertFalse(self.out.exists())

    def status(self, status):
        return media.run(PROGRAM, "-o", self.out, "--status", status=status)

    def test_workers(self):
        """As of a Slurm array: a plan, shares of it at once, and a command that joins."""
        clip, short = self.clip("in.mp4", SMALL, *KEYS), self.clip("short.mp4", SMALL, "-pix_fmt", "yuv420p")
        self.cut(clip, short)
        names = ("in.mp4", "in.jsonl", "short.mp4", "short.jsonl")
        wanted = [(self.out / name).read_bytes() for name in names]
        for path in self.out.iterdir():
            path.unlink()
        self.assertIn("contains no valid job.json", self.status(2))
        self.assertIn("run the same command with --plan first", self.cut(clip, "--segment", "1/2", status=1))
        self.assertIn("in.mp4: 3 segments\n", self.cut(clip, short, "--plan"))
        self.assertEqual(self.written(), ["in.mp4.segments", "job.json", "short.mp4.segments"])
        self.assertIn("in.mp4: 3 waiting\n", self.status(1))
        command = [str(word) for word in (PROGRAM, "-o", self.out, "--filter", LABELS, clip, short, "--segments", "0.7",
                                          "--json", "--segment")]
        workers = [subprocess.Popen([*command, f"{number}/2"], stdout=subprocess.DEVNULL) for number in (1, 2)]
        self.assertEqual([worker.wait() for worker in workers], [0, 0])
        text = self.status(1)
        self.assertIn("in.mp4: 3 done\n", text)
        self.assertIn("short.mp4: 1 done\n0 of 2 files are done, and 4 of 4 segments of the other files; failed attempts: 0; the job is not running", text)
        text = self.cut(clip, short)
        self.assertEqual([(self.out / name).read_bytes() for name in names], wanted)
        self.assertEqual([each["attempts"] for each in self.summary()["inputs"].values()], [3, 1], "each once")
        self.assertIn("2 of 2 files", self.status(0))

    def test_kills(self):
        """Killing a whole run, or one job: the next run writes the same bytes, and each segment once."""
        clip = self.clip("in.mp4", SMALL, *SOUND, *KEYS, "-c:a", "aac")
        self.cut(clip)
        names = ("in.mp4", "in.jsonl")
        wanted = [(self.out / name).read_bytes() for name in names]
        command = [str(word) for word in (PROGRAM, "-o", self.out, "--filter", LABELS, clip, "--segments", "0.7", "-j",
                                          "2", "--json")]
        seed = int.from_bytes(os.urandom(4), "big")
        times = random.Random(seed)
        for path in self.out.iterdir():
            path.unlink()

        def finished():
            states = []
            for path in (self.out / "in.mp4.segments").glob("0*.json"):
                with contextlib.suppress(FileNotFoundError):  # joined meanwhile
                    states.append(json.loads(path.read_text())["state"])
            return states.count("done")

        done = 0
        for number in range(int(os.environ.get("REGIONS_KILLS", "4"))):
            least = done + (times.random() < 0.5 if number else 1)  # segments that are done when it is killed
            with self.subTest(number=number, seed=seed), subprocess.Popen(
                    command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as work:
                while work.poll() is None and finished() < least:
                    time.sleep(0.01)
                time.sleep(times.uniform(0, 0.5))
                kill_session(work.pid)
            for name, bytes_ in zip(names, wanted):
                if (self.out / name).exists():
                    self.assertEqual((self.out / name).read_bytes(), bytes_, name)
            if (self.out / "in.mp4").exists():
                break
            self.assertGreaterEqual(finished(), done, "a finished segment was lost")
            done = finished()
        self.assertTrue(done or (self.out / "in.mp4").exists(), "each was killed before a segment was done")
        self.cut(clip)
        self.assertEqual([(self.out / name).read_bytes() for name in names], wanted, f"seed {seed}")
        self.assertEqual(self.written(), ["in.jsonl", "in.mp4", "job.json", "summary.json"])

    def test_a_job_that_is_killed(self):
        """Its segment is attempted again by the same run."""
        clip = self.clip("in.mp4", SMALL, *KEYS)
        slow = "identity sleep-time=50000 ! " + LABELS
        command = [str(word) for word in (PROGRAM, "-o", self.out, "--filter", slow, clip, "--segments", "0.7")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as work:
            found = []
            while not found:
                self.assertIsNone(work.poll())
                found = family(work.pid, "segment.py")
            os.kill(found[0], signal.SIGKILL)
            text = work.communicate(timeout=100 * media.PATIENCE)[0].decode()
        self.assertEqual(work.returncode, 0, text)
        self.assertRegex(text, "segment [123] of 3 failed: the job was ended by SIGKILL")  # several work at once
        self.assertEqual(self.summary()["inputs"][str(clip)]["attempts"], 4)
        self.assertEqual(len(media.times(self.out / "in.mp4")), FRAMES)


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
