#!/usr/bin/python3
"""The programs of pipelines/embed, compared with SciPy on frames that ffmpeg decodes.

  embed_test.py PROGRAM…
"""

import pathlib
import re
import sys
import tempfile
import unittest

import media
import numpy
from scipy import ndimage

FRAMES = 60
LINE = re.compile(r"frame (\d+): (\d+) regions, the largest is region (\d+) with (\d+) pixels \((\d+) in the label map\)")
PYTHON = (sys.executable, media.ROOT / "pipelines" / "embed" / "regions.py")


def expected(picture, threshold):
    """The number of regions, and the size of the largest region."""
    labels, count = ndimage.label(picture >= threshold, numpy.ones((3, 3)))
    return count, numpy.bincount(labels.flat)[1:].max(initial=0)


class Embed(unittest.TestCase):
    programs = {"Python": PYTHON}

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.clip = media.make(
            pathlib.Path(folder.name) / "noise.mkv",
            f"nullsrc=size=97x61:rate=10:duration={FRAMES / 10},format=gray,geq=lum='random(1)*255'",
            "-c:v", "ffv1")
        pictures = media.frames(cls.clip, "gray")
        # Thresholds of 0.5 and 0.8, of 255.
        cls.before = [expected(picture, 128) for picture in pictures]
        cls.after = [expected(picture, 204) for picture in pictures]

    def run_program(self, *arguments, status=0):
        return media.run(media.script("with-plugin"), *arguments, status=status)

    def test_embed_programs_with_a_clip_print_the_regions_of_both_thresholds(self):
        for name, program in self.programs.items():
            with self.subTest(name):
                rows = [tuple(map(int, LINE.fullmatch(line).groups()))
                        for line in self.run_program(*program, self.clip).splitlines()]
                self.assertEqual([row[0] for row in rows], list(range(FRAMES)))
                self.assertTrue(all(area == counted for *_, area, counted in rows))
                found = [(count, area) for _, count, _, area, _ in rows]
                # Frames that were on their way already keep the threshold they began with.
                changed = next(i for i in range(FRAMES) if found[i] != self.before[i])
                self.assertGreaterEqual(changed, 10)
                self.assertLess(changed, FRAMES - 10)
                self.assertEqual(found, self.before[:changed] + self.after[changed:])

    def test_embed_programs_with_missing_file_or_argument_exit_with_an_error(self):
        for name, program in self.programs.items():
            with self.subTest(name):
                self.assertIn("Resource not found",
                              self.run_program(*program, "missing.avi", status=1))
                self.run_program(*program, status=2)

    def test_label_map_in_embed_python_is_read_without_a_copy(self):
        """NumPy's array is at the address of the mapped label map."""
        text = self.run_program(sys.executable, "-c", """
import ctypes, runpy, sys
module = runpy.run_path(sys.argv[1])
gst, label_map = module['Gst'], module['label_map']
gst.init(None)
pipeline = gst.parse_launch('videotestsrc num-buffers=1 ! cclabel device=cpu output=none'
                            ' ! appsink name=frames')
pipeline.set_state(gst.State.PLAYING)
sample = pipeline.get_by_name('frames').emit('pull-sample')
found = sample.get_buffer().get_custom_meta('regions').get_structure()
with label_map(found) as labels, label_map(found) as again:
    print(labels.shape, labels.max() > 0, labels.flags.owndata, labels.flags.writeable,
          labels.ctypes.data == again.ctypes.data)
pipeline.set_state(gst.State.NULL)
""", PYTHON[1])
        self.assertEqual(text.split("\n")[0], "(240, 320) True False False True")

    def test_plugin_error_after_pyav_was_loaded_is_posted_without_a_crash(self):
        """PyAV loads libstdc++ before GStreamer loads libunwind, which would catch exceptions that it did not throw."""
        text = self.run_program(sys.executable, "-c", """
import av
import gi
gi.require_version("Gst", "1.0")
from gi.repository import Gst
Gst.init(None)
pipeline = Gst.parse_launch("videotestsrc num-buffers=3 ! graphcutbg model-location=/dev/null/x ! fakesink")
pipeline.set_state(Gst.State.PLAYING)
message = pipeline.get_bus().timed_pop_filtered(Gst.CLOCK_TIME_NONE, Gst.MessageType.ERROR | Gst.MessageType.EOS)
print(message.parse_error()[0].message)
pipeline.set_state(Gst.State.NULL)
""")
        self.assertIn("/dev/null/x", text)


if __name__ == "__main__":
    media.expect_tools()
    Embed.programs |= {pathlib.Path(path).name: (path,) for path in sys.argv[1:]}
    del sys.argv[1:]
    unittest.main(verbosity=2)
