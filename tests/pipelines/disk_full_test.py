#!/usr/bin/python3
"""Folders that fill up while a job writes into them: it ends and says why, nothing has a final name, and the same command
goes on when there is room again. Skipped where `unshare` may not mount a small file system."""

import subprocess
import sys
import unittest

import media
from archive_runs_test import KEYS, LABELS
from archive_test import pictures
from transcoding import PROGRAM, TranscodeCase

MOUNT = ["unshare", "-rm", "sh", "-ec"]
# In a small file system on $0: "$@" with little room, and again with more.
TWICE = """
mount -t tmpfs -o size=16m tmpfs "$0"
head -c 15500000 /dev/zero >"$0/ballast"
status=0
timeout 100 "$@" || status=$?
echo "status $status"
pgrep -s 0 -af 'transcode/(job|segment|assembly|cutting)[.]py|^ffmpeg' && echo "processes are left"
find "$0" -type f -printf 'left %P\\n'
rm "$0/ballast"
echo "with room"
"$@"
cp "$0"/in.* "$0/.."
"""


class Full(TranscodeCase):
    def test_a_folder_that_fills_up(self):
        (self.folder / "source").mkdir()
        clip = self.clip("source/in.mkv", "testsrc2=size=160x120:rate=25:duration=3.2", *KEYS)
        self.out.mkdir()
        plain = self.folder / "plain"
        words = ["--filter", LABELS, "--json", "--profile", "lossless", clip]
        media.run(PROGRAM, "-o", plain, *words)
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
                self.assertEqual(pictures(self.folder / "in.mkv"), pictures(plain / "in.mkv"))


if __name__ == "__main__":
    media.expect_tools()
    if subprocess.run([*MOUNT, "mount -t tmpfs tmpfs /mnt"], capture_output=True, check=False).returncode:
        print("no file system can be mounted by unshare -rm here")
        sys.exit(media.SKIPPED)
    unittest.main(verbosity=2)
