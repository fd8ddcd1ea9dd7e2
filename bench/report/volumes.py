"""The tables on labelling volumes, and on the label propagation of earlier papers."""
from records import PUBLISHED
from tables import largest_noise, machine_of, milliseconds, noise, pivot, short, table, times

SIDES = (128, 256)
CONNECTIVITIES = (6, 18, 26)


class Gpu:
    """The rows of cclabel_volumes and cclabel_historic in one record."""

    def __init__(self, figures):
        self.figures = figures
        self.variants = figures.select(what="ablation")

    def of(self, side, content, connectivity, thresholds=1, key="us"):
        """Microseconds."""
        return self.figures.last(key, what="volume", backend="cuda", clock="graph", by="cclabel",
                                 width=side, content=content, connectivity=connectivity,
                                 thresholds=thresholds)

    def noise(self, side, content, connectivity, thresholds=1):
        return noise(*(self.of(side, content, connectivity, thresholds, key) for key in ("us", "fastest_us")))

    def single(self):
        of_six = PUBLISHED["volumes_6_us"]
        for side in SIDES:
            for content, (name, peer) in PUBLISHED["volumes_us"][str(side)].items():
                ours = [self.of(side, content, connectivity) for connectivity in CONNECTIVITIES]
                if any(ours):
                    fastest = [self.of(side, content, connectivity, key="fastest_us")
                               for connectivity in CONNECTIVITIES]
                    yield [f"{side}³", content, *map(short, ours), largest_noise(zip(ours, fastest)),
                           f"{short(of_six[str(side)][content])} {of_six['by']}",
                           f"{short(peer)} {name}"]

    def thresholds(self):
        talk = PUBLISHED["papers"]["GTC 2015"]["thresholds_ms"]
        for side in SIDES:
            for content, (name, peer) in PUBLISHED["thresholds_ms"][str(side)].items():
                cube = {"width": side, "content": content + "-cube"}
                union = self.of(side, content, 26, 64)
                sweep = self.figures.last("us", what="ablation", variant="sweep", thresholds=64, **cube)
                if union or sweep:
                    passes = self.figures.last("quartiles", what="ablation-passes", **cube)
                    yield [f"{side}³", content, milliseconds(union), self.noise(side, content, 26, 64),
                           milliseconds(sweep), " ".join(map(str, passes or "–")), f"{short(peer)} {name}",
                           str(talk[str(side)])]

    def historic(self):
        """Cells for pivot(): one row per variant, one column per picture, microseconds (passes)."""
        def picture(row):
            depth = f"x{row['depth']}" if row["depth"] > 1 else ""
            return f"{row['content']} {row['width']}x{row['height']}{depth}"
        return [((row["variant"],), picture(row), f"{short(row['us'])} ({row['passes']})"
                 + ("" if row["correct"] else " **wrong**"))
                for row in self.variants if row["thresholds"] == 1]

    def part(self):
        """The sections for which the record has figures."""
        text, papers = [], PUBLISHED["papers"]
        if lines := list(self.single()):
            text += ["## On the GPU\n", machine_of(self.figures),
                     "The times are for one binary volume, u8 in and u32 labels out, as replays of one CUDA graph. The "
                     "columns are the numbers of neighbours; noise is the largest of the three. " + PUBLISHED["about"]
                     + " The published kernels do not number their labels 1..n.\n",
                     table(["size", "content", "6 (µs)", "18 (µs)", "26 (µs)", "noise", "best published, 6 (µs)",
                            "best published, 26 (µs)"], lines)]
        if lines := list(self.thresholds()):
            text += ["## 64 thresholds at once\n",
                     "The times are for the 64 label volumes of one cube, 26-connected. *Union-find* shares work "
                     "between the thresholds. *Sweep* propagates labels, one threshold after the other; its passes "
                     "are given as minimum, quartiles and maximum over the thresholds. The last column comes from "
                     + papers["GTC 2015"]["source"] + ".\n",
                     table(["size", "content", "union-find (ms)", "noise", "sweep (ms)", "passes",
                            "best published (ms)", "GTC 2015, K80 (ms)"], lines)]
        if cells := self.historic():
            text += ["## Label propagation of earlier papers\n",
                     "This table shows times in microseconds and, in brackets, the number of passes of each variant of "
                     "label propagation (GTC 2010 and 2013, S12218 and S3193; only the abstracts of these talks were "
                     "readable). The pictures have the papers' sizes. Pictures are 8-connected; the head is "
                     "6-connected by equal values. Because a pass may read labels that it has just written, the "
                     "number of passes varies a little between runs.\n",
                     "*Roots*: looking up the label of the cell that a label names skips whole regions, so it helps "
                     "everywhere. *Global* exchange moves a label by one cell per pass; blocks finish 32x32 cells per "
                     "pass. Within a block, *shuffle* scans a row at once, whereas *shared* memory moves cell by cell. "
                     "*Far links* (max of N) help where runs are longer than a block, as in smooth and head. Shorter "
                     "far links help as much and cost less to find, which agrees with the papers. In mazes and "
                     "noise, runs end within a block, and finding far links only costs time.\n",
                     pivot(["variant"], cells)]
        return text


class Cpu:
    """cclabel, cc3d and SciPy on one CPU, cube by cube. The fastest of the runs is used."""

    def __init__(self, figures):
        self.figures = figures
        self.rows = figures.select(what="volume", backend="cpu", connectivity=26)
        self.contents = list(dict.fromkeys(row["content"] for row in self.rows))
        self.makers = sorted(dict.fromkeys(row["by"] for row in self.rows), key=lambda by: by != "cclabel")

    def of(self, by, content, count=1, key="fastest_us"):
        """Microseconds."""
        return self.figures.last(key, what="volume", backend="cpu", connectivity=26,
                                 by=by, content=content, threads=count)

    def noise(self, by, content, count=1):
        return noise(self.of(by, content, count, "us"), self.of(by, content, count))

    def part(self):
        lines = []
        for content in self.contents:
            ours = self.of("cclabel", content)
            for by, count in [(by, count) for by in self.makers for count in (1, 2)]:
                if us := self.of(by, content, count):
                    lines.append([content, by, str(count), milliseconds(us), self.noise(by, content, count),
                                  times(us / ours) if ours else "–"])
        return lines and [
            f"## On the CPU: {self.figures.record['cpu']}\n", machine_of(self.figures),
            "The times are for the labels of a binary volume of 256³, 26-connected, and are the fastest of several "
            "runs (`bench/peers/cclabel_volumes_peers.py --ours`). The last column compares with cclabel on one "
            "thread.\n",
            table(["content", "by", "threads", "time (ms)", "noise", "compared with cclabel"], lines)]
