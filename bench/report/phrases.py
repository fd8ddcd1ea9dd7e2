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
    also = "".join(f"; figures of kind {', '.join(kinds)} of commit {commit} on {cores} cores"
                   for commit, cores, kinds in facts.get("also", []))
    return (f"{gpu}{facts['cpu']}, {facts['cores']} cores, load {facts['load_before']:.1f} before; "
            f"commit {facts['commit']}, {facts['date']}{also}")


def chain_of(row):
    """The elements of a pipeline, without what every one of them says."""
    return " ! ".join(part.split(" frames-in-flight")[0]
                      for part in row["chain"].split(" ! ") if "video/x-raw" not in part)


def source_of(row):
    if row["source"] == "launch":
        live = ", live at 30 frames/s each" * is_live(row)
        return "1920x1080 H.264 decoded by nvh264dec" + live
    without = [", no regions"] * (row["content"] == "empty") + [", no launches"] * is_idle(row)
    return f"{row['width']}x{row['height']} {row['source']}" + "".join(without)


def is_idle(row):
    return row.get("idle", False)


def streams_table(figures):
    """Frames a second of several streams together."""
    groups = {}
    for row in figures.select(what="streams"):
        source = source_of(row)
        groups.setdefault((source, chain_of(row)), {})[row["streams"]] = row["frames_per_second"]
    counts = sorted({count for rates in groups.values() for count in rates})
    return table(["frames from", "elements"] + [str(count) for count in counts],
                 [[source, f"`{chain}`"] +
                  [number(rates[c]) if c in rates else "–" for c in counts]
                  for (source, chain), rates in groups.items()])


def rate_of(figures, idle=False, **which):
    rows = [row for row in figures.select(what="streams", **which)
            if "identity" not in row["chain"] and is_idle(row) == idle]
    return {(chain_of(row), row["streams"]): row["frames_per_second"] for row in rows}


def gains_of(rates, bounds, count, times_more=1):
    """How many times the frames of so many streams the bounds are, chain by chain."""
    both = [chain for chain, streams in rates if streams == 16 and (chain, count) in bounds]
    return " and ".join(
        f"{times(times_more * bounds[chain, count] / rates[chain, 16])} for `{chain}`"
        for chain in both)


def work_of(figures):
    """What the flagship chain's elements work on a frame of the record's largest clip, µs."""
    rows = [row for row in figures.select(what="pipeline", source="launch", in_flight=1)
            if row["chain"].count("device=cuda") == 3 and row.get("work_us")]
    return max((row["work_us"] for row in rows), default=None)


def is_live(row):
    return "sync=true" in row["from"]


def streams(figures):
    """Many streams in one process, if the record has them."""
    if not figures.select(what="streams"):
        return []
    parts = ["### Many streams in one process\n",
             "Frames a second of all streams together, two frames in flight in each. `identity` is "
             "the same pipeline without our elements.\n", streams_table(figures)]
    if work := work_of(figures):
        parts.append(f"The work of the three elements on a frame of the clip, from the first kernel "
                     f"to the last, adds up to {work:.0f} µs with one frame alone on the device: "
                     f"{1e6 / work:.0f} frames a second if nothing overlapped.\n")
    for row in filter(is_live, figures.select(what="streams")):
        chain = "decoded, nothing more" if row["chain"] == "identity" else "through that chain"
        parts.append(f"{row['streams']} live streams of 1080p at 30 frames/s, {chain}: "
                     f"{row['frames_expected'] - row['frames']} of {row['frames_expected']} frames "
                     "dropped (all begin at once; more than eight frames late is dropped).\n")
    apart, stacked = (rate_of(figures, source="cuda", height=height, content="smooth")
                      for height in (480, 7680))
    if gains := gains_of(apart, stacked, 2, 16):
        parts.append(f"640x7680 are sixteen frames of 640x480 as one tall picture, in one buffer and "
                     f"through one element that tells of all their regions. Two such streams "
                     f"against sixteen of 640x480, in frames of that size: {gains}.\n")
    busy, idle = (rate_of(figures, idle, source="cuda", content="empty") for idle in (False, True))
    if gains := gains_of(busy, idle, 16):
        parts.append(f"Frames of several streams are not gathered for one launch. With nothing "
                     f"launched at all, and no regions to tell of in either case, sixteen streams "
                     f"reach {gains}: the most there is to gain, were kernels free and frames "
                     f"without waiting for each other.\n")
    return parts


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
