#!/usr/bin/python3
"""Disks that fill up during a job: it ends with the reason, no output has a final name, and the same command continues when
there is room again."""

import os
import resource
import subprocess
import sys

import media
from cases import KEYS, PROGRAM, UNTOUCHED, TranscodeCase, main

NOISE = "nullsrc=size=320x240:rate=25:duration=2,geq=random(1)*255:128:128"


def small_files():
    """Sets a limit on the size of files, at which a write fails as on a full disk. gcov's counts, which programs write at
    their end, are dropped."""
    os.environ["GCOV_PREFIX"] = os.devnull
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))


class FileSizeLimit(TranscodeCase):
    def test_transcode_with_a_file_size_limit_fails_for_the_large_input_only(self):
        clip = self.clip("in.mkv", "nullsrc=size=320x240:rate=25:duration=2,geq=random(1)*255:128:128",
                         "-c:v", "ffv1")
        small = self.clip("small.mkv", "color=size=64x48:rate=25:duration=1", "-c:v", "ffv1")
        size = 250_000
        text = self.transcode(clip, small, "--profile", "lossless", status=1, preexec_fn=lambda:
                              resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
        self.assertRegex(text, "in.mkv: .*(writing|File too large)")
        self.assertEqual(self.written(), ["small.mkv"])

    def test_scripts_with_a_file_size_limit_fail_and_leave_no_file(self):
        clip = self.clip("in.mkv", NOISE, "-c:v", "ffv1")
        self.out.mkdir()
        (self.out / "earlier").write_text("earlier")
        for command in ([media.script("overlay"), clip, self.out / "out.mp4"],
                        [media.script("with-plugin"), sys.executable, media.script("objects.py"), "--out", self.out, clip]):
            text = media.run(*command, status=1, preexec_fn=small_files)
            self.assertRegex(text, f"{clip}: .*(writing|File too large)")
            self.assertNotIn("Traceback", text)
            self.assertEqual(self.files(self.out), ["earlier"])


MOUNT = ["unshare", "-rm", "sh", "-ec"]
# In a small file system on $0: "$@" with little room, and again with more.
TWICE = """
mount -t tmpfs -o size=16m tmpfs "$0"
head -c 15500000 /dev/zero >"$0/ballast"
status=0
timeout 100 "$@" || status=$?
echo "status $status"
pgrep -s 0 -af 'transcode/processes[.]py|^ffmpeg' && echo "processes are left"
find "$0" -type f -printf 'left %P\\n'
rm "$0/ballast"
echo "with room"
"$@"
cp "$0"/in.* "$0/.."
"""


class SmallFileSystem(TranscodeCase):
    def test_transcode_when_the_disk_is_full_fails_and_the_next_run_writes_equal_outputs(self):
        (self.folder / "source").mkdir()
        clip = self.clip("source/in.mkv", "testsrc2=size=160x120:rate=25:duration=3.2", *KEYS)
        self.out.mkdir()
        plain = self.folder / "plain"
        words = ["--filter", UNTOUCHED, "--json", "--profile", "lossless", clip]
        self.transcode(*words[2:], out=plain, chain=UNTOUCHED)
        if subprocess.run([*MOUNT, "mount -t tmpfs tmpfs /mnt"], capture_output=True, check=False).returncode:
            self.skipTest("no file system can be mounted by unshare -rm here")
        for name, more in (("whole", ()), ("segments", ("--segments", "0.7", "-j", "2"))):
            with self.subTest(name):
                done = subprocess.run([*MOUNT, TWICE, str(self.out), str(PROGRAM), "-o", str(self.out), *map(str, words),
                                       *more], capture_output=True, text=True, start_new_session=True, check=False)
                before, _, after = done.stdout.partition("with room\n")
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn("status 1\n", before)
                self.assertRegex(done.stderr, r"in\.mkv: .*No space left on device|in\.mkv: .*[Nn]o space")
                self.assertNotIn("processes are left", before)
                self.assertNotRegex(before, r"left in\.(mkv|jsonl)\n")
                self.assertIn("80 frames in", after)
                self.assertEqual((self.folder / "in.jsonl").read_bytes(), (plain / "in.jsonl").read_bytes())
                self.assertEqual(media.pictures(self.folder / "in.mkv"), media.pictures(plain / "in.mkv"))


if __name__ == "__main__":
    main()
