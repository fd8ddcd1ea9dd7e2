"""The tables on labelling pictures, on a GPU and on CPUs."""
from records import CONTENTS, HD, PUBLISHED, SIZES, SQUARE, geomean, ratio
from tables import machine_of, milliseconds, noise, number, pivot, table, times

TASKS = {"labels": "labels", "table": "labels and table"}
WAITING = ("colorcc", "CuPy", "cuCIM", "kornia-rs CUDA")  # their calls wait for the GPU


def of_published_floor(size, us):
    """A published time as a multiple of the floor kernel's time on that machine."""
    return us / PUBLISHED["floor_us"][size]


def published(size, connectivity):
    """Geometric mean over the contents of the fastest published kernel for each content, in µs."""
    return PUBLISHED["best_geomean_us"][str(connectivity)][size]


def waiting(names):
    """A sentence that names the peers whose calls wait for the GPU."""
    names = set(names)
    found = [each for each in WAITING if any(name.startswith(each) for name in names)]
    return f" The calls of {', '.join(found)} wait for the GPU." if found else ""


class Gpu:
    """The tables of one GPU record."""

    def __init__(self, figures):
        self.figures = figures

    def keys(self, **more):
        return {"by": "cclabel", "backend": "cuda", "criterion": "binary", "format": "GRAY8",
                "task": "labels", "clock": "graph", **more}

    def ours(self, size, connectivity, **more):
        return self.figures.mean(**self.keys(size=size, connectivity=connectivity, **more))

    def noise(self, size, connectivity, **more):
        return self.figures.noise(**self.keys(size=size, connectivity=connectivity, **more))

    def floors(self, size, us):
        """A time as a multiple of the floor kernel's time in the same run."""
        return ratio(us, self.figures.floor(size))

    def lead(self, size, connectivity):
        """How many times as fast as the best published kernels cclabel is, both in multiples of a floor kernel."""
        return ratio(of_published_floor(size, published(size, connectivity)),
                     self.floors(size, self.ours(size, connectivity)))

    def sizes(self):
        for connectivity in (8, 4):
            for size in SIZES:
                ours, best = self.ours(size, connectivity), published(size, connectivity)
                yield [str(connectivity), size, number(ours), self.noise(size, connectivity),
                       number(self.ours(size, connectivity, clock="stream")),
                       self.noise(size, connectivity, clock="stream"), number(self.figures.floor(size)),
                       times(self.floors(size, ours)), number(best), times(of_published_floor(size, best)),
                       times(self.lead(size, connectivity))]

    def contents(self, size):
        for content in CONTENTS:
            row = [content]
            for connectivity in (8, 4):
                us, fastest = (self.figures.by_content(key, **self.keys(
                    size=size, connectivity=connectivity)).get(content) for key in ("us", "fastest_us"))
                best, name = PUBLISHED["best_us"][size][content][str(connectivity)]
                row += [number(us), noise(us, fastest), f"{number(best)} {name}"]
            yield row

    def behind(self, size):
        """{content: cclabel's time as a multiple of the best published time} for the contents with 8 neighbours where
        that is more than 1, both in multiples of the floor kernel; empty unless all contents were measured."""
        if self.floors(size, self.ours(size, 8)) is None:
            return {}
        ours = self.figures.by_content(**self.keys(size=size, connectivity=8))
        best = {content: PUBLISHED["best_us"][size][content]["8"][0] for content in CONTENTS}
        shares = {content: self.floors(size, ours[content]) / of_published_floor(size, best[content])
                  for content in CONTENTS}
        return {content: share for content, share in shares.items() if share > 1}

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
                       self.noise(size, connectivity, task="table"),
                       times(geomean(ratios.values())), f"{times(ratios[worst])} ({worst})",
                       number(geomean(PUBLISHED["cvcuda_stats_us"][size].values()))]

    def difference(self):
        for size in SIZES:
            for row in self.figures.select(what="time", size=size, by="cclabel", backend="cuda",
                                           criterion="difference", connectivity=8, task="labels",
                                           clock="graph"):
                yield [size, row["content"], str(row["regions"]), number(row["us"]),
                       noise(row["us"], row.get("fastest_us"))]

    def equal(self):
        """Rows of cclabel and the packages, picture by picture."""
        rows = self.figures.select(what="time", backend="cuda", criterion="equal", connectivity=8, task="labels",
                                   clock="stream")
        ours = {(row["width"], row["height"], row["content"]): row["us"] for row in rows if row["by"] == "cclabel"}

        def key(row):
            return row["width"], row["height"], row["content"]
        order = {each: i for i, each in enumerate(dict.fromkeys(map(key, rows)))}
        for row in sorted(rows, key=lambda row: (order[key(row)], row["by"] != "cclabel", row["by"])):
            yield [f"{row['width']}x{row['height']}", row["content"], str(row["regions"]), row["by"],
                   number(row["us"]) + ("" if row["correct"] else " **wrong**"),
                   noise(row["us"], row.get("fastest_us")), times(ratio(row["us"], ours.get(key(row))))]

    def peers(self):
        for size in SIZES:
            for connectivity in (8, 4):
                keys = self.keys(size=size, connectivity=connectivity, clock="stream")
                del keys["by"]
                for task in TASKS:
                    keys["task"] = task
                    ours, makers = self.figures.mean(by="cclabel", **keys), self.figures.makers(**keys)
                    for name in makers if len(makers) > 1 else ():
                        mean = self.figures.mean(by=name, **keys)
                        wrong, answers = self.figures.wrong(by=name, **keys)
                        yield [size, str(connectivity), TASKS[task], name, number(mean),
                               self.figures.noise(by=name, **keys), times(ratio(mean, ours)),
                               f"{wrong} of {answers}" if wrong else "none"]

    def correctness(self):
        wrong, answers = self.figures.wrong(by="cclabel", backend="cuda")
        return f"{answers - wrong} of {answers} GPU answers of cclabel equal the CPU's bit for bit.\n"

    def part(self):
        return [
            "## On the GPU\n", machine_of(self.figures),
            *([f"> {self.figures.record['about']}\n"] if "about" in self.figures.record else []),
            "The times are for one picture, u8 in and u32 labels out, as geometric means over 21 contents. Labels are "
            "numbered 1..n in raster order. Inputs and outputs stay on the GPU; from 1920x1080 on they alternate "
            "between more buffers than the cache can hold. *Graph*: the median of 30 replays of one CUDA graph, "
            "divided by the number of pictures in it. *Stream*: one plain call between two events. The *floor "
            "kernel* reads each pixel and writes a label; it ran in the same run.\n", self.correctness(),
            PUBLISHED["about"] + " *Faster* therefore compares multiples of the floor kernel of the same machine. The "
            "published kernels do not number their labels 1..n.\n",
            "\n".join(f"- {names}: {where}." for names, where in PUBLISHED["sources"].items()) + "\n",
            "![Geometric means by size](../plots/sizes.svg)\n",
            table(["neighbours", "size", "cclabel, graph (µs)", "noise", "cclabel, stream (µs)", "noise",
                   "floor kernel (µs)", "cclabel / floor", "best published (µs)", "published / floor", "faster"],
                  self.sizes()),
            "### Each content, 1920x1080\n",
            "![Times of each content, 1920x1080](../plots/contents.svg)\n", self.content_table(HD),
            "### Each content, 4096x4096\n", self.content_table(SQUARE),
            "### Cost of the table of regions\n",
            "Here the ratio is the time of labels and table divided by the time of labels alone.\n",
            table(["neighbours", "size", "labels (µs)", "labels and table (µs)", "noise", "ratio", "largest ratio",
                   "CV-CUDA labels and statistics, published (µs, 4 neighbours)"], self.table_cost()),
            "### criterion=difference on RGB, 8 neighbours\n",
            table(["size", "content", "regions", "time (µs)", "noise"], self.difference()),
            *self.equal_part(), *self.peers_part()]

    def peers_part(self):
        lines = list(self.peers())
        return lines and [
            "### Packages on the same pictures, in the same run\n",
            "All are timed as plain launches. A wrong answer has other components than the CPU's labels."
            + waiting(name for _, _, _, name, *_ in lines) + "\n",
            table(["size", "neighbours", "task", "by", "time (µs)", "noise", "compared with cclabel",
                   "wrong answers"], lines)]

    def equal_part(self):
        lines = list(self.equal())
        return lines and [
            "### criterion=equal on RGB, 8 neighbours\n",
            "Plain launches of cclabel and of packages in the same run." + waiting(line[3] for line in lines) + "\n",
            table(["size", "content", "regions", "by", "time (µs)", "noise", "compared with cclabel"], lines)]

    def content_table(self, size):
        return table(["content", "cclabel, 8 neighbours (µs)", "noise", "best published (µs)",
                      "cclabel, 4 neighbours (µs)", "noise", "best published (µs)"], self.contents(size))


