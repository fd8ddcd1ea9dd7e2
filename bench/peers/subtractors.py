"""Background subtractors of OpenCV and bgslibrary, and the filters for their masks."""
import sys

import cv2
import numpy as np

EVERY = {"MOG2": lambda: cv2.createBackgroundSubtractorMOG2(),
         "KNN": lambda: cv2.createBackgroundSubtractorKNN(),
         "GSOC": lambda: cv2.bgsegm.createBackgroundSubtractorGSOC(),
         "CNT": lambda: cv2.bgsegm.createBackgroundSubtractorCNT(),
         "SuBSENSE": lambda: of_bgslibrary("SuBSENSE"),
         "PAWCS": lambda: of_bgslibrary("PAWCS"),
         "PBAS": lambda: of_bgslibrary("PixelBasedAdaptiveSegmenter")}


def of_bgslibrary(name):
    """An algorithm of the package bgslibrary, whose module is pybgs. The package has no wheels; pip builds it with a
    C++ compiler and the development files of OpenCV 4. Its algorithms write their settings into ./config."""
    import pybgs
    return getattr(pybgs, name)()


def present():
    """The subtractors that can be made here; the others are named and skipped."""
    found = {}
    for name, make in EVERY.items():
        try:
            make()
            found[name] = make
        except (ImportError, AttributeError) as reason:
            print(f"subtractors.py: {name} is skipped: {reason}", file=sys.stderr)
    return found


def mask_of(found):
    """The foreground without shadows, as 0 and 255."""
    return np.where(found == 255, 255, 0).astype(np.uint8)


def filters():
    """(name, function) of each filter for a peer's mask."""
    yield "none", lambda mask: mask
    for k in (3, 5, 7, 9):
        yield f"median {k}", lambda mask, k=k: cv2.medianBlur(mask, k)
    for k in (3, 5, 7):
        disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (k, k))
        for name, kind in (("opening", cv2.MORPH_OPEN), ("closing", cv2.MORPH_CLOSE)):
            yield f"{name} {k}", lambda mask, d=disc, o=kind: cv2.morphologyEx(mask, o, d)
