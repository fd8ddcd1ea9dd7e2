"""Recordings in CDnet's layout, and scores computed as CDnet does (changedetection.net).

A recording has input/in000001.jpg (or .png) …, groundtruth/gt000001.png …, temporalROI.txt with the first and the last
scored frame, and ROI.bmp, .jpg or .png, which is bright where pixels are scored. Ground truth is 255 in the foreground,
0 and 50 (hard shadow) in the background; 85 (outside the ROI) and 170 (unknown) are not scored.
"""
import os

import numpy as np
from PIL import Image


class Counts:
    """Counts the correct and wrong decisions at the scored pixels of a clip."""

    def __init__(self):
        self.right = self.false = self.missed = 0

    def add(self, mask, truth, scored):
        """All pictures have the values 0 and 255. The truth must be 0 at pixels that are not scored."""
        found = np.count_nonzero(mask & scored)
        right = np.count_nonzero(mask & truth)
        self.right += right
        self.false += found - right
        self.missed += np.count_nonzero(truth) - right

    def figures(self):
        precision = self.right / max(1, self.right + self.false)
        recall = self.right / max(1, self.right + self.missed)
        f = 2 * self.right / max(1, 2 * self.right + self.false + self.missed)
        return {"precision": round(precision, 4), "recall": round(recall, 4), "f": round(f, 4)}


def grey(path):
    return np.asarray(Image.open(path).convert("L"))


def first_of(folder, names):
    paths = [os.path.join(folder, name) for name in names]
    return next((path for path in paths if os.path.exists(path)), None)


def frames(folder):
    """Yields each frame's picture (BGR), truth and scored pixels. The last two are None if the frame is not scored."""
    with open(os.path.join(folder, "temporalROI.txt"), encoding="ascii") as span:
        first, last = map(int, span.read().split()[:2])
    region = first_of(folder, ("ROI.bmp", "ROI.jpg", "ROI.png"))
    outside = grey(region) < 128 if region else None
    number = 1
    while path := first_of(os.path.join(folder, "input"),
                           (f"in{number:06d}.jpg", f"in{number:06d}.png")):
        picture = np.ascontiguousarray(np.asarray(Image.open(path).convert("RGB"))[:, :, ::-1])
        scored = truth = None
        if first <= number <= last:
            marks = grey(os.path.join(folder, "groundtruth", f"gt{number:06d}.png"))
            scored = np.where(np.isin(marks, (0, 50, 255)), 255, 0).astype(np.uint8)
            if outside is not None:
                scored[outside] = 0
            truth = np.where(marks == 255, scored, 0).astype(np.uint8)
        yield picture, truth, scored
        number += 1
    if number == 1:
        raise SystemExit(f"{folder}: expected CDnet's layout, which has input/in000001.jpg or .png")
