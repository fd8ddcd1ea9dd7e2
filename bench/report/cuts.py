"""What the report says of minimum cuts and of foregrounds."""
import json
import os

from records import ASKED, RESULTS, Figures, of_suite
from tables import asked, asked_of_all, machine_of, number, pivot, short, table, times

FOREGROUND = os.path.join(RESULTS, "foreground", "quality.json")


class Cuts:
    """Rows of bench/programs/maxflow and of its peers in one record."""

    def __init__(self, figures):
        self.record = figures.record
        rows = [{**row, "name": os.path.basename(row["file"]).split(".")[0]}
                for row in figures.rows if row.get("solver")]
        self.rows = [row for row in rows if "ms" in row]
        self.streams = [row for row in rows if "streams" in row]

    def of(self, instance, solver, neighbours=4):
        """The last row of that instance by that solver, whatever its version."""
        return next((row for row in reversed(self.rows) if row["name"] == instance and
                     row["neighbours"] == neighbours and
                     (row["solver"] + " ").startswith(solver + " ")), None)

    def alone(self, instance):
        """The faster one's row of the solvers that a cut alone on the GPU may take, and whether both are right."""
        rows = [row for row in (self.of(instance, f"cuda {name}") for name in ("resident", "sparse")) if row]
        return min(rows, key=lambda row: row["ms"], default=None), all(row["expected"] for row in rows)

    def exactness(self, where):
        exact = [row["expected"] for row in self.rows + self.streams if "expected" in row]
        return [asked_of_all(f"minimum cuts equal to the known optimum, {where}", sum(exact),
                             len(exact))] if exact else []

    def asked_on_gpu(self):
        rows = []
        for instance, wanted in ASKED["cuts"].items():
            row, right = self.alone(instance)
            rows.append(asked(f"minimum cut, {instance}, 4 neighbours, GPU", wanted["GPU"], row and row["ms"],
                              row and f"{short(row['ms'])} ms ({row['solver']})", right=right))
        for row in self.streams:
            wanted = ASKED["cuts"].get(row["name"], {}).get("streams")
            if wanted and row["solver"] == "cuda sparse" and row["neighbours"] == 4:
                rows.append(asked(f"minimum cuts of {row['streams']} streams, {row['name']}, "
                                  "4 neighbours, GPU", wanted, row["per_second"],
                                  right=row["expected"]))
        return rows + self.exactness("GPU")

    def asked_on_cpu(self):
        """Where PyMaxflow (the same solver as the targets' peer) ran beside ours, its share counts,
        as machines differ; elsewhere the time itself."""
        rows, cores = [], f"CPU of {self.record['cores']} cores"
        for instance, wanted in ASKED["cuts"].items():
            if "CPU" not in wanted:
                continue
            ours = self.of(instance, "cpu: 1 thread") or {"ms": None, "expected": False}
            peer, ms = self.of(instance, "PyMaxflow"), ours["ms"]
            what = f"minimum cut, {instance}, 4 neighbours, {cores}, 1 thread"
            if peer and ms:
                most = float(wanted["CPU"].split()[1]) / wanted["peer_ms"]
                rows.append(asked(what + ", of PyMaxflow's time", f"≤ {most:.2f}", ms / peer["ms"],
                                  f"{ms / peer['ms']:.2f} ({short(ms)} of {short(peer['ms'])} ms)",
                                  bound=most, right=ours["expected"]))
            else:
                rows.append(asked(what, wanted["CPU"], ms, short(ms) + " ms",
                                  right=ours["expected"]))
        return rows + self.exactness(cores)

    def part(self):
        cells = [((row["name"], row["neighbours"]), row["solver"],
                  short(row["ms"]) + ("" if row.get("expected", True) else " **wrong**"))
                 for row in sorted(self.rows, key=lambda row: (row["name"], row["neighbours"]))]
        solvers = dict.fromkeys(row["solver"] for row in self.rows)
        return ["## Minimum cuts: " + self.record["device"] + "\n", machine_of(self),
                "Milliseconds from the weights in the device's memory to the mask there, "
                "nothing built before; peers build their graphs within. *warm* starts from "
                "the solution of a frame whose terminal weights differ by noise in a "
                "quarter of the pixels. All equal the known optimum and its largest source "
                "side, or say **wrong**.\n", pivot(["instance", "neighbours"], cells, solvers),
                *self.streams_part()]

    def streams_part(self):
        if not self.streams:
            return []
        cells = [((row["name"], row["neighbours"]), row["solver"],
                  f"{row['per_second']:,.0f}" + ("" if row["expected"] else " **wrong**"))
                 for row in sorted(self.streams, key=lambda row: (row["name"], row["neighbours"]))]
        solvers = dict.fromkeys(row["solver"] for row in self.streams)
        first = self.streams[0]
        return [f"\nCuts a second of {first['streams']} streams, each with a solver of its own, "
                f"{first.get('connections', 8)} connections (see [performance](../performance.md)):\n",
                pivot(["instance", "neighbours"], cells, solvers)]


def all_cuts(found):
    """The records that hold cuts: (those on GPUs, those on CPUs)."""
    cuts = [cuts for cuts in (Cuts(Figures(record)) for record in found.values()) if cuts.rows]
    gpus = [each for each in cuts if any(row["solver"].startswith("cuda") for row in each.rows)]
    return gpus[-1:], [each for each in cuts if each not in gpus]


