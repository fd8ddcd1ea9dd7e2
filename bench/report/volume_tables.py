"""The report's tables of volumes and of the founding papers' methods."""
from figures import of_suite
from phrases import machine_of, number, ratio, times, verdict

SIDES = (128, 256)


def microseconds(value):
    return "–" if value is None else f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def milliseconds(value):
    return "–" if value is None else microseconds(value / 1000)


class Volumes:
    """Rows of bench/volumes and bench/labelling-ablation in one record."""

    def __init__(self, figures):
        self.figures = figures
        self.cubes = figures.select(what="volume", backend="cuda", clock="graph", by="cclabel")
        self.variants = figures.select(what="ablation")

    def of(self, side, content, connectivity, thresholds=1):
        found = [row for row in self.cubes if row["width"] == side and row["content"] == content
                 and row["connectivity"] == connectivity and row["thresholds"] == thresholds]
        return found[-1]["us"] if found else None

    def single(self, anchors):
        lines, of_six = [], anchors["volumes_6_us"]
        for side in SIDES:
            for content, (name, peer) in anchors["volumes_us"][str(side)].items():
                ours = [self.of(side, content, connectivity) for connectivity in (6, 18, 26)]
                if any(ours):
                    lines.append([f"{side}³", content, *map(microseconds, ours),
                                  f"{microseconds(of_six[str(side)][content])} {of_six['by']}",
                                  f"{microseconds(peer)} {name}"])
        return ["size", "content", "6", "18", "26", "best peer, 6", "best peer, 26"], lines

    def thresholds(self, anchors):
        talk = anchors["papers"]["GTC 2015"]["thresholds_ms"]
        lines = []
        for side in SIDES:
            for content, (name, peer) in anchors["thresholds_ms"][str(side)].items():
                rows = {row["variant"]: row for row in self.variants
                        if row["thresholds"] == 64 and row["width"] == side
                        and row["content"] == content + "-cube"}
                union = self.of(side, content, 26, 64)
                if not rows and not union:
                    continue
                passes = self.figures.select(what="ablation-passes", width=side,
                                             content=content + "-cube")
                quartiles = " ".join(map(str, passes[-1]["quartiles"])) if passes else "–"
                sweep = rows["sweep"]["us"] if "sweep" in rows else None
                lines.append([f"{side}³", content, milliseconds(union), milliseconds(sweep),
                              quartiles, f"{milliseconds(peer * 1000)} {name}", str(talk[str(side)])])
        return ["size", "content", "union-find", "sweep", "passes by quartile", "best peer",
                "GTC 2015 (K80)"], lines

    def ablation(self):
        """A row a variant, a column a picture: microseconds (passes)."""
        rows = [row for row in self.variants if row["thresholds"] == 1]
        pictures = list(dict.fromkeys(
            (row["content"], row["width"], row["height"], row["depth"]) for row in rows))
        took = {(row["variant"], row["content"], row["width"], row["height"], row["depth"]):
                f"{microseconds(row['us'])} ({row['passes']})"
                + ("" if row["correct"] else " **wrong**") for row in rows}
        heads = [f"{content} {width}x{height}" + (f"x{depth}" if depth > 1 else "")
                 for content, width, height, depth in pictures]
        lines = [[variant] + [took.get((variant, *picture), "–") for picture in pictures]
                 for variant in dict.fromkeys(row["variant"] for row in rows)]
        return ["variant", *heads], lines


class Cubes:
    """cclabel beside cc3d and SciPy on one CPU, cube by cube: the fastest of some runs each."""

    def __init__(self, figures):
        self.figures = figures
        self.rows = figures.select(what="volume", backend="cpu", connectivity=26)
        self.contents = list(dict.fromkeys(row["content"] for row in self.rows))

    def of(self, by, content, threads=1):
        found = [row["fastest_us"] for row in self.rows if row["by"].startswith(by)
                 and row["content"] == content and row["threads"] == threads]
        return found[-1] if found else None

    def musts(self):
        faster = min((ratio(self.of("cc3d", content), self.of("cclabel", content)), content)
                     for content in self.contents)
        scaled = min((ratio(self.of("cclabel", content), self.of("cclabel", content, 2)), content)
                     for content in self.contents)
        return [["volume 256³, 26 neighbours, 1 thread, of cc3d's rate", "> 1×",
                 f"{faster[0]:.2f}× at worst ({faster[1]})", verdict(faster[0] > 1)],
                ["volume 256³, 26 neighbours, 2 threads, of 1 thread's rate", "≥ 1.7×",
                 f"{scaled[0]:.2f}× at worst ({scaled[1]})", verdict(scaled[0] >= 1.7)]]

    def part(self, table):
        makers = dict.fromkeys(row["by"] for row in self.rows if row["by"] != "cclabel")
        lines = [[content, number(self.of("cclabel", content) / 1000),
                  number(self.of("cclabel", content, 2) / 1000),
                  *[f"{number(took / 1000)} ({times(took / self.of('cclabel', content))})"
                    for by in makers if (took := self.of(by, content))]]
                 for content in self.contents]
        return [f"## Volumes on the CPU: {self.figures.record['cpu']}\n",
                machine_of(self.figures) + ".\n",
                "Milliseconds for the labels of a binary volume 256³, 26-connected, the fastest of "
                "some runs (`bench/peers/volumes.py --ours`, cube by cube); in brackets, of our time "
                "on one thread.\n",
                table(["content", "cclabel", "cclabel, 2 threads", *makers], lines)]


