"""The page for users: times by element, size and device, each next to its peers, and known limits."""
import statistics

import leads
import pipelines
import superpixels
import volumes
from labelling import Gpu, published
from records import HD, PUBLISHED, SIZES, SQUARE, geomean, ratio
from tables import devices, milliseconds, noise, number, table, threads, times

CUT = "bgdiff_1080"
CELLS = "Lab, 5 iterations, joining"
ELEMENTS = ("cclabel", "graphcutbg", "slicsuperpixel", "regionoverlay", "all three")
TABLE = "labels and table of regions"


def row(element, task, size, device, us, above="–", peers=()):
    """Rows of one measurement: ours, then each peer (name, microseconds, noise). Nothing without our time."""
    if not us:
        return []
    lines = [[element, task, size, device, element, milliseconds(us), above, "1.00×"]]
    return lines + [[element, task, size, device, name, milliseconds(took), peer_noise, times(took / us)]
                    for name, took, peer_noise in peers if took]


def labels_on_gpu(figures):
    labels, device, rows = Gpu(figures), figures.record["gpu"], []
    for size in SIZES[2:]:
        keys = labels.keys(size=size, connectivity=8, clock="stream")
        del keys["by"]
        peers = [("best published for each picture*", published(size, 8), "–")]
        peers += [(name, figures.mean(by=name, **keys), figures.noise(by=name, **keys))
                  for name in figures.makers(**keys) if name != "cclabel"]
        rows += row("cclabel", "labels, 8 neighbours", size, device, labels.ours(size, 8), labels.noise(size, 8), peers)
    for size in (HD, SQUARE):
        rows += row("cclabel", f"{TABLE}, 4 neighbours", size, device, labels.ours(size, 4, task="table"),
                    labels.noise(size, 4, task="table"),
                    [("CV-CUDA 0.15*", geomean(PUBLISHED["cvcuda_stats_us"][size].values()), "–")])
    return rows


def on_gpu(figures):
    """cclabel by size, volumes, superpixels and overlays on the GPU."""
    rows, cubes, device = labels_on_gpu(figures), volumes.Gpu(figures), figures.record["gpu"]
    best = {content: us for content, (_, us) in PUBLISHED["volumes_us"]["256"].items()}
    ours, fastest = ([cubes.of(256, content, 26, key=key) for content in best] for key in ("us", "fastest_us"))
    if all(ours):
        rows += row("cclabel", "volume, 26 neighbours", "256³", device, geomean(ours),
                    noise(geomean(ours), all(fastest) and geomean(fastest)),
                    [("best published for each volume*", geomean(best.values()), "–")])
    rows += row("cclabel", "added by `track=true`, 1000 regions", HD, device, next(
        (each["us_with"] - each["us_without"] for each in figures.select(
            what="tracking", clock="graph", backend="cuda", size=HD, regions=1000)), None))
    for size in SIZES[2:4]:
        us, fastest = (superpixels.frame(figures, size, CELLS, key) for key in ("us", "fastest_us"))
        rows += row("slicsuperpixel", "Lab, 5 iterations, cells of 16", size, device, us, noise(us, fastest))
    frame = pipelines.frame_of_graphcutbg(figures)
    rows += row("graphcutbg", "people walking, while the GPU decodes", HD, device, frame and frame * 1000)
    alone, drawn = (next((each["work_us"] for each in figures.select(
        what="pipeline", source="system", in_flight=1)
        if pipelines.chain_of(each) == chain and each.get("work_us")), None)
        for chain in ("cclabel output=none", "cclabel output=none ! regionoverlay"))
    return rows + row("regionoverlay", "added to cclabel's GPU time", HD, device, alone and drawn and drawn - alone)


def of_cuts(report):
    rows = []
    for cuts in report.cuts_on_gpus + report.cuts_on_cpus:
        peer = cuts.of(CUT, "PyMaxflow")
        peers = [(peer["solver"], peer["ms"] * 1000, noise(peer["ms"], peer.get("fastest_ms")))] if peer else []
        for found, name in ((cuts.on_gpu(CUT), "{}"), (cuts.of(CUT, "cpu: 1 thread"), "{}, 1 thread")):
            if found:
                rows += row("graphcutbg", f"minimum cut, {CUT}", HD, name.format(cuts.record["device"]),
                            found["ms"] * 1000, noise(found["ms"], found.get("fastest_ms")), peers)
    return rows


