#!/usr/bin/env python3
"""Writes docs/performance.md and its plots from the records in bench/results; no figure in it is
typed by hand."""
import os
import sys

import cut_tables
import quality_tables
import superpixel_tables
import tracking_tables
import volume_tables
from cpu_report import Cpu, cpu_parts, transcode_musts, transcode_part
from figures import CONTENTS, LARGE, SIZES, Figures, anchors, geomean, of_gpu, of_suite, records
from phrases import (HD, SQUARE, machine_of, number, pipeline_table, ratio, streams, table,
                     times, verdict)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Gpu:
    """The tables of one GPU record."""

    def __init__(self, figures):
        self.figures = figures
        self.anchors = anchors()

    def ours(self, size, connectivity, task="labels", clock="graph", **more):
        return self.figures.mean(size=size, by="cclabel", backend="cuda", criterion="binary",
                                 connectivity=connectivity, task=task, clock=clock,
                                 format="GRAY8", **more)

    def peer(self, size, connectivity):
        return self.anchors["geomean_us"][str(connectivity)]["best per content"][size]

    def labelling(self):
        rows = []
        for connectivity in (8, 4):
            for size in SIZES:
                ours = self.ours(size, connectivity)
                floor = self.figures.floor(size)
                peer, peer_floor = self.peer(size, connectivity), self.anchors["floor_us"][size]
                rows.append([str(connectivity), size, number(ours),
                             number(self.ours(size, connectivity, clock="stream")), number(floor),
                             times(ratio(ours, floor)), number(peer), times(peer / peer_floor),
                             times(ratio(peer / peer_floor, ratio(ours, floor)))])
        return table(["neighbours", "size", "cclabel, graph", "cclabel, stream", "floor kernel",
                      "cclabel / floor", "best peers then", "peers / floor then", "faster by"],
                     rows)

    def contents(self, size):
        rows = []
        for content in CONTENTS:
            row = [content]
            for connectivity in (8, 4):
                ours = self.figures.by_content(
                    size=size, by="cclabel", backend="cuda", criterion="binary", format="GRAY8",
                    connectivity=connectivity, task="labels", clock="graph").get(content)
                best, name = self.anchors["best"][size][content][str(connectivity)]
                row += [number(ours), f"{number(best)} {name}"]
            rows.append(row)
        return table(["content", "8: cclabel", "8: best peer", "4: cclabel", "4: best peer"], rows)

    def table_cost(self):
        rows = []
        for connectivity in (8, 4):
            for size in SIZES:
                with_table = self.table_ratios(size, connectivity)
                if not with_table:
                    continue
                worst = max(with_table, key=with_table.get)
                rows.append([str(connectivity), size, number(self.ours(size, connectivity)),
                             number(self.ours(size, connectivity, "table")),
                             times(geomean(with_table.values())),
                             f"{times(with_table[worst])} ({worst})",
                             number(geomean(self.anchors["cvcuda_stats_us"][size].values()))])
        return table(["neighbours", "size", "labels", "labels + table", "ratio", "worst ratio",
                      "CV-CUDA labels + statistics then (4 neighbours)"], rows)

    def table_ratios(self, size, connectivity):
        keys = dict(size=size, by="cclabel", backend="cuda", criterion="binary", format="GRAY8",
                    connectivity=connectivity, clock="graph")
        labels = self.figures.by_content(task="labels", **keys)
        with_table = self.figures.by_content(task="table", **keys)
        return {c: with_table[c] / labels[c] for c in CONTENTS if c in labels and c in with_table}

    def difference(self):
        rows = []
        for size in SIZES:
            for row in self.figures.select(what="time", size=size, by="cclabel", backend="cuda",
                                           criterion="difference", connectivity=8, task="labels",
                                           clock="graph"):
                rows.append([size, row["content"], number(row["us"]), str(row["regions"])])
        return table(["size", "content", "µs", "regions"], rows)

    def peers(self):
        rows = []
        for size in (HD, SQUARE):
            for connectivity in (8, 4):
                keys = dict(size=size, backend="cuda", criterion="binary",
                            connectivity=connectivity, task="labels", clock="stream",
                            format="GRAY8")
                for name in self.figures.makers(**keys):
                    mean = self.figures.mean(by=name, **keys)
                    wrong, answers = self.figures.wrong(by=name, **keys)
                    rows.append([size, str(connectivity), name, number(mean),
                                 times(ratio(mean, self.ours(size, connectivity,
                                                             clock="stream"))),
                                 f"{wrong} of {answers}" if wrong else "none"])
        return table(["size", "neighbours", "by", "µs, plain launches", "of cclabel's time",
                      "wrong answers"], rows)

    def musts(self):
        rows = []
        for connectivity in (8, 4):
            for size in LARGE:
                ours, peer = self.ours(size, connectivity), self.peer(size, connectivity)
                rows.append([f"labels, {connectivity} neighbours, {size}, geomean of 21 contents",
                             f"≤ {number(peer)} µs", number(ours, " µs"),
                             verdict(None if ours is None else ours <= peer)])
        wrong, answers = self.figures.wrong(by="cclabel", backend="cuda")
        rows.append(["answers equal to the CPU's, bit for bit", "all",
                     f"{answers - wrong} of {answers}", verdict(wrong == 0 if answers else None)])
        for size in LARGE:
            ratios = {**{f"8 {c}": r for c, r in self.table_ratios(size, 8).items()},
                      **{f"4 {c}": r for c, r in self.table_ratios(size, 4).items()}}
            mean = geomean(ratios.values()) if ratios else None
            rows.append([f"labels and table, {size}, of labels alone", "≤ 1.5×", times(mean),
                         verdict(None if mean is None else mean <= 1.5)])
        for size, goal in ((HD, 50), (SQUARE, 200)):
            found = self.figures.by_content(size=size, by="cclabel", backend="cuda",
                                            criterion="difference", connectivity=8, task="labels",
                                            clock="graph")
            worst = max(found, key=found.get) if found else None
            rows.append([f"goal: difference on RGB, {size}, slowest picture",
                         f"≤ {goal} µs", f"{number(found[worst])} µs ({worst})" if worst else "–",
                         verdict(found[worst] <= goal if worst else None)])
        return rows + self.element_musts()

    def element_musts(self):
        rows = []
        kernel = self.figures.select(what="time", size=HD, by="cclabel", backend="cuda",
                                     format="NV12", task="table", clock="graph")
        memory = self.rates("cuda", "output=none")
        allowed = min(3000, 1e6 / kernel[-1]["us"]) if kernel else None
        reached = ratio(max(memory.values(), default=None) if memory else None, allowed)
        rows.append(["CUDA memory, 1080p, of what kernels allow (at most 3,000 frames/s)", "≥ 0.9",
                     number(reached), verdict(None if reached is None else reached >= 0.9)])
        copies = {row["direction"]: row for row in self.figures.select(what="copy", size=HD,
                                                                       format="NV12")}
        pinned = self.rates("pinned", "output=none")
        reached = None
        if copies and pinned:
            reached = max(pinned.values()) * copies["up"]["us"] / 1e6
        rows.append(["pool we propose, 1080p, no picture out, of what the upload allows", "≥ 0.8",
                     number(reached), verdict(None if reached is None else reached >= 0.8)])
        pinned = self.rates("pinned", "output=labels")
        reached = None
        if copies and pinned:
            # Both directions run at once; two bytes a label, the picture has one and a half.
            slower = max(copies["up"]["us"], copies["down"]["us"] * 2 / 1.5)
            reached = max(pinned.values()) * slower / 1e6
        rows.append(["pool we propose, 1080p, labels out, of what the copies allow", "≥ 0.8",
                     number(reached), verdict(None if reached is None else reached >= 0.8)])
        for name, chain in (("no picture out", "output=none"), ("labels out", "output=labels")):
            rates = self.rates("system", chain)
            gain = ratio(rates.get(4), rates.get(1))
            rows.append([f"pageable system memory, {name}: 4 frames in flight, of 1", "≥ 1.5×",
                         times(gain), verdict(None if gain is None else gain >= 1.5)])
        tried = [row["latency_us"] for row in self.figures.select(what="pipeline")
                 if row["latency_us"]]
        arrived = sum(latency > 0 for latency in tried)
        rows.append(["a frame that nothing follows arrives", "in all pipelines",
                     f"in {arrived} of {len(tried)}",
                     verdict(arrived == len(tried) if tried else None)])
        return rows

    def rates(self, source, chain):
        """{frames in flight: frames a second} of cclabel alone."""
        return {row["in_flight"]: row["frames_per_second"]
                for row in self.figures.select(what="pipeline", source=source)
                if chain in row["chain"] and "regionoverlay" not in row["chain"]}


