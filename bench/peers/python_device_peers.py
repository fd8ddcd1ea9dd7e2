#!/usr/bin/env python3
"""Times gst_regions.label on arrays of a CUDA device, and cupyx.scipy.ndimage, cuCIM, CV-CUDA, kornia-rs, bkeccl and
colorcc.

`us` is the time of one of many consecutive calls, in microseconds, after which the caller waits once; the calls
alternate between several arrays. `alone_us` is the time of one call that is waited for. `host_us` is the time of the
calling thread for a picture of 16x16, which leaves the device little to do. All functions take turns in one process;
each figure is the median of the rounds. Answers are compared first. A missing package is named and skipped. With
--cclabel, that C++ program first times the same pictures. With --json, one object per line.
"""
import argparse
import collections
import importlib
import importlib.metadata
import json
import statistics
import subprocess
import sys
import time

import numpy
from cclabel_peers import same_components
from python_peers import noise, pictures

import gst_regions

CALLS = 100  # in a round
TURNS = 12  # arrays in use: with their labels, more than a device's cache can hold
CONTENTS = ("rand_g1_d10", "rand_g1_d50", "rand_g16_d50", "maze", "smooth")


class CuPy:
    def __init__(self):
        self.module = importlib.import_module("cupy")
        self.module.arange(2).sum()

    def to(self, mask):
        return self.module.asarray(mask)

    def host(self, array):
        return array.get()

    def wait(self):
        self.module.cuda.Device().synchronize()


class Torch:
    def __init__(self):
        self.module = importlib.import_module("torch")
        self.module.zeros(2).cuda()

    def to(self, mask):
        return self.module.from_numpy(mask).cuda()

    def host(self, array):
        return array.cpu().numpy()

    def wait(self):
        self.module.cuda.synchronize()


class TorchColours(Torch):
    """Pictures of two colours."""

    def to(self, mask):
        return super().to(numpy.repeat(mask[..., None].astype(numpy.uint8), 3, -1))


def structure_of(steps):
    corner = steps > 1
    return numpy.array([[corner, 1, corner], [1, 1, 1], [corner, 1, corner]], int)


def ours(_, steps):
    return lambda image: gst_regions.label(image, connectivity=steps)


def cupyx(library, steps):
    scipy, structure = importlib.import_module("cupyx.scipy.ndimage"), library.to(structure_of(steps))
    return lambda image: scipy.label(image, structure)[0]


def cucim(_, steps):
    measure = importlib.import_module("cucim.skimage.measure")
    return lambda image: measure.label(image, connectivity=steps)


def cvcuda(library, steps):
    package = importlib.import_module("cvcuda")
    background = package.as_tensor(library.module.zeros(1, "u1"), "N")
    four = package.ConnectivityType.CONNECTIVITY_4_2D
    return (lambda image: library.module.asarray(package.label(
        package.as_tensor(image.view("u1"), "HW"), four, bg_label=background)[0].cuda())) if steps == 1 else None


def kornia(library, steps):
    package = importlib.import_module("kornia_rs")
    return lambda image: library.module.asarray(package.imgproc.connected_components(
        package.image.Image.from_dlpack(image.view("u1")[..., None]), 4 * steps)[1])[..., 0]


def bkeccl(_, steps):
    package = importlib.import_module("bkeccl")
    return (lambda image: package.ccl(image)[0]) if steps == 2 else None


def colorcc(_, steps):
    package = importlib.import_module("colorcc")
    return lambda image: package.label(image, conn=4 * steps, ignore=(0, 0, 0))[0]


# Name, kind of arrays, function that makes a labeller for scikit-image's connectivity (or None), package.
MAKERS = (("gst_regions, CuPy", CuPy, ours, None), ("gst_regions, PyTorch", Torch, ours, None),
          ("cupyx.scipy.ndimage", CuPy, cupyx, "cupy"), ("cuCIM", CuPy, cucim, "cucim-cu13"),
          ("CV-CUDA", CuPy, cvcuda, "cvcuda-cu13"), ("kornia-rs", CuPy, kornia, "kornia-rs"),
          ("bkeccl", CuPy, bkeccl, "bkeccl"), ("colorcc", TorchColours, colorcc, "colorcc"))


def version_of(package):
    for name in (package, package + "-cuda13x", package + "-cuda12x", package.replace("cu13", "cu12")):
        try:
            return " " + importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return ""


