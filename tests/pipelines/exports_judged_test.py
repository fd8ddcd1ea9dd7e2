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
        boxes, areas = [], []
        for number, frame in enumerate(labels):
            for label in range(1, frame.max() + 1):
                rows, columns = numpy.nonzero(frame == label)
                boxes.append((number, columns.min(), rows.min(), numpy.ptp(columns) + 1, numpy.ptp(rows) + 1))
                areas.append(len(rows))
        self.assertGreater(len(boxes), 500)
        for reader in ("pycocotools", "supervision"):
            numpy.testing.assert_array_equal(found[reader], labels, reader)
        numpy.testing.assert_array_equal(numpy.stack([
            found[f"pandas {name}"] for name in ("frame", "x", "y", "width", "height")], 1), boxes)
        numpy.testing.assert_array_equal(found["pandas area"], areas)
        # MOTChallenge counts frames from 1, and motmetrics pixels from 0.
        numpy.testing.assert_array_equal(numpy.stack([
            found[f"motmetrics {name}"] for name in ("FrameId", "X", "Y", "Width", "Height")], 1),
            numpy.array(boxes) + (1, 0, 0, 0, 0))
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
