#!/usr/bin/python3
"""Exact masks from the boxes and coarse masks of a detector: the program of docs/guides/boxes.md, which runs everywhere,
and its launch lines with onnxinference, for tiny models that this test makes. Without onnxinference (Debian 12) or the
decoder of a line, the test of this line is skipped with the name of the missing element."""

import os
import pathlib
import sys
import unittest

import numpy

import media
import tiny_model
from cases import Case, main
from gstreamer import Gst
from tiny_model import BOX_OUTPUTS, SSD, YOLO

sys.path.insert(0, str(media.ROOT / "tests"))
from documents import PREPARATION, blocks_of, run_page  # noqa: E402

PAGE = (media.ROOT / "docs" / "guides" / "boxes.md").read_text(encoding="utf-8")
BUILD = pathlib.Path(os.environ["GST_PLUGIN_PATH_1_0"].split(":")[0]).parent
SIDE, BRIGHT = 320, 128


class DetectorBoxes(Case):
    def test_program_of_the_guide_prints_the_shown_output(self):
        for name, target in (("pipelines", media.ROOT / "pipelines"), ("build", BUILD)):
            os.symlink(target, self.folder / name)
        self.assertEqual(run_page(PAGE, self.folder, os.environ), (1, 1))

    def cut_out(self, decoder, model, group, outputs, least):
        """Runs the launch line of the guide that contains this decoder. The intersection over union of its cutouts and the
        bright pixels must be at least `least`."""
        for element in ("onnxinference", decoder):
            if not Gst.ElementFactory.find(element):
                self.skipTest(f"the element {element} is not installed: it is part of GStreamer's plugins-bad 1.26 (1.28 for YOLO)")
        (self.folder / "model.onnx").write_bytes(model)
        (self.folder / "model.onnx.modelinfo").write_text(tiny_model.model_info(SIDE, SIDE, group, outputs), encoding="utf-8")
        # The first line is the name of class 0 in GStreamer 1.26, and of class 1 in 1.28.
        (self.folder / "labels.txt").write_text("person\nperson\n", encoding="utf-8")
        self.clip("video.mp4", f"color=0x304050:size={SIDE}x{SIDE}:rate=5:duration=1[ground];"
                  "color=0xE0C060:size=70x100:rate=5:duration=1[box];[ground][box]overlay=x='90+40*t':y=60",
                  "-pix_fmt", "yuv420p")
        line, = [block.text for block in blocks_of(PAGE) if block.section != PREPARATION and f"! {decoder}" in block.text]
        line = line.replace("\\\n", "").replace("videoconvert ! autovideosink", "filesink location=cutout")
        media.run("bash", "-ec", line, cwd=self.folder)
        frames = numpy.fromfile(self.folder / "cutout", numpy.uint8).reshape(-1, SIDE, SIDE, 4)
        self.assertEqual(len(frames), 5)
        for frame in frames:
            bright, opaque = frame[..., :3].max(-1) > BRIGHT, frame[..., 3] == 255
            self.assertGreater(bright.sum(), 6000)
            self.assertGreater((bright & opaque).sum() / (bright | opaque).sum(), least)

    def test_boxes_of_a_model_become_exact_masks(self):
        self.cut_out("ssdobjectdetector", tiny_model.bright_box_model(SIDE, SIDE, BRIGHT), SSD, BOX_OUTPUTS, 0.97)

    def test_coarse_masks_of_a_model_become_exact_masks(self):
        self.cut_out("yolosegv8tensordec", tiny_model.bright_mask_model(SIDE, SIDE, BRIGHT), YOLO,
                     tiny_model.mask_outputs(SIDE, SIDE), 0.93)  # a sample of the coarse mask has 4 x 4 pixels


if __name__ == "__main__":
    main()
