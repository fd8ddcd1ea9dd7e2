#!/usr/bin/env python3
"""Times the Python package gst_regions and scikit-image, SciPy, cc3d, cv2, kornia-rs and fast-regionprops on the CPU.

Each peer's function alternates with ours in one process, so that both run under the same load. A row has both medians,
both fastest times and the ratio of the medians. With one thread, times are the process's CPU time, which depends little
on other processes; with more, they are wall-clock times. With --picture, pictures are the benchmark's 21; without it,
noise and blobs. Answers are compared first. A missing package is named and skipped. With --json, one object per line.
"""
import argparse
import functools
import importlib
import importlib.metadata
import json
import os
import statistics
import subprocess
import sys
import time

import numpy
from cclabel_peers import same_components

import gst_regions

PACKAGES = {"cv2": "opencv-python-headless", "skimage": "scikit-image", "scipy": "scipy",
            "cc3d": "connected-components-3d", "kornia_rs": "kornia-rs", "fast_regionprops": "fast-regionprops"}
PROPERTIES = ("label", "area", "bbox", "centroid")


def noise(shape, density):
    return numpy.random.default_rng(23).random(shape) < density


def blobs(shape, sigma=6):
    """Noise without its high frequencies: round regions, as in a camera's picture."""
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


def pictures(program, width, height, names=()):
    """{content: mask}: the named pictures, or all, from the program bench/programs/picture; without a program, noise
    and blobs."""
    shape = height, width
    if not program:
        return {"rand_g1_d30": noise(shape, 0.3), "rand_g1_d50": noise(shape, 0.5), "smooth": blobs(shape)}
    known = subprocess.run([program, "--contents"], check=True, capture_output=True, text=True).stdout.split()
    made = {}
    for name in names or known:
        data = subprocess.run([program, name, f"{width}x{height}"], check=True, capture_output=True).stdout
        made[name] = numpy.frombuffer(data, numpy.uint8).reshape(shape) != 0
    return made


class Case:
    """One comparison: a function of the peer's package, a function of our number of threads, and the row's keys."""

    def __init__(self, package, theirs, ours, **what):
        self.package, self.theirs, self.ours, self.what = package, theirs, ours, what

    @property
    def module(self):
        return importlib.import_module(self.package)


def label_cases(mask, **what):
    """The comparisons of labelling one picture."""
    picture = mask.astype(numpy.uint8)
    for connectivity, neighbours in ((1, 4), (2, 8)):
        what |= {"task": "label", "neighbours": neighbours}
        ours = functools.partial(gst_regions.label, mask, connectivity=connectivity)
        yield Case("cv2", lambda cv2, n=neighbours: cv2.connectedComponents(picture, connectivity=n)[1],
                   lambda t, f=ours: f(threads=t), **what)
        yield Case("skimage.measure", lambda m, c=connectivity: m.label(picture, connectivity=c),
                   lambda t, c=connectivity: gst_regions.label(picture, connectivity=c, threads=t), **what)
        yield Case("cc3d", lambda cc3d, n=neighbours: cc3d.connected_components(picture, connectivity=n),
                   lambda t, f=ours: f(threads=t), **what)
        yield Case("kornia_rs", lambda m, n=neighbours: m.imgproc.connected_components(picture[..., None], n)[1],
                   lambda t, f=ours: f(threads=t), **what)
        structure = numpy.ones((3, 3), bool) if neighbours == 8 else None
        yield Case("scipy.ndimage", lambda m, s=structure: m.label(picture, s)[0],
                   lambda t, f=ours: f(threads=t), **what)


def table_cases(content, mask):
    """The comparisons of measuring the regions of one picture."""
    labels = gst_regions.label(mask)
    for package, name in (("skimage.measure", "regionprops_table"), ("fast_regionprops", "regionprops_table_fast")):
        yield Case(package, lambda m, f=name: getattr(m, f)(labels, properties=PROPERTIES),
                   lambda _: gst_regions.regionprops_table(labels), task="regionprops",
                   size=f"{mask.shape[1]}x{mask.shape[0]}", content=content)


