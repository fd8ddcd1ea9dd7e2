#!/usr/bin/env python3
"""Times the Python package gst_regions beside scikit-image, SciPy, cc3d and cv2 on the CPU.

Each function takes turns with ours in one process, so that both see the same machine; a line gives both medians and
their ratio. Answers are compared first. A missing package is named and left out. With --json, one object a line.
"""
import argparse
import importlib
import json
import statistics
import sys
import time

import numpy
from cclabel_peers import same_components

import gst_regions


def noise(shape, density):
    return numpy.random.default_rng(23).random(shape) < density


def blobs(shape, sigma=6):
    """Noise without its high frequencies: round regions, as a camera sees."""
    spectrum = numpy.fft.rfftn(noise(shape, 0.5).astype(numpy.float32))
    for axis, frequencies in enumerate([*map(numpy.fft.fftfreq, shape[:-1]), numpy.fft.rfftfreq(shape[-1])]):
        side = [1] * len(shape)
        side[axis] = -1
        spectrum *= numpy.exp(-2 * (numpy.pi * sigma * frequencies.reshape(side)) ** 2)
    smooth = numpy.fft.irfftn(spectrum, shape, range(len(shape)))
    return smooth > numpy.median(smooth)


def colours(shape):
    layers = [blobs(shape, sigma) for sigma in (3, 9, 27)]
    return numpy.stack([60 + 120 * layer for layer in layers], -1).astype(numpy.uint8)


def cases(height, width, depth):
    """(what is timed, the peer's module, their function of the module, ours of the number of threads)"""
    size = f"{width}x{height}"
    for content, mask in (("noise 0.3", noise((height, width), 0.3)), ("noise 0.5", noise((height, width), 0.5)),
                          ("blobs", blobs((height, width))), ("empty", noise((height, width), 0))):
        picture = mask.astype(numpy.uint8)
        for neighbours, connectivity in ((4, 1), (8, 2)):
            what = f"label {size} {neighbours} {content}"
            yield what, "cv2", lambda cv2, p=picture, n=neighbours: cv2.connectedComponents(p, connectivity=n)[1], \
                lambda t, m=mask, c=connectivity: gst_regions.label(m, connectivity=c, threads=t)
            yield what, "skimage.measure", lambda m, p=picture, c=connectivity: m.label(p, connectivity=c), \
                lambda t, p=picture, c=connectivity: gst_regions.label(p, connectivity=c, threads=t)
            yield what, "cc3d", lambda cc3d, p=picture, n=neighbours: cc3d.connected_components(p, connectivity=n), \
                lambda t, p=picture, c=connectivity: gst_regions.label(p, connectivity=c, threads=t)
    spot = numpy.zeros((16, 16), numpy.uint8)  # what a call costs
    spot[2:5, 3:9] = 1
    yield "label 16x16 8 spot", "cv2", lambda cv2: cv2.connectedComponents(spot)[1], \
        lambda t: gst_regions.label(spot, threads=t)
    yield "label 16x16 8 spot", "skimage.measure", lambda m: m.label(spot), lambda t: gst_regions.label(spot, threads=t)
    yield "label 16x16 8 spot", "cc3d", lambda cc3d: cc3d.connected_components(spot, connectivity=8), \
        lambda t: gst_regions.label(spot, threads=t)
    for content, mask in (("noise 0.3", noise((depth,) * 3, 0.3)), ("blobs", blobs((depth,) * 3))):
        for neighbours, connectivity in ((6, 1), (26, 3)):
            yield f"label {depth}^3 {neighbours} {content}", "cc3d", \
                lambda cc3d, m=mask, n=neighbours: cc3d.connected_components(m, connectivity=n), \
                lambda t, m=mask, c=connectivity: gst_regions.label(m, connectivity=c, threads=t)
    image = colours((height, width))
    yield f"slic {size} 1000 pieces", "skimage.segmentation", lambda m: m.slic(image, 1000), \
        lambda t: gst_regions.slic(image, 1000, threads=t)


def seconds_of(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", default="1920x1080")
    parser.add_argument("--depth", type=int, default=256, help="side of volumes")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=10, help="most for one line")
    parser.add_argument("--threads", type=int, default=1, help="of ours and of cv2; 0: as many as there are")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    width, height = map(int, options.size.split("x"))
    missing = set()
    for what, name, theirs, ours in cases(height, width, options.depth):
        try:
            module = importlib.import_module(name)
        except ImportError:
            if name not in missing:
                print(f"python_peers.py: {name} is left out: it is not installed", file=sys.stderr)
            missing.add(name)
            continue
        if name == "cv2":
            module.setNumThreads(options.threads or -1)
        found, wanted = ours(options.threads), theirs(module)
        correct = None if what.startswith("slic") else same_components(wanted, found)
        times, others = [], []
        end = time.perf_counter() + options.seconds
        while len(times) < options.runs and (len(times) < 3 or time.perf_counter() < end):
            times.append(seconds_of(lambda: ours(options.threads)))
            others.append(seconds_of(lambda: theirs(module)))
        mine, other = statistics.median(times) * 1e3, statistics.median(others) * 1e3
        if options.json:
            print(json.dumps({"what": what, "peer": name, "ms": round(mine, 3), "peer_ms": round(other, 3),
                              "ratio": round(other / mine, 2), "runs": len(times), "threads": options.threads,
                              "correct": correct}), flush=True)
        else:
            note = "" if correct in (True, None) else "  DIFFERS"
            print(f"{what:34} {mine:9.3f} ms  {name:22} {other:9.3f} ms  {other / mine:6.2f}{note}", flush=True)


if __name__ == "__main__":
    main()
