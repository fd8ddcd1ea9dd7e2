"""Where a peer is better than this project, as sentences for the page on performance."""
import cuts
import foreground
import labelling
import superpixels
from records import SIZES, of_suite
from tables import number, short, threads, times

AHEAD = 1.005  # smaller leads are not listed


def in_labels(report):
    """Pictures for which the best published kernel is faster, in multiples of a floor kernel."""
    if not report.gpu:
        return []
    labels = labelling.Gpu(report.gpu)
    slower = {size: [f"{content} ({times(share)})" for content, share in labels.behind(size).items()
                     if share >= AHEAD] for size in SIZES}
    return [f"Labels of {size} on a GPU: the best published kernel for each picture is faster on {', '.join(every)}. "
            "The factor is our time divided by its time, both in multiples of a floor kernel."
            for size, every in slower.items() if every]


def in_python(report):
    """The rows in which a peer's call is faster."""
    rows = [row for row in report.package.figures.select(what="python") if row["us"] >= AHEAD * row["peer_us"]]
    return [f"Python, {row['task']} of {row['content']}, {row['size']}, {threads(row['threads'])}: {row['peer']} takes "
            f"{short(row['peer_us'])} µs, gst_regions {short(row['us'])} µs." for row in rows]


def in_cuts(report):
    """The instances for which the fastest peer is faster than our fastest cold solver on the CPU."""
    found = []
    for each in report.cuts_on_cpus:
        peers = [row for row in each.rows if not row["solver"].startswith(("cpu", "cuda", "floor"))]
        for (name, neighbours), ours in each.fastest_of_ours().items():
            best = min((row for row in peers if (row["name"], row["neighbours"]) == (name, neighbours)),
                       key=lambda row: row["ms"], default=None)
            if best and ours >= AHEAD * best["ms"]:
                found.append(f"Minimum cut of {name}, {neighbours} neighbours, on the CPU: {cuts.solver(best)} takes "
                             f"{short(best['ms'])} ms, ours {short(ours)} ms.")
    return found


def in_motion(_):
    """The ways to detect motion that cost less CPU time."""
    figures = of_suite("motion")
    right = {row["by"]: row["mean_f"] for row in figures.select(what="boxes")}
    cost = {row["by"]: row["cpu_ms"] for row in figures.select(what="motion")}
    ours = cost.get("motion")
    return [f"Motion detection on the CPU: {by} costs {number(ms)} ms per 1080p frame, ours {number(ours)} ms. The "
            f"mean F of its boxes is {number(right.get(by))}, that of ours {number(right.get('motion'))}."
            for by, ms in cost.items() if ours and ms < ours]


def in_foreground(_):
    """The kinds of clips on which a subtractor's mask is better."""
    found = []
    for summary in (foreground.quality()["summary"], foreground.categories()["summary"]):
        ours = next((each for each in summary if each["who"] == "graphcutbg"), None)
        for kind in ours["f"] if ours else ():
            best = max(summary, key=lambda each, kind=kind: each["f"][kind])
            if best["f"][kind] > ours["f"][kind]:
                found.append(f"Foreground of {kind}: {best['who']} has F {best['f'][kind]:.3f}, ours "
                             f"{ours['f'][kind]:.3f}.")
    return found


def in_tracks(_):
    """The clips on which another tracker has a higher IDF1."""
    rows, found = of_suite("tracks").select(what="tracks"), []
    for ours in [row for row in rows if row["by"] == "cclabel"]:
        best = max((row for row in rows if row["clip"] == ours["clip"]), key=lambda row: row["idf1"])
        if best["idf1"] > ours["idf1"]:
            found.append(f"Tracks of the clip {ours['clip']}: {best['by']} has IDF1 {best['idf1']:.3f}, ours "
                         f"{ours['idf1']:.3f}.")
    return found


def in_superpixels(_):
    """The methods that are better in a measure, by the number of superpixels requested."""
    rows, found = superpixels.quality_rows(), {}
    for ours in [row for row in rows if row["by"] == superpixels.OURS]:
        for row in rows + superpixels.published_rows(rows):
            for key, name, better in superpixels.MEASURES:
                if row["wanted"] == ours["wanted"] and better(ours[key], row[key]) != ours[key]:
                    found.setdefault(row["by"], {}).setdefault(name, []).append(row["wanted"])
    return [f"Superpixels: {by} is better in " + ", ".join(
        f"{name} (of {', '.join(map(str, counts))})" for name, counts in measures.items()) + "."
        for by, measures in found.items()]


def found(report):
    return [sentence for part in (in_labels, in_cuts, in_superpixels, in_foreground, in_motion, in_tracks, in_python)
            for sentence in part(report)]
