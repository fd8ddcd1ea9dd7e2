"""The tables on the foreground and on motion detection."""
import json
import os

from records import RESULTS, of_suite
from tables import machine_of, noise, number, pivot, table, times

FOREGROUND = os.path.join(RESULTS, "foreground", "quality.json")
CATEGORIES = os.path.join(RESULTS, "foreground", "categories.json")
KINDS = ("*hard-shadow*: sharp shadows, lit by the sky alone; *jitter*: a camera that trembles by up to 3 pixels; "
         "*bootstrap*: frames 15 to 99, with people in the first frame; *gradual*: daylight that changes, and a cloud; "
         "*jacket*: clothes in the background's colour; *flicker*: mains, a lamp and a screen.")


def record_in(path):
    """A record of bench/peers/graphcutbg_quality.py; an empty summary without one."""
    if not os.path.exists(path):
        return {"summary": []}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def quality():
    return record_in(FOREGROUND)


def categories():
    return record_in(CATEGORIES)


def cleaned(name):
    return "best for each kind" if name == "the best for each" else name


def table_of_kinds(found):
    kinds = list(found["summary"][0]["f"])
    lines = [[each["who"], cleaned(each["filter"]), f"{each['mean_f']:.3f}"] +
             [f"{each['f'][kind]:.3f}" for kind in kinds] for each in found["summary"]]
    return table(["by", "mask filter", "mean F", *kinds], lines)


def categories_part():
    found = categories()
    if not found["summary"]:
        return []
    return ["## Foreground by category\n",
            "This table shows the F-measure on clips in the manner of CDnet's categories, with exact masks and three "
            "seeds on which nothing was tuned (`bench/peers/categories.py`, `--kinds categories --seeds "
            "101,102,103`). Kinds that begin with *grey* are grey versions. The filters and the peers are the same as in the table above. "
            "All programs get three channels, also for grey pictures, for which SuBSENSE and PAWCS recommend one channel in a warning. The "
            "results do not vary between runs, so noise does not apply.\n",
            table_of_kinds(found), *each_clip(found["clips"])]


def masks_part():
    figures = of_suite("masks")
    lines = [[row["mask"], *(f"{row[name]:.3f}" for name in ("before", "default", "uncertain", "colors", "grabcut"))]
             for row in figures.select(what="masks")]
    return lines and [
        "## Refined masks\n", f"Measured at commit {figures.record['commit']}, {figures.record['date']}.\n",
        "This table shows the intersection over union of masks with the truth, before and after `graphcutbg "
        f"source=mask`, on {figures.rows[0]['pictures']} composed pictures of 384x288 with exact masks, on which "
        "nothing was tuned (`bench/peers/mask_refinement.py`). *Graded* masks have an outline that wanders by some "
        "pixels and values that say how sure they are; the outline of *graded-good* wanders by at most one pixel. "
        "*Hard* masks have only the values 0 and 255, and *coarse* masks have an eighth of the width. Eroded, dilated "
        "and shifted masks are wrong by 2 to 6 pixels. *Uncertain*: with `mask-foreground=256 mask-background=-1`, so "
        "that no pixel is certain. *Colours*: in addition, with `foreground-colors=true`. grabCut of OpenCV "
        f"{figures.rows[0]['opencv']} has three iterations and may change everything within 8 pixels of the outline. "
        "The results do not vary between runs, so noise does not apply.\n",
        table(["mask", "before", "default", "uncertain", "colours", "grabCut"], lines)]


def boxes_on(gpu):
    """A sentence on the time of many boxes in one frame; none without such rows."""
    found = gpu.select(what="foreground", source="boxes") if gpu else []
    rows = {(row["backend"], row["tracked"]): row for row in found}
    if ("cuda", 1) not in rows:
        return []
    row, tracked = rows["cuda", 0], rows["cuda", 1]

    def times(row):
        return (f"{number(row['median_ms'])} ms (median of {row['frames']} frames; {number(row['fastest_ms'])} to "
                f"{number(row['slowest_ms'])})")
    return [f"For {row['boxes']} boxes of 200x400 pixels in a frame of {row['width']}x{row['height']}, graphcutbg takes "
            f"{times(row)} on an {gpu.record['device']}. If the boxes have the tracks of the last frame, it takes "
            f"{times(tracked)}. On the processor of that machine with all threads, the medians are "
            f"{number(rows['cpu', 0]['median_ms'])} and {number(rows['cpu', 1]['median_ms'])} ms "
            "(`bench/programs/graphcutbg --time`).\n"]


