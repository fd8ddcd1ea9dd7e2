"""What the report says of the Python package: records of bench/peers/python_peers.py and python_device_peers.py."""
from records import ASKED, HD, geomean, ratio
from tables import asked, machine_of, pivot, short, table, times
from tables import threads as in_words

WANTED = ASKED["python"]
LIBRARIES = ("CuPy", "PyTorch")


def name_of(by):
    """Without its version."""
    return by.rsplit(" ", 1)[0]


class Cpu:
    """Beside each peer, in turns."""

    def __init__(self, figures):
        self.figures = figures

    def threads(self):
        return sorted({row["threads"] for row in self.figures.select(what="python")})

    def beside(self, task, peer, threads):
        """(how many times its time is ours, of what, whether the answer is right) of each case."""
        return [(row["peer_us"] / row["us"], f"{row['content']}, {row['neighbours']} neighbours" if "neighbours" in row
                 else row["content"], row["correct"])
                for row in self.figures.select(what="python", task=task, threads=threads) if name_of(row["peer"]) == peer]

    def asked(self):
        if not self.figures.rows:
            return []
        rows = []
        for task, peer, name in (("label", "cv2", "`gst_regions.label`, 1920x1080, times as fast as cv2"),
                                 ("label", "skimage", "`gst_regions.label`, 1920x1080, times as fast as scikit-image"),
                                 ("volume", "cc3d", "`gst_regions.label` of volumes, times as fast as cc3d"),
                                 ("slic", "skimage", "`gst_regions.slic`, times as fast as scikit-image")):
            # Beside cv2, which has threads too, on one thread each; beside others as they are called.
            count = next(iter(self.threads() if peer == "cv2" else self.threads()[::-1]), 1)
            name += f", {in_words(count)}"
            found = self.beside(task, peer, count)
            right = all(correct is not False for *_, correct in found)
            least, where, _ = min(found, default=(None, None, None))
            mean = geomean([share for share, *_ in found]) if found else None
            wanted, worst = WANTED[f"{task} beside {peer}"], least and f"{times(least)} at least ({where})"
            if (task, peer) == ("label", "skimage"):
                rows.append(asked(name + ", geometric mean", wanted, mean, mean and f"{times(mean)}, {worst}", right=right))
                continue
            rows.append(asked(name, wanted, least, worst, right=right))
            if peer == "cv2":
                rows.append(asked(name + ", geometric mean", WANTED["label beside cv2, mean"], mean, right=right))
        return rows

    def part(self):
        if not self.figures.rows:
            return []

        def line(row):
            unit = 1 if row["task"] == "call" else 1e3
            return ((row["content"], row["size"], row.get("neighbours", "–")), row["peer"],
                    f"{short(row['us'] / unit)} / {short(row['peer_us'] / unit)} = {times(row['peer_us'] / row['us'])}"
                    + ("" if row["correct"] is not False else " **other answer**"))
        parts = ["## On the CPU\n", machine_of(self.figures),
                 "Milliseconds of ours / of the peer, and how many times as fast ours is: medians of calls that took turns "
                 "in one process; with one thread of the process's own time, else of the time that passed.\n"]
        for task, title in (("label", "label, pictures"), ("volume", "label, volumes"), ("slic", "slic"),
                            ("call", "label, 16x16: what a call costs, in µs")):
            for count in self.threads():
                rows = self.figures.select(what="python", task=task, threads=count)
                if rows:
                    parts += [f"### {title}, {in_words(count)}\n", pivot(["content", "size", "neighbours"], map(line, rows))]
        return parts


class Gpu:
    """Arrays on a device, and the C++ program in the same run."""

    def __init__(self, figures):
        self.figures = figures

    def cases(self):
        """{(content, neighbours): {maker: microseconds}}, `C++` one of them."""
        found = {}
        for row in self.figures.rows:
            if row["what"] == "python device":
                found.setdefault((row["content"], row["connectivity"]), {})[row["by"]] = row["us"]
        for (content, neighbours), makers in found.items():
            ours = self.figures.last("us", what="time", size=HD, by="cclabel", backend="cuda", criterion="binary",
                                     format="GRAY8", task="labels", clock="graph", content=content, connectivity=neighbours)
            if ours:
                makers["C++"] = ours
        return found

    def host(self, library):
        return self.figures.last("host_us", what="python call", by=f"gst_regions, {library}")

    def right(self):
        return all(row.get("correct", True) for row in self.figures.rows if "gst_regions" in row.get("by", ""))

    def asked(self):
        if not self.figures.rows:
            return []
        rows, cases = [], self.cases()

        def shares(library, of):
            return [(ratio(*of(makers[f"gst_regions, {library}"], makers)), f"{content}, {neighbours} neighbours")
                    for (content, neighbours), makers in cases.items() if f"gst_regions, {library}" in makers]

        def peer(makers):
            return next((us for by, us in makers.items() if by.startswith("cupyx")), None)
        for library in LIBRARIES:
            name = f"`gst_regions.label` of {library} arrays, 1920x1080"
            of_cpp = [each for each in shares(library, lambda us, makers: (us, makers.get("C++"))) if each[0]]
            most, where = max(of_cpp, default=(None, None))
            rows.append(asked(f"{name}, of the C++ program's time", WANTED["of C++"], most,
                              most and f"{times(most)} at most ({where})", right=self.right()))
            of_peer = [each for each in shares(library, lambda us, makers: (peer(makers), us)) if each[0]]
            least, where = min(of_peer, default=(None, None))
            rows.append(asked(f"{name}, times as fast as cupyx.scipy.ndimage", WANTED["beside cupyx"], least,
                              least and f"{times(least)} at least ({where})", right=self.right()))
            rows.append(asked(f"`gst_regions.label` of {library} arrays, the caller's thread", WANTED["call"],
                              self.host(library)))
        return rows

    def part(self):
        if not self.figures.rows:
            return []
        cells = [((content, neighbours), by, short(us)) for (content, neighbours), makers in self.cases().items()
                 for by, us in makers.items()]
        calls = [[row["by"], short(row["host_us"])] for row in self.figures.select(what="python call")]
        return ["## On a GPU\n", machine_of(self.figures),
                "Microseconds a call of `label`, 1920x1080, a new array for the labels included: 100 calls of 12 arrays in "
                "turns, waited for once, medians. *C++*: the program `bench/programs/cclabel`, replays of a graph of 12 such "
                "pictures. Of peers, what each gives as its labels; bkeccl has 8 neighbours alone, colorcc takes colours.\n",
                pivot(["content", "neighbours"], cells),
                "What a call costs the caller's thread (16x16, a new array for the labels; *out*: a given one), µs.\n",
                table(["function", "µs"], calls)]
