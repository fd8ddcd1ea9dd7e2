#!/usr/bin/python3
"""Runs of regions-transcode that are interrupted or killed: nothing half-written is left, and the same command continues."""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time

import media
from cases import DRAWN, FRAMES, KEYS, PROGRAM, SMALL, UNTOUCHED, TranscodeCase, family, kill_session, main


class Runs(TranscodeCase):
    def test_segments_run_after_killed_runs_repeats_none_and_writes_equal_outputs(self):
        """The next run writes the same bytes, and each segment once."""
        clip = self.clip("in.mp4", SMALL, "-f", "lavfi", "-i", f"sine=duration={FRAMES / 25}", *KEYS, "-c:a", "aac")
        self.segments(clip)
        names = ("in.mp4", "in.jsonl")
        wanted = [(self.out / name).read_bytes() for name in names]
        command = [str(word) for word in (PROGRAM, "-o", self.out, "--filter", UNTOUCHED, clip, "--segments", "0.7", "-j",
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
        self.segments(clip)
        self.assertEqual([(self.out / name).read_bytes() for name in names], wanted, f"seed {seed}")
        self.assertEqual(self.written(), ["in.jsonl", "in.mp4", "job.json", "summary.json"])

    def test_segment_when_its_job_is_killed_is_tried_again(self):
        """Its segment is attempted again by the same run."""
        clip = self.clip("in.mp4", SMALL, *KEYS)
        slow = "identity sleep-time=30000 ! " + UNTOUCHED
        command = [str(word) for word in (PROGRAM, "-o", self.out, "--filter", slow, clip, "--segments", "0.7")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as work:
            found = []
            while not found:
                self.assertIsNone(work.poll())
                found = family(work.pid, "regions-segment")
            os.kill(found[0], signal.SIGKILL)
            text = work.communicate(timeout=100 * media.PATIENCE)[0].decode()
        self.assertEqual(work.returncode, 0, text)
        self.assertRegex(text, "segment [123] of 3 failed: the job was ended by SIGKILL")  # several work at once
        self.assertEqual(self.summary()["inputs"][str(clip)]["attempts"], 4)
        self.assertEqual(len(media.times(self.out / "in.mp4")), FRAMES)

    def start(self, *clips):
        """A slow run over clips, and its first line: it works on frames by then."""
        self.out.mkdir(exist_ok=True)
        work = subprocess.Popen([str(word) for word in (
            PROGRAM, "-o", self.out, "--filter", "identity sleep-time=20000 ! " + UNTOUCHED, "--json", *clips)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return work, work.stdout.readline()

    def test_run_after_an_interrupted_run_skips_finished_files_and_writes_the_others(self):
        first, second = (self.clip(name, SMALL, "-pix_fmt", "yuv420p") for name in ("first.mp4", "second.mp4"))
        self.transcode(first, "--json")
        stamp = (self.out / "first.mp4").stat().st_mtime_ns
        work, line = self.start(second)
        work.send_signal(signal.SIGINT)
        text = line + work.communicate(timeout=100)[0]
        self.assertEqual(work.returncode, 130, text)
        self.assertIn("interrupted; finished files stay", text)
        self.assertEqual(self.written(), ["first.jsonl", "first.mp4"])
        self.assertIn("first.mp4: skipped", self.transcode(first, second, "--json"))
        self.assertEqual((self.out / "first.mp4").stat().st_mtime_ns, stamp)
        self.expect_same_times(second, self.out / "second.mp4")

    def test_jobs_of_a_killed_run_end_and_leave_no_file(self):
        work, line = self.start(self.clip("in.mp4", SMALL, "-pix_fmt", "yuv420p"))
        self.assertIn("frame", line)
        work.kill()
        work.communicate(timeout=100)  # the jobs hold the other end of this pipe until they end
        self.assertEqual(self.written(), [])


KILLS = 12
LENGTH = 60


class AtRandom(TranscodeCase):
    """Kills of a run and of all its processes at random moments, as by a power failure: a file with its final name is
    whole, the video is named last, and the next run completes the work."""

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
                self.assertEqual([row["frame"] for row in media.tables(path.read_text())], list(range(LENGTH)))
            else:
                self.assertEqual(len(media.times(path)), LENGTH, name)
                self.assertEqual(media.run("ffmpeg", "-v", "error", "-i", path, "-f", "null", "-"), "", name)

    def test_run_when_killed_at_random_leaves_only_complete_files(self):
        clip = self.clip("in.mkv", f"testsrc2=size=64x48:rate=25:duration={LENGTH / 25}", "-f", "lavfi", "-i",
                         f"sine=duration={LENGTH / 25}", "-c:v", "ffv1", "-c:a", "flac")
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
                    # Late moments are the most dangerous, because files get their names at the end.
                    time.sleep(lengths[bool(number % 3)] * max(numbers.random(), numbers.random()))
                    kill_session(process.pid)
                self.expect_whole()
                if number % 3 and "in.mkv" in self.written():
                    self.assertLessEqual(names, {*self.written()})
                if number % 3 == 2:
                    self.transcode(clip, "--json", "--labels", "--profile", "mkv", "--force", chain=DRAWN)
                    self.expect_whole()
                    self.assertEqual({*self.written()} - {"drawn.mkv"}, names, "nothing else is left")
                    for path in self.out.iterdir():
                        path.unlink()


if __name__ == "__main__":
    main()
