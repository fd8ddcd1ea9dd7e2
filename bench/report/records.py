"""Recorded figures: finding them, and their geometric means."""
import functools
import glob
import json
import math
import os

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "..", "results")
SIZES = ("512x512", "1024x768", "1920x1080", "3840x2160", "4096x4096")
HD, SQUARE = "1920x1080", "4096x4096"
CONTENTS = (["rand_g%d_d%d" % (grain, density) for grain in (1, 16)
             for density in range(10, 100, 10)] + ["maze", "spiral", "smooth"])
# What peers took elsewhere, and (`asked`) what is asked of us.
with open(os.path.join(HERE, "anchors.json"), encoding="utf-8") as anchors:
    ANCHORS = json.load(anchors)
ASKED = ANCHORS["asked"]


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def ratio(a, b):
    return a / b if a is not None and b else None


class Figures:
    """The figures of one record."""

    def __init__(self, record):
        self.record = record
        self.rows = record["figures"]

    @functools.cache
    def select(self, size=None, **wanted):
        """Rows whose keys have these values."""
        if size:
            wanted["width"], wanted["height"] = map(int, size.split("x"))
        return [row for row in self.rows
                if all(row.get(key) == value for key, value in wanted.items())]

    def last(self, key, **wanted):
        """Of the last such row; None without one."""
        return next((row.get(key) for row in reversed(self.select(**wanted))), None)

    def by_content(self, **wanted):
        """{content: microseconds}; the later of two rows counts."""
        return {row["content"]: row["us"] for row in self.select(what="time", **wanted)}

    def mean(self, **wanted):
        """Geometric mean over the 21 contents, or None unless all were measured."""
        times = self.by_content(**wanted)
        if not set(CONTENTS) <= set(times):
            return None
        return geomean([times[content] for content in CONTENTS])

    def floor(self, size):
        return self.last("us", what="floor", size=size, clock="graph")

    def makers(self, **wanted):
        """The makers of the rows, cclabel first."""
        names = {row["by"] for row in self.select(what="time", **wanted)}
        return sorted(names, key=lambda name: (name != "cclabel", name))

    def wrong(self, **wanted):
        """(wrong answers, answers)."""
        rows = self.select(what="time", **wanted)
        return sum(not row["correct"] for row in rows), len(rows)


def records():
    """{file name: record} of those that hold figures; a soak's report holds none."""
    found = {}
    for path in sorted(glob.glob(os.path.join(RESULTS, "*.json"))):
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        if "figures" in record:
            found[os.path.basename(path)] = record
    return found


def of_suite(suite):
    """The figures of the last record of this suite; none without one."""
    found = [record for record in records().values() if record.get("suite") == suite]
    return Figures(found[-1] if found else {"figures": []})


def lines_of(*path):
    """The rows of a file of JSON lines; none where there is no such file."""
    path = os.path.join(RESULTS, *path)
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.startswith("{")]


def of_gpu(all_records):
    """The GPU suite's record. Where the suite never ran, the record with most figures of cclabel on a GPU; None
    without one."""
    by_suite = {record.get("suite"): record for record in all_records.values()}
    if "gpu" in by_suite:
        return Figures(by_suite["gpu"])

    def count(figures):
        return len(figures.select(backend="cuda", by="cclabel"))
    best = max(map(Figures, all_records.values()), key=count, default=None)
    return best if best and count(best) else None
