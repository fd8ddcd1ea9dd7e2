"""What the report says of volumes and of the founding papers' methods."""
from records import ANCHORS, ASKED, ratio
from tables import asked, machine_of, number, pivot, short, table, times

SIDES = (128, 256)


def milliseconds(value):
    return short(value and value / 1000)


class Gpu:
    """Rows of cclabel_volumes and cclabel_historic in one record."""

    def __init__(self, figures):
        self.figures = figures
        self.variants = figures.select(what="ablation")

    def of(self, side, content, connectivity, thresholds=1):
        """Microseconds."""
        return self.figures.last("us", what="volume", backend="cuda", clock="graph", by="cclabel",
                                 width=side, content=content, connectivity=connectivity,
                                 thresholds=thresholds)

    def single(self):
        of_six = ANCHORS["volumes_6_us"]
        for side in SIDES:
            for content, (name, peer) in ANCHORS["volumes_us"][str(side)].items():
                ours = [self.of(side, content, connectivity) for connectivity in (6, 18, 26)]
                if any(ours):
                    yield [f"{side}³", content, *map(short, ours),
                           f"{short(of_six[str(side)][content])} {of_six['by']}",
                           f"{short(peer)} {name}"]

    def thresholds(self):
        talk = ANCHORS["papers"]["GTC 2015"]["thresholds_ms"]
        for side in SIDES:
            for content, (name, peer) in ANCHORS["thresholds_ms"][str(side)].items():
                cube = {"width": side, "content": content + "-cube"}
                union = self.of(side, content, 26, 64)
                sweep = self.figures.last("us", what="ablation", variant="sweep", thresholds=64,
                                          **cube)
                if union or sweep:
                    passes = self.figures.last("quartiles", what="ablation-passes", **cube)
                    yield [f"{side}³", content, milliseconds(union), milliseconds(sweep),
                           " ".join(map(str, passes or "–")), f"{short(peer)} {name}",
                           str(talk[str(side)])]

    def historic(self):
        """A row a variant, a column a picture: microseconds (passes)."""
        def picture(row):
            depth = f"x{row['depth']}" if row["depth"] > 1 else ""
            return f"{row['content']} {row['width']}x{row['height']}{depth}"
        return [((row["variant"],), picture(row), f"{short(row['us'])} ({row['passes']})"
                 + ("" if row["correct"] else " **wrong**"))
                for row in self.variants if row["thresholds"] == 1]

    def asked(self):
        rows = []
        for side in SIDES:
            best = {content: us for content, (_, us) in ANCHORS["volumes_us"][str(side)].items()}
            ours = {content: us for content in best if (us := self.of(side, content, 26))}

            def worst(what, shares):
                most, where = max(shares, default=(None, None))
                if most:
                    rows.append(asked(f"volume {side}³, {what}", ASKED["volumes"], most,
                                      f"{most:.2f} at worst ({where})"))

            for neighbours in (26, 18, 6):
                worst(f"{neighbours} neighbours, of the best peer's time"
                      + " with 26" * (neighbours != 26),
                      [(us / best[content], content) for content in ours
                       if (us := self.of(side, content, neighbours))])
            for content, (_, peer) in ANCHORS["thresholds_ms"][str(side)].items():
                us = self.of(side, content, 26, 64)
                rows += [asked(f"64 thresholds of a volume {side}³, {content}, all labels written",
                               f"≤ {peer} ms", us / 1000, milliseconds(us) + " ms")] if us else []
        return rows

    def part(self):
        """The sections, of what the record holds."""
        text, papers = [], ANCHORS["papers"]
        if lines := list(self.single()):
            text += ["## On the GPU\n", machine_of(self.figures),
                     "Microseconds a binary volume, u8 in, u32 labels out, by connectivity: replays "
                     "of one CUDA graph. The peers label roots, not 1..n, and were measured "
                     "elsewhere.\n",
                     table(["size", "content", "6", "18", "26", "best peer, 6", "best peer, 26"],
                           lines)]
        if lines := list(self.thresholds()):
            text += ["## 64 thresholds at once\n",
                     "Milliseconds for the 64 label volumes of one cube, 26-connected. Passes of the "
                     "sweep: least, quartiles and most over the thresholds, one by one. Source of "
                     "the last column: " + papers["GTC 2015"]["source"] + ".\n",
                     table(["size", "content", "union-find", "sweep", "passes by quartile",
                            "best peer", "GTC 2015 (K80)"], lines)]
        if cells := self.historic():
            text += ["## The founding papers' methods\n",
                     "Microseconds (passes) of label propagation, variant by variant, on pictures of "
                     "the papers' sizes: pictures 8-connected, the head 6-connected by equal values. "
                     "Where a pass reads what it writes, passes differ a little from run to run.\n",
                     "Why they come in this order: looking up the label of the cell that a label "
                     "names (roots) shortens the way by the size of whole regions, so it helps "
                     "everywhere. Blocks settle 32x32 cells a pass, where global exchange goes one "
                     "cell; within them a shuffled scan does a row at once, where shared memory goes "
                     "cell by cell. Far links help where runs are longer than a block (smooth, "
                     "head); links of less than the full length serve as well, as the paper says, "
                     "and cost less to find. In mazes and noise runs end within a block, and finding "
                     "far links is lost time.\n",
                     "The papers' own figures: " + papers["GTC 2010, 2013"]["source"] + ".\n",
                     pivot(["variant"], cells)]
        return text


class Cpu:
    """cclabel beside cc3d and SciPy on one CPU, cube by cube: the fastest of some runs each."""

    def __init__(self, figures):
        self.figures = figures
        self.rows = figures.select(what="volume", backend="cpu", connectivity=26)
        self.contents = list(dict.fromkeys(row["content"] for row in self.rows))
        self.makers = dict.fromkeys(row["by"] for row in self.rows)

    def of(self, by, content, count=1):
        """Milliseconds."""
        us = self.figures.last("fastest_us", what="volume", backend="cpu", connectivity=26,
                               by=by, content=content, threads=count)
        return us and us / 1000

    def asked(self):
        cc3d = next((by for by in self.makers if by.startswith("cc3d")), None)
        rows = []
        for name, wanted, two in (
                ("1 thread, of cc3d's rate", "volumes beside cc3d", ((cc3d, 1), ("cclabel", 1))),
                ("2 threads, of 1 thread's rate", "volumes on two threads",
                 (("cclabel", 1), ("cclabel", 2)))):
            least, where = min(((ratio(*(self.of(by, content, count) for by, count in two)), content)
                                for content in self.contents), default=(None, None))
            rows += [asked(f"volume 256³, 26 neighbours, {name}", ASKED[wanted], least,
                           f"{least:.2f}× at worst ({where})")] if where else []
        return rows

    def part(self):
        lines = []
        for content in self.contents:
            took = {by: self.of(by, content) for by in self.makers}
            ours = took.pop("cclabel")
            lines.append([content, number(ours), number(self.of("cclabel", content, 2)),
                          *[f"{number(ms)} ({times(ms / ours)})" for ms in took.values() if ms]])
        return lines and [
            f"## On the CPU: {self.figures.record['cpu']}\n", machine_of(self.figures),
            "Milliseconds for the labels of a binary volume 256³, 26-connected, the fastest of "
            "some runs (`bench/peers/cclabel_volumes_peers.py --ours`, cube by cube); in brackets, "
            "of our time on one thread.\n",
            table(["content", "cclabel", "cclabel, 2 threads",
                   *[by for by in self.makers if by != "cclabel"]], lines)]
