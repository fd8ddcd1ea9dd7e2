"""Boxes around the regions of masks, and their agreement with true boxes."""
import cv2


def boxes_of_mask(mask):
    _, _, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
    return [row[:4].tolist() for row in stats[1:]]


def overlap(a, b):
    wide = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    high = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    if wide <= 0 or high <= 0:
        return 0
    return wide * high / (a[2] * a[3] + b[2] * b[3] - wide * high)


class Agreement:
    """Counts correct boxes. Boxes and true boxes are paired one to one, the best pairs first; a pair needs an
    intersection over union of at least 0.5."""

    def __init__(self, least):
        self.least = least  # minimum pixels of a box
        self.right = self.found = self.there = 0

    def add(self, boxes, truth):
        boxes, truth = ([b for b in one if b[2] * b[3] >= self.least] for one in (boxes, truth))
        self.found += len(boxes)
        self.there += len(truth)
        pairs = sorted(((overlap(a, b), i, k) for i, a in enumerate(boxes)
                        for k, b in enumerate(truth)), reverse=True)
        used, taken = set(), set()
        for share, i, k in pairs:
            if share < 0.5:
                break
            if i not in used and k not in taken:
                used.add(i)
                taken.add(k)
        self.right += len(used)

    def figures(self):
        return {"precision": round(self.right / max(1, self.found), 4),
                "recall": round(self.right / max(1, self.there), 4),
                "f": round(2 * self.right / max(1, self.found + self.there), 4)}