def foreground():
    """What bench/peers/graphcutbg_quality.py found; none without its record."""
    if not os.path.exists(FOREGROUND):
        return {"summary": []}
    with open(FOREGROUND, encoding="utf-8") as file:
        return json.load(file)


def foreground_part():
    quality = foreground()
    if not quality["summary"]:
        return []
    kinds = list(quality["summary"][0]["f"])
    lines = [[each["who"], each["filter"], f"{each['mean_f']:.3f}"] +
             [f"{each['f'][kind]:.3f}" for kind in kinds] for each in quality["summary"]]
    others = [[each["who"], each["filter"], f"{each['mean_f_raw']:.3f}", number(each["mean_specks"]),
               number(each["mean_boxes"]), number(each["mean_ms"])] for each in quality["summary"] if "mean_ms" in each]
    return ["## Foreground\n",
            "F-measure in CDnet's way on clips composed with exact masks "
            "(`bench/peers/graphcutbg_quality.py`): one setting for all of ours; of each of OpenCV "
            f"{quality['opencv']}'s subtractors the median, opening or closing that is "
            "best for it, of all clips or of each kind. *hard-shadow*: sharp shadows as dark as the sky leaves "
            "them; *jitter*: a camera that trembles by up to 3 pixels; *bootstrap*: frames 15 to 99, people are in the first; "
            "*gradual*: daylight that changes, and a cloud; *jacket*: of the background's colour; "
            "*flicker*: mains, a lamp, a screen.\n",
            table(["by", "mask cleaned by", "mean F", *kinds], lines),
            "Means over the same clips: F of masks that nothing cleans, regions of up to 8 pixels a frame, the F-measure "
            "of boxes (half of the union and more agrees), and a core's time for a frame of 320x240 without the cleaning:\n",
            table(["by", "mask cleaned by", "F raw", "specks", "boxes", "ms"], others),
            *each_clip(quality["clips"]),
            "A frame of such a clip, its truth, then graphcutbg, MOG2, KNN and GSOC; and "
            "people walking, seen by the same:\n",
            "![Composites](../../bench/results/foreground/composites.jpg)\n",
            "![People walking](../../bench/results/foreground/vtest.jpg)\n"]


def each_clip(clips):
    """The F-measure of each clip, which is called SEED/KIND."""
    order = sorted(clips, key=lambda name: name.split("/")[::-1])
    cells = [(tuple(clip.split("/")[::-1]), by if cleaned == "none" else f"{by}, {cleaned}", f"{found['f']:.3f}")
             for clip in order for by, ways in clips[clip].items() for cleaned, found in ways.items()]
    return cells and ["The F-measure of each clip, of the peers by what cleans best of all:\n", pivot(["kind", "seed"], cells)]


def motion_part():
    """Processor time and boxes of moving things, ours beside OpenCV's."""
    figures = of_suite("motion")
    right = {each["by"]: number(each["mean_f"]) for each in figures.select(what="boxes")}
    lines = [[each["by"], number(each["cpu_ms"]), times(each["of_peer"]) + f" {each['peer']}" if "peer" in each else "–",
              right.get(each["by"], "–")] for each in figures.select(what="motion")]
    return lines and ["## Motion on the CPU\n", f"{figures.record['cpu']}, {figures.record['cores']} cores; "
                      f"commit {figures.record['commit']}, {figures.record['date']}.\n",
                      "Milliseconds of one core that a 1080p frame of people walking costs beyond decoding, medians in "
                      "turns, and the F-measure of boxes against the truth of composed clips, where a box counts from "
                      "half of the union on (`bench/peers/motion.py`). *motion*: `graphcutbg preset=motion ! cclabel "
                      "source=mask track=true`. Without *one thread*, ours takes all cores; two that share one core's "
                      "units count more time for the same work. OpenCV's run on one.\n",
                      table(["by", "ms", "of", "boxes, mean F"], lines)]


def asked_of_motion(figures=None):
    """Processor time on the CPU. MOG2 took 49 ms on the machine that the 45 were asked for on."""
    rows = {each["by"]: each for each in (figures or of_suite("motion")).select(what="motion")}
    found = lambda by, key: rows.get(by, {}).get(key)
    frame = "a 1080p frame of people walking, processor time beyond decoding, "
    cut, motion = "`graphcutbg`", "`graphcutbg preset=motion ! cclabel source=mask track=true`"
    return [asked(frame + cut, "≤ 45 ms", found("graphcutbg", "cpu_ms")),
            asked(frame + cut + ", one thread, of MOG2's", "≤ 0.92×", found("graphcutbg, one thread", "of_peer")),
            asked("goal: " + frame + cut, "≤ 30 ms", found("graphcutbg", "cpu_ms")),
            asked(frame + motion, "≤ 1.5 ms", found("motion", "cpu_ms")),
            asked("goal: " + frame + motion, "≤ 0.6 ms", found("motion", "cpu_ms"))]


def asked_of_foreground():
    found = {each["who"]: each["mean_f"] for each in reversed(foreground()["summary"])}  # ours is raw
    ours, best = found.pop("graphcutbg", None), max(found, key=found.get, default=None)
    return best and [asked("foreground, mean F of five seeds, above the best of MOG2, KNN, GSOC and CNT",
                           f"> {found[best]:.3f} ({best})", ours, f"{ours:.3f}",
                           bound=found[best])] or []