def document(gpu, cpu, cpus, cuts):
    parts = ["# Performance\n",
             "Written by `bench/run` from the records in `bench/results`; do not edit.\n"]
    wanted = ["what", "wanted", "measured", ""]
    beside, cubes = superpixel_tables.recorded(), volume_tables.recorded_cubes()
    if gpu:
        parts += ["## What was asked for, GPU\n",
                  table(wanted, gpu.musts() + cut_tables.musts_on_gpu(cuts[0], verdict) +
                        cut_tables.element_must(gpu.figures, verdict) +
                        superpixel_tables.gpu_musts(gpu.figures) +
                        tracking_tables.musts(gpu.figures) +
                        volume_tables.musts(gpu.figures, gpu.anchors))]
    if cpu:
        asked = [row for each in cuts[1] for row in cut_tables.musts_on_cpu(each, verdict)]
        parts += ["## What was asked for, CPU\n",
                  table(wanted, cpu.musts() + asked + cut_tables.foreground_must(verdict) +
                        superpixel_tables.musts(beside) + quality_tables.musts(verdict) +
                        transcode_musts(of_suite("transcode")) +
                        (cubes.musts() if cubes else []))]
    if gpu:
        parts += gpu_parts(gpu)
    for each in cpus:
        parts += cpu_parts(each)
    parts += transcode_part(of_suite("transcode"))
    parts += superpixel_tables.peers(beside) + (cubes.part(table) if cubes else [])
    for each in [cuts[0], *cuts[1]]:
        if each:
            parts += ["## Minimum cuts: " + each.record["device"] + "\n",
                      machine_of(each) + ".\n",
                      "Milliseconds from the weights in the device's memory to the mask there, "
                      "nothing built before; peers build their graphs within. *warm* starts from "
                      "the solution of a frame whose terminal weights differ by noise in a "
                      "quarter of the pixels. All equal the known optimum and its largest source "
                      "side, or say **wrong**.\n", table(*each.table())]
    quality = cut_tables.foreground()
    if quality:
        parts += ["## Foreground\n",
                  "F-measure in CDnet's way on clips composed with exact masks "
                  "(`bench/foreground-quality`): one setting for all of ours; of each of OpenCV "
                  f"{quality[2]['opencv']}'s subtractors the median, opening or closing that is "
                  "best for it.\n",
                  table(*quality[:2]),
                  "A frame of such a clip, its truth, then graphcutbg, MOG2, KNN and GSOC; and "
                  "people walking, seen by the same:\n",
                  "![Composites](../bench/results/foreground/composites.jpg)\n",
                  "![People walking](../bench/results/foreground/vtest.jpg)\n"]
    parts += quality_tables.part()
    return "\n".join(parts)


