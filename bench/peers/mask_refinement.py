#!/usr/bin/env python3
"""How much better graphcutbg source=mask makes masks, compared with grabCut: intersection over union with the truth.

    bench/peers/mask_refinement.py [--seeds 101,102,…] [--set NAME=VALUE …] [--json FILE]
            [--tool build/bench/programs/graphcutbg]

Each seed is a picture with two cut-outs of photographs over another photograph (composites.py, categories.py), whose
mask is exact. Half of the cut-outs have the colours of the background, and the picture is as soft as that of a lens.
Masks of the following kinds are made from the exact mask:

- graded: the outline wanders by some pixels, and values say how sure the mask is, as the values of a neural network
- graded-good: the same, but the outline wanders by at most one pixel
- graded-coarse: the same at an eighth of the width
- hard-coarse: 0 or 255 at an eighth of the width
- hard: the graded mask, rounded to 0 or 255
- eroded, dilated, shifted: wrong by 2 to 6 pixels, 0 or 255

Three settings refine each mask: the default; `uncertain`, in which no pixel of the mask is certain; and `colors`,
which adds foreground-colors. grabCut has three iterations; it may change everything within 8 pixels of the outline.
Seeds up to 99 are for tuning. Needs NumPy and opencv-contrib-python-headless or python3-opencv.
"""
import argparse
import json
import os
import subprocess
import sys
import time

import cv2
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import categories
import composites
import measure

SIZE, COARSE = (288, 384), 8  # height and width; reduction of coarse masks
KINDS = ("graded", "graded-good", "graded-coarse", "hard-coarse", "hard", "eroded", "dilated", "shifted")
UNCERTAIN = "mask-foreground=256", "mask-background=-1"
SETTINGS = {"default": (), "uncertain": UNCERTAIN, "colors": (*UNCERTAIN, "foreground-colors=true")}


def picture(seed, recording):
    """A picture and its exact mask: uint8 BGR, and bool."""
    random = np.random.default_rng([seed, 52])
    scene = categories.place(random, recording, SIZE).copy()
    mask = np.zeros(SIZE, np.float32)
    photographs = composites.photographs()
    for k in range(2):
        actor = composites.Actor(random, photographs, SIZE, scene, 1, random.random() < 0.5)
        actor.height = int(random.integers(110, 230))
        actor.width = int(actor.height * random.uniform(0.45, 0.8))
        cover = composites.silhouette(random, actor.height, actor.width)
        look = cv2.resize(actor.look, (actor.width, actor.height), interpolation=cv2.INTER_LINEAR)
        x = int(random.uniform(0.02, 0.3) * SIZE[1]) + k * SIZE[1] // 2
        y = int(random.uniform(0, 1) * (SIZE[0] - actor.height))
        composites.paste(scene, look, cover, x, y)
        composites.paste(mask, 1.0, cover, x, y)
    scene = cv2.GaussianBlur(scene, (0, 0), random.uniform(0.6, 1.4))
    noise = recording.noise[seed % len(recording.noise), :SIZE[0], :SIZE[1]]
    return np.clip(np.rint(scene + noise), 0, 255).astype(np.uint8), mask >= 0.5


def distance(mask):
    """The distance from the outline in pixels, positive inside."""
    return cv2.distanceTransform(mask.astype(np.uint8), cv2.DIST_L2, 5) - \
        cv2.distanceTransform((~mask).astype(np.uint8), cv2.DIST_L2, 5)


