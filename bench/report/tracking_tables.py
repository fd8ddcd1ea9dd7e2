"""The report's rows of what tracking adds to a frame."""
from phrases import number, verdict

MOST_US = 20
MOST_REGIONS = 1000


def musts(figures):
    """For each number of regions that the must is about: [what, wanted, measured, verdict]."""
    rows = figures.select(what="tracking", backend="cuda", clock="graph", size="1920x1080")
    lines = []
    for row in rows:
        if row["regions"] <= MOST_REGIONS:
            added = row["us_with"] - row["us_without"]
            lines.append([f"track=true adds, 1920x1080, {row['regions']} regions", f"≤ {MOST_US} µs",
                          number(added, " µs"), verdict(added <= MOST_US)])
    return lines or [[f"track=true adds, 1920x1080, {MOST_REGIONS} regions", f"≤ {MOST_US} µs", "–",
                      verdict(None)]]
