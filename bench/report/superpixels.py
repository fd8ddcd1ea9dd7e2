"""What the report says of superpixels: how fast, beside which peers, how good and how stable."""
from records import ANCHORS, ASKED, HD, lines_of, of_suite, ratio
from tables import asked, machine_of, number, pivot, table, threads, times, verdict

OURS = "slicsuperpixel"
FASTEST_PEER = "fast-slic AVX2"
SCENES = {"footage": "Like a frame of a camera: soft shapes, texture and grain, about as many small "
                     "pieces as a photograph has.\n",
          "blobs": "Flat patches with single wrong pixels, which make many small pieces to join.\n"}
KERNELS = ("reset", "sum", "averaging", "ownership")
MEASURES = (("br", "recall", max), ("ue", "error", min), ("asa", "accuracy", max),
            ("ev", "variation", max))


def gpu_part(figures):
    """Frames case by case over sizes."""
    rows = figures.select(what="superpixels")
    if not rows:
        return []
    parts = ["## On the GPU\n", machine_of(figures),
             "Microseconds a frame (and superpixels found): replays of one CUDA graph. `iterations` "
             "look at every second row unless it says all; *pieces apart* joins no small pieces, "
             "each has a label of its own; the report is ECE1782's \"Superpixels\" (2020), and "
             "its case here includes making each label one connected region.\n"]
    sizes = dict.fromkeys(f"{row['width']}x{row['height']}" for row in rows)
    for scene, about in SCENES.items():  # older records name none: they are of blobs
        cells = [((row["case"],), f"{row['width']}x{row['height']}",
                  f"{row['us']:.0f} ({row['superpixels']})")
                 for row in rows if row.get("content", "blobs") == scene]
        parts += [about, pivot(["case"], cells, sizes)] if cells else []
    return parts


def ladder_part(figures):
    """method=report kernel by kernel, one optimisation after the other, then ours."""
    rows = sorted(figures.select(what="superpixel-ablation"), key=lambda row: row["step"])
    if not rows:
        return []
    first, about = rows[0], ANCHORS["superpixel_report"]
    lines = [[str(row["step"]) if row["step"] < 8 else "", row["name"],
              *[number(row.get(kernel + "_us")) for kernel in KERNELS], number(row.get("fused_us")),
              number(row["us"]), times(first["us"] / row["us"])] for row in rows]
    lines += [["", name, *[number(told.get(kernel)) for kernel in KERNELS], "–",
               number(told.get("ten iterations")), "–"] for name, told in about["told"].items()]
    return [f"## The report's ladder: {first['width']}x{first['height']}, cells of "
            f"{first['side']}\n",
            "Microseconds: the four kernels of `method=report` for `report-step` 1 to 7, each with "
            "all steps before it, then ten iterations in one CUDA graph; colours are there, nothing "
            "is joined. All steps give equal labels, ours other ones: its seeds move and its means "
            "are not cut off. " + about["about"] + "\n",
            table(["step", "what it adds", *KERNELS, "fused pass", "ten iterations", "faster"],
                  lines)]


def cpu_part(figures):
    """slicsuperpixel beside the packaged peers on one CPU."""
    rows = figures.select(what="superpixel-peers")
    if not rows:
        return []
    ours = {row["threads"]: row for row in rows if row["by"] == OURS}
    lines = [[str(row["threads"]), row["by"], str(row["superpixels"]),
              *[number(row[key] / 1000) for key in ("us", "cpu_us")],
              *[times(row[key] / ours[row["threads"]][key]) for key in ("us", "cpu_us")]]
             for row in rows]
    return [f"## On the CPU: {figures.record['cpu']}\n", machine_of(figures),
            "Milliseconds for one picture of 1920x1080, from RGB to connected labels, ten "
            "iterations; each method asked for so many that it gives about as many "
            "(`bench/peers/slicsuperpixel_peers.py`, in turns, the least of each process). fast-slic "
            "looks at every third row in an iteration, slicsuperpixel at every second unless it says "
            "so; where others use the cores, its waiting threads spin, which counts as CPU time.\n",
            table(["threads", "by", "superpixels", "time", "CPU time", "of our time",
                   "of our CPU time"], lines)]


def frame(figures, size, case):
    """Microseconds of a frame like a camera's."""
    return figures.last("us", what="superpixels", size=size, content="footage",
                        case=case + ", region size 16")


