#!/usr/bin/env python3
"""Quality of superpixels of slicsuperpixel and of packaged methods, on a folder in the layout of BSDS500.

    bench/peers/slicsuperpixel_quality.py FOLDER [--every N] [--counts 200,500,1000]
            [--build build] [--set NAME=VALUE]... [--only NAME,...] [--device cpu|cuda] [--json]

FOLDER holds images/test/*.jpg and groundTruth/test/*.mat, directly or in data/. Each method has one setting for all
images; the requested number is adjusted until the mean number of superpixels is within 2 % of the wanted one, if the
method can do that. If a method's labels are not connected, their connected parts are counted.

BR: share of true border pixels with a superpixel border at most 2 pixels away (in a 5x5 window).
UE: undersegmentation error, sum min(|S in G|, |S outside G|) / N (Neubert and Protzel, 2012).
ASA: achievable segmentation accuracy, sum max |S in G| / N. EV: explained variation of RGB.
CO: compactness, sum |S| / N * 4 pi |S| / perimeter^2 (Schick, Fischer, Stiefelhagen, 2012).
All are means over the annotators, then over the images.
"""
import argparse
import glob
import json
import os
import subprocess
import sys

import numpy as np
from PIL import Image
from scipy import ndimage
from scipy.io import loadmat

HERE = os.path.dirname(os.path.abspath(__file__))


def folder_of(path):
    for base in (path, os.path.join(path, "data"), os.path.join(path, "BSDS500", "data")):
        if os.path.isdir(os.path.join(base, "groundTruth", "test")):
            return base
    sys.exit(f"slicsuperpixel_quality.py: {path} has no groundTruth/test; expected the layout of BSDS500")


def load(path, every):
    base = folder_of(path)
    names = sorted(glob.glob(os.path.join(base, "images", "test", "*.jpg")))[::every]
    data = []
    for name in names:
        truth = loadmat(os.path.join(base, "groundTruth", "test",
                                     os.path.basename(name)[:-4] + ".mat"))["groundTruth"]
        segmentations = [t["Segmentation"][0, 0].astype(np.int64) for t in truth[0]]
        data.append((np.array(Image.open(name).convert("RGB")), segmentations))
    if not data:
        sys.exit(f"slicsuperpixel_quality.py: {base}/images/test has no *.jpg")
    return data


def pieces(labels):
    """Labels of the 4-connected parts, from 0."""
    height, width = labels.shape
    index = np.arange(height * width).reshape(height, width)
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components
    across = labels[:, 1:] == labels[:, :-1]
    down = labels[1:] == labels[:-1]
    one = np.concatenate([index[:, 1:][across], index[1:][down]])
    other = np.concatenate([index[:, :-1][across], index[:-1][down]])
    graph = coo_matrix((np.ones(len(one), bool), (one, other)), shape=(height * width,) * 2)
    return connected_components(graph, directed=False)[1].reshape(height, width)


def borders(labels):
    border = np.zeros(labels.shape, bool)
    across = labels[:, 1:] != labels[:, :-1]
    down = labels[1:] != labels[:-1]
    border[:, 1:] |= across
    border[:, :-1] |= across
    border[1:] |= down
    border[:-1] |= down
    return border


def scores(image, truths, labels):
    count = labels.max() + 1
    flat = labels.ravel()
    area = np.bincount(flat, minlength=count).astype(float)
    near = ndimage.maximum_filter(borders(labels), size=5)
    recall, error, accuracy = [], [], []
    for truth in truths:
        true_border = borders(truth)
        recall.append((near & true_border).sum() / max(1, true_border.sum()))
        parts = truth.max() + 1
        shared = np.bincount(flat * parts + truth.ravel(), minlength=count * parts)
        shared = shared.reshape(count, parts).astype(float)
        error.append(np.minimum(shared, area[:, None] - shared).sum() / flat.size)
        accuracy.append(shared.max(axis=1).sum() / flat.size)
    rgb = image.reshape(-1, 3).astype(float)
    mean = rgb.mean(axis=0)
    between = 0.0
    for c in range(3):
        own = np.bincount(flat, rgb[:, c], count) / area
        between += (area * (own - mean[c]) ** 2).sum()
    variation = between / max(1e-9, ((rgb - mean) ** 2).sum())
    # Pixel sides between two superpixels, or at the border of the picture.
    padded = np.pad(labels, 1, constant_values=-1)
    sides = np.zeros(labels.shape)
    for dy, dx in ((0, 1), (1, 0), (1, 2), (2, 1)):
        sides += padded[dy:dy + labels.shape[0], dx:dx + labels.shape[1]] != labels
    perimeter = np.bincount(flat, sides.ravel(), count)
    compact = (area * 4 * np.pi * area / perimeter ** 2).sum() / flat.size
    return (np.mean(recall), np.mean(error), np.mean(accuracy), variation, compact,
            borders(labels).mean())


