"""Tables of how good and how stable superpixels are, from what bench/superpixel-quality and
bench/superpixel-stability printed with --json into results/superpixels."""
import json
import os

from phrases import table

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results", "superpixels")
MEASURES = (("br", "recall", max), ("ue", "error", min), ("asa", "accuracy", max),
            ("ev", "variation", max))


def rows_of(name):
    """The lines of a file, or none where nobody measured."""
    path = os.path.join(FOLDER, name)
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [json.loads(line) for line in file if line.startswith("{")]


def musts(verdict):
    """Rows of what was asked for: ahead of every packaged peer in all four measures."""
    found = []
    rows = rows_of("quality.jsonl")
    for wanted in sorted({row["wanted"] for row in rows}):
        ours = next(row for row in rows if row["wanted"] == wanted and
                    row["by"] == "slicsuperpixel")
        peers = [row for row in rows if row["wanted"] == wanted and row is not ours]
        if not peers:
            continue
        behind = [name for key, name, better in MEASURES
                  if better(ours[key], *(row[key] for row in peers)) != ours[key]]
        found.append([f"superpixels, {wanted}: ahead of each packaged peer in recall, error, "
                      "accuracy and variation", "all four",
                      "all four" if not behind else "behind in " + ", ".join(behind),
                      verdict(not behind)])
    return found


def quality():
    rows = rows_of("quality.jsonl")
    lines = [[str(row["wanted"]), row["by"], f"{row['superpixels']:.0f}"] +
             [f"{row[key]:.4f}" for key in ("br", "ue", "asa", "ev", "co")] for row in rows]
    return [f"Mean over {rows[0]['images']} test images of BSDS500, one setting for all, pieces "
            "that are not connected counted as they are. *recall*: of true borders within 2 "
            "pixels; *error*: undersegmentation (Neubert, Protzel); *accuracy*: achievable "
            "segmentation; *variation*: explained; *compactness*: Schick, Fischer, Stiefelhagen. "
            "Less is better for the error, more for the others.\n",
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
