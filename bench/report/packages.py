"""The tables on the Python package, from records of bench/peers/python_peers.py and python_device_peers.py."""
from records import HD, ratio
from tables import largest_noise, machine_of, noise, pivot, short, table, times
from tables import threads as in_words

TASKS = (("label", "label, pictures"), ("volume", "label, volumes"), ("regionprops", "region properties"),
         ("slic", "slic"), ("call", "label, small pictures: overhead of a call"))
# About the label images of bench/peers/python_types_peers.py.
OTHER_IMAGES = (" Up to 512x512, calls of `label` take turns with 16 images, because a processor learns the branches of a small "
                "image that it sees again and again. Rows with a table, and *all different*, have one image.")


def name_of(by):
    """The name without its version."""
    return by.rsplit(" ", 1)[0]


class Cpu:
    """Each function and each peer, alternating in one process. `arrays` says which arrays are meant."""

    def __init__(self, figures, arrays=""):
        self.figures, self.arrays = figures, arrays

    def threads(self):
        return sorted({row["threads"] for row in self.figures.select(what="python")})

    def part(self):
        if not self.figures.rows:
            return []
        arrays = f": {self.arrays}" if self.arrays else ""
        parts = [f"## On the CPU{arrays}\n", machine_of(self.figures),
                 "Cells read \"gst_regions / peer = ratio\": the median times of both and how many times as fast "
                 "gst_regions is. The calls alternate in one process. With one thread, times are the process's CPU "
                 "time; with more, wall-clock time. Noise is the largest of the row."
                 + OTHER_IMAGES * bool(self.arrays) + "\n"]
        for task, title in TASKS:
            for count in self.threads():
                rows = self.figures.select(what="python", task=task, threads=count)
                if rows:
                    unit = "µs" if task == "call" else "ms"
                    parts += [f"### {title} ({unit}), {in_words(count)}{arrays}\n", compared(rows, task)]
        return parts


def compared(rows, task):
    """A table with one row per case and one column per peer."""
    unit = 1 if task == "call" else 1e3

    def key(row):
        return row["content"], row["size"], row.get("neighbours", "–")
    cells, pairs = [], {}
    for row in rows:
        cells.append((key(row), row["peer"],
                      f"{short(row['us'] / unit)} / {short(row['peer_us'] / unit)} = "
                      f"{times(row['peer_us'] / row['us'])}"
                      + ("" if row["correct"] is not False else " **other answer**")))
        pairs.setdefault(key(row), []).extend([(row["us"], row.get("fastest_us")),
                                               (row["peer_us"], row.get("fastest_peer_us"))])
    peers = dict.fromkeys(row["peer"] for row in rows)
    cells += [(each, "noise", largest_noise(found)) for each, found in pairs.items()]
    return pivot(["content", "size", "neighbours"], cells, [*peers, "noise"])


class Gpu:
    """Arrays on a GPU, and the C++ program in the same run."""

    def __init__(self, figures):
        self.figures = figures

    def cpp(self, content, neighbours):
        """The row of the C++ program for this picture, or None."""
        rows = self.figures.select(what="time", size=HD, by="cclabel", backend="cuda", criterion="binary",
                                   format="GRAY8", task="labels", clock="graph", content=content,
                                   connectivity=neighbours)
        return rows[-1] if rows else None

    def cases(self):
        """{(content, neighbours): rows}, including the C++ program's."""
        found = {}
        for row in self.figures.rows:
            if row["what"] == "python device":
                found.setdefault((row["content"], row["connectivity"]), {})[row["by"]] = row
        for case, makers in found.items():
            if row := self.cpp(*case):
                makers["C++"] = {**row, "by": "C++"}
        return {case: list(makers.values()) for case, makers in found.items()}

    def part(self):
        if not self.figures.rows:
            return []
        lines = []
        for (content, neighbours), rows in self.cases().items():
            ours = next((row["us"] for row in rows if "gst_regions" in row["by"]), None)
            lines += [[content, str(neighbours), row["by"], short(row["us"])
                       + ("" if row.get("correct", True) else " **wrong**"),
                       noise(row["us"], row.get("fastest_us")), times(ratio(row["us"], ours))] for row in rows]
        calls = [[row["by"], short(row["host_us"]), noise(row["host_us"], row.get("least_us"))]
                 for row in self.figures.select(what="python call")]
        return ["## On a GPU\n", machine_of(self.figures),
                "The times are for one call of `label` on 1920x1080, including the new array for the labels. A round "
                "has 100 calls, which alternate between 12 arrays and are waited for once; the median of the rounds "
                "is used. *C++* is the program `bench/programs/cclabel`, as replays of a CUDA graph of 12 such "
                "pictures. Each peer gives its own kind of labels: bkeccl has 8 neighbours only, CV-CUDA has 4 only "
                "and numbers labels by position, and colorcc takes colours.\n",
                table(["content", "neighbours", "by", "time (µs)", "noise", "compared with gst_regions"], lines),
                "The next table shows how long a call occupies the calling thread. The picture has 16x16 pixels, and "
                "the call allocates the labels; with *out*, the caller passes them.\n",
                table(["function", "time (µs)", "noise"], calls)]
