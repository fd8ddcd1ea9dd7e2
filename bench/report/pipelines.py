"""What the report says of whole pipelines and of transcoding."""
import statistics

from records import ASKED, HD, ratio
from tables import asked, asked_of_all, machine_of, number, pivot, table, times

NVDEC = "H.264 decoded by nvh264dec"
CPU_TIME = "CPU time a frame at 8"
FLAGSHIP = "graphcutbg output=none ! cclabel source=mask output=none ! regionoverlay"


def chain_of(row):
    """The elements of a pipeline, without what every one of them says."""
    return " ! ".join(part.split(" frames-in-flight")[0]
                      for part in row["chain"].split(" ! ") if "video/x-raw" not in part)


def is_idle(row):
    return row.get("idle", False)


def is_live(row):
    return "sync=true" in row["from"]


def source_of(row):
    if row["source"] == "launch":
        return f"1920x1080 {NVDEC}" + ", live at 30 frames/s each" * is_live(row)
    return (f"{row['width']}x{row['height']} {row['source']}"
            + ", no regions" * (row["content"] == "empty") + ", no launches" * is_idle(row))


def in_flight(figures):
    """A line a pipeline, a column a number of frames in flight."""
    depths = sorted({row["in_flight"] for row in figures.select(what="pipeline")})
    alone, cells = "one frame alone", []
    for row in figures.select(what="pipeline"):
        key = (NVDEC if row["source"] == "launch" else row["source"], f"`{chain_of(row)}`")
        cells.append((key, row["in_flight"], number(row["frames_per_second"])))
        if row["in_flight"] == depths[0] and row["latency_us"] > 0:
            cells.append((key, alone, number(row["latency_us"] / 1000, " ms")))
    return pivot(["frames from", "elements"], cells, [*depths, alone])


def is_behind_decoder(row):
    return row["source"] == "launch" and not is_live(row)


def gpus(row):
    """On which the streams lie: each has a decoder of its own."""
    return max(1, row.get("sources", 1))


def behind_decoder(figures):
    """A line a chain behind the decoder, a column a number of streams; none where the record has no streams."""
    rows = [row for row in figures.select(what="streams") if is_behind_decoder(row)]
    cells = []
    for row in rows:
        chain = "nothing" if row["chain"] == "identity" else f"`{chain_of(row)}`"
        key = (chain, gpus(row), row.get("connections", 8))
        cells.append((key, row["streams"], number(row["frames_per_second"])))
        if row["streams"] == 8:
            cells.append((key, CPU_TIME, number(row["cpu_us"] / 1000, " ms")))
    counts = sorted({row["streams"] for row in rows})
    return rows and [pivot(["behind nvh264dec", "GPUs", "connections"], cells, [*counts, CPU_TIME])]


def rates(figures, idle=False, **which):
    """{(chain, streams): frames a second} of several streams together."""
    return {(chain_of(row), row["streams"]): row["frames_per_second"]
            for row in figures.select(what="streams", **which)
            if "identity" not in row["chain"] and is_idle(row) == idle
            and row.get("connections", 8) == 8}


def gains(rates, bounds, count, times_more=1):
    """How many times the frames of so many streams the bounds are, chain by chain."""
    both = [chain for chain, streams in rates if streams == 16 and (chain, count) in bounds]
    return " and ".join(
        f"{times(times_more * bounds[chain, count] / rates[chain, 16])} for `{chain}`"
        for chain in both)


def work_of_all(figures):
    """What all three elements work on a frame of the record's largest clip, µs."""
    return max((row["work_us"] for row in figures.select(what="pipeline", source="launch",
                                                         in_flight=1)
                if row["chain"].count("device=cuda") == 3 and row.get("work_us")), default=None)


