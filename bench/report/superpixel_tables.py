"""The report's tables of superpixels: the ladder of ECE1782's report, and peers on the CPU."""
from figures import Figures, records
from phrases import machine_of, number, on_threads, ratio, table, times, verdict

KERNELS = ("reset", "sum", "averaging", "ownership")
OURS = "slicsuperpixel"
FASTEST_PEER = "fast-slic AVX2"


def us(row, key):
    return number(row.get(key))


def ablation(figures, anchors):
    """method=report kernel by kernel, one optimisation after the other, then ours."""
    rows = sorted(figures.select(what="superpixel-ablation"), key=lambda row: row["step"])
    if not rows:
        return []
    first, about = rows[0], anchors["superpixel_report"]
    lines = [[str(row["step"]) if row["step"] < 8 else "", row["name"],
              *[us(row, kernel + "_us") for kernel in KERNELS], us(row, "fused_us"),
              us(row, "us"), times(first["us"] / row["us"])] for row in rows]
    for name, told in about["told"].items():
        lines.append(["", name, *[us(told, kernel) for kernel in KERNELS], "–",
                      us(told, "ten iterations"), "–"])
    return [f"## The report's ladder: {first['width']}x{first['height']}, cells of "
            f"{first['side']}\n",
            "Microseconds: the four kernels of `method=report` for `report-step` 1 to 7, each with "
            "all steps before it, then ten iterations in one CUDA graph; colours are there, nothing "
            "is joined. All steps give equal labels, ours other ones: its seeds move and its means "
            "are not cut off. " + about["about"] + "\n",
            table(["step", "what it adds", *KERNELS, "fused pass", "ten iterations", "faster"],
                  lines)]


def recorded():
    """The figures of bench/superpixel-peers.py --record, or None."""
    found = [figures for figures in map(Figures, records().values())
             if figures.select(what="superpixel-peers")]
    return found[-1] if found else None


def peers(figures):
    """slicsuperpixel beside the packaged peers on one CPU."""
    if not figures:
        return []
    rows = figures.select(what="superpixel-peers")
    ours = {row["threads"]: row for row in rows if row["by"] == OURS}
    lines = []
    for row in rows:
        own = ours[row["threads"]]
        lines.append([str(row["threads"]), row["by"], str(row["superpixels"]),
                      number(row["us"] / 1000), number(row["cpu_us"] / 1000),
                      times(row["us"] / own["us"]), times(row["cpu_us"] / own["cpu_us"])])
    return [f"## Superpixels on the CPU: {figures.record['cpu']}\n", machine_of(figures) + ".\n",
            "Milliseconds for one picture of 1920x1080, from RGB to connected labels, ten "
            "iterations; each method asked for so many that it gives about as many "
            "(`bench/superpixel-peers.py`, in turns, the least of each process). fast-slic looks at "
            "every third row in an iteration, slicsuperpixel at every second unless it says so; "
            "where others use the cores, its waiting threads spin, which counts as CPU time.\n",
            table(["threads", "by", "superpixels", "time", "CPU time", "of our time",
                   "of our CPU time"], lines)]


def gpu_musts(figures):
    """A whole frame like a camera's, an iteration, and the report's case without joining."""
    lines = []

    def took(size, case):
        rows = figures.select(what="superpixels", size=size, content="footage",
                              case=case + ", region size 16")
        return rows[-1]["us"] if rows else None

    for size, most in (("1920x1080", 120), ("3840x2160", 370)):
        frame = took(size, "Lab, 5 iterations, joining")
        lines.append([f"superpixels, {size}, Lab, 5 iterations, joining, region size 16",
                      f"≤ {most} µs", number(frame, " µs"),
                      verdict(None if frame is None else frame <= most)])
    for size, most in (("1920x1080", 9), ("3840x2160", 28)):
        five, ten = (took(size, f"Lab, {count} iterations of all rows, pieces apart")
                     for count in (5, 10))
        one = (ten - five) / 5 if five and ten else None
        lines.append([f"superpixels, {size}, an iteration over all rows, region size 16",
                      f"≤ {most} µs", number(one, " µs"), verdict(None if one is None else one <= most)])
    ours = [row["us"] for row in figures.select(what="superpixel-ablation") if row["step"] == 8]
    lines.append(["superpixels, the report's case, ten iterations, colours there, nothing joined",
                  "≤ 290 µs", number(ours[-1] if ours else None, " µs"),
                  verdict(ours[-1] <= 290 if ours else None)])
    return lines


def musts(figures):
    """Faster than fast-slic. By CPU time, as others may share the machine."""
    if not figures:
        return []
    found = {(row["by"], row["threads"]): row["cpu_us"]
             for row in figures.select(what="superpixel-peers")}
    lines = []
    for threads in (1, 2):
        share = ratio(found.get((OURS, threads)), found.get((FASTEST_PEER, threads)))
        lines.append([f"superpixels, 1920x1080, about 8,000, {on_threads(threads)}, CPU time of "
                      f"{FASTEST_PEER}'s", "< 1", number(share),
                      verdict(None if share is None else share < 1)])
    return lines
