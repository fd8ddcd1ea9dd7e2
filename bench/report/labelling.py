"""What the report says of labelling pictures, on a GPU and on CPUs."""
from records import ANCHORS, ASKED, CONTENTS, HD, SIZES, SQUARE, geomean, of_suite, ratio
from tables import asked, asked_of_all, machine_of, number, pivot, table, threads, times


def peer_floors(size, us):
    """A time of peers that ran elsewhere, as multiples of the floor kernel's there."""
    return us / ANCHORS["floor_us"][size]


def waiting(names):
    """Which of these peers wait for the GPU, as a sentence."""
    names = set(names)
    found = [each for each in ("colorcc", "CuPy", "cuCIM") if any(name.startswith(each) for name in names)]
    return f" For the GPU wait, inside their calls: {', '.join(found)}." if found else ""


class Gpu:
    """The tables of one GPU record."""

    def __init__(self, figures):
        self.figures = figures

    def keys(self, **more):
        return {"by": "cclabel", "backend": "cuda", "criterion": "binary", "format": "GRAY8",
                "task": "labels", "clock": "graph", **more}

    def ours(self, size, connectivity, **more):
        return self.figures.mean(**self.keys(size=size, connectivity=connectivity, **more))

    def peer(self, size, connectivity):
        return ANCHORS["geomean_us"][str(connectivity)]["best per content"][size]

    def floors(self, size, us):
        """As multiples of the floor kernel's time in the same run."""
        return ratio(us, self.figures.floor(size))

    def sizes(self):
        for connectivity in (8, 4):
            for size in SIZES:
                ours, peer = self.ours(size, connectivity), self.peer(size, connectivity)
                own_floors, floors_then = self.floors(size, ours), peer_floors(size, peer)
                yield [str(connectivity), size, number(ours),
                       number(self.ours(size, connectivity, clock="stream")), number(self.figures.floor(size)),
                       times(own_floors), number(peer), times(floors_then), times(ratio(floors_then, own_floors))]

    def contents(self, size):
        ours = {connectivity: self.figures.by_content(
            **self.keys(size=size, connectivity=connectivity)) for connectivity in (8, 4)}
        for content in CONTENTS:
            row = [content]
            for connectivity in (8, 4):
                best, name = ANCHORS["best"][size][content][str(connectivity)]
                row += [number(ours[connectivity].get(content)), f"{number(best)} {name}"]
            yield row

    def behind(self, size):
        """{content: multiples of the floor kernel's time, of the best peer's} where that is more than one, with 8
        neighbours; None unless all contents and that kernel were measured."""
        if self.floors(size, self.ours(size, 8)) is None:
            return None
        ours = self.figures.by_content(**self.keys(size=size, connectivity=8))
        best = {content: ANCHORS["best"][size][content]["8"][0] for content in CONTENTS}
        shares = {content: self.floors(size, ours[content]) / peer_floors(size, best[content]) for content in CONTENTS}
        return {content: share for content, share in shares.items() if share > 1}

    def asked_of_multiples(self):
        """Beside peers that ran elsewhere: small pictures on the whole, and 1920x1080 content by content."""
        rows = []
        for size in SIZES[:2]:
            bound = peer_floors(size, self.peer(size, 8))
            rows.append(asked(f"labels, 8 neighbours, {size}, geomean of 21 contents, of the floor kernel's time",
                              f"≤ {bound:.1f}×", self.floors(size, self.ours(size, 8)), bound=bound))
        what = (f"labels, 8 neighbours, {HD}, contents behind their best peer by multiples of the floor, none by more "
                "than 10 %")
        behind = self.behind(HD)
        if behind is None:
            return [*rows, asked(what, ASKED["contents behind"], None)]
        told = ", ".join(f"{content} by {share - 1:.1%}" for content, share in behind.items())
        return [*rows, asked(what, ASKED["contents behind"], len(behind), f"{len(behind)}: {told}" if told else "0",
                             right=all(share <= 1.1 for share in behind.values()))]

    def table_ratios(self, size, connectivity):
        labels, both = (self.figures.by_content(
            **self.keys(size=size, connectivity=connectivity, task=task))
            for task in ("labels", "table"))
        return {c: both[c] / labels[c] for c in CONTENTS if c in labels and c in both}

    def table_cost(self):
        for connectivity in (8, 4):
            for size in SIZES:
                ratios = self.table_ratios(size, connectivity)
                if not ratios:
                    continue
                worst = max(ratios, key=ratios.get)
                yield [str(connectivity), size, number(self.ours(size, connectivity)),
                       number(self.ours(size, connectivity, task="table")),
                       times(geomean(ratios.values())), f"{times(ratios[worst])} ({worst})",
                       number(geomean(ANCHORS["cvcuda_stats_us"][size].values()))]

    def difference(self):
        for size in SIZES:
            for row in self.figures.select(what="time", size=size, by="cclabel", backend="cuda",
                                           criterion="difference", connectivity=8, task="labels",
                                           clock="graph"):
                yield [size, row["content"], number(row["us"]), str(row["regions"])]

    def equal(self):
        """A row a picture, a column a maker."""
        rows = sorted(self.figures.select(what="time", backend="cuda", criterion="equal", connectivity=8,
                                          task="labels", clock="stream"), key=lambda row: row["by"] != "cclabel")
        return [((f"{row['width']}x{row['height']}", row["content"], row["regions"]), row["by"],
                 number(row["us"]) + ("" if row["correct"] else " **wrong**")) for row in rows]

    def peers(self):
        for size in SIZES:
            for connectivity in (8, 4):
                keys = self.keys(size=size, connectivity=connectivity, clock="stream")
                ours = self.figures.mean(**keys)
                del keys["by"]
                makers = self.figures.makers(**keys)
                for name in makers if len(makers) > 1 else ():
                    mean = self.figures.mean(by=name, **keys)
                    wrong, answers = self.figures.wrong(by=name, **keys)
                    yield [size, str(connectivity), name, number(mean), times(ratio(mean, ours)),
                           f"{wrong} of {answers}" if wrong else "none"]

    def asked(self):
        rows = [asked(f"labels, {connectivity} neighbours, {size}, geomean of 21 contents",
                      f"≤ {number(self.peer(size, connectivity))} µs",
                      self.ours(size, connectivity), bound=self.peer(size, connectivity))
                for connectivity in (8, 4) for size in SIZES[2:]]
        rows += self.asked_of_multiples()
        wrong, answers = self.figures.wrong(by="cclabel", backend="cuda")
        rows.append(asked_of_all("answers equal to the CPU's, bit for bit", answers - wrong, answers))
        for size in SIZES[2:]:
            ratios = [each for connectivity in (8, 4)
                      for each in self.table_ratios(size, connectivity).values()]
            rows.append(asked(f"labels and table, {size}, of labels alone", ASKED["table"],
                              geomean(ratios) if ratios else None))
        for size, wanted in ASKED["difference"].items():
            us, worst = max(((row["us"], row["content"]) for row in self.figures.select(
                what="time", size=size, by="cclabel", backend="cuda", criterion="difference",
                connectivity=8, task="labels", clock="graph")), default=(None, None))
            rows.append(asked(f"goal: difference on RGB, {size}, slowest picture", wanted, us,
                              f"{number(us)} µs ({worst})"))
        return rows

    def tracking(self):
        """What tracking adds, for each number of regions that is asked about."""
        rows = [row for row in self.figures.select(what="tracking", backend="cuda", clock="graph",
                                                   size=HD)
                if row["regions"] <= ASKED["tracked regions"]]
        what = "track=true adds, 1920x1080, {} regions"
        return [asked(what.format(row["regions"]), ASKED["tracking"],
                      row["us_with"] - row["us_without"])
                for row in rows] or [asked(what.format(ASKED["tracked regions"]),
                                           ASKED["tracking"], None)]

    def part(self):
        return [
            "## On the GPU\n", machine_of(self.figures),
            *([f"> {self.figures.record['about']}\n"] if "about" in self.figures.record else []),
            "Microseconds a picture, u8 in, u32 labels out, numbered 1..n in raster order, geometric "
            "mean over 21 contents. GPU-resident; inputs and outputs rotate over more than the cache "
            "holds from 1920x1080 on. *graph*: replays of one CUDA graph of all frames, median of "
            "30, divided by their number. *stream*: one plain call between two events. The *floor "
            "kernel* reads each pixel and writes a label, and ran in the same run.\n",
            "Peers without packages were measured before, elsewhere; what carries over is their time "
            "as a multiple of the floor kernel of their own run. *faster by* compares these "
            "multiples.\n",
            "> " + ANCHORS["about"] + " Their labels are not numbered 1..n.\n",
            *[f"> {names}: {where}.\n" for names, where in ANCHORS["sources"].items()],
            "![Geometric means over size](../plots/sizes.svg)\n",
            table(["neighbours", "size", "cclabel, graph", "cclabel, stream", "floor kernel",
                   "cclabel / floor", "best peers then", "peers / floor then", "faster by"],
                  self.sizes()),
            "### Content by content, 1920x1080, µs\n",
            "![1920x1080, content by content](../plots/contents.svg)\n", self.content_table(HD),
            "### Content by content, 4096x4096, µs\n", self.content_table(SQUARE),
            "### What the table of regions costs\n",
            table(["neighbours", "size", "labels", "labels + table", "ratio", "worst ratio",
                   "CV-CUDA labels + statistics then (4 neighbours)"], self.table_cost()),
            "### criterion=difference on RGB, 8 neighbours\n",
            table(["size", "content", "µs", "regions"], self.difference()),
            *self.equal_part(),
            "### Packaged peers on the same pictures, in the same run\n",
            *self.peers_part()]

    def peers_part(self):
        lines = list(self.peers())
        return ["A wrong answer has other components than the CPU's labels." +
                waiting(name for _, _, name, *_ in lines) + "\n",
                table(["size", "neighbours", "by", "µs, plain launches", "of cclabel's time", "wrong answers"], lines)]

    def equal_part(self):
        cells = self.equal()
        return ["### criterion=equal on RGB, 8 neighbours\n",
                "Microseconds, plain launches, beside packages in the same run." +
                waiting(name for _, name, _ in cells) + "\n",
                pivot(["size", "content", "regions"], cells)] if cells else []

    def content_table(self, size):
        return table(["content", "8: cclabel", "8: best peer", "4: cclabel", "4: best peer"],
                     self.contents(size))


