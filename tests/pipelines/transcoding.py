"""What the tests of regions-transcode share: clips, runs of the program, and how sound is read."""

import pathlib
import tempfile
import unittest

import media
import numpy

PROGRAM = media.ROOT / "pipelines" / "transcode" / "regions-transcode"
BALLS = "testsrc2=size=320x240:rate=25:duration=2"
SOUND = ("-f", "lavfi", "-i", "sine=duration=2:frequency=500")
UNTOUCHED = "cclabel output=none"
DRAWN = "cclabel min-area=100 output=none ! regionoverlay"


def sound_sum(path):
    """The checksum of all sound packets as they are in the file."""
    return media.run("ffmpeg", "-v", "error", "-i", path, "-map", "0:a", "-c", "copy", "-f", "md5", "-")


def sound_times(path):
    text = media.run("ffprobe", "-v", "error", "-select_streams", "a:0", "-show_entries",
                     "packet=pts_time", "-of", "default=nw=1:nk=1", path)
    return [float(line) for line in text.split()]


class TranscodeCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"

    def clip(self, name, source=BALLS, *options):
        return media.make(self.folder / name, source, *options)

    def transcode(self, *arguments, status=0, chain=UNTOUCHED, **options):
        return media.run(PROGRAM, "-o", self.out, "--filter", chain, *arguments, status=status, **options)

    def written(self):
        """All but what is remembered of outputs, and locks of killed runs, which the next one removes."""
        return sorted(path.name for path in self.out.iterdir() if not path.name.endswith((".made.json", ".lock"))
                      ) if self.out.exists() else []

    def expect_same_times(self, clip, out):
        self.assertGreater(len(media.times(clip)), 10)
        numpy.testing.assert_allclose(media.times(out), media.times(clip), atol=1.1e-3)
