"""The page for users: milliseconds by element, size and device, and what does not hold."""
import pipelines
import superpixels
import volumes
from labelling import Gpu
from records import ANCHORS, HD, SIZES, SQUARE, geomean, ratio
from tables import number, short, table, threads, times

CUT = "bgdiff_1080"
CELLS = "Lab, 5 iterations, joining"
ELEMENTS = ("cclabel", "graphcutbg", "slicsuperpixel", "regionoverlay", "all three")


def milli(us):
    return us and us / 1000


def row(element, what, size, device, ms, peers=()):
    """Of milliseconds; None where they were not measured."""
    beside = "; ".join(f"{name} {short(took)}" for name, took in peers if took)
    return [[element, what, size, device, short(ms), beside or "–"]] if ms else []


def on_gpu(figures):
    """cclabel by size, volumes, cuts, superpixels."""
    labels, cubes, device = Gpu(figures), volumes.Gpu(figures), figures.record["gpu"]
    rows = []
    for size in SIZES[2:]:
        keys = labels.keys(size=size, connectivity=8, clock="stream")
        del keys["by"]
        peers = [("best published, picture by picture*", labels.peer(size, 8))]
        peers += [(name, figures.mean(by=name, **keys)) for name in figures.makers(**keys)
                  if name != "cclabel"]
        rows += row("cclabel", "labels, 8 neighbours", size, device, milli(labels.ours(size, 8)),
                    [(name, milli(us)) for name, us in peers])
    for size in (HD, SQUARE):
        rows += row("cclabel", "labels and table of regions, 4 neighbours", size, device,
                    milli(labels.ours(size, 4, task="table")),
                    [("CV-CUDA*", milli(geomean(ANCHORS["cvcuda_stats_us"][size].values())))])
    best = {content: us for content, (_, us) in ANCHORS["volumes_us"]["256"].items()}
    ours = [cubes.of(256, content, 26) for content in best]
    if all(ours):
        rows += row("cclabel", "volume, 26 neighbours", "256³", device, milli(geomean(ours)),
                    [("best published, volume by volume*", milli(geomean(best.values())))])
    rows += row("cclabel", "what `track=true` adds, 1000 regions", HD, device, milli(next(
        (each["us_with"] - each["us_without"] for each in figures.select(
            what="tracking", clock="graph", backend="cuda", size=HD, regions=1000)), None)))
    for size in SIZES[2:4]:
        rows += row("slicsuperpixel", "Lab, 5 iterations, cells of 16", size, device,
                    milli(superpixels.frame(figures, size, CELLS)))
    rows += row("graphcutbg", "people walking, decoded beside it", HD, device,
                pipelines.frame_of_graphcutbg(figures))
    alone, drawn = (next((each["work_us"] for each in figures.select(
        what="pipeline", source="system", in_flight=1)
        if pipelines.chain_of(each) == chain and each.get("work_us")), None)
        for chain in ("cclabel output=none", "cclabel output=none ! regionoverlay"))
    return rows + row("regionoverlay", "what it adds to cclabel's work", HD, device,
                      alone and drawn and milli(drawn - alone))


def of_cuts(report):
    rows = []
    for cuts in report.cuts_on_gpus + report.cuts_on_cpus:
        peer = cuts.of(CUT, "PyMaxflow")
        for found, name in ((cuts.alone(CUT)[0], "{}"), (cuts.of(CUT, "cpu: 1 thread"), "{}, 1 thread")):
            rows += row("graphcutbg", f"a minimum cut, {CUT}", HD,
                        name.format(cuts.record["device"]), found and found["ms"],
                        [(peer["solver"], peer["ms"])] if peer else [])
    return rows


def on_cpu(report):
    rows, labels = [], report.with_opencv
    for size in (HD, SQUARE) if labels else ():
        for task, name in (("labels", "labels"), ("table", "labels and table of regions")):
            for count in (1, 2):
                rows += row("cclabel", f"{name}, 8 neighbours", size,
                            f"{labels.figures.record['cpu']}, {threads(count)}",
                            labels.mean("cclabel", size, 8, task, count),
                            [(by, labels.mean(by, size, 8, task, count))
                             for by in labels.figures.makers(backend="cpu") if by != "cclabel"])
    cubes = report.cubes
    if "smooth" in cubes.contents:
        rows += row("cclabel", "volume, 26 neighbours, smooth", "256³",
                    f"{cubes.figures.record['cpu']}, 1 thread", cubes.of("cclabel", "smooth"),
                    [(by, cubes.of(by, "smooth")) for by in cubes.makers if by != "cclabel"])
    beside = report.beside.select(what="superpixel-peers", threads=1)
    rows += row("slicsuperpixel", "10 iterations, about 8,000", HD,
                f"{report.beside.record.get('cpu')}, 1 thread",
                milli(next((each["us"] for each in beside if each["by"] == superpixels.OURS), None)),
                [(each["by"], milli(each["us"])) for each in beside
                 if not each["by"].startswith(superpixels.OURS)])
    for each in report.transcode.select(what="transcode"):
        if each["filter"] != "identity":
            rows += row("all three", f"`regions-transcode` of {each['clip']}", "768x576",
                        f"{report.transcode.record['cpu']}, all cores", 1000 / pipelines.rate(each))
    return rows


