"""Draws the plots of the documents as SVG."""
import os

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "gst-regions"  # equal figures give equal files
matplotlib.rcParams["svg.fonttype"] = "none"         # text stays text, for smaller files
from matplotlib import pyplot

from records import CONTENTS, HD, PUBLISHED, SIZES

OURS, PEER, FLOOR = "#1f77b4", "#d9822b", "#888888"


def save(figure, folder, name):
    figure.tight_layout()
    figure.savefig(os.path.join(folder, name), metadata={"Date": None, "Creator": None})
    pyplot.close(figure)


def sizes(folder, figures):
    figure, panels = pyplot.subplots(1, 2, figsize=(10, 4), sharey=True)
    pixels = [int(s.split("x")[0]) * int(s.split("x")[1]) / 1e6 for s in SIZES]
    for panel, connectivity in zip(panels, (8, 4)):
        ours = [figures.mean(size=s, by="cclabel", backend="cuda", criterion="binary",
                             connectivity=connectivity, task="labels", clock="graph",
                             format="GRAY8") for s in SIZES]
        best = PUBLISHED["best_geomean_us"][str(connectivity)]
        panel.loglog(pixels, [best[s] for s in SIZES], "o-", color=PEER,
                     label="best published kernel for each content")
        panel.loglog(pixels, [t or float("nan") for t in ours], "o-", color=OURS, label="cclabel")
        panel.loglog(pixels, [figures.floor(s) or float("nan") for s in SIZES], "o--", color=FLOOR,
                     label="floor kernel")
        panel.set_title(f"{connectivity} neighbours, geometric mean of 21 contents")
        panel.set_xlabel("megapixels")
        panel.grid(True, which="major", alpha=0.3)
    panels[0].set_ylabel("µs per picture")
    panels[0].legend()
    save(figure, folder, "sizes.svg")


def bars(panel, series, unit):
    """Groups of horizontal bars: [(label, colour, {content: value})]."""
    height = 0.8 / len(series)
    for i, (label, colour, values) in enumerate(series):
        at = [y + i * height for y in range(len(CONTENTS))]
        panel.barh(at, [values.get(c, 0) for c in CONTENTS], height, color=colour, label=label)
    panel.set_yticks([y + 0.4 - height / 2 for y in range(len(CONTENTS))], CONTENTS)
    panel.set_xlabel(unit)
    panel.grid(True, axis="x", alpha=0.3)
    panel.legend()


def contents(folder, figures):
    figure, panels = pyplot.subplots(1, 2, figsize=(11, 7), sharey=True)
    panels[0].invert_yaxis()  # of both panels: the first content is at the top
    for panel, connectivity in zip(panels, (8, 4)):
        ours = figures.by_content(size=HD, by="cclabel", backend="cuda", criterion="binary",
                                  connectivity=connectivity, task="labels", clock="graph",
                                  format="GRAY8")
        peer = {c: PUBLISHED["best_us"][HD][c][str(connectivity)][0] for c in CONTENTS}
        bars(panel, [("cclabel", OURS, ours), ("best published kernel", PEER, peer)],
             "µs per picture")
        panel.set_title(f"{HD}, {connectivity} neighbours")
    save(figure, folder, "contents.svg")


def cpu(folder, figures):
    opencv = [n for n in figures.makers(backend="cpu") if n.startswith("OpenCV")]
    if not opencv:
        return
    figure, panels = pyplot.subplots(1, 2, figsize=(11, 7), sharey=True)
    panels[0].invert_yaxis()  # of both panels: the first content is at the top
    for panel, task in zip(panels, ("labels", "table")):
        def milliseconds(by):
            found = figures.by_content(by=by, backend="cpu", size=HD, criterion="binary",
                                       connectivity=8, task=task, threads=1, clock="wall")
            return {content: us / 1000 for content, us in found.items()}
        bars(panel, [("cclabel", OURS, milliseconds("cclabel")),
                     (opencv[0], PEER, milliseconds(opencv[0]))], "ms per picture")
        panel.set_title(f"CPU, 1 thread, {HD}, 8 neighbours, {task}")
    save(figure, folder, "cpu.svg")


def pipelines(folder, figures):
    rows = figures.select(what="pipeline")
    if not rows:
        return
    figure, panel = pyplot.subplots(figsize=(8, 4.5))
    lines = {}
    for row in rows:
        if "regionoverlay" in row["chain"] or row["source"] == "launch":
            continue
        out = "labels out" if "output=labels" in row["chain"] else "no picture out"
        lines.setdefault(f"{row['source']}, {out}", []).append(
            (row["in_flight"], row["frames_per_second"]))
    for name, points in sorted(lines.items()):
        panel.semilogy(*zip(*sorted(points)), "o-", label=name)
    panel.set_xlabel("frames in flight")
    panel.set_ylabel("frames/s, 1920x1080 NV12")
    panel.grid(True, which="both", alpha=0.3)
    panel.legend(fontsize="small")
    save(figure, folder, "pipelines.svg")


def draw(folder, gpu_figures, cpu_figures):
    if gpu_figures:
        sizes(folder, gpu_figures)
        contents(folder, gpu_figures)
        pipelines(folder, gpu_figures)
    if cpu_figures:
        cpu(folder, cpu_figures)