class Ours:
    def __init__(self, options):
        self.program = os.path.join(options.build, "bench", "programs", "slicsuperpixel")
        self.words = (["--cuda"] if options.device == "cuda" else []) + [w for s in options.set for w in ("--set", s)]

    def __call__(self, image, count):
        height, width = image.shape[:2]
        run = subprocess.run([self.program, f"{width}x{height}", *self.words, "--set",
                              f"superpixels={count}"], input=image.tobytes(), check=True,
                             stdout=subprocess.PIPE)
        return np.frombuffer(run.stdout, np.uint32).reshape(height, width).astype(np.int64) - 1


def peers():
    found = {}
    try:
        import cv2

        def opencv(kind, ruler):
            def run(image, count):
                lab = cv2.cvtColor(cv2.GaussianBlur(image, (3, 3), 0), cv2.COLOR_RGB2Lab)
                side = int(round((image.shape[0] * image.shape[1] / count) ** 0.5))
                if kind == "lsc":
                    slic = cv2.ximgproc.createSuperpixelLSC(lab, side)
                else:
                    slic = cv2.ximgproc.createSuperpixelSLIC(lab, kind, side, ruler)
                slic.iterate(10)
                slic.enforceLabelConnectivity(25)
                return slic.getLabels().astype(np.int64)
            return run

        def seeds(image, count):
            height, width = image.shape[:2]
            method = cv2.ximgproc.createSuperpixelSEEDS(width, height, 3, count, 4, 2, 5, False)
            method.iterate(cv2.cvtColor(image, cv2.COLOR_RGB2HSV), 10)
            return method.getLabels().astype(np.int64)

        for ruler in (10, 20, 40):
            found[f"opencv slic r{ruler}"] = opencv(cv2.ximgproc.SLIC, ruler)
        found["opencv slico"] = opencv(cv2.ximgproc.SLICO, 10)
        found["opencv lsc"] = opencv("lsc", 0)
        found["opencv seeds"] = seeds
    except (ImportError, AttributeError):
        print("slicsuperpixel_quality.py: OpenCV is skipped: no OpenCV with ximgproc is installed", file=sys.stderr)
    try:
        from fast_slic.avx2 import SlicAvx2
        for compactness in (10, 20):
            found[f"fast-slic c{compactness}"] = (
                lambda image, count, m=compactness: SlicAvx2(
                    num_components=count, compactness=m).iterate(
                        np.ascontiguousarray(image)).astype(np.int64))
    except ImportError:
        print("slicsuperpixel_quality.py: fast-slic is skipped: it is not installed", file=sys.stderr)
    try:
        from skimage.segmentation import slic
        found["scikit-image"] = lambda image, count: slic(
            image, count, compactness=10, start_label=0, min_size_factor=0.25).astype(np.int64)
    except ImportError:
        print("slicsuperpixel_quality.py: scikit-image is skipped: it is not installed", file=sys.stderr)
    return found


def evaluate(method, data, wanted):
    asked, tried = wanted, {}
    for _ in range(5):
        labels = [pieces(method(image, int(asked))) for image, _ in data]
        count = np.mean([l.max() + 1 for l in labels])
        tried[asked] = (count, labels)
        if abs(count - wanted) <= 0.02 * wanted:
            break
        following = max(2, round(asked * wanted / count))
        if following in tried:
            break
        asked = following
    count, labels = min(tried.values(), key=lambda t: abs(t[0] - wanted))
    return count, np.mean([scores(image, truths, l)
                           for (image, truths), l in zip(data, labels)], axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("folder")
    parser.add_argument("--every", type=int, default=10, help="use every Nth image (default: 10)")
    parser.add_argument("--counts", default="200,500,1000")
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build"))
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--only", help="names of methods")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    options = parser.parse_args()
    methods = {"slicsuperpixel": Ours(options), **peers()}
    if options.only:
        methods = {n: m for n, m in methods.items() if n in options.only.split(",")}
    data = load(options.folder, options.every)
    if not options.json:
        print(f"{len(data)} images of {options.folder}\n")
        print("| method | K | BR | UE | ASA | EV | CO | border pixels |")
        print("|---|---|---|---|---|---|---|---|")
    for wanted in map(int, options.counts.split(",")):
        for name, method in methods.items():
            count, values = evaluate(method, data, wanted)
            if options.json:
                keys = ("br", "ue", "asa", "ev", "co", "border")
                print(json.dumps({"what": "quality", "by": name, "wanted": wanted,
                                  "superpixels": round(float(count), 1), "images": len(data),
                                  **{k: round(float(v), 4) for k, v in zip(keys, values)}}))
            else:
                print(f"| {name} | {count:.0f} | " + " | ".join(f"{v:.4f}" for v in values) + " |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
