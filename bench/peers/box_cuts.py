#!/usr/bin/env python3
"""How well cut_box finds the objects in boxes, compared with grabCut: intersection over union with the truth, and time.

    PYTHONPATH=build/python bench/peers/box_cuts.py [--seeds 101,102,…] [--json FILE]

Each seed is a picture of 480x360 pixels with two or three cut-outs over a photograph or over a street (composites.py),
whose masks are exact. There are kinds of pictures:

- street: on the street of vtest.avi, with the noise of that recording
- textured: on a photograph
- similar: the cut-outs have the colours of the background
- small: 24 to 60 pixels high
- loose: the boxes are larger than the objects by 10 % of each side; other boxes by up to 3 %
- adjacent: one object hides a part of the other, and their boxes overlap
- graphic: drawings with sharp colours, on a photograph

grabCut has five iterations and the same boxes: `grabcut` on the whole picture, `grabcut_crop` on the surroundings of the
box, half as large again on each side. All use one thread. Seeds up to 199 are for tuning. Needs NumPy and
opencv-contrib-python-headless or python3-opencv.
"""
import argparse
import dataclasses
import os
import sys
import time

import cv2
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import categories
import composites
import measure

SIZE = (360, 480)  # height and width
KINDS = ("street", "textured", "similar", "small", "loose", "adjacent", "graphic")
GRAPHICS = ("HappyFish.jpg", "opencv-logo-white.png")
BACKGROUNDS = ("home.jpg", "graf1.png", "leuvenA.jpg", "building.jpg", "aloeL.jpg", "rubberwhale1.png", "board.jpg",
               "fruits.jpg", "box_in_scene.png", "stuff.jpg", "baboon.jpg", "left01.jpg", "basketball1.png",
               "starry_night.jpg", "messi5.jpg", "aero3.jpg")
ITERATIONS = 5
MIN_PIXELS = 60  # smaller visible parts have no box


def read(name):
    picture = cv2.imread(os.path.join(composites.DATA, name))
    if picture is None:
        raise SystemExit(f"{name}: not found; Debian's package opencv-doc has it")
    return picture


def graphic(name):
    """A drawing on a plain ground, and its coverage."""
    picture = read(name)
    height, width = picture.shape[:2]
    ground = np.zeros((height + 2, width + 2), np.uint8)
    flags = 4 | 255 << 8 | cv2.FLOODFILL_MASK_ONLY
    for corner in ((0, 0), (width - 1, 0), (0, height - 1), (width - 1, height - 1)):
        cv2.floodFill(cv2.GaussianBlur(picture, (0, 0), 1), ground, corner, 0, (12,) * 3, (12,) * 3, flags)
    _, labels, boxes, _ = cv2.connectedComponentsWithStats((ground[1:-1, 1:-1] == 0).astype(np.uint8))
    largest = 1 + np.argmax(boxes[1:, cv2.CC_STAT_AREA])
    x, y, width, height = boxes[largest, :4]
    cover = cv2.erode((labels == largest).astype(np.uint8), np.ones((3, 3), np.uint8))
    return tuple(each[y:y + height, x:x + width].astype(np.float32) for each in (picture, cover))


def background(random):
    picture = read(BACKGROUNDS[random.integers(len(BACKGROUNDS))])
    zoom = max(SIZE[0] / picture.shape[0], SIZE[1] / picture.shape[1]) * random.uniform(1.01, 1.5)
    picture = cv2.resize(picture, None, fx=zoom, fy=zoom, interpolation=cv2.INTER_AREA if zoom < 1 else cv2.INTER_LINEAR)
    top, left = (random.integers(picture.shape[axis] - SIZE[axis] + 1) for axis in (0, 1))
    return picture[top:top + SIZE[0], left:left + SIZE[1]].astype(np.float32)


