"""The report's tables of minimum cuts and of foregrounds."""
import json
import os

from figures import Figures

HERE = os.path.dirname(os.path.abspath(__file__))
FOREGROUND = os.path.join(HERE, "..", "results", "foreground", "quality.json")
# Instance and neighbours: what was asked for on an H200 and on one thread of a CPU, ms.
ASKED = {("bgdiff_vga", 4): (0.40, 5.8), ("grab_vga", 4): (2.1, None),
         ("bgdiff_1080", 4): (0.65, 60), ("grab_1080", 4): (6.3, 270)}
# What Boykov and Kolmogorov's solver took, building included, where the CPU's figures were asked.
PEER_THERE = {"bgdiff_vga": 24.9, "bgdiff_1080": 164, "grab_1080": 744}


def name_of(row):
    return os.path.basename(row["file"]).split(".")[0]


def milliseconds(value):
    return "–" if value is None else f"{value:.0f}" if value >= 100 else f"{value:.3g}"


class Cuts:
    """Rows of bench/maxflow and of its peers in one record."""

    def __init__(self, figures):
        self.record = figures.record
        self.rows = [row for row in figures.rows if row.get("solver")]

    def of(self, instance, neighbours, solver):
        """The last row of that instance by that solver."""
        found = [row for row in self.rows if name_of(row) == instance and
                 row["neighbours"] == neighbours and row["solver"] == solver]
        return found[-1] if found else None

    def solvers(self):
        return list(dict.fromkeys(row["solver"] for row in self.rows))

    def table(self):
        solvers = self.solvers()
        lines = []
        for instance in sorted({name_of(row) for row in self.rows}):
            for neighbours in (4, 8):
                rows = [self.of(instance, neighbours, solver) for solver in solvers]
                lines.append([instance, str(neighbours)] + [
                    "–" if row is None else milliseconds(row["ms"]) +
                    ("" if row.get("expected", True) else " **wrong**") for row in rows])
        return ["instance", "neighbours", *solvers], lines


def all_cuts(found):
    """The records that hold cuts: (on a GPU or None, those on CPUs)."""
    gpu, cpus = None, []
    for record in found.values():
        cuts = Cuts(Figures(record))
        if any(row["solver"].startswith("cuda") for row in cuts.rows):
            gpu = cuts
        elif cuts.rows:
            cpus.append(cuts)
    return gpu, cpus


def exactness(cuts, where, verdict):
    exact = [row["expected"] for row in cuts.rows if "expected" in row]
    return [[f"minimum cuts equal to the known optimum, {where}", "all",
             f"{sum(exact)} of {len(exact)}", verdict(all(exact))]] if exact else []


def musts_on_gpu(cuts, verdict):
    if not cuts:
        return []
    rows = []
    for (instance, neighbours), (asked, _) in ASKED.items():
        row = cuts.of(instance, neighbours, "cuda resident")
        rows.append([f"minimum cut, {instance}, {neighbours} neighbours, GPU", f"≤ {asked} ms",
                     milliseconds(row and row["ms"]) + " ms",
                     verdict(None if row is None else row["expected"] and row["ms"] <= asked)])
    return rows + exactness(cuts, "GPU", verdict)


def musts_on_cpu(cuts, verdict):
    """Where PyMaxflow (the same solver as the targets' peer) ran beside ours, its share counts, as
    machines differ; elsewhere the time itself."""
    rows = []
    where = f"CPU of {cuts.record['cores']} cores, 1 thread"
    for (instance, neighbours), (_, asked) in ASKED.items():
        if asked is None:
            continue
        ours = cuts.of(instance, neighbours, "cpu: 1 thread")
        peer = next((row for row in cuts.rows if name_of(row) == instance and
                     row["neighbours"] == neighbours and row["solver"].startswith("PyMaxflow")), None)
        what = f"minimum cut, {instance}, {neighbours} neighbours, {where}"
        right = ours and ours["expected"]
        if peer and ours:
            share, most = ours["ms"] / peer["ms"], asked / PEER_THERE[instance]
            rows.append([what + ", of PyMaxflow's time", f"≤ {most:.2f}",
                         f"{share:.2f} ({milliseconds(ours['ms'])} of "
                         f"{milliseconds(peer['ms'])} ms)", verdict(right and share <= most)])
        else:
            rows.append([what, f"≤ {asked} ms", milliseconds(ours and ours["ms"]) + " ms",
                         verdict(None if ours is None else right and ours["ms"] <= asked)])
    return rows + exactness(cuts, where.split(",")[0], verdict)


def element_must(gpu, verdict):
    """The whole element on 1080p video that is decoded beside it."""
    rates = [row["frames_per_second"] for row in gpu.select(what="pipeline", source="launch")
             if "people" in row["from"] and row["chain"].startswith("graphcutbg")
             and " ! " not in row["chain"]]
    took = 1000 / max(rates) if rates else None
    return [["graphcutbg, people walking at 1080p, decoded beside it, a frame", "≤ 2 ms",
             "–" if took is None else f"{took:.2f} ms", verdict(None if took is None else took <= 2)]]


def foreground():
    """Table and verdict of bench/foreground-quality, or None."""
    if not os.path.exists(FOREGROUND):
        return None
    with open(FOREGROUND) as file:
        quality = json.load(file)
    kinds = list(quality["summary"][0]["f"])
    lines = [[each["who"], each["filter"], f"{each['mean_f']:.3f}"] +
             [f"{each['f'][kind]:.3f}" for kind in kinds] for each in quality["summary"]]
    return ["by", "mask cleaned by", "mean F", *kinds], lines, quality


def foreground_must(verdict):
    found = foreground()
    if not found:
        return []
    summary = found[2]["summary"]
    ours = next(each["mean_f"] for each in summary if each["who"] == "graphcutbg")
    best = max((each for each in summary if each["who"] != "graphcutbg"),
               key=lambda each: each["mean_f"])
    return [["foreground, mean F of five seeds, above the best of MOG2, KNN and GSOC",
             f"> {best['mean_f']:.3f} ({best['who']})", f"{ours:.3f}",
             verdict(ours > best["mean_f"])]]