def on_cpu(report):
    rows, labels = [], report.with_opencv
    for size in (HD, SQUARE) if labels else ():
        for task, name in (("labels", "labels"), ("table", TABLE)):
            for count in (1, 2):
                case = size, 8, task, count
                rows += row("cclabel", f"{name}, 8 neighbours", size,
                            f"{labels.figures.record['cpu']}, {threads(count)}",
                            labels.mean("cclabel", *case), labels.noise("cclabel", *case), labels.peers(*case))
    cubes = report.cubes
    if "smooth" in cubes.contents:
        rows += row("cclabel", "volume, 26 neighbours, smooth", "256³",
                    f"{cubes.figures.record['cpu']}, 1 thread", cubes.of("cclabel", "smooth"),
                    cubes.noise("cclabel", "smooth"),
                    [(by, cubes.of(by, "smooth"), cubes.noise(by, "smooth")) for by in cubes.makers if by != "cclabel"])
    peers = report.superpixel_peers.select(what="superpixel-peers", threads=1)
    ours = next((each for each in peers if each["by"] == superpixels.OURS), {})
    rows += row("slicsuperpixel", "10 iterations, about 8,000", HD,
                f"{report.superpixel_peers.record.get('cpu')}, 1 thread", ours.get("us"),
                noise(ours.get("us"), ours.get("fastest_us")),
                [(each["by"], each["us"], noise(each["us"], each.get("fastest_us"))) for each in peers
                 if not each["by"].startswith(superpixels.OURS)])
    for each in report.transcode.select(what="transcode"):
        if each["filter"] not in ("identity", "ffmpeg"):
            seconds = statistics.median(each["seconds"])
            rows += row("all three", f"`regions-transcode` of {each['clip']}", "768x576",
                        f"{report.transcode.record['cpu']}, all cores", 1e6 / pipelines.rate(each),
                        noise(seconds, min(each["seconds"])))
    return rows


def of_streams(figures):
    """How decoding and memory limit the rates of whole pipelines."""
    found = []
    after = [each for each in figures.select(what="streams", source="launch")
             if pipelines.is_after_decoder(each) and each.get("connections", 8) == 8]
    decoded, chains = ({each["streams"]: each["frames_per_second"] for each in after
                        if pipelines.chain_of(each) == chain} for chain in ("identity", pipelines.FLAGSHIP))
    if {1, 8} <= decoded.keys() & chains.keys():
        found.append("The decoder limits whole pipelines. With 1080p video decoded on the GPU, all three elements "
                     f"process {number(chains[1])} frames/s in one stream and {number(chains[8])} in eight. The "
                     f"decoder alone reaches {number(decoded[1])} and {number(decoded[8])}.")
    system, pinned = (pipelines.of_labelling(figures, source, "none").get(1)
                      for source in ("system", "pinned"))
    if gain := ratio(pinned, system):
        found.append(f"Pageable system memory is slow. Frames from the pool that cclabel proposes are {times(gain)} "
                     "as fast, with one frame in flight.")
    return found


def limits(report):
    return leads.found(report) + (of_streams(report.gpu) if report.gpu else []) + [
        "Times depend on the content. Unless a row names its content, it is a geometric mean over 21 pictures; "
        "[labelling](benchmarks/labelling.md) lists each of them.",
        "Only the devices in the table were measured."]


def many_streams(figures):
    rows = figures and pipelines.after_decoder(figures)
    return rows and [
        "## Many streams\n",
        "This table shows the total frames per second of all streams in one process. The streams are 1080p H.264 of "
        "people walking, with two frames in flight in each element. CPU time is that of one core and includes the "
        f"decoder. The device is {figures.record['gpu']}. *Connections* is the value of "
        "`CUDA_DEVICE_MAX_CONNECTIONS` when the process starts. CUDA's default is 8. With 32, kernels of many "
        "streams run at the same time, but the process needs a fraction of a second more to start.\n", *rows] or []


def introduction(report):
    every = [report.gpu, *(cpu.figures for cpu in report.cpus), report.superpixel_peers, report.transcode,
             report.cubes.figures]
    return ("This page shows how long the elements take per frame compared with other software, measured by "
            f"`bench/run` and `tools/gpu/suite` on {devices(*every)}.")


def parts(report):
    rows = (on_gpu(report.gpu) if report.gpu else []) + of_cuts(report) + on_cpu(report)
    rows.sort(key=lambda each: ELEMENTS.index(each[0]))
    return [
        "## Time per frame (ms)\n",
        "Times are medians. Pictures and results are in the device's memory. On the GPU, our times are replays of "
        "one CUDA graph, and packages are plain calls in the same run. Peers with * were built from their published "
        "source and measured on another machine with one NVIDIA H200. Each benchmark page below describes its "
        "measurement.\n",
        table(["element", "task", "size", "device", "by", "time (ms)", "noise", "compared with ours"], rows),
        "![Geometric means by size](plots/sizes.svg)\n",
        "The next plot shows frames per second of whole pipelines by frames in flight. *System* frames are in pageable "
        "memory, *pinned* frames in the pool that cclabel proposes, and *cuda* frames in CUDA memory.\n",
        "![Frames per second by frames in flight](plots/pipelines.svg)\n",
        *many_streams(report.gpu), *pipelines.on_gpus(report.on_gpus),
        "## Known limits\n", "\n".join(f"- {each}" for each in limits(report)) + "\n",
        "## Benchmarks\n",
        "`bench/run` measures on your machine, together with the peers that are installed. `tools/gpu/pack` packs the "
        "programs for a GPU host.\n",
        "\n".join(f"- [{title}](benchmarks/{name})" for name, (title, *_) in report.pages().items())
        + "\n"]
