#!/usr/bin/env python3
"""Times gst_regions.label on arrays of a CUDA device beside cupyx.scipy.ndimage.label.

Microseconds a call: `streamed` of many calls in a row, which the caller waits for once; `alone` of one that is waited
for; `host` of the caller's thread in a call that the device has no work from (a picture of 16x16). Functions take turns
in one process; each figure is the median of rounds. Answers are compared first. A missing package is named and left
out. With --json, one object a line.
"""
import argparse
import importlib
import json
import statistics
import sys
import time

import numpy
from cclabel_peers import same_components
from python_peers import blobs, noise

import gst_regions

CALLS = 100  # of a round


class CuPy:
    def __init__(self):
        self.module = importlib.import_module("cupy")

    def to(self, mask):
        return self.module.asarray(mask)

    def host(self, array):
        return array.get()

    def wait(self):
        self.module.cuda.Device().synchronize()


class Torch:
    def __init__(self):
        self.module = importlib.import_module("torch")

    def to(self, mask):
        return self.module.from_numpy(mask).cuda()

    def host(self, array):
        return array.cpu().numpy()

    def wait(self):
        self.module.cuda.synchronize()


def microseconds(call, calls, wait):
    """Of the caller's thread, and of all, for one of so many calls."""
    wait()
    start = time.perf_counter()
    for _ in range(calls):
        call()
    given = time.perf_counter()
    wait()
    return (given - start) / calls * 1e6, (time.perf_counter() - start) / calls * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--size", default="1920x1080")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    width, height = map(int, options.size.split("x"))
    libraries = {}
    for name, kind in (("CuPy", CuPy), ("PyTorch", Torch)):
        try:
            libraries[name] = kind()
            libraries[name].to(noise((2, 2), 0.5))
        except Exception as error:  # of many kinds where there is no device
            print(f"python_device_peers.py: {name} is left out: {error}", file=sys.stderr)
            libraries.pop(name, None)
    functions = {f"gst_regions {name}": (library, lambda image, s: gst_regions.label(image, connectivity=s))
                 for name, library in libraries.items()}
    if "CuPy" in libraries:
        scipy = importlib.import_module("cupyx.scipy.ndimage")
        structures = {s: libraries["CuPy"].to(numpy.array([[s > 1, 1, s > 1], [1, 1, 1], [s > 1, 1, s > 1]], int))
                      for s in (1, 2)}
        functions["cupyx.scipy.ndimage"] = libraries["CuPy"], lambda image, s: scipy.label(image, structures[s])[0]
    spot = noise((16, 16), 0.5)
    for content, mask in (("noise 0.1", noise((height, width), 0.1)), ("noise 0.5", noise((height, width), 0.5)),
                          ("blobs", blobs((height, width)))):
        for steps, neighbours in ((1, 4), (2, 8)):
            want = gst_regions.label(mask, connectivity=steps)
            times = {by: {"streamed": [], "alone": [], "host": []} for by in functions}
            for by, (library, function) in functions.items():
                correct = same_components(want, library.host(function(library.to(mask), steps)))
                if not correct:
                    print(f"python_device_peers.py: {by} DIFFERS", file=sys.stderr)
            for _ in range(options.rounds):
                for by, (library, function) in functions.items():
                    image, small = library.to(mask), library.to(spot)
                    for calls in (3, CALLS):
                        streamed = microseconds(lambda: function(image, steps), calls, library.wait)[1]
                    times[by]["streamed"].append(streamed)
                    times[by]["alone"].append(microseconds(lambda: function(image, steps), 1, library.wait)[1])
                    microseconds(lambda: function(small, steps), 3, library.wait)
                    times[by]["host"].append(microseconds(lambda: function(small, steps), CALLS, library.wait)[0])
            for by, found in times.items():
                figures = {name: round(statistics.median(values), 1) for name, values in found.items()}
                line = {"what": f"label {options.size} {neighbours} {content}", "by": by, "rounds": options.rounds, **figures}
                print(json.dumps(line) if options.json else "  ".join(f"{key} {value}" for key, value in line.items()),
                      flush=True)


if __name__ == "__main__":
    main()
