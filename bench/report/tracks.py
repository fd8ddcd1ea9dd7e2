"""The tables on tracks and on the boxes of people."""
from records import of_suite
from tables import table

SCORES = ("hota", "idf1", "mota", "precision", "recall")


def score(row, name):
    return f"{row[name]:.3f}" if name in row else "–"


def measured_earlier(figures):
    """(clip, commit) of the clips that were measured at another commit than the record."""
    return sorted({(row["clip"], row["commit"]) for row in figures.select(what="tracks")
                   if row["commit"] != figures.record["commit"]})


def part():
    figures = of_suite("tracks")
    lines = [[row["clip"], row["by"], *(score(row, name) for name in SCORES), str(row["switches"])]
             for row in figures.select(what="tracks")]
    boxes = [[row["by"], row["cleaned"], *(score(row, name) for name in ("precision", "recall", "f"))]
             for row in figures.select(what="boxes")]
    return lines and [
        "## Tracks\n", f"Measured at commit {figures.record['commit']}, {figures.record['date']}.\n",
        "`graphcutbg ! cclabel source=mask track=true` is compared with trackers of the package `trackers` 2.6.1, "
        "which get the boxes of the same regions (`bench/peers/tracks.py`). The clips are cut-outs of photographs "
        "that walk over real backgrounds, with exact tracks and three seeds each; nothing was tuned on these seeds. "
        "In *pieces*, parts of the walkers look like the background. vtest.avi comes from Debian's opencv-doc; it is "
        "PETS 2009 S2.L1, and its truth is that of MOTChallenge 2015. A box is correct if its intersection over union "
        "with a true box is at least 0.5. Precision and recall count boxes. HOTA comes from `trackeval`; – means that "
        "the record has no HOTA. The results do not vary between runs, so noise does not apply." +
        "".join(f" {name} was measured at commit {commit}." for name, commit in measured_earlier(figures)) + "\n",
        table(["clip", "by", "HOTA", "IDF1", "MOTA", "precision", "recall", "switches"], lines),
        *([f"The next table compares boxes of people on vtest.avi with the boxes of OpenCV "
           f"{figures.select(what='boxes')[-1]['opencv']}'s background subtractors. Each subtractor uses the median, "
           "opening or closing that gives it the best F. Regions below a thousandth of the picture are left out.\n",
           table(["by", "mask filter", "precision", "recall", "F"], boxes)] if boxes else [])]