def cases(masks, width, height, depth):
    size = f"{width}x{height}"
    for content, mask in masks.items():
        yield from label_cases(mask, content=content, size=size)
    spot = numpy.zeros((16, 16), numpy.uint8)  # for the overhead of a call
    spot[2:5, 3:9] = 1
    what = {"task": "call", "size": "16x16", "neighbours": 8, "content": "spot"}

    def ours(threads):
        return gst_regions.label(spot, threads=threads)
    yield Case("cv2", lambda cv2: cv2.connectedComponents(spot)[1], ours, **what)
    yield Case("skimage.measure", lambda m: m.label(spot), ours, **what)
    yield Case("cc3d", lambda cc3d: cc3d.connected_components(spot, connectivity=8), ours, **what)
    yield Case("kornia_rs", lambda m: m.imgproc.connected_components(spot[..., None])[1], ours, **what)
    yield from table_cases("blobs", blobs((height, width)))
    yield from table_cases("noise 0.1", noise((height // 4, width // 4), 0.1))
    for content, mask in (("noise 0.1", noise((depth,) * 3, 0.1)), ("noise 0.3", noise((depth,) * 3, 0.3)),
                          ("noise 0.5", noise((depth,) * 3, 0.5)), ("blobs", blobs((depth,) * 3))):
        for neighbours, connectivity in ((6, 1), (18, 2), (26, 3)):
            yield Case("cc3d", lambda cc3d, m=mask, n=neighbours: cc3d.connected_components(m, connectivity=n),
                       lambda t, m=mask, c=connectivity: gst_regions.label(m, connectivity=c, threads=t),
                       task="volume", size=f"{depth}x{depth}x{depth}", neighbours=neighbours, content=content)
    image = colours((height, width))
    for pieces in (300, 3000):
        yield Case("skimage.segmentation", lambda m, n=pieces: m.slic(image, n),
                   lambda t, n=pieces: gst_regions.slic(image, n, threads=t),
                   task="slic", size=size, content=f"{pieces} pieces")


def is_equal(task, wanted, found):
    """Whether both answers are equal; None for superpixels, which differ between methods."""
    if task == "slic":
        return None
    if task == "regionprops":
        return all(numpy.allclose(found[name], wanted[name]) for name in ("label", "area", "centroid-0", "centroid-1"))
    return same_components(wanted, found)


def seconds_of(function, clock):
    start = clock()
    function()
    return clock() - start


def row_of(case, options):
    module = case.module
    package = case.package.partition(".")[0]
    if package == "cv2":
        module.setNumThreads(options.threads or -1)
    found, wanted = case.ours(options.threads), case.theirs(module)
    correct = is_equal(case.what["task"], wanted, found)
    clock = time.process_time if options.threads == 1 else time.perf_counter
    times, others = [], []
    end = time.perf_counter() + options.seconds
    while len(times) < options.runs and (len(times) < 3 or time.perf_counter() < end):
        times.append(seconds_of(lambda: case.ours(options.threads), clock))
        others.append(seconds_of(lambda: case.theirs(module), clock))
    mine, other = statistics.median(times), statistics.median(others)
    return {"what": "python", **case.what, "threads": options.threads or os.cpu_count(), "clock": clock.__name__,
            "us": round(mine * 1e6, 2), "fastest_us": round(min(times) * 1e6, 2),
            "fastest_peer_us": round(min(others) * 1e6, 2),
            "peer": f"{package} {importlib.metadata.version(PACKAGES[package])}", "peer_us": round(other * 1e6, 2),
            "runs": len(times), "correct": correct}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--picture", help="the program bench/programs/picture")
    parser.add_argument("--size", default="1920x1080")
    parser.add_argument("--depth", type=int, default=256, help="side of volumes")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=10, help="time limit of one comparison")
    parser.add_argument("--threads", type=int, default=1, help="number for gst_regions and cv2; 0: all cores")
    parser.add_argument("--tasks", default="label,call,regionprops,volume,slic")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    width, height = map(int, options.size.split("x"))
    missing = set()
    for case in cases(pictures(options.picture, width, height), width, height, options.depth):
        if case.what["task"] not in options.tasks.split(","):
            continue
        try:
            row = row_of(case, options)
        except ImportError:
            if case.package not in missing:
                print(f"python_peers.py: {case.package} is skipped: it is not installed", file=sys.stderr)
            missing.add(case.package)
            continue
        if options.json:
            print(json.dumps(row), flush=True)
        else:
            name = " ".join(str(value) for value in case.what.values())
            note = "" if row["correct"] in (True, None) else "  DIFFERS"
            print(f"{name:36} {row['us'] / 1e3:9.3f} ms  {row['peer']:36} {row['peer_us'] / 1e3:9.3f} ms  "
                  f"{row['peer_us'] / row['us']:6.2f}{note}", flush=True)


if __name__ == "__main__":
    main()
