#!/usr/bin/python3
"""regions-transcode with inputs, filters and disks that fail: the cause is named, what was finished
stays, and nothing half-written is left."""

import os
import resource
import subprocess
import unittest

import media
from transcoding import BALLS, PROGRAM, UNTOUCHED, TranscodeCase


class Failures(TranscodeCase):
    def test_bad_inputs_leave_the_others_alone(self):
        good = self.clip("good.mp4", BALLS, "-pix_fmt", "yuv420p")
        also = self.clip("also.mkv", BALLS, "-pix_fmt", "yuv420p")
        (self.folder / "empty.mp4").write_bytes(b"")
        (self.folder / "text.avi").write_text("this is no video\n" * 100)
        (self.folder / "cut.mp4").write_bytes(good.read_bytes()[:20000])
        self.clip("sound.wav", "sine=duration=1")
        bad = {"missing.mp4": "No such file", "empty.mp4": "the file is empty", "text.avi": "",
               "cut.mp4": "", "sound.wav": "holds no video"}
        text = self.transcode(good, *(self.folder / name for name in bad), also, "-j", "2", status=1)
        for name, reason in bad.items():
            self.assertRegex(text, f"regions-transcode: .*{name}: .*{reason}")
        self.assertIn("5 of 7 inputs failed", text)
        self.assertNotIn("Traceback", text)
        self.assertEqual(self.written(), ["also.mp4", "good.mp4"])
        for clip in (good, also):
            self.expect_same_times(clip, self.out / (clip.stem + ".mp4"))

    def test_damage_in_the_middle(self):
        whole = self.clip("whole.avi", BALLS, "-c:v", "mjpeg")
        data = bytearray(whole.read_bytes())
        middle = len(data) // 2
        data[middle:middle + 12000] = bytes(12000)
        damaged = self.folder / "damaged.avi"
        damaged.write_bytes(data)
        for _ in range(2):  # it is no success the second time
            self.assertRegex(self.transcode(damaged, status=1), r"damaged.avi: 4\d packets are there of 50: it is cut off")
            self.assertEqual(self.written(), ["damaged.partial.mp4"])
        self.assertIn("note: ", self.transcode(damaged, "--accept-partial"))
        self.assertGreaterEqual(len(media.times(self.out / "damaged.mp4")), 40)
        self.assertIn("skipped", self.transcode(damaged))
        ended = self.folder / "ended.avi"
        ended.write_bytes(whole.read_bytes()[:len(data) // 4])
        text = self.transcode(ended, status=1)
        self.assertRegex(text, r"ended.avi: \d+ packets are there of 50: it is cut off")

    def test_refusals(self):
        clip = self.clip("in.mp4", BALLS, "-pix_fmt", "yuv420p")
        twin = self.folder / "twin" / "in.mkv"
        twin.parent.mkdir()
        self.clip("twin/in.mkv", BALLS, "-pix_fmt", "yuv420p")
        for arguments, chain, reason in (
                ([clip], "cclabel ! nonsense", 'no element "nonsense"'),
                ([clip], "cclabel ! fakesink", "one unlinked sink pad and one unlinked source pad"),
                ([clip], "cclabel color=3", 'no property "color"'),
                ([clip], "cclabel threshold=7", "'threshold' of type 'gdouble': expected a number from 0 to 1"),
                ([clip], "cclabel track=perhaps", '"perhaps": expected true or false'),
                ([clip], "cclabel output=x", "expected one of overlay, labels, colors, mask, none"),
                ([clip], "regionoverlay style=box", "expected one or more of these, joined by +: boxes, outlines"),
                ([clip, twin], UNTOUCHED, f"{clip} and {twin} would both be written to"),
                ([clip, "-o", self.folder], UNTOUCHED, "which is an input"),
                ([clip, "-o", clip], UNTOUCHED, "cannot be made: "),
                ([clip, "-j", "0"], UNTOUCHED, "-j 0: expected a number from 1")):
            with self.subTest(reason):
                self.assertIn(reason, self.transcode(*arguments, chain=chain, status=2))
                self.assertEqual(self.written(), [])
        # What only shows with a frame at hand.
        for chain, option, reason in (("identity", "--json", "frame 0 has no `regions` metadata"),
                                      ("identity", "--labels", "frame 0 has no label map")):
            self.assertIn(reason, self.transcode(clip, option, chain=chain, status=1))
            self.assertEqual(self.written(), [])

    def test_filters_that_print(self):
        """What elements print to standard output is nothing that a job tells."""
        clips = [self.clip(name, "testsrc2=size=32x32:rate=25:duration=0.2", "-pix_fmt", "yuv420p")
                 for name in ("one.mp4", "two.mp4")]
        text = self.transcode(*clips, chain="identity dump=true")
        self.assertIn("00000000 (0x", text)
        self.assertNotIn("Traceback", text)
        self.assertEqual(self.written(), ["one.mp4", "two.mp4"])

    def test_an_input_that_a_sidecar_cannot_hold(self):
        """It fails alone, by name."""
        clip, other = (self.clip(name, "testsrc2=size=32x32:rate=25:duration=0.2", "-pix_fmt", "yuv420p")
                       for name in ("clip.mp4", "other.mp4"))
        text = self.transcode(clip, "--labels", chain="cclabel thresholds=<0.2,0.5,0.8> output=none")
        self.assertNotIn("Traceback", text)
        self.assertEqual(media.stream(self.out / "clip.labels.mkv", "width", "height"),
                         {"width": "32", "height": "96"})
        # A label map of another size than the metadata says, as a foreign element may attach it.
        fault = self.folder / "sitecustomize.py"
        fault.write_text("import runpy, sys\n"
                         "run = runpy.run_path\n"
                         "def run_path(path, **options):\n"
                         "    import numpy\n"
                         "    if 'clip.mp4' in str(sys.argv):\n"
                         "        numpy.prod = lambda _: 5\n"
                         "    return run(path, **options)\n"
                         "runpy.run_path = run_path\n")
        text = self.transcode(clip, other, "--labels", "--force", status=1,
                              env=os.environ | {"PYTHONPATH": str(self.folder)})
        self.assertRegex(text, "regions-transcode: .*clip.mp4: the label map of frame 0 has 4096 bytes; expected")
        self.assertNotIn("Traceback", text)
        self.assertIn("1 of 2 inputs failed", text)
        self.assertIn("other.mp4", self.written())
        self.assertFalse([name for name in self.written() if name.startswith(".")])

    def test_a_full_disk(self):
        """A limit on the size of files stands in for it: the write fails, as it does there."""
        clip = self.clip("in.mkv", "nullsrc=size=320x240:rate=25:duration=4,geq=random(1)*255:128:128",
                         "-c:v", "ffv1")
        small = self.clip("small.mkv", "color=size=64x48:rate=25:duration=1", "-c:v", "ffv1")
        size = 500_000
        text = self.transcode(clip, small, "--profile", "lossless", status=1, preexec_fn=lambda:
                              resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)))
        self.assertRegex(text, "in.mkv: .*(writing|File too large)")
        self.assertEqual(self.written(), ["small.mkv"])

    def test_a_device_that_goes_away(self):
        """What was finished before stays, and the one that was under way is named."""
        short = self.clip("short.mp4", "testsrc2=size=64x48:rate=25:duration=1",
                          "-pix_fmt", "yuv420p")
        long = self.clip("long.mp4", "testsrc2=size=64x48:rate=25:duration=40",
                         "-pix_fmt", "yuv420p")
        # So many steps that the short one just passes; every input is a process of its own.
        for steps in (250 * 2**i for i in range(6)):
            env = dict(os.environ, REGIONS_FAULTS=f"gone={steps}")
            done = subprocess.run([PROGRAM, "-o", self.folder / "try", "--filter", UNTOUCHED, short],
                                  env=env, capture_output=True, check=False)
            if done.returncode == 0:
                break
        text = self.transcode(short, long, status=1, env=env)
        self.assertRegex(text, "regions-transcode: .*long.mp4: .*the device was lost")
        self.assertIn("1 of 2 inputs failed", text)
        self.assertEqual(self.written(), ["short.mp4"])
        self.expect_same_times(short, self.out / "short.mp4")
        # The device is back.
        self.transcode(short, long)
        self.assertEqual(self.written(), ["long.mp4", "short.mp4"])


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