class Cpu:
    """The tables of one CPU record, beside OpenCV and the packages in Python."""

    def __init__(self, figures):
        self.figures = figures

    def keys(self, size, connectivity, task, count):
        return {"backend": "cpu", "size": size, "criterion": "binary", "task": task,
                "connectivity": connectivity, "threads": count, "clock": "wall"}

    def mean(self, by, *case):
        """Milliseconds."""
        mean = self.figures.mean(by=by, **self.keys(*case))
        return mean and mean / 1000

    def opencv(self):
        """OpenCV as packaged by the distribution, or else as Python's package."""
        names = [name for name in self.figures.makers(backend="cpu") if name.startswith("OpenCV")]
        return min(names, key=lambda name: "Python" in name) if names else None

    def sizes(self):
        counts = sorted({row["threads"] for row in self.figures.select(what="time", backend="cpu")})
        for case in ((size, connectivity, task, count) for size in SIZES
                     for task in ("labels", "table") for connectivity in (8, 4) for count in counts):
            size, connectivity, task, count = case
            means = {name: self.mean(name, *case)
                     for name in self.figures.makers(backend="cpu", task=task)}
            ours = means.pop("cclabel", None)
            if ours is not None:
                others = [f"{name} {number(mean)} ({times(mean / ours)})"
                          for name, mean in means.items() if mean]
                yield [size, task, str(connectivity), str(count), number(ours), "; ".join(others)]

    def asked(self):
        rows, opencv = [], self.opencv()
        both = [(connectivity, count) for connectivity in (8, 4) for count in (1, 2)]
        for size in (HD, SQUARE):
            for connectivity, count in both:
                ours, theirs = (self.mean(by, size, connectivity, "labels", count)
                                for by in ("cclabel", opencv))
                rows.append(asked(f"CPU labels, {connectivity} neighbours, {size}, {threads(count)}, "
                                  "geomean, OpenCV's at most", f"≤ {number(theirs or 0)} ms",
                                  ours if theirs else None, bound=theirs))
            for connectivity, count in both:
                theirs, ours = (self.figures.by_content(
                    by=by, **self.keys(size, connectivity, "table", count)).get("smooth")
                    for by in (opencv, "cclabel"))
                rows.append(asked(f"CPU labels and table, smooth, {connectivity} neighbours, {size}, "
                                  f"{threads(count)}, OpenCV's time of ours",
                                  ASKED["table on the CPU"], ratio(theirs, ours)))
        return rows

    def part(self):
        facts = self.figures.record
        return [
            f"## On the CPU: {facts['cpu']}, {facts['cores']} cores\n", machine_of(self.figures),
            "Wall-clock time of a call, milliseconds, geometric mean over the 21 contents, four "
            "mirrored inputs in turn; OpenCV ran content by content beside ours.\n",
            *(["![CPU times per content](../plots/cpu.svg)\n"] if self.opencv() else []),
            table(["size", "task", "neighbours", "threads", "cclabel, ms",
                   "peers, ms (of cclabel's time)"], self.sizes())]


