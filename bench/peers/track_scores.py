"""Scores of tracks compared with the truth, from boxes only.

IDF1 follows Ristani et al. (Performance measures and a data set for multi-target, multi-camera tracking, ECCVW 2016):
true and found ids are assigned one to one over the whole clip, so that as many boxes as possible agree. MOTA and
switches follow Bernardin, Stiefelhagen (Evaluating multiple object tracking performance, 2008), frame by frame: a pair
of the previous frame is kept while it agrees. Boxes agree if their intersection over union is at least 0.5.

A clip is a list of frames; a frame is a list of (id, x, y, width, height).
"""
import collections

import numpy as np
from scipy.optimize import linear_sum_assignment

AGREES = 0.5  # intersection over union
NEVER = 1e6


def overlaps(true, found):
    """The intersection over union of each pair: [true][found]."""
    a, b = (np.array([box[1:] for box in boxes], float).reshape(-1, 4) for boxes in (true, found))
    a, b = a[:, None], b[None]
    sides = [np.minimum(a[..., k] + a[..., k + 2], b[..., k] + b[..., k + 2]) - np.maximum(a[..., k], b[..., k])
             for k in (0, 1)]
    both = sides[0].clip(0) * sides[1].clip(0)
    return both / np.maximum(a[..., 2] * a[..., 3] + b[..., 2] * b[..., 3] - both, 1e-9)


class Count:
    """Counts over one clip or several."""

    def __init__(self):
        self.true = self.found = self.matched = self.switches = self.id_matched = 0

    def add_clip(self, truth, tracks):
        pairs = collections.Counter()  # {(true id, found id): frames in which they agree}
        last = {}                      # {true id: last found id}
        for true, found in zip(truth, tracks, strict=True):
            self.true += len(true)
            self.found += len(found)
            shares = overlaps(true, found)
            for i, k in zip(*np.nonzero(shares >= AGREES)):
                pairs[true[i][0], found[k][0]] += 1
            # Kept pairs are preferred to agreeing pairs, and agreeing pairs to others; then the overlap decides.
            worth = np.where(shares >= AGREES, shares + NEVER, 0.0)
            for i, k in zip(*np.nonzero(worth)):
                worth[i, k] += NEVER * len(true) * (last.get(true[i][0]) == found[k][0])
            for i, k in zip(*linear_sum_assignment(worth, maximize=True)):
                if worth[i, k] == 0:
                    continue
                self.matched += 1
                self.switches += last.get(true[i][0], found[k][0]) != found[k][0]
                last[true[i][0]] = found[k][0]
        rows, columns = (sorted({pair[side] for pair in pairs}) for side in (0, 1))
        common = np.array([[pairs[row, column] for column in columns] for row in rows]).reshape(len(rows), -1)
        self.id_matched += int(common[linear_sum_assignment(common, maximize=True)].sum()) if pairs else 0

    def figures(self):
        wrong = self.true - self.matched + self.found - self.matched + self.switches
        return {"idf1": round(2 * self.id_matched / max(1, self.true + self.found), 4),
                "mota": round(1 - wrong / max(1, self.true), 4), "switches": self.switches,
                "precision": round(self.matched / max(1, self.found), 4),
                "recall": round(self.matched / max(1, self.true), 4)}