def of_streams(figures):
    """What decoding and memory leave of these times."""
    said = []
    behind = [each for each in figures.select(what="streams", source="launch")
              if pipelines.is_behind_decoder(each) and each.get("connections", 8) == 8]
    decoded, chains = ({each["streams"]: each["frames_per_second"] for each in behind
                        if pipelines.chain_of(each) == chain} for chain in ("identity", pipelines.FLAGSHIP))
    if {1, 8} <= decoded.keys() & chains.keys():
        said.append(f"1080p decoded on the GPU, then all three elements: {number(chains[1])} frames/s "
                    f"in one stream, {number(chains[8])} in eight; the decoder alone gives "
                    f"{number(decoded[1])} and {number(decoded[8])}.")
    system, pinned = (pipelines.of_labelling(figures, source, "none").get(1)
                      for source in ("system", "pinned"))
    if gain := ratio(pinned, system):
        said.append(f"Frames in pageable system memory come slower: from the pool that cclabel "
                    f"proposes, one frame at a time is {times(gain)} as fast.")
    return said


def limits(report):
    rows = (report.asked_on_gpu() if report.gpu else []) + (
        report.asked_on_cpu() if report.with_opencv else [])
    said = [f"{what}: {wanted} was asked, {measured} is measured."
            for what, wanted, measured, verdict in rows if "not" in verdict]
    for neighbours, size, *_, faster in Gpu(report.gpu).sizes() if report.gpu else ():
        if faster != "–" and float(faster[:-1]) < 1:
            said.append(f"Labels, {neighbours} neighbours, {size}: the best published kernel for "
                        f"each picture is ahead, ours {faster} as fast (in multiples of a floor "
                        "kernel).")
    return said + (of_streams(report.gpu) if report.gpu else []) + [
        "Contents matter: tables are geometric means over 21 pictures where they do not say "
        "otherwise; [labelling](benchmarks/labelling.md) has each of them.",
        "Only the devices of the table were measured."]


def many_streams(figures):
    rows = figures and pipelines.behind_decoder(figures)
    return rows and [
        "## Many streams\n",
        f"Frames a second of all streams of one process, 1080p H.264 of people walking, two frames in flight "
        f"in each element; processor time as one core's, the decoder's included. {figures.record['gpu']}. "
        "*Connections*: what `CUDA_DEVICE_MAX_CONNECTIONS` says when the process starts; 8 is CUDA's own "
        "choice, 32 lets many streams' kernels run side by side, and costs a process part of a second to "
        "begin.\n", *rows] or []


def parts(report):
    rows = (on_gpu(report.gpu) if report.gpu else []) + of_cuts(report) + on_cpu(report)
    rows.sort(key=lambda each: ELEMENTS.index(each[0]))
    return [
        "## Milliseconds a frame\n",
        "Medians, pictures and results in the device's memory; on the GPU replays of one CUDA graph, "
        "and plain calls of peers, which ran beside ours. Peers with * have no packages and were measured "
        "elsewhere, on one NVIDIA H200. What each line measures, and more of them, is in "
        "[benchmarks](#benchmarks).\n",
        table(["element", "what", "size", "device", "ms", "beside"], rows),
        "![Geometric means over size](plots/sizes.svg)\n",
        "Whole pipelines, frames a second over frames in flight: *system* frames come in pageable "
        "memory, *pinned* in the pool that cclabel proposes, *cuda* in CUDA memory.\n",
        "![Frames a second over frames in flight](plots/pipelines.svg)\n",
        *many_streams(report.gpu),
        "## Known limits\n", "\n".join(f"- {each}" for each in limits(report)) + "\n",
        "## Benchmarks\n",
        "`bench/run` measures on your machine, beside the peers that it finds; `tests/gpu/pack` makes "
        "what runs on a GPU host.\n",
        "\n".join(f"- [{title}](benchmarks/{name})" for name, (title, _) in report.pages().items())
        + "\n"]
