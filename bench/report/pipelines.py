"""The tables on whole pipelines and on transcoding."""
import collections
import statistics

from tables import machine_of, noise, number, pivot, table, times

NVDEC = "H.264 decoded by nvh264dec"
CPU_TIME = "CPU time per frame with 8 (ms)"
FLAGSHIP = "graphcutbg output=none ! cclabel source=mask output=none ! regionoverlay"


def chain_of(row):
    """The elements of a pipeline, without the properties that all of them have."""
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
            + ", no regions" * (row["content"] == "empty") + ", no kernels" * is_idle(row))


def in_flight(figures):
    """One row per pipeline, one column per number of frames in flight."""
    depths = sorted({row["in_flight"] for row in figures.select(what="pipeline")})
    alone, cells = "latency of a single frame (ms)", []
    for row in figures.select(what="pipeline"):
        key = (NVDEC if row["source"] == "launch" else row["source"], f"`{chain_of(row)}`")
        cells.append((key, row["in_flight"], number(row["frames_per_second"])))
        if row["in_flight"] == depths[0] and row["latency_us"] > 0:
            cells.append((key, alone, number(row["latency_us"] / 1000)))
    return pivot(["frames from", "elements"], cells, [*depths, alone])


def is_after_decoder(row):
    return row["source"] == "launch" and not is_live(row)


def after_decoder(figures):
    """One row per chain after the decoder, one column per number of streams; empty if the record has no streams."""
    rows = [row for row in figures.select(what="streams") if is_after_decoder(row)]
    cells = []
    for row in rows:
        chain = "nothing" if row["chain"] == "identity" else f"`{chain_of(row)}`"
        key = (chain, row.get("connections", 8))
        cells.append((key, row["streams"], number(row["frames_per_second"])))
        if row["streams"] == 8:
            cells.append((key, CPU_TIME, number(row["cpu_us"] / 1000)))
    counts = sorted({row["streams"] for row in rows})
    return rows and [pivot(["after nvh264dec", "connections"], cells, [*counts, CPU_TIME])]


def on_gpus(figures):
    """The section on streams that are spread over the GPUs of one host. Rates and times are medians of the runs."""
    taken = collections.defaultdict(list)
    for row in figures.select(what="gpus"):
        taken[row["sources"]].append(row)
    rows, one = [], None
    for count, runs in sorted(taken.items()):
        rate = statistics.median(run["frames_per_second"] for run in runs)
        one = one or rate
        rows.append([str(count), str(runs[0]["streams"]), number(rate),
                     noise(max(run["frames_per_second"] for run in runs), rate), times(rate / one),
                     number(statistics.median(run["cpu_us"] for run in runs) / 1000)])
    failures = [failure for part in figures.record.get("parts", []) for failure in part["failures"]]
    return rows and [
        "## Many streams on several GPUs\n", machine_of(figures),
        f"One process sends the streams of the previous table through `{FLAGSHIP}`, 16 on each GPU, with 32 "
        f"connections (`tools/gpu/suite --gpus`). The host has {figures.record['numa_nodes']} NUMA node(s). "
        + ("; ".join(failures) or "All frames arrived, and each GPU gave the bytes of the first") + ".\n",
        table(["GPUs", "streams", "frames/s", "noise", "compared with one GPU",
               "CPU time per frame (ms)"], rows)]


def rates(figures, idle=False, **which):
    """{(chain, streams): frames per second} of several streams together."""
    return {(chain_of(row), row["streams"]): row["frames_per_second"]
            for row in figures.select(what="streams", **which)
            if "identity" not in row["chain"] and is_idle(row) == idle
            and row.get("connections", 8) == 8}


def gains(rates, bounds, count, factor=1):
    """By which factor the rate of `count` streams in `bounds` exceeds that of 16 streams, chain by chain."""
    both = [chain for chain, streams in rates if streams == 16 and (chain, count) in bounds]
    return " and ".join(
        f"{times(factor * bounds[chain, count] / rates[chain, 16])} with `{chain}`"
        for chain in both)


def work_of_all(figures):
    """The GPU time of all three elements for a frame of the record's largest clip, in µs."""
    return max((row["work_us"] for row in figures.select(what="pipeline", source="launch",
                                                         in_flight=1)
                if row["chain"].count("device=cuda") == 3 and row.get("work_us")), default=None)


