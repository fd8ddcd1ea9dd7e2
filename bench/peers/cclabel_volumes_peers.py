#!/usr/bin/env python3
"""Times cc3d and SciPy on the cubes of bench/programs/cclabel_volumes, on the CPU with one thread each.

usage: cclabel_volumes_peers.py PROGRAM [--json] [--sizes 128,256] [--connectivity 26]
                                [--contents smooth,...] [--ours]

PROGRAM is cclabel_volumes; its --raw writes the cubes. A missing package is named and skipped. Prints one row per
timing, like the program itself. The labels are counted, and the counts of the packages are compared. With --ours,
cclabel runs on each cube right after the packages, on the CPU with one and two threads.
"""
import argparse
import importlib.metadata
import json
import subprocess
import sys
import time

import numpy

CONTENTS = ("rand_g1_d5", "rand_g1_d10", "rand_g1_d20", "rand_g1_d30", "rand_g1_d50", "rand_g1_d70",
            "rand_g1_d90", "rand_g8_d10", "rand_g8_d30", "rand_g8_d50", "smooth")


def peers():
    """(name, function(cube, connectivity) -> labels) of each installed package."""
    found = []
    try:
        import cc3d
        name = "cc3d " + importlib.metadata.version("connected-components-3d")
        found.append((name, lambda cube, connectivity: cc3d.connected_components(
            cube, connectivity=connectivity, binary_image=True)))
    except ImportError:
        print("cclabel_volumes_peers.py: cc3d is skipped: it is not installed", file=sys.stderr)
    try:
        from scipy import ndimage
        name = "SciPy " + importlib.metadata.version("scipy")
        rank = {6: 1, 18: 2, 26: 3}
        found.append((name, lambda cube, connectivity: ndimage.label(
            cube, ndimage.generate_binary_structure(3, rank[connectivity]))[0]))
    except ImportError:
        print("cclabel_volumes_peers.py: SciPy is skipped: it is not installed", file=sys.stderr)
    return found


def timed(work, runs=7, seconds=6):
    """The last result, and the sorted times of at least three runs in microseconds."""
    samples, begin = [], time.perf_counter()
    while len(samples) < 3 or (len(samples) < runs and time.perf_counter() - begin < seconds):
        start = time.perf_counter()
        result = work()
        samples.append((time.perf_counter() - start) * 1e6)
    return result, sorted(samples)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("program")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--sizes", default="128,256")
    parser.add_argument("--connectivity", default="26")
    parser.add_argument("--contents", default=",".join(CONTENTS))
    parser.add_argument("--ours", action="store_true")
    options = parser.parse_args()
    for side in map(int, options.sizes.split(",")):
        for content in options.contents.split(","):
            raw = subprocess.run([options.program, "--raw", content, str(side)], check=True,
                                 stdout=subprocess.PIPE).stdout
            gray = numpy.frombuffer(raw, numpy.uint8).reshape(side, side, side)
            cube = (gray >= 128).astype(numpy.uint8)
            for connectivity in map(int, options.connectivity.split(",")):
                counts = set()
                for name, label in peers():
                    labels, samples = timed(lambda: label(cube, connectivity))
                    counts.add(int(labels.max()))
                    row = {"what": "volume", "by": name, "backend": "cpu", "threads": 1,
                           "connectivity": connectivity, "content": content, "width": side,
                           "height": side, "depth": side, "thresholds": 1,
                           "regions": int(labels.max()), "correct": len(counts) == 1,
                           "clock": "wall", "us": round(samples[len(samples) // 2], 3),
                           "fastest_us": round(samples[0], 3), "runs": len(samples)}
                    print(json.dumps(row) if options.json else
                          f"{content:12} {side}^3 {connectivity:2}-connected {name:12} "
                          f"{row['us']:10.1f} us, fastest {row['fastest_us']:10.1f}, "
                          f"{row['regions']} regions{'' if row['correct'] else '  WRONG'}",
                          flush=True)
                if options.ours:
                    subprocess.run([options.program, "--cpu", "--sizes", str(side), "--contents",
                                    content, "--connectivity", str(connectivity)]
                                   + (["--json"] if options.json else []), check=True)


if __name__ == "__main__":
    main()
