"""OpenCV's background subtractors, and what their masks may be cleaned with."""
import cv2
import numpy as np

EVERY = {"MOG2": lambda: cv2.createBackgroundSubtractorMOG2(),
         "KNN": lambda: cv2.createBackgroundSubtractorKNN(),
         "GSOC": lambda: cv2.bgsegm.createBackgroundSubtractorGSOC(),
         "CNT": lambda: cv2.bgsegm.createBackgroundSubtractorCNT()}


def mask_of(found):
    """What is foreground, and no shadow."""
    return np.where(found == 255, 255, 0).astype(np.uint8)


def filters():
    """What a peer's mask may be cleaned with."""
    yield "none", lambda mask: mask
    for k in (3, 5, 7, 9):
        yield f"median {k}", lambda mask, k=k: cv2.medianBlur(mask, k)
    for k in (3, 5, 7):
        disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (k, k))
        for name, kind in (("opening", cv2.MORPH_OPEN), ("closing", cv2.MORPH_CLOSE)):
            yield f"{name} {k}", lambda mask, d=disc, o=kind: cv2.morphologyEx(mask, o, d)
