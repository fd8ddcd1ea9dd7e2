#!/usr/bin/python3
"""What goes wrong in the middle: full disks and damaged files, for the quickstart and the scripts. (For
regions-transcode see transcode_failures_test.py, for cameras live_test.py.)"""

import os
import pathlib
import resource
import tempfile
import unittest

import media

NOISE = "nullsrc=size=320x240:rate=25:duration=2,geq=random(1)*255:128:128"


def small_files():
    """A limit on the size of files stands in for a full disk: the write fails, as it does there. gcov's
    counts, which programs write as they end, go nowhere."""
    os.environ["GCOV_PREFIX"] = os.devnull
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))


class Trouble(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"
        self.out.mkdir()
        (self.out / "earlier").write_text("earlier")

    def left(self):
        return sorted(path.name for path in self.out.iterdir())

    def damaged(self):
        """Frames in the middle are zeros."""
        whole = media.make(self.folder / "whole.avi", NOISE, "-c:v", "mjpeg")
        data = bytearray(whole.read_bytes())
        middle = len(data) // 2
        data[middle:middle + 30000] = bytes(30000)
        clip = self.folder / "damaged.avi"
        clip.write_bytes(data)
        return clip

    def test_a_full_disk_leaves_nothing_half_written(self):
        clip = media.make(self.folder / "in.mkv", NOISE, "-c:v", "ffv1")
        for name, out in (("overlay", "out.mp4"), ("labels", "out.mkv"), ("background", "out.mp4"),
                          ("superpixels", "out.mp4")):
            with self.subTest(name), self.assertRaises(AssertionError) as failure:
                media.run(media.script(name), clip, self.out / out, preexec_fn=small_files)
            self.assertRegex(str(failure.exception), f"{name}: {clip}: .*(writing|File too large)")
            self.assertEqual(self.left(), ["earlier"], name)

    def test_a_full_disk_and_the_quickstart(self):
        clip = media.make(self.folder / "in.mkv", NOISE, "-c:v", "ffv1")
        text = media.objects("--out", self.out, clip, status=1, preexec_fn=small_files)
        self.assertRegex(text, "quickstart: .*in.mkv: .*(writing|File too large)")
        self.assertNotIn("Traceback", text)
        self.assertEqual(self.left(), ["earlier"])

    def test_damage_in_the_middle(self):
        clip = self.damaged()
        media.objects("--out", self.out, clip, status=1)
        self.assertEqual(self.left(), ["earlier", "overlay.partial.mp4"])
        self.assertGreaterEqual(len(media.times(self.out / "overlay.partial.mp4")), 35)
        for name, out in (("overlay", "o.mp4"), ("labels", "l.mkv"), ("background", "b.mp4"),
                          ("superpixels", "s.mp4")):
            with self.subTest(name):
                text = media.run(media.script(name), clip, self.out / out, status=1)
                self.assertRegex(text, f"{name}: .*: [34].+ 50.*: it is cut off or damaged; the readable part is in files with .partial")
                self.assertFalse((self.out / out).exists())
                self.assertGreaterEqual(len(media.times(self.out / out.replace(".", ".partial."))), 35)

    def test_uneven_times_stay_uneven(self):
        clip = media.make(self.folder / "uneven.mkv", NOISE, "-vf",
                          "select='not(mod(n,3))+not(mod(n,5))'", "-fps_mode", "vfr", "-pix_fmt", "yuv420p")
        times = media.times(clip)
        self.assertGreater(len({round(b - a, 2) for a, b in zip(times, times[1:])}), 1)
        for name, out in (("labels", "l.mkv"), ("overlay", "o.mp4"), ("superpixels", "s.mp4")):
            with self.subTest(name):
                media.run(media.script(name), clip, self.out / out)
                written = media.times(self.out / out)
                self.assertEqual(len(written), len(times))
                for before, after in zip(times, written):
                    self.assertAlmostEqual(before - times[0], after - written[0], delta=2e-3)

    def test_a_file_without_video_is_named(self):
        sound = media.make(self.folder / "sound.wav", "sine=duration=1")
        for name, out in (("labels", "l.mkv"), ("overlay", "o.mp4"), ("superpixels", "s.mp4"),
                          ("background", "b.mp4")):
            with self.subTest(name), self.assertRaises(AssertionError) as failure:
                media.run(media.script(name), sound, self.out / out)
            self.assertRegex(str(failure.exception), f"{name}: {sound}: holds no video")
            self.assertEqual(self.left(), ["earlier"], name)


if __name__ == "__main__":
    media.expect_tools()
    unittest.main(verbosity=2)
