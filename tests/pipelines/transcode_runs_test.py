#!/usr/bin/python3
"""A run of regions-transcode as it is seen from outside: interrupted, killed, run again, watched on a
terminal, spread over devices."""

import contextlib
import os
import pathlib
import pty
import random
import re
import signal
import subprocess
import sys
import termios
import time
import unittest

import media
from transcoding import BALLS, DRAWN, PROGRAM, SOUND, UNTOUCHED, TranscodeCase, sound_times


def family(number, words=""):
    """A process and those that it began, whose command lines or names have these words: jobs have their program's."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        told, name, children = (pathlib.Path(f"/proc/{number}/{what}").read_text(errors="replace")
                                for what in ("cmdline", "comm", f"task/{number}/children"))
        found = [number] if words in told.replace("\0", " ") + name else []
        return found + [more for child in children.split() for more in family(int(child), words)]
    return []


class Runs(TranscodeCase):
    def start(self, *arguments):
        """A run over the long clip, and its first line: it works on frames by then."""
        self.out.mkdir()
        work = subprocess.Popen([str(word) for word in (
            PROGRAM, "-o", self.out, "--filter", DRAWN, "--json", media.CLIP, *arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return work, work.stdout.readline()

    def test_interrupted_and_run_again(self):
        first = self.clip("first.mp4", BALLS, *SOUND, "-pix_fmt", "yuv420p", "-c:a", "aac")
        self.transcode(first, "--json", chain=DRAWN)
        stamp = (self.out / "first.mp4").stat().st_mtime_ns
        self.out.rename(self.folder / "keep")
        work, line = self.start()
        work.send_signal(signal.SIGINT)
        text = line + work.communicate(timeout=100)[0]
        self.assertEqual(work.returncode, 130, text)
        self.assertIn("interrupted; finished files stay", text)
        self.assertEqual(self.written(), [])
        for path in (self.folder / "keep").iterdir():
            path.rename(self.out / path.name)
        text = self.transcode(first, media.CLIP, "--json", chain=DRAWN)
        self.assertIn("first.mp4: skipped", text)
        self.assertEqual((self.out / "first.mp4").stat().st_mtime_ns, stamp)
        self.expect_same_times(media.CLIP, self.out / "vtest.mp4")
        self.assertEqual(len(media.times(self.out / "vtest.mp4")), 795)

    def test_killed(self):
        """The jobs notice that the run has ended, and leave nothing."""
        work, line = self.start()
        self.assertIn("frame", line)
        work.kill()
        work.communicate(timeout=100)  # the jobs hold the other end of this pipe until they end
        self.assertEqual(self.written(), [])

    def test_killed_with_its_jobs_at_random(self):
        """As by a power cut: what has a final name is whole."""
        clip = self.clip("in.mp4", "testsrc2=size=64x48:rate=25:duration=8", *SOUND, "-pix_fmt", "yuv420p", "-c:a", "aac")
        command = [str(word) for word in (PROGRAM, "-o", self.out, "--filter", DRAWN, "--json", "--force", clip)]
        began = time.monotonic()
        media.run(*command)
        whole = time.monotonic() - began
        times = random.Random(7)
        for _ in range(int(os.environ.get("REGIONS_KILLS", "4"))):
            for path in self.out.iterdir():
                path.unlink()
            work = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while work.poll() is None and not self.written():  # however loaded the machine is, it has begun to write
                time.sleep(0.01)
            time.sleep(times.uniform(0, 0.5) * whole)
            for number in family(work.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            work.wait()
            self.assertTrue(self.written(), "was killed before it wrote")
            if (self.out / "in.mp4").exists():
                self.assertEqual(len(media.times(self.out / "in.mp4")), 200)
                self.assertGreater(len(sound_times(self.out / "in.mp4")), 80)
            if (self.out / "in.jsonl").exists():
                self.assertEqual(len((self.out / "in.jsonl").read_text().splitlines()), 200)
        media.run(*command)
        self.assertEqual(self.written(), ["in.jsonl", "in.mp4"], "what was left is removed")

    def test_progress_on_a_terminal(self):
        clip = self.clip("in.mp4", BALLS, "-pix_fmt", "yuv420p")
        # However quick the machine is, it takes a second, and progress is told four times.
        slow = f"identity sleep-time=20000 ! {UNTOUCHED}"
        for columns, told in ((100, r"\rin.mp4:  ?\d+%\|.*\| \d+/50 \[.*, \d+\.\d+ frames/s\]"),
                              (0, r"in.mp4: frame \d+ of about 50, \d+ %, \d+ frames/s")):
            with self.subTest(columns):
                reader, writer = pty.openpty()
                termios.tcsetwinsize(writer, (24, columns))
                work = subprocess.Popen([str(PROGRAM), "--force", "-o", str(self.out), "--filter", slow, str(clip)],
                                        stdout=writer, stderr=writer)
                os.close(writer)
                shown = b""
                try:
                    while more := os.read(reader, 4096):
                        shown += more
                except OSError:  # how a terminal tells its end
                    pass
                os.close(reader)
                self.assertEqual(work.wait(), 0, shown)
                self.assertRegex(shown.decode(), told)
                self.assertRegex(shown.decode(), r"in.mp4: 50 frames in [\d.]+ s \(\d+ frames/s, [\d.]+ times playing"
                                 r" speed\); wrote .*out/in.mp4")

    def test_jobs_are_spread_over_devices(self):
        text = media.run(media.script("with-plugin"), sys.executable, "-c", """
import sys; sys.path[:0] = [sys.argv[1], sys.argv[1] + '/..']
import importlib.machinery, importlib.util
loader = importlib.machinery.SourceFileLoader('program', sys.argv[1] + '/regions-transcode')
program = importlib.util.module_from_spec(importlib.util.spec_from_loader('program', loader))
loader.exec_module(program)
import filters
def ids(line, device):
    bin = filters.made(line, (), device, True)
    return [bin.get_by_name(name).get_property('cuda-device-id') for name in 'ab']
print([program.device_for(slot, 3) for slot in range(5)], program.device_for(4, 1))
print(ids('cclabel name=a ! videoconvert ! regionoverlay name=b', 2))
print(ids('cclabel name=a cuda-device-id=1 ! regionoverlay name=b', 2))
""", PROGRAM.parent)
        self.assertEqual(re.findall(r"\[.*\].*", text), ["[0, 1, 2, 0, 1] -1", "[2, 2]", "[1, -1]"])


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