def asked_on_gpu(figures):
    """A whole frame like a camera's, an iteration, and the report's case without joining."""
    rows, iterations = [], []
    for size, wanted in ASKED["superpixels"].items():
        case = "Lab, 5 iterations, joining"
        rows.append(asked(f"superpixels, {size}, {case}, region size 16", wanted["frame"],
                          frame(figures, size, case)))
        five, ten = (frame(figures, size, f"Lab, {count} iterations of all rows, pieces apart")
                     for count in (5, 10))
        iterations.append(asked(f"superpixels, {size}, an iteration over all rows, region size 16",
                                wanted["iteration"], (ten - five) / 5 if five and ten else None))
    return rows + iterations + [
        asked("superpixels, the report's case, ten iterations, colours there, nothing joined",
              ASKED["superpixels, the report's case"],
              figures.last("us", what="superpixel-ablation", step=8))]


def asked_on_cpu(figures):
    """Faster than fast-slic. By CPU time, as others may share the machine."""
    def cpu_time(by, count):
        return figures.last("cpu_us", what="superpixel-peers", by=by, threads=count)
    return figures.rows and [
        asked(f"superpixels, {HD}, about 8,000, {threads(count)}, CPU time of {FASTEST_PEER}'s",
              ASKED["superpixels on the CPU"],
              ratio(cpu_time(OURS, count), cpu_time(FASTEST_PEER, count))) for count in (1, 2)]


def quality_rows():
    """What bench/peers/slicsuperpixel_quality.py printed with --json."""
    return lines_of("superpixels", "quality.jsonl")


def elsewhere(rows):
    """Peers without packages, if these rows are of as many pictures as they were measured on."""
    told = ANCHORS["superpixel_quality"]
    return told if rows and rows[0]["images"] == told["images"] else {"rows": [], "beside": []}


def asked_of_quality():
    """Ahead of every peer that was named in all four measures."""
    found, rows = [], quality_rows()
    told = elsewhere(rows)
    rows = rows + [row for row in told["rows"] if row["by"] not in told["beside"]]
    packaged = "each peer" if told["rows"] else "each packaged peer"
    for ours in [row for row in rows if row["by"] == OURS]:
        peers = [row for row in rows if row["wanted"] == ours["wanted"] and row is not ours]
        behind = [name for key, name, better in MEASURES
                  if peers and better(ours[key], *(row[key] for row in peers)) != ours[key]]
        found += [[f"superpixels, {ours['wanted']}: ahead of {packaged} in recall, error, "
                   "accuracy and variation", "all four",
                   "behind in " + ", ".join(behind) if behind else "all four",
                   verdict(not behind)]] if peers else []
    return found


def quality_part():
    rows = quality_rows()
    told = elsewhere(rows)
    lines = [[str(row["wanted"]), row["by"], f"{row['superpixels']:.0f}"] +
             [f"{row[key]:.4f}" if key in row else "–" for key in ("br", "ue", "asa", "ev", "co")]
             for row in sorted(rows + told["rows"], key=lambda row: row["wanted"])]
    about = [told["about"] + "\n"] if told["rows"] else []
    return rows and [
        "## How good\n",
        f"Mean over {rows[0]['images']} test images of BSDS500, one setting for all, pieces "
        "that are not connected counted as they are. *recall*: of true borders within 2 "
        "pixels; *error*: undersegmentation (Neubert, Protzel); *accuracy*: achievable "
        "segmentation; *variation*: explained; *compactness*: Schick, Fischer, Stiefelhagen. "
        "Less is better for the error, more for the others.\n", *about,
        table(["wanted", "method", "found", "recall", "error", "accuracy", "variation",
               "compactness"], lines)]


def stability_part():
    lines = [[f"{row['scene']} {row['motion'][0]}, {row['motion'][1]}", row["by"],
              f"{row['kept']:.3f}", f"{row['ue']:.4f}" if "ue" in row else "–",
              f"{row['ev']:.4f}"] for row in lines_of("superpixels", "stability.jsonl")]
    return lines and [
        "## How stable\n",
        "Video: share of pixels that keep their track along the motion (pixels a frame), "
        "beside error and variation on the same frames. *grid*: cells that look at nothing. "
        "Cold tracks are matched by the most shared pixels.\n",
        table(["scene, motion", "method", "kept", "error", "variation"], lines)]


def beside_peers():
    """The figures of bench/peers/slicsuperpixel_peers.py --record."""
    return of_suite("superpixels")