def superpixels(figures):
    """The frames of bench/superpixels that the record has, case by case over sizes."""
    rows = list(figures.select(what="superpixels"))
    if not rows:
        return []
    sizes = list(dict.fromkeys(f"{row['width']}x{row['height']}" for row in rows))

    def scene(content):  # older records name none: they are of blobs
        own = [row for row in rows if row.get("content", "blobs") == content]
        took = {(row["case"], f"{row['width']}x{row['height']}"):
                f"{row['us']:.0f} ({row['superpixels']})" for row in own}
        cases = dict.fromkeys(row["case"] for row in own)
        return table(["case", *sizes],
                     [[case, *[took.get((case, size), "–") for size in sizes]] for case in cases])

    parts = ["## Superpixels on the GPU\n",
             "Microseconds a frame (and superpixels found): replays of one CUDA graph. `iterations` "
             "look at every second row unless it says all; *pieces apart* joins no small pieces, "
             "each has a label of its own; the report is ECE1782's \"Superpixels\" (2020), and "
             "its case here includes making each label one connected region.\n"]
    for content, about in (
            ("footage", "Like a frame of a camera: soft shapes, texture and grain, about as many "
                        "small pieces as a photograph has.\n"),
            ("blobs", "Flat patches with single wrong pixels, which make many small pieces to "
                      "join.\n")):
        if any(row.get("content", "blobs") == content for row in rows):
            parts += [about, scene(content)]
    return parts


