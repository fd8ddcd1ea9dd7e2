#!/usr/bin/python3
"""What regions-transcode exports, read by pandas, motmetrics, pycocotools and supervision, which
tests/pipelines/exports_requirements.txt installs into .venv/exports. The label video says what is right."""

import subprocess
import sys
import unittest

import media
import numpy
from transcoding import BALLS, TranscodeCase

PYTHON = media.ROOT / ".venv" / "exports" / "bin" / "python"
READER = media.ROOT / "tests" / "pipelines" / "read_exports.py"


class Judged(TranscodeCase):
    def test_exports(self):
        clip = self.clip("in.mp4", BALLS.replace("320x240", "161x121").replace("duration=2", "duration=1"))
        self.transcode(clip, "--labels", *(word for kind in ("csv", "mot", "coco-rle") for word in ("--export", kind)),
                       chain="cclabel track=true output=none")
        read = self.folder / "read.npz"
        media.run(PYTHON, READER, *(self.out / f"in.{end}" for end in ("csv", "mot.txt", "coco.json")), read)
        found = numpy.load(read)
        labels = media.frames(self.out / "in.labels.mkv", "gray16le")
        self.assertEqual(len(labels), 25)
        regions = {}  # by frame and label: box and area
        for number, frame in enumerate(labels):
            for label in range(1, frame.max() + 1):
                rows, columns = numpy.nonzero(frame == label)
                regions[number, label] = (columns.min(), rows.min(), numpy.ptp(columns) + 1, numpy.ptp(rows) + 1, len(rows))
        for reader in ("pycocotools", "supervision"):
            numpy.testing.assert_array_equal(found[reader], labels, reader)
        told = list(zip(*(found[f"pandas {name}"].tolist() for name in ("frame", "id"))))
        self.assertEqual(set(told), set(regions))
        table = numpy.stack([found[f"pandas {name}"] for name in ("frame", "x", "y", "width", "height", "area")], 1)
        # Of a region that several tracks share each has a row, with its own box.
        alone = [told.count(region) == 1 for region in told]
        self.assertGreater(sum(alone), 500)
        numpy.testing.assert_array_equal(table[alone, 1:], [regions[one] for one, is_alone in zip(told, alone) if is_alone])
        # MOTChallenge counts frames from 1, and motmetrics pixels from 0.
        numpy.testing.assert_array_equal(numpy.stack([
            found[f"motmetrics {name}"] for name in ("FrameId", "X", "Y", "Width", "Height")], 1),
            table[:, :5] + (1, 0, 0, 0, 0))
        numpy.testing.assert_array_equal(found["motmetrics Id"], found["pandas track"])
        self.assertEqual((found["motmetrics mota"], found["motmetrics num_switches"]), (1, 0))
        self.assertEqual(found["motmetrics num_unique_objects"], len(set(found["pandas track"])))


if __name__ == "__main__":
    media.expect_tools()
    if not PYTHON.exists() or subprocess.run([PYTHON, "-c", "import motmetrics, pandas, pycocotools, supervision"],
                                             capture_output=True, check=False).returncode:
        print("missing in .venv/exports, which `tests/run --all` fills: motmetrics, pandas, pycocotools, supervision")
        sys.exit(media.SKIPPED)
    unittest.main(verbosity=2)
