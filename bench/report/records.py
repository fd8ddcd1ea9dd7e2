"""Reads the recorded figures, selects rows and computes geometric means."""
import functools
import glob
import json
import math
import os

from tables import noise

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "..", "results")
SIZES = ("512x512", "1024x768", "1920x1080", "3840x2160", "4096x4096")
HD, SQUARE = "1920x1080", "4096x4096"
CONTENTS = (["rand_g%d_d%d" % (grain, density) for grain in (1, 16)
             for density in range(10, 100, 10)] + ["maze", "spiral", "smooth"])
# Figures of peers that were measured on another machine or printed in a paper.
with open(os.path.join(HERE, "published.json"), encoding="utf-8") as published:
    PUBLISHED = json.load(published)


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
        """The rows whose keys have these values."""
        if size:
            wanted["width"], wanted["height"] = map(int, size.split("x"))
        return [row for row in self.rows
                if all(row.get(key) == value for key, value in wanted.items())]

    def last(self, key, **wanted):
        """The value of `key` in the last such row; None without a row."""
        return next((row.get(key) for row in reversed(self.select(**wanted))), None)

    def by_content(self, key="us", **wanted):
        """{content: microseconds}; the later of two rows is used. Rows without `key` are left out."""
        return {row["content"]: row[key] for row in self.select(what="time", **wanted) if key in row}

    def mean(self, key="us", **wanted):
        """Geometric mean over the 21 contents, or None unless all were measured."""
        times = self.by_content(key, **wanted)
        if not set(CONTENTS) <= set(times):
            return None
        return geomean([times[content] for content in CONTENTS])

    def noise(self, **wanted):
        """Noise of the geometric mean, see tables.noise."""
        return noise(self.mean(**wanted), self.mean("fastest_us", **wanted))

    def floor(self, size):
        return self.last("us", what="floor", size=size, clock="graph")

    def makers(self, **wanted):
        """The names of the implementations in the rows, cclabel first."""
        names = {row["by"] for row in self.select(what="time", **wanted)}
        return sorted(names, key=lambda name: (name != "cclabel", name))

    def wrong(self, **wanted):
        """(wrong answers, all answers)."""
        rows = self.select(what="time", **wanted)
        return sum(not row["correct"] for row in rows), len(rows)


def records():
    """{file name: record} of the records with figures. Reports of soak and fuzz tests have none."""
    found = {}
    for path in sorted(glob.glob(os.path.join(RESULTS, "*.json"))):
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        if "figures" in record:
            found[os.path.basename(path)] = record
    return found


def of_suite(suite):
    """The figures of the last record of this suite; no figures without a record."""
    found = [record for record in records().values() if record.get("suite") == suite]
    return Figures(found[-1] if found else {"figures": []})


def lines_of(*path):
    """The rows of a file of JSON lines; no rows if the file does not exist."""
    path = os.path.join(RESULTS, *path)
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.startswith("{")]


def of_gpu(all_records):
    """The record of the GPU suite. If the suite never ran, the record with most GPU figures of cclabel, or None."""
    by_suite = {record.get("suite"): record for record in all_records.values()}
    if "gpu" in by_suite:
        return Figures(by_suite["gpu"])

    def count(figures):
        return len(figures.select(backend="cuda", by="cclabel"))
    best = max(map(Figures, all_records.values()), key=count, default=None)
    return best if best and count(best) else None
