"""Archives: long files in segments, over processes, GPUs and nodes, and what ten thousand hours cost by these figures."""
import statistics

from records import ASKED, of_suite, ratio
from tables import asked, machine_of, number, table, times

HOURS, NODES, FPS = 10_000, 1_000, 25  # of the model: an archive in files of an hour
PACE = 40  # frames a second that a node does
CASES = ((60, 0), (60, 20), (300, 20))  # seconds of a segment, and of its warm-up


def percent(value):
    return f"{100 * value:.0f} %"


class Archives:
    def __init__(self):
        self.warm_ups, self.cluster, self.devices = map(of_suite, ("warm-ups", "cluster", "devices"))

    def seconds(self, how):
        """The median of a way to run; None where it was not taken."""
        taken = self.cluster.last("seconds", what="cluster", how=how)
        return taken and statistics.median(taken)

    def asked_on_cpu(self):
        plain, one, two = map(self.seconds, ("plain", "one node", "two nodes"))
        if plain is None:
            return []
        segments = self.cluster.last("segments", how="two nodes")
        return [asked(f"a file in {segments} segments, two nodes of Ray against one", ASKED["two nodes"], ratio(one, two)),
                asked(f"a file in {segments} segments, what a node of Ray takes more than the plain program",
                      ASKED["one node"], 100 * (one / plain - 1))]

    def asked_on_gpu(self):
        rows = {row["gpus"]: row["seconds"] for row in self.devices.select(what="devices")}
        return [asked(f"regions-transcode --jobs, {most} GPUs against one", ASKED["two GPUs"], ratio(rows[1], rows[most]))
                for most in [max(rows, default=0)] if most == 2]

    def part(self):
        return self.warm_ups_part() + self.cluster_part() + self.devices_part() + self.model_part()

    def warm_ups_part(self):
        rows = self.warm_ups.select(what="learnt")
        return rows and [
            "## Segments of filters that learn\n", machine_of(self.warm_ups),
            f"Masks of `{rows[0]['filter']}` on {rows[0]['clip']} in segments of {rows[0]['segments']} seconds, beside those"
            f" of a run over the whole ({rows[0]['frames']} frames; `bench/run --warm-ups`).\n",
            table(["seconds of warm-up", "frames whose masks differ", "mean IoU of the masks", "least IoU of a frame"],
                  [[str(row["warm_up"]), percent(row["differ"]), f"{row['iou']:.3f}", f"{row['least_iou']:.3f}"]
                   for row in rows])]

    def cluster_part(self):
        rows = self.cluster.select(what="cluster")
        plain = self.seconds("plain")
        return rows and [
            "## Nodes of Ray\n", machine_of(self.cluster),
            f"{rows[0]['clip']}, some times over, through `{rows[0]['filter']}`: seconds from the program's start to its end,"
            " all but *two nodes* with one processor (`bench/run --cluster`, medians of turns).\n",
            table(["how", "segments", "seconds", "beside the plain program"],
                  [[row["how"], str(row.get("segments", 1)), number(self.seconds(row["how"])),
                    times(plain / self.seconds(row["how"]))] for row in rows])]

    def devices_part(self):
        rows = self.devices.select(what="devices")
        return rows and [
            "## GPUs of one host\n", machine_of(self.devices),
            f"{rows[0]['jobs']} files at once (`--jobs`) through superpixels of many sizes and iterations, so that GPUs have"
            " the most work (`bench/devices.py`). *Busy*: the share of the time in which a GPU ran something, for each.\n",
            table(["GPUs", "frames", "seconds", "frames/s", "busy"],
                  [[str(row["gpus"]), str(row["frames"]), number(row["seconds"]), number(row["frames_per_second"]),
                    ", ".join(f"{share:.0f} %" for share in row["busy"])] for row in rows])]

    def model_part(self):
        rows = self.cluster.select(what="costs")
        if not rows:
            return []
        taken = {row["segments"]: statistics.median(row["cpu_seconds"]) for row in rows}
        few, many = sorted(taken)[1:]
        start = (taken[many] - taken[few]) / (many - few)
        ends = taken[few] - few * start - taken[1]
        work = HOURS * 3600 * FPS / PACE / NODES  # seconds of a node
        cells = []
        for length, warm in CASES:
            segments = HOURS * 3600 // length
            cells.append([f"{segments:,}, {segments // NODES:,}", hours(work), hours(work * warm / length),
                          hours(start * segments / NODES)])
        names = ["segments, of these per node", "frames, per node", "warm-up, per node", "starts of segments, per node"]
        return [
            "## A model of cost\n",
            f"Seconds of processor for {rows[0]['frames']} frames of {rows[0]['size']}, by segments (medians): "
            + ", ".join(f"{count}: {number(seconds)}" for count, seconds in taken.items())
            + f". So a segment costs {start:.2f} s, and a file that is cut {ends:.2f} s to plan and to join.\n",
            f"{HOURS:,} hours of {FPS} frames/s on {NODES:,} nodes that each do {PACE} frames/s, by these figures:\n",
            table(["", *(f"segments of {length} s, warm-up of {warm} s" for length, warm in CASES)],
                  [[name, *row] for name, *row in zip(names, *cells)]),
            f"Plans and joins, of files of an hour: {hours(HOURS * ends)} of processor, spread over `-j` of the program.\n"]


def hours(seconds):
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.1f} min" if seconds else "0"
