"""The tables on superpixels: times, quality and stability."""
from records import PUBLISHED, lines_of, of_suite
from tables import machine_of, noise, number, short, table, times

OURS = "slicsuperpixel"
SCENES = {"footage": "*Footage* is like a camera's frame: soft shapes, texture and grain, with about as many small "
                     "fragments as a photograph.",
          "blobs": "*Blobs* are flat patches with single wrong pixels, so that many small fragments are merged."}
KERNELS = ("reset", "sum", "averaging", "ownership")
MEASURES = (("br", "recall", max), ("ue", "error", min), ("asa", "accuracy", max), ("ev", "variation", max))
# Words of the recorded cases and the words of the pages.
CASE_WORDS = (("report's case", "ECE1782's case"), ("pieces apart", "no merging"), ("joining", "merging"))
STEP_WORDS = ((" a ", " per "), (" an iteration", " per iteration"), ("ours:", "slicsuperpixel:"))


def in_words(text, words):
    for recorded, shown in words:
        text = text.replace(recorded, shown)
    return text


def gpu_part(figures):
    """Times of one frame, by scene, case and size."""
    rows = figures.select(what="superpixels")
    if not rows:
        return []
    lines = [[row.get("content", "blobs"), in_words(row["case"], CASE_WORDS), f"{row['width']}x{row['height']}",
              str(row["superpixels"]), short(row["us"]), noise(row["us"], row.get("fastest_us"))]
             for row in sorted(rows, key=lambda row: list(SCENES).index(row.get("content", "blobs")))]
    shown = dict.fromkeys(line[0] for line in lines)
    return ["## On the GPU\n", machine_of(figures),
            "The times are for one frame, as replays of one CUDA graph. Iterations use every second row unless the "
            "case says *all rows*. *No merging*: small fragments are not merged; each has its own label. ECE1782 is "
            "the course report \"Superpixels\" (2020); its case here also makes each label one connected region. "
            + " ".join(SCENES[scene] for scene in shown) + "\n",
            table(["scene", "case", "size", "superpixels", "time (µs)", "noise"], lines)]


def ladder_part(figures):
    """method=report, kernel by kernel and optimisation by optimisation, then slicsuperpixel's own method."""
    rows = sorted(figures.select(what="superpixel-ablation"), key=lambda row: row["step"])
    if not rows:
        return []
    first, published = rows[0], PUBLISHED["ece1782"]
    lines = [[str(row["step"]) if row["step"] < 8 else "", in_words(row["name"], STEP_WORDS),
              *[number(row.get(kernel + "_us")) for kernel in KERNELS], number(row.get("fused_us")),
              number(row["us"]), noise(row["us"], row.get("fastest_us")), times(first["us"] / row["us"])]
             for row in rows]
    lines += [["", name, *[number(found.get(kernel)) for kernel in KERNELS], "–",
               number(found.get("ten iterations")), "–", "–"] for name, found in published["rows"].items()]
    return [f"## The steps of `method=report`: {first['width']}x{first['height']}, cells of {first['side']}\n",
            "The times are in microseconds. They are for the four kernels of `method=report` with its first 1 to 7 "
            "optimisations, and for ten iterations in one CUDA graph. The colours are "
            "already converted, and no fragments are merged. All steps give equal labels. slicsuperpixel's own method "
            "gives other labels because its seeds move and its means are not truncated. " + published["about"] + "\n",
            table(["step", "added", *KERNELS, "fused pass", "ten iterations", "noise", "faster"], lines)]


def cpu_part(figures):
    """slicsuperpixel and the packaged peers on one CPU."""
    rows = figures.select(what="superpixel-peers")
    if not rows:
        return []
    ours = {row["threads"]: row for row in rows if row["by"] == OURS}
    lines = [[str(row["threads"]), row["by"], str(row["superpixels"]), number(row["us"] / 1000),
              noise(row["us"], row.get("fastest_us")), number(row["cpu_us"] / 1000),
              *[times(row[key] / ours[row["threads"]][key]) for key in ("us", "cpu_us")]]
             for row in rows]
    return [f"## On the CPU: {figures.record['cpu']}\n", machine_of(figures),
            "The times are for one picture of 1920x1080, from RGB to connected labels, with ten iterations. Each "
            "method is set so that it gives about the same number of superpixels "
            "(`bench/peers/slicsuperpixel_peers.py`). Methods take turns, each in a new process; the median of each "
            "process's fastest frame is used. In each iteration, fast-slic uses every third row, slicsuperpixel "
            "every second unless its name says otherwise. If other programs use the cores, slicsuperpixel's waiting "
            "threads spin, which counts as CPU time.\n",
            table(["threads", "by", "superpixels", "time (ms)", "noise", "CPU time (ms)", "compared with ours",
                   "CPU time compared with ours"], lines)]


def frame(figures, size, case, key="us"):
    """Microseconds for a frame like a camera's."""
    return figures.last(key, what="superpixels", size=size, content="footage", case=case + ", region size 16")


def quality_rows():
    """The rows that bench/peers/slicsuperpixel_quality.py printed with --json."""
    return lines_of("superpixels", "quality.jsonl")


def published_rows(rows):
    """The published rows, if `rows` are of the same number of pictures."""
    found = PUBLISHED["superpixel_quality"]
    return found["rows"] if rows and rows[0]["images"] == found["images"] else []


def quality_part():
    rows = quality_rows()
    published = published_rows(rows)
    lines = [[str(row["wanted"]), row["by"], f"{row['superpixels']:.0f}"] +
             [f"{row[key]:.4f}" if key in row else "–" for key in ("br", "ue", "asa", "ev", "co")]
             for row in sorted(rows + published, key=lambda row: row["wanted"])]
    return rows and [
        "## Quality\n",
        f"The figures are means over {rows[0]['images']} test images of BSDS500, with the same settings for all images "
        "(`bench/peers/slicsuperpixel_quality.py`). Fragments are counted as they are. *Recall*: share of true borders "
        "found within 2 pixels. *Error*: undersegmentation error (Neubert, Protzel). *Accuracy*: achievable "
        "segmentation accuracy. *Variation*: explained variation. *Compactness*: Schick, Fischer, Stiefelhagen. A "
        "lower error is better; for the others, higher is better. The results do not vary between runs, so noise "
        "does not apply.\n",
        *([PUBLISHED["superpixel_quality"]["about"] + "\n"] if published else []),
        table(["requested", "method", "found", "recall", "error", "accuracy", "variation", "compactness"], lines)]


def stability_part():
    lines = [[f"{row['scene']} {row['motion'][0]}, {row['motion'][1]}", row["by"],
              f"{row['kept']:.3f}", f"{row['ue']:.4f}" if "ue" in row else "–",
              f"{row['ev']:.4f}"] for row in lines_of("superpixels", "stability.jsonl")]
    return lines and [
        "## Stability\n",
        "*Kept* is the share of the video's pixels that keep their track along the motion (pixels per frame). Error "
        "and variation are measured on the same frames. *Grid*: fixed cells that ignore the picture. Cold starts "
        "have no tracks; theirs are matched by the largest number of shared pixels "
        "(`bench/peers/slicsuperpixel_stability.py`).\n",
        table(["scene, motion", "method", "kept", "error", "variation"], lines)]


def packaged_peers():
    """The figures of bench/peers/slicsuperpixel_peers.py --record."""
    return of_suite("superpixels")
