"""How the report says numbers, verdicts and tables."""

HD, SQUARE = "1920x1080", "4096x4096"
MEASURED_NOT = "not measured"


def number(value, unit=""):
    if value is None:
        return "–"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f}{unit}"


def times(value):
    return number(value, "×")


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def verdict(holds):
    return MEASURED_NOT if holds is None else "holds" if holds else "**does not hold**"


def ratio(a, b):
    return a / b if a is not None and b else None


def on_threads(count):
    return "1 thread" if count == 1 else f"{count} threads"


def machine_of(figures):
    facts = figures.record
    gpu = f"{facts['gpu']}, driver {facts['driver']}; " if "gpu" in facts else ""
    also = "".join(f"; figures of kind {', '.join(kinds)} of commit {commit}"
                   for commit, kinds in facts.get("also", []))
    return (f"{gpu}{facts['cpu']}, {facts['cores']} cores, load {facts['load_before']:.1f} before; "
            f"commit {facts['commit']}, {facts['date']}{also}")


def chain_of(row):
    """The elements of a pipeline, without what every one of them says."""
    return " ! ".join(part.split(" frames-in-flight")[0]
                      for part in row["chain"].split(" ! ") if "video/x-raw" not in part)


def streams_table(figures):
    """Frames a second of several streams together."""
    groups = {}
    for row in figures.select(what="streams"):
        source = (f"{row['width']}x{row['height']} {row['source']}" if row["source"] != "launch"
                  else "1920x1080 H.264 decoded by nvh264dec")
        groups.setdefault((source, chain_of(row)), {})[row["streams"]] = row["frames_per_second"]
    counts = sorted({count for rates in groups.values() for count in rates})
    return table(["frames from", "elements"] + [str(count) for count in counts],
                 [[source, f"`{chain}`"] +
                  [number(rates[c]) if c in rates else "–" for c in counts]
                  for (source, chain), rates in groups.items()])


def pipeline_table(figures):
    groups = {}
    for row in figures.select(what="pipeline"):
        chain = chain_of(row)
        source = row["source"] if row["source"] != "launch" else "H.264 decoded by nvh264dec"
        groups.setdefault((source, chain), {})[row["in_flight"]] = row
    depths = sorted({depth for rows in groups.values() for depth in rows})
    lines = []
    for (source, chain), rows in groups.items():
        latency = [rows[d]["latency_us"] for d in (1, *depths) if d in rows]
        lines.append([source, f"`{chain}`"] +
                     [number(rows[d]["frames_per_second"]) if d in rows else "–" for d in depths] +
                     [number(latency[0] / 1000, " ms") if latency and latency[0] > 0 else "–"])
    return table(["frames from", "elements"] + [str(d) for d in depths] + ["one frame alone"],
                 lines)