def present():
    """(name, library of arrays, function) of the packages that can label a picture here."""
    found, tried = [], numpy.eye(40, dtype=bool)
    for name, kind, make, package in MAKERS:
        try:
            library = kind()
            label = next(filter(None, (make(library, steps) for steps in (2, 1))))
            label(library.to(tried))
            found.append((name + (version_of(package) if package else ""), library, make))
        except Exception as error:  # packages without a device fail in many ways
            print(f"python_device_peers.py: {name} is skipped: {type(error).__name__}: {error}"[:300], file=sys.stderr)
    return found


def microseconds(call, calls, wait):
    """Microseconds per call: until the calling thread is free, and until all are complete."""
    wait()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    given = time.perf_counter()
    wait()
    return (given - start) / calls * 1e6, (time.perf_counter() - start) / calls * 1e6


def in_turns(function, images):
    """A function that labels the next image at each call and keeps the labels of the last len(images) calls."""
    kept, state = collections.deque(maxlen=len(images)), [0]

    def call():
        state[0] += 1
        kept.append(function(images[state[0] % len(images)]))
    return call


def of_picture(makers, content, mask, rounds):
    height, width = mask.shape
    for steps, neighbours in ((1, 4), (2, 8)):
        want = gst_regions.label(mask, connectivity=steps)
        calls, right, times = {}, {}, collections.defaultdict(lambda: ([], []))
        for name, library, make in makers:
            function = make(library, steps)
            if function:
                right[name] = same_components(want, library.host(function(library.to(mask))))
                images = [library.to(numpy.roll(mask, 32 * turn, 1)) for turn in range(TURNS)]
                calls[name] = in_turns(function, images), library.wait
        for _ in range(rounds):
            for name, (call, wait) in calls.items():
                microseconds(call, 3, wait)
                times[name][0].append(microseconds(call, CALLS if "gst_regions" in name else CALLS // 4, wait)[1])
                times[name][1].append(statistics.median(microseconds(call, 1, wait)[1] for _ in range(5)))
        for name, (streamed, alone) in times.items():
            yield {"what": "python device", "by": name, "content": content, "width": width, "height": height,
                   "connectivity": neighbours, "us": round(statistics.median(streamed), 2),
                   "fastest_us": round(min(streamed), 2),
                   "alone_us": round(statistics.median(alone), 2), "rounds": rounds, "correct": right[name]}


def of_calls(makers, rounds):
    spot = noise((16, 16), 0.5)
    calls, times = {}, collections.defaultdict(list)
    for name, library, make in makers:
        function, image = make(library, 2) or make(library, 1), library.to(spot)
        calls[name] = (lambda f=function, i=image: f(i)), library.wait
        if "gst_regions" in name:
            out = library.to(numpy.zeros((16, 16), numpy.int32))
            calls[name + ", out"] = (lambda i=image, o=out: gst_regions.label(i, out=o)), library.wait
    for _ in range(rounds):
        for name, (call, wait) in calls.items():
            microseconds(call, 20, wait)
            times[name].append(microseconds(call, CALLS, wait)[0])
    for name, found in times.items():
        yield {"what": "python call", "by": name, "host_us": round(statistics.median(found), 2),
               "least_us": round(min(found), 2), "rounds": rounds}


def of_program(program, contents, size):
    """The rows of the C++ program."""
    done = subprocess.run([program, "--json", "--backend", "cuda", "--size", size, "--criterion", "binary", "--task",
                           "labels", "--content", ",".join(contents), "--runs", "30"],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"python_device_peers.py: {program}: {done.stderr[-300:]}", file=sys.stderr)
    return [row for row in map(json.loads, filter(lambda line: line.startswith("{"), done.stdout.splitlines()))
            if row["what"] == "time"]


def rows(options):
    width, height = map(int, options.size.split("x"))
    masks = pictures(options.picture, width, height, options.content.split(","))
    if options.cclabel:
        yield from of_program(options.cclabel, masks, options.size)
    makers = present()
    yield from of_calls(makers, options.rounds)
    for content, mask in masks.items():
        yield from of_picture(makers, content, mask, options.rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--picture", help="the program bench/programs/picture")
    parser.add_argument("--cclabel", help="the program bench/programs/cclabel")
    parser.add_argument("--content", default=",".join(CONTENTS))
    parser.add_argument("--size", default="1920x1080")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    for row in rows(options):
        shown = {key: row.get(key) for key in ("what", "by", "clock", "content", "connectivity", "us", "alone_us",
                                               "host_us", "correct") if row.get(key) is not None}
        text = "  ".join(f"{key} {value}" for key, value in shown.items())
        print(json.dumps(row) if options.json else text, flush=True)


if __name__ == "__main__":
    main()