def gpu_parts(gpu):
    about = gpu.anchors
    return [
        "## Labelling on the GPU\n", machine_of(gpu.figures) + ".\n",
        *[f"> {note}\n" for note in gpu.figures.record.get("notes", [])],
        "Microseconds a picture, u8 in, u32 labels out, numbered 1..n in raster order, geometric "
        "mean over 21 contents. GPU-resident; inputs and outputs rotate over more than the cache "
        "holds from 1920x1080 on. *graph*: replays of one CUDA graph of all frames, median of 30, "
        "divided by their number. *stream*: one plain call between two events. The *floor kernel* "
        "reads each pixel and writes a label, and ran in the same run.\n",
        "Peers without packages were measured before, elsewhere; what carries over is their time "
        "as a multiple of the floor kernel of their own run. *faster by* compares these "
        "multiples.\n",
        "> " + about["about"] + " Their labels are not numbered 1..n.\n",
        *[f"> {names}: {where}.\n" for names, where in about["sources"].items()],
        "![Geometric means over size](plots/sizes.svg)\n", gpu.labelling(),
        "### Content by content, 1920x1080, µs\n",
        "![1920x1080, content by content](plots/contents.svg)\n", gpu.contents(HD),
        "### Content by content, 4096x4096, µs\n", gpu.contents(SQUARE),
        "### What the table of regions costs\n", gpu.table_cost(),
        "### criterion=difference on RGB, 8 neighbours\n", gpu.difference(),
        "### Packaged peers on the same pictures, in the same run\n",
        "CuPy waits for the GPU inside its call. A wrong answer has other components than the "
        "CPU's labels.\n", gpu.peers(),
        "## Whole pipelines on the GPU\n",
        "1920x1080 NV12. The numbered columns are frames a second for so many frames in flight. "
        "*system*: ready-made frames in pageable memory; *pinned*: in buffers of the pool that "
        "cclabel proposes; *cuda*: in CUDA memory. The last column: a frame that no other follows, from the source to the sink.\n",
        "![Frames a second over frames in flight](plots/pipelines.svg)\n",
        pipeline_table(gpu.figures), *streams(gpu.figures), *superpixels(gpu.figures),
        *superpixel_tables.ablation(gpu.figures, about),
        *volume_tables.parts(gpu.figures, about, table)]


def write(docs=os.path.join(ROOT, "docs")):
    import plots  # here, since the text needs no matplotlib
    found = records()
    gpu_figures = of_gpu(found)
    cpus = [cpu for cpu in (Cpu(Figures(record)) for record in found.values())
            if cpu.figures.makers(backend="cpu")]
    with_opencv = [cpu for cpu in cpus if cpu.opencv()]
    gpu, cpu = gpu_figures and Gpu(gpu_figures), with_opencv[0] if with_opencv else None
    if not gpu and not cpus:
        sys.exit("report: no records in bench/results")
    os.makedirs(os.path.join(docs, "plots"), exist_ok=True)
    plots.draw(os.path.join(docs, "plots"), gpu_figures, cpu and cpu.figures,
               anchors())
    with open(os.path.join(docs, "performance.md"), "w") as file:
        file.write(document(gpu, cpu, cpus, cut_tables.all_cuts(found)))


if __name__ == "__main__":
    write()