def boxes_part(gpu):
    figures = of_suite("boxes")
    methods = ("cut_box", "grabcut", "grabcut_crop")
    lines = [[row["kind"], str(row["boxes"]), *(f"{row[name]:.3f}" for name in methods),
              *(number(row[f"ms_{name}"]) for name in methods)] for row in figures.select(what="boxes")]
    return lines and [
        "## Objects in boxes\n", machine_of(figures),
        "This table shows the intersection over union of the masks with the truth, and the time for all boxes of a "
        "picture, on composed pictures of 480x360 with exact masks, on which nothing was tuned "
        "(`bench/peers/box_cuts.py`). *Street*: on the street of `vtest.avi`; *textured*: on a photograph; *similar*: "
        "the objects have the colours of the background; *small*: 24 to 60 pixels high; *loose*: the boxes are larger "
        "by a tenth; *adjacent*: objects hide parts of each other; *graphic*: drawings. grabCut of OpenCV "
        f"{figures.rows[0]['opencv']} has five iterations and the same boxes, on the whole picture or on the "
        "surroundings of each box. All use one thread. The masks do not vary between runs.\n",
        table(["pictures", "boxes", "cut_box", "grabCut", "grabCut, surroundings", "cut_box (ms)", "grabCut (ms)",
               "grabCut, surroundings (ms)"], lines), *boxes_on(gpu)]


def foreground_part():
    found = quality()
    if not found["summary"]:
        return []
    others = [[each["who"], each["filter"], f"{each['mean_f_raw']:.3f}", number(each["mean_specks"]),
               number(each["mean_boxes"]), number(each["mean_ms"]) if "mean_ms" in each else "–"]
              for each in found["summary"] if "mean_f_raw" in each]
    return ["## Foreground\n",
            "This table shows the F-measure, computed as CDnet does, on clips that were composed with exact masks "
            "and five seeds (`bench/peers/graphcutbg_quality.py`). graphcutbg has one setting for all clips. The "
            f"peers are subtractors of OpenCV {found['opencv']}, and SuBSENSE, PAWCS and PBAS of bgslibrary 3.3.1 with their "
            "defaults. Each has the median, opening or closing that is best for all clips or for each kind. "
            f"{KINDS} The results do not vary between runs, so noise does not apply.\n",
            table_of_kinds(found),
            "The next table shows means over the same clips. *Unfiltered F*: without the mask filter. *Specks*: "
            "regions of up to 8 pixels per frame. *Boxes*: the F-measure of boxes with an intersection over union of "
            "at least 0.5. The time is that of one core for a frame of 320x240, without the mask filter; – means that it "
            "was not measured. All times were measured together at commit c34eb87946b0; since then, graphcutbg has become 1.1 times as slow.\n",
            table(["by", "mask filter", "unfiltered F", "specks", "boxes", "time per frame (ms)"], others),
            *each_clip(found["clips"]),
            "These pictures show a frame of such a clip with its truth, and people walking. The masks come from "
            "graphcutbg, MOG2, KNN and GSOC.\n",
            "![A composed frame, its truth and four masks](../../bench/results/foreground/composites.jpg)\n",
            "![People walking and four masks](../../bench/results/foreground/vtest.jpg)\n"]


def each_clip(clips):
    """The F-measure of each clip; a clip's name is SEED/KIND."""
    order = sorted(clips, key=lambda name: name.split("/")[::-1])
    cells = [(tuple(clip.split("/")[::-1]), by if way == "none" else f"{by}, {way}", f"{result['f']:.3f}")
             for clip in order for by, ways in clips[clip].items() for way, result in ways.items()]
    return cells and ["The next table shows the F-measure of each clip; each peer has the mask filter that is best for "
                      "all clips.\n", pivot(["kind", "seed"], cells)]


def motion_part():
    """CPU time and boxes of motion detection, ours and OpenCV's."""
    figures = of_suite("motion")
    right = {each["by"]: number(each["mean_f"]) for each in figures.select(what="boxes")}
    lines = [[each["by"], number(each["cpu_ms"]), noise(each["cpu_ms"], each.get("least_cpu_ms")),
              times(each["of_peer"]) + f" {each['peer']}" if "peer" in each else "–",
              right.get(each["by"], "–")] for each in figures.select(what="motion")]
    return lines and [
        "## Motion on the CPU\n", machine_of(figures),
        "This table shows the CPU time for a 1080p frame of people walking, without decoding, and the F-measure of "
        "boxes on composed clips (`bench/peers/motion.py`). All programs take turns; the median is used. A box is "
        "correct if its intersection over union with a true box is at least 0.5. *Motion* is `graphcutbg preset=motion "
        "! cclabel source=mask track=true`. graphcutbg uses all cores unless its name says *one thread*; two threads "
        "that share a core's units need more CPU time for the same work. OpenCV uses one thread.\n",
        table(["by", "CPU time per frame (ms)", "noise", "compared with", "boxes, mean F"], lines)]