def streams(figures):
    """The section on many streams in one process, if the record has them."""
    rows = figures.select(what="streams")
    if not rows:
        return []
    cells = [((source_of(row), f"`{chain_of(row)}`"), row["streams"],
              number(row["frames_per_second"])) for row in rows if not is_after_decoder(row) and not is_live(row)]
    parts = ["### Many streams in one process\n",
             "This table shows the total frames per second of all streams; the columns are the number of streams. Each "
             "stream has two frames in flight. `identity` is the same pipeline without this plugin's elements. *No "
             "kernels*: the elements launch no kernels.\n",
             pivot(["frames from", "elements"], cells, sorted({count for _, count, _ in cells}))] if cells else []
    if work := work_of_all(figures):
        parts.append(f"With one frame on the GPU at a time, the three elements need {work:.0f} µs for a frame of the "
                     f"clip, from the first kernel to the last. Without any overlap this allows {1e6 / work:.0f} "
                     "frames per second.\n")
    apart, stacked = (rates(figures, source="cuda", height=height, content="smooth")
                      for height in (480, 7680))
    if gained := gains(apart, stacked, 2, 16):
        parts.append("A frame of 640x7680 holds sixteen frames of 640x480, so one buffer and one element report the "
                     "regions of all sixteen. Counted in small frames, the rate of two such streams exceeds that of "
                     f"sixteen streams of 640x480 by a factor of {gained}.\n")
    busy, idle = (rates(figures, idle, source="cuda", content="empty") for idle in (False, True))
    if gained := gains(busy, idle, 16):
        parts.append("The plugin does not combine frames of several streams into one launch. The largest possible gain "
                     "of doing so is that of launching no kernels at all: without kernels and regions, the rate of "
                     f"sixteen streams rises by a factor of {gained}.\n")
    return parts + live_part(figures)


def live_turns(figures):
    """{(chain, streams, whether each sink starts by itself): rows} of live streams."""
    found = {}
    for row in filter(is_live, figures.select(what="streams")):
        found.setdefault((chain_of(row), row["streams"], row.get("apart", False)), []).append(row)
    return found


def dropped(turns):
    """The median of the dropped frames, and the range if they differ."""
    every = sorted(row["frames_expected"] - row["frames"] for row in turns)
    return f"{statistics.median(every):g}" + f" ({every[0]} to {every[-1]})" * (every[0] < every[-1])


def live_part(figures):
    """Streams at a camera's pace."""
    lines = []
    for (chain, count, apart), turns in live_turns(figures).items():
        cpu = [row["cpu_us"] / 1000 for row in turns]
        lines.append([str(count), "nothing" if chain == "identity" else f"`{chain}`",
                      "one by one" if apart else "together", f"{dropped(turns)} of {turns[0]['frames_expected']}",
                      number(statistics.median(cpu)), noise(statistics.median(cpu), min(cpu)), str(len(turns))])
    return lines and [
        "### Live streams\n",
        "All streams are 1080p at 30 frames/s and start at the same time. A queue after the decoder holds up to eight "
        "frames and drops the oldest. The figures are medians of several runs, each in a new process, with the range "
        "in brackets. *Sinks* start together, as is GStreamer's default, or one by one.\n",
        table(["streams", "after nvh264dec", "sinks start", "dropped frames", "CPU time per frame (ms)", "noise",
               "runs"], lines)]


def gpu_part(figures):
    return ["## On the GPU\n", machine_of(figures),
            "Frames are 1920x1080 NV12. The numbered columns show frames per second for this number of frames in "
            "flight. *System*: prepared frames in pageable memory. *Pinned*: in buffers of the pool that cclabel "
            "proposes. *Cuda*: in CUDA memory. The last column is the latency of a frame, from source to sink, when "
            "no other frame follows. Each rate is from one run of up to 10,000 frames, so noise does not apply.\n",
            "![Frames per second by frames in flight](../plots/pipelines.svg)\n",
            in_flight(figures), *streams(figures)]


def cpu_part(figures):
    if not figures.select(what="pipeline") or "gpu" in figures.record:
        return []
    return [f"## On the CPU: {figures.record['cpu']}\n", machine_of(figures),
            "Frames are 1920x1080 NV12. The numbered columns show frames per second for this number of frames in "
            "flight.\n",
            in_flight(figures)]