def made(kind, truth, random):
    """A mask of this kind, uint8."""
    height, width = SIZE
    if kind == "eroded" or kind == "dilated":
        change = random.integers(2, 7) * (1 if kind == "dilated" else -1)
        return np.where(distance(truth) > -change, 255, 0).astype(np.uint8)
    if kind == "shifted":
        angle, way = random.uniform(0, 2 * np.pi), random.uniform(3, 6)
        move = np.float32([[1, 0, way * np.cos(angle)], [0, 1, way * np.sin(angle)]])
        return np.where(cv2.warpAffine(truth.astype(np.float32), move, (width, height)) >= 0.5, 255, 0).astype(np.uint8)
    small = (width // COARSE, height // COARSE)
    if kind == "hard-coarse":
        share = cv2.resize(truth.astype(np.float32), small, interpolation=cv2.INTER_AREA)
        return np.where(share >= 0.5, 255, 0).astype(np.uint8)
    wander = categories.smooth_noise(random, SIZE, 5) * (0.5 if kind == "graded-good" else random.uniform(1, 3))
    certainty = (distance(truth) + wander) / random.uniform(1.2, 2.5)
    graded = 255 / (1 + np.exp(-certainty.clip(-20, 20)))
    if kind == "hard":
        return np.where(graded >= 128, 255, 0).astype(np.uint8)
    if kind == "graded-coarse":
        graded = cv2.resize(graded, small, interpolation=cv2.INTER_AREA)
    return np.rint(graded).astype(np.uint8)


def enlarged(mask):
    return cv2.resize(mask, SIZE[::-1], interpolation=cv2.INTER_LINEAR) >= 128


def agreement(mask, truth):
    return (mask & truth).sum() / max(1, (mask | truth).sum())


def refined(tool, pictures, masks, settings):
    """The masks that graphcutbg makes, and the time per picture (ms)."""
    size, small = (f"{shape[1]}x{shape[0]}" for shape in (SIZE, masks[0].shape))
    done = subprocess.run([tool, size, "--threads", "1", "--mask", small, "--set", "source=mask",
                           *(word for each in settings for word in ("--set", each))],
                          input=b"".join(p.tobytes() + m.tobytes() for p, m in zip(pictures, masks)),
                          capture_output=True, check=True)
    return np.frombuffer(done.stdout, np.uint8).reshape(-1, *SIZE) > 0, json.loads(done.stderr)["ms"]


def cut_by_grabcut(image, mask):
    inside = enlarged(mask)
    way = distance(inside)
    labels = np.where(inside, cv2.GC_PR_FGD, cv2.GC_PR_BGD).astype(np.uint8)
    labels[way > COARSE] = cv2.GC_FGD
    labels[way < -COARSE] = cv2.GC_BGD
    cv2.grabCut(image, labels, None, np.zeros((1, 65)), np.zeros((1, 65)), 3, cv2.GC_INIT_WITH_MASK)
    return (labels == cv2.GC_FGD) | (labels == cv2.GC_PR_FGD)


def rows(options):
    recording = composites.Recording.read()
    seeds = [int(seed) for seed in options.seeds.split(",")]
    pictures, truths = zip(*(picture(seed, recording) for seed in seeds))
    for kind in KINDS:
        masks = [made(kind, truth, np.random.default_rng([seed, KINDS.index(kind)]))
                 for seed, truth in zip(seeds, truths)]
        before = np.mean([agreement(enlarged(mask), truth) for mask, truth in zip(masks, truths)])
        row = {"what": "masks", "mask": kind, "pictures": len(seeds), "before": round(float(before), 4)}
        for name, settings in SETTINGS.items():
            cuts, ms = refined(options.tool, pictures, masks, (*settings, *options.set))
            row[name] = round(float(np.mean([agreement(cut, truth) for cut, truth in zip(cuts, truths)])), 4)
            row[f"ms_{name}"] = ms
        start = time.perf_counter()
        cuts = [cut_by_grabcut(image, mask) for image, mask in zip(pictures, masks)]
        row["ms_grabcut"] = round((time.perf_counter() - start) * 1000 / len(seeds), 2)
        row["grabcut"] = round(float(np.mean([agreement(cut, truth) for cut, truth in zip(cuts, truths)])), 4)
        yield row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--seeds", default=",".join(map(str, range(101, 125))))
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a property of graphcutbg")
    parser.add_argument("--tool", default=os.path.join(HERE, "../../build/bench/programs/graphcutbg"))
    parser.add_argument("--json", metavar="FILE", help="write a record")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    measure.record_rows("masks", rows(options), options.json, opencv=cv2.__version__)


if __name__ == "__main__":
    main()