def streams(figures):
    """Many streams in one process, if the record has them."""
    rows = figures.select(what="streams")
    if not rows:
        return []
    cells = [((source_of(row), f"`{chain_of(row)}`"), row["streams"],
              number(row["frames_per_second"])) for row in rows if not is_behind_decoder(row)]
    parts = ["### Many streams in one process\n",
             "Frames a second of all streams together, two frames in flight in each. `identity` is "
             "the same pipeline without our elements.\n",
             pivot(["frames from", "elements"], cells, sorted({count for _, count, _ in cells}))]
    if work := work_of_all(figures):
        parts.append(f"The work of the three elements on a frame of the clip, from the first kernel "
                     f"to the last, adds up to {work:.0f} µs with one frame alone on the device: "
                     f"{1e6 / work:.0f} frames a second if nothing overlapped.\n")
    for (chain, count, apart), turns in live_turns(figures).items():
        chain = "decoded, nothing more" if chain == "identity" else "through that chain"
        sinks = ", whose sinks begin each by itself" if apart else ""
        parts.append(f"Live 1080p at 30 frames/s in {count} streams{sinks}, {chain}: {told_of(turns)} of "
                     f"{turns[0]['frames_expected']} frames dropped (all begin at once; more than eight frames late is "
                     f"dropped), {number(live_cpu(turns))} ms of CPU time a frame; {of_turns(turns)}.\n")
    apart, stacked = (rates(figures, source="cuda", height=height, content="smooth")
                      for height in (480, 7680))
    if gained := gains(apart, stacked, 2, 16):
        parts.append(f"640x7680 are sixteen frames of 640x480 as one tall picture, in one buffer and "
                     f"through one element that tells of all their regions. Two such streams "
                     f"against sixteen of 640x480, in frames of that size: {gained}.\n")
    busy, idle = (rates(figures, idle, source="cuda", content="empty") for idle in (False, True))
    if gained := gains(busy, idle, 16):
        parts.append(f"Frames of several streams are not gathered for one launch. With nothing "
                     f"launched at all, and no regions to tell of in either case, sixteen streams "
                     f"reach {gained}: the most there is to gain, were kernels free and frames "
                     f"without waiting for each other.\n")
    return parts


def gpu_part(figures):
    return ["## On the GPU\n", machine_of(figures),
            "1920x1080 NV12. The numbered columns are frames a second for so many frames in flight. "
            "*system*: ready-made frames in pageable memory; *pinned*: in buffers of the pool that "
            "cclabel proposes; *cuda*: in CUDA memory. The last column: a frame that no other "
            "follows, from the source to the sink.\n",
            "![Frames a second over frames in flight](../plots/pipelines.svg)\n",
            in_flight(figures), *streams(figures)]


def cpu_part(figures):
    if not figures.select(what="pipeline") or "gpu" in figures.record:
        return []
    return [f"## On the CPU: {figures.record['cpu']}\n", machine_of(figures),
            "1920x1080 NV12. The numbered columns are frames a second for so many frames in flight.\n",
            in_flight(figures)]


def of_labelling(figures, source, output):
    """{frames in flight: frames a second} of cclabel alone."""
    return {row["in_flight"]: row["frames_per_second"]
            for row in figures.select(what="pipeline", source=source)
            if "output=" + output in row["chain"] and "regionoverlay" not in row["chain"]}


def asked_of_labelling(figures):
    def fastest(source, output):
        return max(of_labelling(figures, source, output).values(), default=None)

    kernel = figures.last("us", what="time", size=HD, by="cclabel", backend="cuda", format="NV12",
                          task="table", clock="graph")
    allowed = kernel and min(ASKED["most frames/s"], 1e6 / kernel)
    up, down = (figures.last("us", what="copy", size=HD, format="NV12", direction=direction)
                for direction in ("up", "down"))
    rows = [asked("CUDA memory, 1080p, of what kernels allow (at most 3,000 frames/s)",
                  ASKED["of what kernels allow"], ratio(fastest("cuda", "none"), allowed))]
    # Both directions run at once; two bytes a label, the picture has one and a half.
    for output, name, slower in (
            ("none", "no picture out, of what the upload allows", up),
            ("labels", "labels out, of what the copies allow", up and max(up, down * 2 / 1.5))):
        rate = fastest("pinned", output)
        rows.append(asked(f"pool we propose, 1080p, {name}", ASKED["of what copies allow"],
                          rate and slower and rate * slower / 1e6))
    for output, name in (("none", "no picture out"), ("labels", "labels out")):
        rate = of_labelling(figures, "system", output)
        rows.append(asked(f"pageable system memory, {name}: 4 frames in flight, of 1",
                          ASKED["four frames in flight"], ratio(rate.get(4), rate.get(1))))
    tried = [row["latency_us"] for row in figures.select(what="pipeline") if row["latency_us"]]
    return rows + [asked_of_all("a frame that nothing follows arrives",
                                sum(latency > 0 for latency in tried), len(tried),
                                "in all pipelines", "in {} of {}")]


def frame_of_graphcutbg(figures):
    """Milliseconds of the whole element on 1080p video that is decoded beside it."""
    rates = [row["frames_per_second"] for row in figures.select(what="pipeline", source="launch")
             if "people" in row["from"] and chain_of(row) == "graphcutbg output=none"]
    return 1000 / max(rates) if rates else None


def asked_of_graphcutbg(figures):
    work = {chain_of(row): row["work_us"] for row in figures.select(what="pipeline", source="launch", in_flight=1)
            if "people" in row["from"]}
    return [asked("graphcutbg, people walking at 1080p, decoded beside it, a frame",
                  ASKED["graphcutbg"], frame_of_graphcutbg(figures)),
            asked("graphcutbg warm-start=true, one frame alone, its work, of a cold start's", ASKED["warm start"],
                  ratio(work.get("graphcutbg warm-start=true output=none"), work.get("graphcutbg output=none")))]


