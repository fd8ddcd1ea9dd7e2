#!/usr/bin/env python3
"""Flows of random small grids against Boykov and Kolmogorov's own solver, by hand:

    pip install --require-hashes -r bench/peers/maxflow_requirements.txt
    tests/maxflow/bk_check.py build/bench/programs/maxflow [COUNT]

Grids of 1 to 15 pixels a side with ties, zero and the largest capacities that an instance file
holds, for 4 and 8 neighbours, by every solver of bench/programs/maxflow, cold and warm. PyMaxflow (GPL-3) is
for this comparison alone, so the ordinary tests have an oracle of their own instead.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

import maxflow
import numpy

# Of the arrays after the terminal weights: where the neighbour lies.
STEPS = ((1, 0), (0, 1), (1, 1), (-1, 1))


def random_instance(dice):
    width, height = (int(side) for side in dice.integers(1, 16, 2))
    most = int(dice.choice([1, 2, 9, 300, 3000]))
    arrays = [dice.integers(-most, most + 1, (height, width))]
    for across, down in STEPS:
        weights = dice.integers(0, most + 1, (height, width))
        weights[dice.random(weights.shape) < dice.choice([0, 0.3, 0.9])] = 0
        weights[height - down:] = 0
        if across > 0:
            weights[:, width - 1] = 0
        elif across < 0:
            weights[:, 0] = 0
        arrays.append(weights)
    if dice.random() < 0.2:  # terminals that must win
        arrays[0][dice.random(arrays[0].shape) < 0.3] = 32767 - 8 * most
    return arrays


def flow_of(arrays, neighbours):
    height, width = arrays[0].shape
    graph = maxflow.GraphInt()
    nodes = graph.add_nodes(width * height)
    for y in range(height):
        for x in range(width):
            node, weight = nodes[y * width + x], int(arrays[0][y, x])
            graph.add_tedge(node, max(weight, 0), max(-weight, 0))
            for (across, down), weights in zip(STEPS, arrays[1:3] if neighbours == 4 else arrays[1:]):
                weight = int(weights[y, x])
                if weight:
                    graph.add_edge(node, nodes[(y + down) * width + x + across], weight, weight)
    return graph.maxflow()


def main():
    program, count = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 520
    dice = numpy.random.default_rng(1)
    known = {}
    with tempfile.TemporaryDirectory() as folder:
        for i in range(count):
            arrays = random_instance(dice)
            height, width = arrays[0].shape
            flows = {n: flow_of(arrays, n) for n in (4, 8)}
            known[f"{i}.gcg"] = flows
            with open(os.path.join(folder, f"{i}.gcg"), "wb") as file:
                header = b"GCG1" + struct.pack("<5i6q", width, height, 1, 0, 0, flows[4], 0, 0,
                                               flows[8], 0, 0)
                file.write(header.ljust(128, b"\0"))
                for array in arrays:
                    file.write(array.astype("<i2").tobytes())
        paths = [os.path.join(folder, name) for name in known]
        # Its own verdict is about the source's side too, which these files do not tell.
        text = subprocess.run([program, "--runs", "1", "--seconds", "0", *paths],
                              stdout=subprocess.PIPE, check=False).stdout.decode()
    rows = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    wrong = [row for row in rows
             if row["flow"] != known[os.path.basename(row["file"])][row["neighbours"]]]
    files = {os.path.basename(row["file"]) for row in rows}
    print(f"{len(files)} of {count} grids, {len(rows)} cuts, {len(wrong)} wrong flows")
    for row in wrong[:10]:
        print("  ", row)
    sys.exit(1 if wrong or len(files) < count else 0)


if __name__ == "__main__":
    main()