def recorded_cubes():
    """The record of volumes on a CPU, or None."""
    found = of_suite("volumes-cpu")
    return Cubes(found) if found else None


def musts(figures, anchors):
    """Rows of what was asked for: [what, wanted, measured, verdict]."""
    volumes, rows = Volumes(figures), []
    for side in SIDES:
        best = {content: us for content, (_, us) in anchors["volumes_us"][str(side)].items()}
        ours = {content: us for content in best if (us := volumes.of(side, content, 26))}
        for neighbours in (26, 18, 6):
            shares = [(us / best[content], content) for content in ours
                      if (us := volumes.of(side, content, neighbours))]
            if not shares:
                continue
            most, worst = max(shares)
            with_26 = "" if neighbours == 26 else " with 26"
            rows.append([f"volume {side}³, {neighbours} neighbours, of the best peer's time{with_26}",
                         "≤ 1.00", f"{most:.2f} at worst ({worst})", verdict(most <= 1)])
        dearer = [(us / ours[content], f"{content}, {neighbours} neighbours")
                  for content in ours for neighbours in (6, 18)
                  if (us := volumes.of(side, content, neighbours))]
        if dearer:
            most, where = max(dearer)
            rows.append([f"volume {side}³, 6 and 18 neighbours, of the time of 26", "≤ 1.00",
                         f"{most:.2f} at worst ({where})", verdict(most <= 1)])
        for content, (_, peer) in anchors["thresholds_ms"][str(side)].items():
            us = volumes.of(side, content, 26, 64)
            if us:
                rows.append([f"64 thresholds of a volume {side}³, {content}, all labels written",
                             f"≤ {peer} ms", f"{us / 1000:.3g} ms", verdict(us / 1000 <= peer)])
    return rows


def parts(figures, anchors, table):
    """The sections, of what the record holds."""
    volumes, text = Volumes(figures), []
    heads, lines = volumes.single(anchors)
    if lines:
        text += ["## Volumes on the GPU\n",
                 "Microseconds a binary volume, u8 in, u32 labels out, by connectivity: replays of "
                 "one CUDA graph. The peers label roots, not 1..n, and were measured elsewhere.\n",
                 table(heads, lines)]
    heads, lines = volumes.thresholds(anchors)
    if lines:
        text += ["## 64 thresholds at once\n",
                 "Milliseconds for the 64 label volumes of one cube, 26-connected. Passes of the "
                 "sweep: least, quartiles and most over the thresholds, one by one. Source of the "
                 "last column: " + anchors["papers"]["GTC 2015"]["source"] + ".\n",
                 table(heads, lines)]
    heads, lines = volumes.ablation()
    if lines:
        text += ["## The founding papers' methods\n",
                 "Microseconds (passes) of label propagation, variant by variant, on pictures of "
                 "the papers' sizes: pictures 8-connected, the head 6-connected by equal values. "
                 "Where a pass reads what it writes, passes differ a little from run to run.\n",
                 "Why they come in this order: looking up the label of the cell that a label names "
                 "(roots) shortens the way by the size of whole regions, so it helps everywhere. "
                 "Blocks settle 32x32 cells a pass, where global exchange goes one cell; within them "
                 "a shuffled scan does a row at once, where shared memory goes cell by cell. Far "
                 "links help where runs are longer than a block (smooth, head); links of less than "
                 "the full length serve as well, as the paper says, and cost less to find. In mazes "
                 "and noise runs end within a block, and finding far links is lost time.\n",
                 "The papers' own figures: " + anchors["papers"]["GTC 2010, 2013"]["source"] + ".\n",
                 table(heads, lines)]
    return text