def tracks_part():
    """Tracks of walkers against the truth, beside trackers of boxes."""
    figures = of_suite("tracks")
    lines = [[row["clip"], row["by"], *(f"{row[name]:.3f}" for name in ("idf1", "mota", "precision", "recall")),
              str(row["switches"])] for row in figures.select(what="tracks")]
    boxes = [[row["by"], row["cleaned"], *(f"{row[name]:.3f}" for name in ("precision", "recall", "f"))]
             for row in figures.select(what="boxes")]
    return lines and ["## Tracks\n", f"Commit {figures.record['commit']}, {figures.record['date']}.\n",
                      "`graphcutbg ! cclabel source=mask track=true`, and SORT and ByteTrack (the package `trackers` "
                      "2.6.1) on the same regions' boxes, against the truth: clips of walking cut-outs composed with "
                      "exact tracks, three seeds each, and vtest.avi of Debian's opencv-doc, which is PETS 2009 S2.L1, "
                      "with MOTChallenge 2015's truth of that sequence (`bench/peers/tracks.py`). A box counts from "
                      "half of the union on; precision and recall are of boxes.\n",
                      table(["clip", "by", "IDF1", "MOTA", "precision", "recall", "switches"], lines),
                      *([f"Boxes of people on vtest.avi against the same truth, beside OpenCV "
                         f"{figures.select(what='boxes')[-1]['opencv']}'s subtractors, of each the median, opening or "
                         "closing that makes most boxes right; regions of a thousandth of the picture and more:\n",
                         table(["by", "mask cleaned by", "precision", "recall", "F"], boxes)] if boxes else [])]
