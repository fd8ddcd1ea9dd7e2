"""The report's tables of labelling on a CPU."""
import statistics

from figures import SIZES
from phrases import (HD, SQUARE, machine_of, number, on_threads, pipeline_table, ratio, table, times,
                     verdict)


class Cpu:
    """The tables of one CPU record, beside OpenCV and the packages in Python."""

    def __init__(self, figures):
        self.figures = figures

    def mean(self, by, size, connectivity, task, threads):
        return self.figures.mean(by=by, backend="cpu", size=size, criterion="binary",
                                 connectivity=connectivity, task=task, threads=threads,
                                 clock="wall")

    def opencv(self):
        """OpenCV as packaged by the distribution, or else as Python's package."""
        names = [name for name in self.figures.makers(backend="cpu") if name.startswith("OpenCV")]
        return min(names, key=lambda name: "Python" in name) if names else None

    def thread_counts(self):
        return sorted({row["threads"] for row in self.figures.select(what="time", backend="cpu")})

    def labelling(self):
        rows = []
        for size in SIZES:
            for task in ("labels", "table"):
                for connectivity in (8, 4):
                    for threads in self.thread_counts():
                        means = {name: self.mean(name, size, connectivity, task, threads)
                                 for name in self.figures.makers(backend="cpu", task=task)}
                        ours = means.pop("cclabel", None)
                        if ours is None:
                            continue
                        others = [f"{name} {number(mean / 1000)} ({times(mean / ours)})"
                                  for name, mean in means.items() if mean]
                        rows.append([size, task, str(connectivity), str(threads),
                                     number(ours / 1000), "; ".join(others)])
        return table(["size", "task", "neighbours", "threads", "cclabel, ms",
                      "peers, ms (of cclabel's time)"], rows)

    def musts(self):
        rows = []
        opencv = self.opencv()
        for size in (HD, SQUARE):
            for connectivity in (8, 4):
                for threads in (1, 2):
                    ours = self.mean("cclabel", size, connectivity, "labels", threads)
                    theirs = self.mean(opencv, size, connectivity, "labels", threads)
                    found = ours is not None and theirs is not None
                    least = f"≤ {number(theirs / 1000)} ms" if theirs else "≤ OpenCV's"
                    rows.append([f"CPU labels, {connectivity} neighbours, {size}, "
                                 f"{on_threads(threads)}, geomean, OpenCV's at most", least,
                                 number(ours and ours / 1000, " ms"),
                                 verdict(ours <= theirs if found else None)])
            for connectivity in (8, 4):
                for threads in (1, 2):
                    keys = dict(backend="cpu", size=size, criterion="binary", task="table",
                                connectivity=connectivity, threads=threads, clock="wall")
                    gain = ratio(self.figures.by_content(by=opencv, **keys).get("smooth"),
                                 self.figures.by_content(by="cclabel", **keys).get("smooth"))
                    rows.append([f"CPU labels and table, smooth, {connectivity} neighbours, "
                                 f"{size}, {on_threads(threads)}, OpenCV's time of ours", "≥ 2×",
                                 times(gain), verdict(None if gain is None else gain >= 2)])
        return rows


def cpu_parts(cpu):
    parts = [f"## On the CPU: {cpu.figures.record['cpu']}, {cpu.figures.record['cores']} cores\n",
             machine_of(cpu.figures) + ".\n",
             "Wall-clock time of a call, milliseconds, geometric mean over the 21 contents, four "
             "mirrored inputs in turn; OpenCV ran content by content beside ours.\n"]
    if cpu.opencv():
        parts.append("![CPU times per content](plots/cpu.svg)\n")
    parts.append(cpu.labelling())
    if cpu.figures.select(what="pipeline") and "gpu" not in cpu.figures.record:
        parts += ["### Whole pipelines on this CPU\n",
                  "1920x1080 NV12. The numbered columns are frames a second for so many frames in "
                  "flight.\n",
                  pipeline_table(cpu.figures)]
    return parts


def rate(row):
    """Frames a second of the whole program, the median of its turns."""
    return row["frames"] / statistics.median(row["seconds"])


def transcode_musts(figures):
    """The clip through the chain of all elements to MP4, at 30 frames a second at least."""
    return [[f"regions-transcode, {row['clip']}, {figures.record['cores']} cores, all elements, "
             "to MP4", "≥ 30 frames/s", number(rate(row), " frames/s"), verdict(rate(row) >= 30)]
            for row in (figures.select(what="transcode") if figures else [])
            if row["filter"] != "identity"]


def transcode_part(figures):
    if not figures:
        return []
    rows = [[row["clip"], f"`{row['filter']}`", str(row["frames"]), number(rate(row))]
            for row in figures.select(what="transcode")]
    return ["## Transcoding on the CPU\n", machine_of(figures) + ".\n",
            "Frames a second of `regions-transcode` from its start to its end, decoding and H.264 "
            "encoding included (`bench/run --transcode`, medians of three turns). `identity` is "
            "the same program without our elements.\n",
            table(["clip", "filter", "frames", "frames/s"], rows)]
