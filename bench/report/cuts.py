"""The tables on minimum cuts."""
import os

from records import Figures
from tables import machine_of, noise, short, table, times


def solver(row):
    """The solver's name. Older records have other words."""
    return row["solver"].replace("1 threads", "1 thread").replace("an iteration", "one iteration with its own weights")


class Cuts:
    """The rows of bench/programs/maxflow and of its peers in one record."""

    def __init__(self, figures):
        self.figures, self.record = figures, figures.record
        rows = [{**row, "name": os.path.basename(row["file"]).split(".")[0]}
                for row in figures.rows if row.get("solver")]
        self.rows = [row for row in rows if "ms" in row]
        self.streams = [row for row in rows if "streams" in row]

    def of(self, instance, solver, neighbours=4):
        """The last row of that instance by that solver, in any version."""
        return next((row for row in reversed(self.rows) if row["name"] == instance and
                     row["neighbours"] == neighbours and
                     (row["solver"] + " ").startswith(solver + " ")), None)

    def on_gpu(self, instance):
        """The row of the faster GPU solver, for one cut at a time; None without one."""
        rows = [row for row in (self.of(instance, f"cuda {name}") for name in ("resident", "sparse")) if row]
        return min(rows, key=lambda row: row["ms"], default=None)

    def exactness(self):
        """A sentence that counts the exact cuts; peers are not counted."""
        exact = [row["expected"] for row in self.rows + self.streams
                 if "expected" in row and row["solver"].startswith(("cuda", "cpu"))]
        return exact and [f"{sum(exact)} of {len(exact)} cuts of ours equal the known optimum and its largest source "
                          "side.\n"]

    def fastest_of_ours(self):
        """{(instance, neighbours): milliseconds} of the fastest cold solver of ours."""
        found = {}
        for row in self.rows:
            if row["solver"].startswith(("cuda", "cpu")) and "warm" not in row["solver"]:
                key = row["name"], row["neighbours"]
                found[key] = min(row["ms"], found.get(key, row["ms"]))
        return found

    def part(self):
        ours = self.fastest_of_ours()
        lines = [[row["name"], str(row["neighbours"]), solver(row),
                  short(row["ms"]) + ("" if row.get("expected", True) else " **wrong**"),
                  noise(row["ms"], row.get("fastest_ms")), times(row["ms"] / ours[row["name"], row["neighbours"]])
                  if (row["name"], row["neighbours"]) in ours else "–"]
                 for row in sorted(self.rows, key=lambda row: (row["name"], row["neighbours"]))]
        return ["## Minimum cuts: " + self.record["device"] + "\n", machine_of(self),
                "The times run from the weights in the device's memory to the mask there. Peers must build their "
                "graphs from the weights, and this counts. *Warm* starts from the solution of a frame whose terminal "
                "weights differ by noise in a quarter of the pixels. The last column compares with our fastest cold "
                "solver.\n",
                *self.exactness(),
                table(["instance", "neighbours", "solver", "time (ms)", "noise", "compared with ours"], lines),
                *self.streams_part()]

    def streams_part(self):
        if not self.streams:
            return []
        lines = [[row["name"], str(row["neighbours"]), row["solver"],
                  f"{row['per_second']:,.0f}" + ("" if row["expected"] else " **wrong**")]
                 for row in sorted(self.streams, key=lambda row: (row["name"], row["neighbours"]))]
        first = self.streams[0]
        return [f"\nThe next table shows the total rate of {first['streams']} streams, each with its own solver and "
                f"{first.get('connections', 8)} connections (see [performance](../performance.md#many-streams)). Each "
                "rate is from one run.\n",
                table(["instance", "neighbours", "solver", "cuts/s"], lines)]


def all_cuts(found):
    """The records that hold cuts: (those on GPUs, those on CPUs)."""
    cuts = [cuts for cuts in (Cuts(Figures(record)) for record in found.values()) if cuts.rows]
    gpus = [each for each in cuts if any(row["solver"].startswith("cuda") for row in each.rows)]
    return gpus[-1:], [each for each in cuts if each not in gpus]
