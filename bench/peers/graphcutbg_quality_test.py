#!/usr/bin/env python3
"""graphcutbg_quality.py on a small folder in CDnet's layout, compared with figures counted by hand.

    graphcutbg_quality_test.py GRAPHCUTBG
"""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
from PIL import Image

HERE = os.path.dirname(os.path.abspath(__file__))
TOOL = None

# Frames 3 and 4 of five are scored, except for the last column. Found (#) and true (gray values):
FOUND = {3: ("#.#.##", "##.###", "#.....", ".....#"), 4: ("......", ".##...", ".###.#", "#.....")}
TRUTH = {3: ((255, 255, 0, 0, 50, 255),   # 1 correct, 1 missed, 2 false (one is a shadow)
             (255, 255, 0, 50, 85, 0),    # 2 right, 1 false in a shadow, 85 is not scored
             (170, 170, 0, 0, 0, 0),      # 170 is not scored
             (0, 0, 0, 0, 0, 0)),
         4: ((0, 0, 0, 0, 0, 0),
             (0, 255, 255, 255, 0, 255),  # 2 right, 1 missed
             (0, 255, 255, 255, 50, 255), # 3 right
             (0, 0, 0, 0, 0, 0))}         # 1 false
RIGHT, FALSE, MISSED = 1 + 2 + 2 + 3, 2 + 1 + 1, 1 + 1
SPECKS = 1 + 1  # of 8 and 6 pixels, 8-connected

# Replaces the program: bright pixels are foreground.
BRIGHT = """#!{python}
import sys
pixels = sys.stdin.buffer.read()
sys.stdout.buffer.write(bytes(255 if g > 127 else 0 for g in pixels[1::3]))
"""


class Folder:
    """A folder in CDnet's layout that is removed after the test."""

    def __init__(self, test, span, size):
        holder = tempfile.TemporaryDirectory()
        test.addCleanup(holder.cleanup)
        self.path = holder.name
        self.size = size
        self.number = 0
        for name in ("input", "groundtruth"):
            os.mkdir(os.path.join(self.path, name))
        with open(os.path.join(self.path, "temporalROI.txt"), "w", encoding="ascii") as file:
            file.write(f"{span[0]} {span[1]}\n")

    def add(self, picture, truth):
        self.number += 1
        for name, pixels in ((f"input/in{self.number:06d}.png", picture),
                             (f"groundtruth/gt{self.number:06d}.png", truth)):
            Image.fromarray(np.asarray(pixels, np.uint8)).save(os.path.join(self.path, name))

    def region(self, name):
        """Writes an ROI without the last column."""
        inside = np.full(self.size, 255, np.uint8)
        inside[:, -1] = 0
        Image.fromarray(inside).save(os.path.join(self.path, name))

    def record(self, tool, *options, name="figures.json"):
        """Runs the program. Returns its record."""
        out = os.path.join(self.path, name)
        run = subprocess.run([sys.executable, os.path.join(HERE, "graphcutbg_quality.py"), self.path,
                              "--tool", tool, "--json", out, *options],
                             capture_output=True, text=True, check=False)
        if run.returncode:
            raise AssertionError(run.stderr)
        with open(out, encoding="utf-8") as file:
            return json.load(file)

    def figures(self, tool):
        return self.record(tool, "--no-peers")["clips"][self.path]["graphcutbg"]["none"]


class CountedByHand(unittest.TestCase):
    def check_region(self, region):
        folder = Folder(self, (3, 4), (4, 6))
        tool = os.path.join(folder.path, "bright")
        with open(tool, "w", encoding="ascii") as file:
            file.write(BRIGHT.format(python=sys.executable))
        os.chmod(tool, 0o755)
        for number in range(1, 6):
            # The other frames are wrong, but must not count.
            found = FOUND.get(number, ("######",) * 4)
            grey = np.array([[200 if mark == "#" else 50 for mark in row] for row in found])
            folder.add(np.repeat(grey[:, :, None], 3, axis=2), TRUTH.get(number, np.zeros((4, 6))))
        folder.region(region)
        precision, recall = RIGHT / (RIGHT + FALSE), RIGHT / (RIGHT + MISSED)
        wanted = {"precision": precision, "recall": recall,
                  "f": 2 * precision * recall / (precision + recall)}
        self.assertEqual((RIGHT, FALSE, MISSED), (8, 4, 2))
        figures = folder.figures(tool)
        if "specks" in figures:  # only with cv2; the true boxes are too small to count
            wanted |= {"specks": SPECKS / 2, "boxes": 0}
            self.assertGreater(figures.pop("ms"), 0)
        self.assertEqual(figures.keys(), wanted.keys())
        for name, value in figures.items():
            self.assertAlmostEqual(value, wanted[name], places=4, msg=f"{name} with {region}")

    def test_f_measure_with_roi_bitmap_equals_hand_count(self):
        self.check_region("ROI.bmp")

    def test_f_measure_with_roi_jpeg_equals_hand_count(self):
        self.check_region("ROI.jpg")

    def new_square(self):
        """A folder of frames in which a square appears."""
        folder = Folder(self, (8, 9), (32, 40))
        room = (90 + np.arange(40)[None, :] % 5 * 4 + np.arange(32)[:, None] % 3 * 6)
        for number in range(1, 10):
            picture, truth = room.copy(), np.zeros((32, 40))
            if number >= 8:
                picture[10:22, 12:28] = 230
                truth[10:22, 12:28] = 255
            folder.add(np.repeat(picture[:, :, None], 3, axis=2), truth)
        return folder

    def test_scores_of_graphcutbg_with_a_new_square_are_1(self):
        figures = self.new_square().figures(TOOL)
        if "specks" in figures:
            self.assertGreater(figures.pop("ms"), 0)
            self.assertEqual((figures.pop("specks"), figures.pop("boxes")), (0, 1))
        self.assertEqual(figures, {"precision": 1, "recall": 1, "f": 1})

    @unittest.skipUnless(importlib.util.find_spec("cv2"), "cv2 is not installed")
    def test_peers_that_are_not_named_come_from_the_given_record(self):
        folder = self.new_square()
        folder.record(TOOL, "--peers", "KNN", name="knn.json")
        both = folder.record(TOOL, "--peers", "MOG2", "--peers-of", os.path.join(folder.path, "knn.json"))
        self.assertEqual({line["who"] for line in both["summary"]}, {"graphcutbg", "KNN", "MOG2"})
        self.assertEqual(set(both["clips"][folder.path]), {"graphcutbg", "KNN", "MOG2"})
        with self.assertRaisesRegex(AssertionError, "--peers NONE: not installed"):
            folder.record(TOOL, "--peers", "NONE")

    def test_dataset_folder_without_frames_raises_an_error_that_names_the_frame(self):
        folder = Folder(self, (1, 2), (4, 6))
        with self.assertRaisesRegex(AssertionError, "in000001"):
            folder.figures(TOOL)


if __name__ == "__main__":
    TOOL = os.path.abspath(sys.argv.pop(1))
    unittest.main()