def of_labelling(figures, source, output):
    """{frames in flight: frames per second} of cclabel alone."""
    return {row["in_flight"]: row["frames_per_second"]
            for row in figures.select(what="pipeline", source=source)
            if "output=" + output in row["chain"] and "regionoverlay" not in row["chain"]}


def frame_of_graphcutbg(figures):
    """Milliseconds per frame of the whole element on 1080p video; the decoder works at the same time."""
    rates = [row["frames_per_second"] for row in figures.select(what="pipeline", source="launch")
             if "people" in row["from"] and chain_of(row) == "graphcutbg output=none"]
    return 1000 / max(rates) if rates else None


def rate(row):
    """Frames per second of the whole program, from the median of its runs."""
    return row["frames"] / statistics.median(row["seconds"])


def transcode_part(figures):
    rows = []
    for row in figures.select(what="transcode"):
        peer, = figures.select(what="transcode", clip=row["clip"], filter="ffmpeg")
        speed, cost = rate(row) / rate(peer), cpu_of_frame(row) / cpu_of_frame(peer)
        rows.append([row["clip"], f"`{row['filter']}`" if row is not peer else "ffmpeg alone", str(row["frames"]),
                     number(rate(row)), noise(statistics.median(row["seconds"]), min(row["seconds"])), f"{speed:.2f}×",
                     number(cpu_of_frame(row)), f"{cost:.2f}×"])
    starts = [[str(row["files"]), str(row["jobs"]), number(statistics.median(row["seconds"])),
               number(statistics.median(row["seconds"]) / row["files"]),
               number(statistics.median(row["cpu_seconds"]) / row["files"])] for row in figures.select(what="starts")]
    return rows and [
        "## Transcoding on the CPU\n", machine_of(figures),
        "This table shows the rate of `regions-transcode` from its start to its end, including decoding and H.264 "
        "encoding (`bench/run --transcode`, medians of three runs). `identity` is the same program without this "
        "plugin's elements. *ffmpeg alone* encodes the same file with the same encoder and settings.\n",
        table(["clip", "filter", "frames", "frames/s", "noise", "compared with ffmpeg", "CPU time per frame (ms)",
               "compared with ffmpeg"], rows),
        "The next table shows the cost of starting: files of one second with sound and 64x48 pixels.\n",
        table(["files", "at a time", "seconds", "seconds per file", "CPU seconds per file"], starts)]


def cpu_of_frame(row):
    """Milliseconds of CPU time per frame of the whole program, from the median of its runs."""
    return 1000 * statistics.median(row["cpu_seconds"]) / row["frames"]


VIEWS = {"pictures": "JPEG pictures", "video": "WebRTC"}


def view_part(figures):
    """The section on the web page of pipelines/view."""
    late = [[VIEWS[row["transport"]], str(row["frames"]), number(row["median_ms"]), number(row["p95_ms"]),
             number(row["longest_ms"])] for row in figures.select(what="latency")]
    cost = [[VIEWS[row["transport"]], number(row["without_viewer"]), number(row["with_viewer"]),
             number(row["with_viewer"] - row["without_viewer"])] for row in figures.select(what="cost")]
    several = [[str(row["cameras"]), str(row["rate"]), number(row["fewest_pictures"] / row["seconds"]), number(row["cpu"])]
               for row in figures.select(what="cameras")]
    return late and [
        "## The page of pipelines/view\n", machine_of(figures),
        "A browser on the same machine shows a live test picture of 1920x1080 pixels at 30 frames/s, whose objects "
        "`graphcutbg preset=motion ! cclabel track=true` finds (`bench/view.py`). This table shows the time from the capture "
        "of a frame to the painting of the frame.\n",
        table(["pictures arrive as", "frames", "median (ms)", "95th percentile (ms)", "longest (ms)"], late),
        "CPU time of the program per second of video. It encodes video in both cases, and JPEG pictures only if a viewer "
        "requests them.\n",
        table(["pictures arrive as", "without a viewer (s)", "with a viewer (s)", "difference (s)"], cost),
        "Cameras of 1280x720 pixels with `preset=motion`, and one viewer per camera.\n",
        table(["cameras", "frames/s of a camera", "frames/s at the slowest viewer", "CPU time per second (s)"], several)]