class Cpu:
    """The tables of one CPU record: cclabel, OpenCV and Python packages."""

    def __init__(self, figures):
        self.figures = figures

    def keys(self, size, connectivity, task, count):
        return {"backend": "cpu", "size": size, "criterion": "binary", "task": task,
                "connectivity": connectivity, "threads": count, "clock": "wall"}

    def mean(self, by, *case):
        """Microseconds."""
        return self.figures.mean(by=by, **self.keys(*case))

    def noise(self, by, *case):
        return self.figures.noise(by=by, **self.keys(*case))

    def opencv(self):
        """The name of OpenCV's rows: the distribution's package if it was measured, else the Python package."""
        names = [name for name in self.figures.makers(backend="cpu") if name.startswith("OpenCV")]
        return min(names, key=lambda name: "Python" in name) if names else None

    def peers(self, *case):
        """(name, microseconds, noise) of each peer that was measured in this case."""
        return [(name, self.mean(name, *case), self.noise(name, *case))
                for name in self.figures.makers(backend="cpu") if name != "cclabel" and self.mean(name, *case)]

    def sizes(self):
        counts = sorted({row["threads"] for row in self.figures.select(what="time", backend="cpu")})
        for size, task, connectivity, count in ((size, task, connectivity, count) for size in SIZES
                                                for task in TASKS for connectivity in (8, 4) for count in counts):
            case = size, connectivity, task, count
            ours = self.mean("cclabel", *case)
            if ours is None:
                continue
            for name, us, above in [("cclabel", ours, self.noise("cclabel", *case)), *self.peers(*case)]:
                yield [size, TASKS[task], str(connectivity), str(count), name, milliseconds(us), above,
                       times(us / ours)]

    def part(self):
        facts = self.figures.record
        return [
            f"## On the CPU: {facts['cpu']}, {facts['cores']} cores\n", machine_of(self.figures),
            "The times are wall-clock times of one call, as geometric means over the 21 contents. The input alternates "
            "between four mirrored pictures. For each content, OpenCV runs right after cclabel.\n",
            *(["![CPU times of each content](../plots/cpu.svg)\n"] if self.opencv() else []),
            table(["size", "task", "neighbours", "threads", "by", "time (ms)", "noise", "compared with cclabel"],
                  self.sizes())]
