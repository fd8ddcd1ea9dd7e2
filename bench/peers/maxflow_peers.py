#!/usr/bin/env python3
"""Times PyMaxflow and OpenCV's grabCut on the instances of bench/programs/maxflow.

    pip install --require-hashes -r requirements/peers.txt
    bench/peers/maxflow_peers.py [--ours build/bench/programs/maxflow] [--runs N] FILE.gcg[.xz]...

PyMaxflow (the solver of Boykov and Kolmogorov, which is only compared and never linked) solves the same graph. Its
milliseconds include building the graph through NumPy; `solve_ms` is only the solving. OpenCV's grabCut computes its
own weights, so it gets a picture of the same size, and its figure is one more iteration. The floor reads the weights
once and writes a mask. All run file by file, so that they run under the same load. Prints one JSON object per line. A
missing package is named and skipped.
"""
import argparse
import json
import lzma
import os
import statistics
import struct
import subprocess
import sys
import time

try:
    import numpy
except ImportError:
    sys.exit("maxflow_peers.py: NumPy is not installed: pip install --require-hashes"
             " -r requirements/peers.txt")

# Directions of the arrays after the terminal weights: right, down, down right, down left.
STEPS = ((1, 0), (0, 1), (1, 1), (-1, 1))


class Instance:
    def __init__(self, path):
        self.name = os.path.basename(path)
        with (lzma.open if path.endswith(".xz") else open)(path, "rb") as file:
            data = file.read()
        if data[:4] != b"GCG1":
            sys.exit(f"maxflow_peers.py: {path}: not an instance: expected a header that begins with GCG1")
        self.width, self.height = struct.unpack_from("<2i", data, 4)
        facts = struct.unpack_from("<6q", data, 24)
        self.expected = {4: (facts[0], facts[2]), 8: (facts[3], facts[5])}
        shape = (5, self.height, self.width)
        arrays = numpy.frombuffer(data, "<i2", shape[0] * shape[1] * shape[2], 128)
        self.weights = arrays.reshape(shape).astype(numpy.int32)


class PyMaxflow:
    def __init__(self):
        import importlib.metadata
        import maxflow
        self.maxflow = maxflow
        self.name = "PyMaxflow " + importlib.metadata.version("PyMaxflow")

    def run(self, instance, neighbours):
        """Seconds for building and for solving, the flow, and the pixels on the source side."""
        start = time.perf_counter()
        graph = self.maxflow.Graph[int](instance.width * instance.height,
                                        neighbours // 2 * instance.width * instance.height)
        nodes = graph.add_grid_nodes((instance.height, instance.width))
        for (x, y), weights in zip(STEPS[:neighbours // 2], instance.weights[1:]):
            structure = numpy.zeros((3, 3), numpy.int32)
            structure[1 + y, 1 + x] = 1
            graph.add_grid_edges(nodes, weights, structure=structure, symmetric=True)
        terminal = instance.weights[0]
        graph.add_grid_tedges(nodes, numpy.maximum(terminal, 0), numpy.maximum(-terminal, 0))
        built = time.perf_counter()
        flow = graph.maxflow()
        sink_side = graph.get_grid_segments(nodes)
        stop = time.perf_counter()
        return built - start, stop - built, int(flow), int((~sink_side).sum())

    def rows(self, instance, runs):
        for neighbours in (4, 8):
            done = [self.run(instance, neighbours) for _ in range(runs)]
            flow, pixels = done[0][2:]
            yield {"neighbours": neighbours, "solver": self.name, "flow": flow,
                   "source_pixels": pixels, **times([a + b for a, b, _, _ in done]),
                   "solve_ms": round(statistics.median(b for _, b, _, _ in done) * 1e3, 3),
                   "expected": (flow, pixels) == instance.expected[neighbours]}


class GrabCut:
    def __init__(self):
        import cv2
        self.cv2 = cv2
        self.name = "OpenCV " + cv2.__version__ + " grabCut, one iteration with its own weights"

    def rows(self, instance, runs):
        cv2, width, height = self.cv2, instance.width, instance.height
        noise = numpy.random.default_rng(1).normal(0, 12, (height, width, 3))
        picture = numpy.full((height, width, 3), (90, 120, 70), numpy.float64)
        cv2.circle(picture, (width // 2, height // 2), min(width, height) // 3, (140, 90, 120), -1)
        picture = numpy.clip(picture + noise, 0, 255).astype(numpy.uint8)
        models = numpy.zeros((1, 65)), numpy.zeros((1, 65))
        mask = numpy.zeros((height, width), numpy.uint8)
        box = (width // 8, height // 8, width * 3 // 4, height * 3 // 4)
        for threads in sorted({1, cv2.getNumberOfCPUs()}):
            cv2.setNumThreads(threads)
            cv2.grabCut(picture, mask, box, *models, 1, cv2.GC_INIT_WITH_RECT)
            seconds = []
            for _ in range(runs):
                start = time.perf_counter()
                cv2.grabCut(picture, mask, None, *models, 1, cv2.GC_EVAL)
                seconds.append(time.perf_counter() - start)
            yield {"neighbours": 8, "solver": f"{self.name}: {threads} thread{'s' * (threads > 1)}", **times(seconds)}


class Floor:
    name = "floor: weights read, mask written"

    def rows(self, instance, runs):
        for neighbours in (4, 8):
            weights = instance.weights[:1 + neighbours // 2]
            seconds = []
            for _ in range(runs):
                start = time.perf_counter()
                for array in weights:
                    array.max()
                numpy.full((instance.height, instance.width), 255, numpy.uint8)
                seconds.append(time.perf_counter() - start)
            yield {"neighbours": neighbours, "solver": self.name, **times(seconds)}


def times(seconds):
    return {"ms": round(statistics.median(seconds) * 1e3, 3),
            "fastest_ms": round(min(seconds) * 1e3, 3), "runs": len(seconds)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--ours", help="the program bench/programs/maxflow, to run first on each file")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    peers = []
    for kind in (PyMaxflow, GrabCut, Floor):
        try:
            peers.append(kind())
        except ImportError as reason:
            print(f"maxflow_peers.py: {kind.__name__} is skipped: {reason}", file=sys.stderr)
    for path in options.files:
        if options.ours:
            subprocess.run([options.ours, "--runs", str(options.runs), path], check=True)
        instance = Instance(path)
        for peer in peers:
            for row in peer.rows(instance, options.runs):
                print(json.dumps({"what": "cut", "file": instance.name, **row}), flush=True)


if __name__ == "__main__":
    main()
