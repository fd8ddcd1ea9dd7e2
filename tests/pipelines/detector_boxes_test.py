#!/usr/bin/python3
"""Exact masks from the boxes of a detector: the program of docs/guides/boxes.md, which runs everywhere, and its launch
line with onnxinference, for a tiny model that this test makes. Without onnxinference (it is part of Debian 13), the
second test is skipped with the name of the missing element."""

import os
import pathlib
import sys
import unittest

import numpy

import media
from cases import Case, main
from gstreamer import Gst
from tiny_model import bright_box_model, model_info

sys.path.insert(0, str(media.ROOT / "tests"))
from documents import PREPARATION, blocks_of, run_page  # noqa: E402

PAGE = (media.ROOT / "docs" / "guides" / "boxes.md").read_text(encoding="utf-8")
BUILD = pathlib.Path(os.environ["GST_PLUGIN_PATH_1_0"].split(":")[0]).parent
WIDTH, HEIGHT, BRIGHT = 320, 240, 128


class DetectorBoxes(Case):
    def test_program_of_the_guide_prints_the_shown_output(self):
        for name, target in (("pipelines", media.ROOT / "pipelines"), ("build", BUILD)):
            os.symlink(target, self.folder / name)
        self.assertEqual(run_page(PAGE, self.folder, os.environ), (1, 1))

    def test_launch_line_of_the_guide_with_a_model_cuts_out_the_object(self):
        for element in ("onnxinference", "ssdobjectdetector"):
            if not Gst.ElementFactory.find(element):
                self.skipTest(f"the element {element} is not installed: it is part of gstreamer1.0-plugins-bad of Debian 13")
        (self.folder / "model.onnx").write_bytes(bright_box_model(WIDTH, HEIGHT, BRIGHT))
        (self.folder / "model.onnx.modelinfo").write_text(model_info(WIDTH, HEIGHT), encoding="utf-8")
        # The first line is the name of class 0 in GStreamer 1.26, and of class 1 in 1.28.
        (self.folder / "labels.txt").write_text("person\nperson\n", encoding="utf-8")
        self.clip("video.mp4", f"color=0x304050:size={WIDTH}x{HEIGHT}:rate=5:duration=1[ground];"
                  "color=0xE0C060:size=70x100:rate=5:duration=1[box];[ground][box]overlay=x='90+40*t':y=60",
                  "-pix_fmt", "yuv420p")
        line, = [block.text for block in blocks_of(PAGE) if block.section != PREPARATION and "onnxinference" in block.text]
        line = line.replace("\\\n", "").replace("videoconvert ! autovideosink", "filesink location=cutout")
        media.run("bash", "-ec", line, cwd=self.folder)
        frames = numpy.fromfile(self.folder / "cutout", numpy.uint8).reshape(-1, HEIGHT, WIDTH, 4)
        self.assertEqual(len(frames), 5)
        for frame in frames:
            bright, opaque = frame[..., :3].max(-1) > BRIGHT, frame[..., 3] == 255
            self.assertGreater(bright.sum(), 6000)
            self.assertGreater((bright & opaque).sum() / (bright | opaque).sum(), 0.97)


if __name__ == "__main__":
    main()
