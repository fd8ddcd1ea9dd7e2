"""Recorded figures: finding them, and their geometric means."""
import glob
import json
import math
import os

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = ("512x512", "1024x768", "1920x1080", "3840x2160", "4096x4096")
LARGE = SIZES[2:]
CONTENTS = (["rand_g%d_d%d" % (grain, density) for grain in (1, 16)
             for density in range(10, 100, 10)] + ["maze", "spiral", "smooth"])


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


class Figures:
    """The figures of one record."""

    def __init__(self, record):
        self.record = record
        self.rows = record["figures"]

    def select(self, size=None, **wanted):
        """Rows whose keys have these values."""
        if size:
            wanted["width"], wanted["height"] = map(int, size.split("x"))
        return [row for row in self.rows
                if all(row.get(key) == value for key, value in wanted.items())]

    def by_content(self, **wanted):
        """{content: microseconds}; the later of two rows counts."""
        return {row["content"]: row["us"] for row in self.select(what="time", **wanted)}

    def mean(self, **wanted):
        """Geometric mean over the 21 contents, or None unless all were measured."""
        times = self.by_content(**wanted)
        if not set(CONTENTS) <= set(times):
            return None
        return geomean([times[content] for content in CONTENTS])

    def floor(self, size, clock="graph"):
        rows = self.select(what="floor", size=size, clock=clock)
        return rows[-1]["us"] if rows else None

    def makers(self, **wanted):
        """The makers of the rows, cclabel first."""
        names = {row["by"] for row in self.select(what="time", **wanted)}
        return sorted(names, key=lambda name: (name != "cclabel", name))

    def wrong(self, **wanted):
        """(wrong answers, answers)."""
        rows = self.select(what="time", **wanted)
        return sum(not row["correct"] for row in rows), len(rows)


def records(folder=os.path.join(HERE, "..", "results")):
    """{file name: record} of those that hold figures; a soak's report holds none."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path) as file:
            record = json.load(file)
        if "figures" in record:
            found[os.path.basename(path)] = record
    return found


def of_suite(suite):
    """The figures of the last record of this suite, or None."""
    found = [record for record in records().values() if record.get("suite") == suite]
    return Figures(found[-1]) if found else None


def best_of(all_records, backend):
    """The record in which cclabel has the most figures on this backend, or None."""
    def count(record):
        return sum(row.get("backend") == backend and row.get("by") == "cclabel"
                   for row in record["figures"])
    ranked = sorted(all_records.values(), key=count)
    return Figures(ranked[-1]) if ranked and count(ranked[-1]) else None


def kind_of(row):
    return f"{row['what']} from {row['source']}" if row["what"] == "pipeline" else row["what"]


def of_gpu(all_records):
    """The GPU suite's record with one record's figures of each kind: of a later run that counts for
    its figures alone (suite "gpu-figures"), else its own, else of one before (suite "gpu-before").
    `also` names what is not its own: [(commit, cores, kinds)], `notes` what there is to know of it.
    None without a record."""
    by_suite = {record.get("suite"): record for record in all_records.values()}
    if "gpu" not in by_suite:
        return best_of(all_records, "cuda")
    record = {**by_suite["gpu"], "also": [], "notes": [], "figures": []}
    for suite in ("gpu-figures", "gpu", "gpu-before"):
        source = by_suite.get(suite, {"figures": []})
        have = {kind_of(row) for row in record["figures"]}
        new = [row for row in source["figures"] if kind_of(row) not in have]
        record["figures"] += new
        if new and suite != "gpu":
            record["also"].append((source["commit"], source["cores"],
                                   sorted({kind_of(row) for row in new})))
        if new and "about" in source:
            record["notes"].append(f"{source['commit']}: {source['about']}")
    return Figures(record)


def anchors():
    with open(os.path.join(HERE, "anchors.json")) as file:
        return json.load(file)