def cut_out(random, kind, scene):
    """The look of an object and its coverage."""
    height = int(random.integers(*((24, 60) if kind == "small" else (110, 260))))
    if kind == "graphic":
        look, cover = graphic(GRAPHICS[random.integers(len(GRAPHICS))])
        width = min(int(height * look.shape[1] / look.shape[0]), SIZE[1] // 2)
        if random.random() < 0.4:  # more similar to the scene
            look = look * 0.6 + scene.mean(axis=(0, 1)) * 0.4
        return tuple(cv2.resize(each, (width, height), interpolation=cv2.INTER_AREA) for each in (look, cover))
    width = int(height * random.uniform(0.45, 0.8))
    actor = composites.Actor(random, composites.photographs(), SIZE, scene, 1, kind == "similar")
    look = cv2.resize(actor.look, (width, height), interpolation=cv2.INTER_LINEAR)
    return look, composites.silhouette(random, height, width)


def corner_of(random, kind, k, size):
    """The upper left corner of object number k."""
    height, width = size
    if kind == "adjacent":
        return int(SIZE[1] * 0.3) + k * int(width * random.uniform(0.6, 0.9)), min(SIZE[0] - height, 60)
    columns = 3 if kind == "small" else 2
    return int(random.uniform(0.02, 0.2) * SIZE[1]) + k * SIZE[1] // columns, int(random.random() * (SIZE[0] - height))


def box_of(random, kind, mask):
    """The box of a mask, enlarged as the kind says: left, top, width and height."""
    enlarged = 0.1 if kind == "loose" else random.uniform(0, 0.03)
    ends = []
    for axis in (1, 0):
        places = mask.any(axis=1 - axis).nonzero()[0]
        first, last = places[0], places[-1] + 1
        margin = (last - first) * enlarged / 2
        ends.append((max(0, int(first - margin)), min(SIZE[axis], int(np.ceil(last + margin)))))
    return ends[0][0], ends[1][0], ends[0][1] - ends[0][0], ends[1][1] - ends[1][0]


@dataclasses.dataclass
class Scene:
    kind: str
    image: np.ndarray  # uint8, B, G, R
    boxes: list        # (left, top, width, height)
    truths: list       # bool, the visible pixels of the object in each box


def scene_of(seed, recording):
    random = np.random.default_rng([seed, 53])
    kind = KINDS[seed % len(KINDS)]
    picture = (categories.place(random, recording, SIZE) if kind == "street" else background(random)).copy()
    truths = []
    for k in range(3 if kind == "small" else 2):
        look, cover = cut_out(random, kind, picture)
        x, y = corner_of(random, kind, k, cover.shape)
        visible = np.zeros(SIZE, np.float32)
        composites.paste(visible, 1.0, cover, x, y)
        composites.paste(picture, look, cover, x, y)
        truths = [truth & (visible < 0.5) for truth in truths] + [visible >= 0.5]
    picture = cv2.GaussianBlur(picture, (0, 0), random.uniform(0.5, 1.2))
    if kind == "street":
        picture += recording.noise[seed % len(recording.noise), :SIZE[0], :SIZE[1]]
    else:
        picture += random.normal(0, random.uniform(1, 5), picture.shape)
    truths = [truth for truth in truths if truth.sum() >= MIN_PIXELS]
    image = np.clip(np.rint(picture), 0, 255).astype(np.uint8)
    return Scene(kind, image, [box_of(random, kind, truth) for truth in truths], truths)


def grabcut(image, box):
    labels = np.zeros(image.shape[:2], np.uint8)
    cv2.setRNGSeed(1)
    cv2.grabCut(image, labels, box, np.zeros((1, 65)), np.zeros((1, 65)), ITERATIONS, cv2.GC_INIT_WITH_RECT)
    return (labels == cv2.GC_FGD) | (labels == cv2.GC_PR_FGD)


def grabcut_crop(image, box):
    x, y, width, height = box
    left, top = max(0, x - width // 2), max(0, y - height // 2)
    right, bottom = min(SIZE[1], x + width * 3 // 2), min(SIZE[0], y + height * 3 // 2)
    mask = np.zeros(SIZE, bool)
    part = np.ascontiguousarray(image[top:bottom, left:right])
    mask[top:bottom, left:right] = grabcut(part, (x - left, y - top, width, height))
    return mask


def methods():
    import gst_regions
    return {"cut_box": lambda scene: gst_regions.cut_box(scene.image, scene.boxes, channels="BGR", threads=1),
            "grabcut": lambda scene: [grabcut(scene.image, box) for box in scene.boxes],
            "grabcut_crop": lambda scene: [grabcut_crop(scene.image, box) for box in scene.boxes]}


def overlap(mask, truth):
    return (mask & truth).sum() / max(1, (mask | truth).sum())


def rows(seeds):
    recording = composites.Recording.read()
    scenes = [scene_of(seed, recording) for seed in seeds]
    scores = {}  # (kind, method): intersections over union
    milliseconds = {}
    for name, method in methods().items():
        method(scenes[0])
        for scene in scenes:
            start = time.perf_counter()
            masks = method(scene)
            milliseconds.setdefault((scene.kind, name), []).append((time.perf_counter() - start) * 1000)
            scores.setdefault((scene.kind, name), []).extend(map(overlap, masks, scene.truths))
    kinds = [kind for kind in KINDS if (kind, "cut_box") in scores]
    for kinds_of_row, label in [*(((kind,), kind) for kind in kinds), (kinds, "all")]:
        row = {"what": "boxes", "kind": label}
        for name in methods():
            found = np.concatenate([scores[kind, name] for kind in kinds_of_row])
            row["boxes"] = len(found)
            row[name] = round(float(found.mean()), 4)
            row[f"ms_{name}"] = round(float(np.mean(np.concatenate([milliseconds[kind, name] for kind in kinds_of_row]))), 2)
        yield row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--seeds", default=",".join(map(str, range(201, 257))))
    parser.add_argument("--json", metavar="FILE", help="write a record")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    seeds = [int(seed) for seed in options.seeds.split(",")]
    measure.record_rows("boxes", rows(seeds), options.json, opencv=cv2.__version__)


if __name__ == "__main__":
    main()