def live_turns(figures):
    """{(chain, streams, whether each sink begins by itself): rows} of streams like cameras'."""
    found = {}
    for row in filter(is_live, figures.select(what="streams")):
        found.setdefault((chain_of(row), row["streams"], row.get("apart", False)), []).append(row)
    return found


def of_turns(turns):
    return f"the median of {len(turns)} turns, each a new process" if len(turns) > 1 else "in one turn"


def all_dropped(turns):
    return sorted(row["frames_expected"] - row["frames"] for row in turns)


def dropped(turns):
    return statistics.median(all_dropped(turns))


def told_of(turns):
    """The median, and the least and the most where they differ."""
    every = all_dropped(turns)
    return f"{dropped(turns):g}" + f" ({every[0]} to {every[-1]})" * (every[0] < every[-1])


def live_cpu(turns):
    """Milliseconds a frame."""
    return statistics.median(row["cpu_us"] / 1000 for row in turns)


def asked_of_live(figures):
    """Streams like cameras' through all elements, beside those that are decoded alone."""
    found = live_turns(figures)

    def alone_and_ours(count, apart):
        return (found.get((chain, count, apart)) for chain in ("identity", FLAGSHIP))

    def beyond(count, of, apart=False):
        alone, ours = alone_and_ours(count, apart)
        return alone and ours and of(ours) - of(alone)

    def lost(apart, sinks):
        alone, ours = alone_and_ours(16, apart)
        more = beyond(16, dropped, apart)
        return asked(f"16 live streams that begin at once, {sinks}, `{FLAGSHIP}`, frames dropped beyond the decoders'",
                     ASKED["dropped live"], more,
                     None if more is None else f"{more:g}: {told_of(ours)} for {told_of(alone)}")

    work = work_of_all(figures)
    return [asked(f"one frame alone on the device, `{FLAGSHIP}`, its work", ASKED["a frame alone"],
                  work and work / 1000, work and f"{work / 1000:.3f} ms"),
            asked(f"a live stream, `{FLAGSHIP}`, CPU time a frame beyond the decoder's", ASKED["CPU time live"],
                  beyond(1, live_cpu)),
            lost(True, "each sink by itself"), lost(False, "sinks as by default")]


def rate(row):
    """Frames a second of the whole program, the median of its turns."""
    return row["frames"] / statistics.median(row["seconds"])


def asked_of_streams(figures):
    """Eight streams behind the decoder, with as many connections as were tried at most."""
    rows = [row for row in figures.select(what="streams") if is_behind_decoder(row)]
    found = {(row.get("connections", 8), chain_of(row)): row for row in rows if row["streams"] == 8}
    most = max((connections for connections, _ in found), default=8)
    alone = found.get((most, "identity"), {})
    measures = {"of the decoder": lambda row: ratio(row.get("frames_per_second"),
                                                    alone.get("frames_per_second")),
                "frames/s": lambda row: row.get("frames_per_second"),
                "CPU time beyond the decoder's": lambda row: row and alone and (
                    row["cpu_us"] - alone["cpu_us"]) / 1000 or None}
    sixteen = {gpus(row): row["frames_per_second"] for row in rows
               if row["streams"] == 16 and chain_of(row) == FLAGSHIP}
    return [asked(f"8 streams behind nvh264dec, {most} connections, `{chain}`, {name}", wanted,
                  measures[name](found.get((most, chain), {})))
            for name, chains in ASKED["eight streams"].items() for chain, wanted in chains.items()
            ] + [asked(f"16 streams behind nvh264dec, `{FLAGSHIP}`, two GPUs of one", ASKED["two GPUs"],
                       ratio(sixteen.get(2), sixteen.get(1)))]


def asked_of_transcode(figures):
    """The clip through the chain of all elements to MP4, at 30 frames a second at least."""
    return [asked(f"regions-transcode, {row['clip']}, {figures.record['cores']} cores, all elements, "
                  "to MP4", ASKED["transcode"], rate(row))
            for row in figures.select(what="transcode") if row["filter"] != "identity"]


def transcode_part(figures):
    rows = [[row["clip"], f"`{row['filter']}`", str(row["frames"]), number(rate(row))]
            for row in figures.select(what="transcode")]
    return rows and [
        "## Transcoding on the CPU\n", machine_of(figures),
        "Frames a second of `regions-transcode` from its start to its end, decoding and H.264 "
        "encoding included (`bench/run --transcode`, medians of three turns). `identity` is "
        "the same program without our elements.\n",
        table(["clip", "filter", "frames", "frames/s"], rows)]
