"""The tables on archives: segments, several processes, GPUs and nodes, and a model of the cost of 10,000 hours."""
import statistics

from records import of_suite
from tables import machine_of, noise, number, table, times

HOURS, NODES, FPS = 10_000, 1_000, 25  # of the modelled archive, which has files of one hour
PACE = 40  # frames per second of one node
CASES = ((60, 0), (60, 20), (300, 20))  # seconds of a segment, and of its warm-up


def percent(value):
    return f"{100 * value:.0f} %"


class Archives:
    def __init__(self):
        self.warm_ups, self.cluster, self.devices = map(of_suite, ("warm-ups", "cluster", "devices"))

    def seconds(self, how):
        """The median of a way to run; None if it was not measured."""
        taken = self.cluster.last("seconds", what="cluster", how=how)
        return taken and statistics.median(taken)

    def part(self):
        return self.warm_ups_part() + self.cluster_part() + self.devices_part() + self.model_part()

    def warm_ups_part(self):
        rows = self.warm_ups.select(what="learnt")
        return rows and [
            "## Segments of filters that learn\n", machine_of(self.warm_ups),
            f"This table compares the masks of `{rows[0]['filter']}` on {rows[0]['clip']} ({rows[0]['frames']} "
            f"frames) in segments of {rows[0]['segments']} seconds with the masks of one run over the whole clip "
            "(`bench/run --warm-ups`).\n",
            table(["warm-up (s)", "frames with other masks", "mean IoU of the masks", "lowest IoU of a frame"],
                  [[str(row["warm_up"]), percent(row["differ"]), f"{row['iou']:.3f}", f"{row['least_iou']:.3f}"]
                   for row in rows])]

    def cluster_part(self):
        rows = self.cluster.select(what="cluster")
        plain = self.seconds("plain")
        return rows and [
            "## Nodes of Ray\n", machine_of(self.cluster),
            f"Several copies of {rows[0]['clip']} pass through `{rows[0]['filter']}` (`bench/run --cluster`). The "
            "times run from the program's start to its end and are medians. All rows except *two nodes* use one "
            "core.\n",
            table(["setup", "segments", "time (s)", "noise", "speed compared with plain"],
                  [[row["how"], str(row.get("segments", 1)), number(self.seconds(row["how"])),
                    noise(self.seconds(row["how"]), min(row["seconds"])), times(plain / self.seconds(row["how"]))]
                   for row in rows])]

    def devices_part(self):
        rows = self.devices.select(what="devices")
        return rows and [
            "## GPUs of one host\n", machine_of(self.devices),
            f"`regions-transcode --jobs {rows[0]['jobs']}` processes {rows[0]['jobs']} files at the same time. The "
            "filter computes superpixels of many sizes with many iterations, so that the GPUs have most of the work "
            "(`bench/devices.py`). *Busy* is the share of the time in which each GPU works. Each row is from one "
            "run.\n",
            table(["GPUs", "frames", "time (s)", "frames/s", "busy"],
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
            cells.append([f"{segments:,}", f"{segments // NODES:,}", hours(work), hours(work * warm / length),
                          hours(start * segments / NODES)])
        names = ["segments", "segments per node", "frames, time per node", "warm-up, time per node",
                 "starts of segments, time per node"]
        return [
            "## A cost model\n",
            f"{rows[0]['frames']} frames of {rows[0]['size']} need this CPU time by number of segments (medians): "
            + ", ".join(f"{count}: {number(seconds)} s" for count, seconds in taken.items())
            + f". Therefore each segment costs {start:.2f} s, and a file in segments costs {ends:.2f} s for planning "
            "and joining.\n",
            f"The next table applies these figures to {HOURS:,} hours of video with {FPS} frames/s on {NODES:,} "
            f"nodes that each process {PACE} frames/s.\n",
            table(["", *(f"segments of {length} s, warm-up of {warm} s" for length, warm in CASES)],
                  [[name, *row] for name, *row in zip(names, *cells)]),
            f"Planning and joining files of one hour needs {hours(HOURS * ends)} of CPU time in total, spread over the "
            "program's `-j` processes.\n"]


def hours(seconds):
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.1f} min" if seconds else "0"
