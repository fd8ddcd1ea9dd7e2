#!/usr/bin/env python3
"""Times gst_regions.label on arrays of a CUDA device beside cupyx.scipy.ndimage, cuCIM, bkeccl and colorcc.

Microseconds a call: `us` of many calls in a row, which the caller waits for once, of arrays that take turns; `alone_us`
of one that is waited for. Of calls that leave the device little to do (a picture of 16x16) `host_us` is the caller's
thread's. Functions take turns in one process; each figure is the median of rounds. Answers are compared first. A
missing package is named and left out. With --cclabel, that program times the same pictures in C++ before. With --json,
one object a line.
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

CALLS = 100  # of a round
TURNS = 12  # arrays that take turns: more than a device's cache holds, with their labels
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
    """A picture of two colours."""

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


def bkeccl(_, steps):
    package = importlib.import_module("bkeccl")
    return (lambda image: package.ccl(image)[0]) if steps == 2 else None


def colorcc(_, steps):
    package = importlib.import_module("colorcc")
    return lambda image: package.label(image, conn=4 * steps, ignore=(0, 0, 0))[0]


# Name, arrays, the function of arrays for as many steps as scikit-image's connectivity, the package.
MAKERS = (("gst_regions, CuPy", CuPy, ours, None), ("gst_regions, PyTorch", Torch, ours, None),
          ("cupyx.scipy.ndimage", CuPy, cupyx, "cupy"), ("cuCIM", CuPy, cucim, "cucim-cu13"),
          ("bkeccl", CuPy, bkeccl, "bkeccl"), ("colorcc", TorchColours, colorcc, "colorcc"))


def version_of(package):
    for name in (package, package + "-cuda13x", package + "-cuda12x", package.replace("cu13", "cu12")):
        try:
            return " " + importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return ""


def present():
    """(name, its arrays' library, the function) of those that label a picture here."""
    found, tried = [], numpy.eye(40, dtype=bool)
    for name, kind, make, package in MAKERS:
        try:
            library = kind()
            make(library, 2)(library.to(tried))
            found.append((name + (version_of(package) if package else ""), library, make))
        except Exception as error:  # of many kinds
            print(f"python_device_peers.py: {name} is left out: {type(error).__name__}: {error}"[:300], file=sys.stderr)
    return found


def microseconds(call, calls, wait):
    """Of the caller's thread, and of all, for one of so many calls."""
    wait()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    given = time.perf_counter()
    wait()
    return (given - start) / calls * 1e6, (time.perf_counter() - start) / calls * 1e6


def in_turns(function, images):
    """A call of the next image; as many labels are kept as there are images."""
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
                   "alone_us": round(statistics.median(alone), 2), "rounds": rounds, "correct": right[name]}


def of_calls(makers, rounds):
    spot = noise((16, 16), 0.5)
    calls, times = {}, collections.defaultdict(list)
    for name, library, make in makers:
        function, image = make(library, 2), library.to(spot)
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
    """The C++ program's rows."""
    done = subprocess.run([program, "--json", "--backend", "cuda", "--size", size, "--criterion", "binary", "--task",
                           "labels", "--content", ",".join(contents), "--runs", "30"], capture_output=True, text=True, check=False)
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
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
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
        print(json.dumps(row) if options.json else "  ".join(f"{key} {value}" for key, value in shown.items()), flush=True)


if __name__ == "__main__":
    main()
