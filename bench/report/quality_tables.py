"""Tables of how good and how stable superpixels are, from what bench/superpixel-quality and
bench/superpixel-stability printed with --json into results/superpixels."""
import json
import os

from figures import anchors
from phrases import table

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "results", "superpixels")
MEASURES = (("br", "recall", max), ("ue", "error", min), ("asa", "accuracy", max),
            ("ev", "variation", max))


def rows_of(name):
    """The lines of a file, or none where there is no such file."""
    path = os.path.join(FOLDER, name)
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [json.loads(line) for line in file if line.startswith("{")]


def elsewhere(rows):
    """Peers without packages, if these rows are of as many pictures as they were measured on."""
    told = anchors()["superpixel_quality"]
    return told if rows and rows[0]["images"] == told["images"] else {"rows": [], "beside": []}


def musts(verdict):
    """Rows of what was asked for: ahead of every peer that was named in all four measures."""
    found = []
    rows = rows_of("quality.jsonl")
    told = elsewhere(rows)
    rows = rows + [row for row in told["rows"] if row["by"] not in told["beside"]]
    for ours in [row for row in rows if row["by"] == "slicsuperpixel"]:
        wanted = ours["wanted"]
        peers = [row for row in rows if row["wanted"] == wanted and row is not ours]
        if not peers:
            continue
        behind = [name for key, name, better in MEASURES
                  if better(ours[key], *(row[key] for row in peers)) != ours[key]]
        packaged = "each peer" if told["rows"] else "each packaged peer"
        found.append([f"superpixels, {wanted}: ahead of {packaged} in recall, error, "
                      "accuracy and variation", "all four",
                      "all four" if not behind else "behind in " + ", ".join(behind),
                      verdict(not behind)])
    return found


def quality():
    rows = rows_of("quality.jsonl")
    told = elsewhere(rows)
    both = sorted(rows + told["rows"], key=lambda row: row["wanted"])
    lines = [[str(row["wanted"]), row["by"], f"{row['superpixels']:.0f}"] +
             [f"{row[key]:.4f}" if key in row else "–"
              for key in ("br", "ue", "asa", "ev", "co")] for row in both]
    about = [told["about"] + "\n"] if told["rows"] else []
    return [f"Mean over {rows[0]['images']} test images of BSDS500, one setting for all, pieces "
            "that are not connected counted as they are. *recall*: of true borders within 2 "
            "pixels; *error*: undersegmentation (Neubert, Protzel); *accuracy*: achievable "
            "segmentation; *variation*: explained; *compactness*: Schick, Fischer, Stiefelhagen. "
            "Less is better for the error, more for the others.\n", *about,
            table(["wanted", "method", "found", "recall", "error", "accuracy", "variation",
                   "compactness"], lines)] if rows else []


def stability():
    rows = rows_of("stability.jsonl")
    lines = [[f"{row['scene']} {row['motion'][0]}, {row['motion'][1]}", row["by"],
              f"{row['kept']:.3f}", f"{row['ue']:.4f}" if "ue" in row else "–",
              f"{row['ev']:.4f}"] for row in rows]
    return ["Video: share of pixels that keep their track along the motion (pixels a frame), "
            "beside error and variation on the same frames. *grid*: cells that look at nothing. "
            "Cold tracks are matched by the most shared pixels.\n",
            table(["scene, motion", "method", "kept", "error", "variation"], lines)] if rows else []


def part():
    """The section of the report."""
    found = quality() + stability()
    return ["## Superpixels: how good, how stable\n", *found] if found else []
