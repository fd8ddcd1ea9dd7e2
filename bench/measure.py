"""Runs the benchmark programs, collects their rows, and records the machine. bench/run uses it on any machine,
tools/gpu/suite on a GPU host."""
import glob
import json
import os
import platform
import subprocess
import sys
import time

SMALL, HD, UHD, SQUARE = "512x512,1024x768", "1920x1080", "3840x2160", "4096x4096"
LABELS = "cclabel output=labels frames-in-flight=%d{device} ! video/x-raw,format=GRAY16_LE"
NOTHING = "cclabel output=none frames-in-flight=%d{device}"
DRAWN = "cclabel output=none frames-in-flight=%d{device} ! regionoverlay frames-in-flight=%d{device}"
CELLS = "slicsuperpixel output=none frames-in-flight=%d{device}"
CUT = "graphcutbg output=none frames-in-flight=%d{device}"
FLAGSHIP = (CUT + " ! cclabel source=mask output=none frames-in-flight=%d{device} ! "
            "regionoverlay frames-in-flight=%d{device}")
# Sets the number of command queues between a process and a GPU. CUDA's default is 8.
CONNECTIONS = "CUDA_DEVICE_MAX_CONNECTIONS"
QUERY_GPUS = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]


class Programs:
    """Where the programs and the peers are, and their environment."""

    def __init__(self, folder, peers, python, opencv=None, env=None):
        self.folder, self.python, self.opencv, self.env = folder, python, opencv, env
        self.peers = os.path.join(peers, "cclabel_peers.py")

    def of(self, name):
        return os.path.join(self.folder, name)


class Runner:
    """Runs programs that print one JSON object per line; keeps the rows, the failures and a log."""

    def __init__(self, log, env=None):
        self.log = log
        self.env = env
        self.rows = []
        self.failures = []

    def say(self, text):
        print(text, flush=True)
        self.log.write(text + "\n")
        self.log.flush()

    def run(self, command, name, timeout=300, env=None, stdin=None):
        """Returns whether the program succeeded. Its rows are kept in any case."""
        begin = time.monotonic()
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  timeout=timeout, env=env if env is not None else self.env,
                                  input=stdin)
            out, err, status = done.stdout.decode(), done.stderr.decode(), done.returncode
        except subprocess.TimeoutExpired as late:
            out, err = (late.stdout or b"").decode(), (late.stderr or b"").decode()
            status = f"still running after {timeout} s"
        except OSError as reason:
            out, err, status = "", "", str(reason)
        rows = []
        for line in out.splitlines():
            if line.startswith("{"):
                try:
                    rows.append(json.loads(line))
                except ValueError:
                    pass  # cut off by the timeout
        self.rows.extend(rows)
        self.log.write(f"$ {' '.join(command)}\n{err}")
        self.say(f"  {name}: {len(rows)} figures, {time.monotonic() - begin:.0f} s"
                 + ("" if status == 0 else f", status {status}"))
        if status != 0:
            last = err.strip().splitlines()[-1:] or [""]
            self.failures.append(f"{name}: status {status} {last[0]}".strip())
            self.log.write(f"status {status}\n")
        return status == 0


def new_record(suite, cuda=False):
    """A record for a run that starts now, with the machine and the commit."""
    facts = machine()
    git = ["git", "-C", os.path.dirname(os.path.abspath(__file__))]
    changed = first_line([*git, "status", "--porcelain", "--", ":/core", ":/cpu", ":/gpu", ":/plugin",
                          ":/python", ":/bench/programs", ":/tests/pictures"])
    return {"suite": suite, "device": facts["gpu" if cuda else "cpu"], **facts, "commit":
            first_line([*git, "rev-parse", "--short=12", "HEAD"]) + "+changes" * bool(changed)}


def lines(command):
    """The lines that a program prints; no lines if the program does not exist."""
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              timeout=60).stdout.strip().splitlines()
    except (OSError, subprocess.TimeoutExpired):
        return []


def first_line(command):
    return next(iter(lines(command)), "").strip()


def machine():
    """Facts about the machine that the figures come from."""
    with open("/proc/cpuinfo") as file:
        models = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    facts = {"cpu": models[0] if models else platform.machine(), "cores": os.cpu_count(),
             "kernel": platform.release(), "date": time.strftime("%Y-%m-%d", time.gmtime()),
             "load_before": os.getloadavg()[0],
             "numa_nodes": len(glob.glob("/sys/devices/system/node/node[0-9]*"))}
    gpu = first_line(QUERY_GPUS)
    if gpu.count(",") == 2:
        facts.update(zip(("gpu", "driver", "gpu_memory"), map(str.strip, gpu.split(","))))
    return facts


def contents_of(programs):
    return subprocess.run([programs.of("picture"), "--contents"], check=True,
                          stdout=subprocess.PIPE, text=True, env=programs.env).stdout.split()


def picture_of(programs, content, size):
    """The picture's bytes."""
    return subprocess.run([programs.of("picture"), content, size], check=True,
                          stdout=subprocess.PIPE, env=programs.env).stdout


def gpu_algorithms(runner, programs, quick=False):
    """Times cclabel on the GPU. Its answers are compared with the CPU's."""
    base = [programs.of("cclabel"), "--json", "--backend", "cuda", "--runs", "30"]
    sizes = [HD] if quick else [SMALL, HD, UHD, SQUARE]
    for size in sizes:
        for criterion in ("binary", "difference", "equal"):
            runner.run(base + ["--size", size, "--criterion", criterion], f"{criterion} {size}",
                       env=programs.env)
    runner.run(base + ["--size", HD, "--criterion", "binary", "--format", "NV12", "--content",
                       "smooth", "--connectivity", "8"], "NV12, as used in the pipelines",
               env=programs.env)


def gpu_peers(runner, programs, quick=False):
    """Times packages on the GPU. Their wrong answers are recorded and are not failures."""
    for criterion, peers, sizes in (("binary", "cupy,bkeccl,cucim,cvcuda,kornia_cuda,npp", [SMALL, HD, SQUARE]),
                                    ("equal", "cucim,colorcc", [HD, SQUARE])):
        for size in [HD] if quick else sizes:
            runner.run([programs.python, programs.peers, "--picture", programs.of("picture"), "--peers",
                        peers, "--criterion", criterion, "--size", size, "--runs", "10"],
                       f"{peers}, {criterion} {size}", env=os.environ.copy())


def cpu_beside_peers(runner, programs, sizes, threads, seconds, packages):
    """Times cclabel and OpenCV on the CPU, content by content so that both run under the same load, then the Python
    packages."""
    options = ["--json", "--threads", threads, "--criterion", "binary", "--seconds", str(seconds)]
    for size in sizes:
        for content in contents_of(programs):
            case = ["--size", size, "--content", content]
            runner.run([programs.of("cclabel"), "--backend", "cpu"] + options + case,
                       f"CPU {content} {size}", env=programs.env)
            if programs.opencv:
                runner.run([programs.opencv] + options + case, f"OpenCV {content} {size}",
                           env=programs.env)
        if packages:
            runner.run([programs.python, programs.peers, "--picture", programs.of("picture"), "--peers",
                        packages, "--size", size, "--seconds", str(seconds)],
                       f"{packages} {size}", timeout=900, env=os.environ.copy())
    runner.run([programs.of("cclabel"), "--backend", "cpu", "--json", "--threads", threads,
                "--criterion", "difference", "--size", sizes[0], "--seconds", str(seconds)],
               f"difference {sizes[0]}", env=programs.env)


# Live streams: frames come at their times and are dropped if eight of them wait. Each turn is a new process.
LIVE_FRAMES, LIVE_TURNS = 100, 3 * [("1",)] + 12 * [("16",)] + 2 * [("16", "--apart")]
LIVE = " ! identity sync=true ! queue leaky=downstream max-size-buffers=8 max-size-bytes=0 max-size-time=0"


def pipelines(runner, programs, cuda, clips=None, quick=False):
    """Times whole pipelines. A low rate is recorded; a lost frame is a failure."""
    every = "1,4" if quick else "1,2,4,8"
    device = " device=cuda" if cuda else " device=cpu"
    frames = "100" if quick else "800" if cuda else "200"
    long_run = [] if quick else ["--frames", "10000"]  # about one second, so that the first frames matter little
    copied = [] if quick or not cuda else ["--frames", "4000"]

    def play(name, chain, in_flight, *more, connections=8):
        before = len(runner.rows)
        env = dict(programs.env or runner.env or os.environ, **{CONNECTIONS: str(connections)})
        runner.run([programs.of("pipeline"), "--json", "--chain", chain.format(device=device),
                    "--in-flight", in_flight, "--frames", frames, *more], name, env=env)
        for row in runner.rows[before:]:
            row["connections"] = connections
            if row["latency_us"] < 0:
                runner.failures.append(f"{name}: a frame did not arrive until the next one was pushed")

    play("pageable, no picture out", NOTHING, every, *copied)
    play("pageable, labels out", LABELS, every, *copied)
    play("pageable, regions drawn", DRAWN, "1,4", *copied)
    if cuda:
        play("pinned, no picture out", NOTHING, every, "--source", "pinned", *long_run)
        play("pinned, labels out", LABELS, every, "--source", "pinned", *long_run)
        play("CUDA memory, no picture out", NOTHING, every, "--source", "cuda", *long_run)
        play("CUDA memory, labels out", LABELS, "1,4", "--source", "cuda", *long_run)
        if not quick:
            small = ("--source", "cuda", "--size", "640x480", "--streams", "1,8,16")
            for chain in ("identity", NOTHING, LABELS):
                play("16 small streams", chain, "2", *small, "--frames", "3000")
            # The possible gain of one launch for all streams: one tall picture, or no launch at all.
            tall = ("--source", "cuda", "--size", "640x7680", "--streams", "1,2")
            for chain in (NOTHING, LABELS):
                play("16 small frames in one", chain, "2", *tall, "--frames", "1500")
                for idle in ((), ("--idle",)):
                    play("16 small streams without regions", chain, "2", *small[:-1], "16",
                         "--frames", "3000", "--content", "empty", *idle)
    for name, clip in (clips or {}).items():
        before = len(runner.rows)
        source = f"filesrc location={clip} ! qtdemux ! h264parse ! nvh264dec"
        play(f"{name} decoded, nothing more", "identity", "1", "--from", source)
        play(f"{name} decoded, labelled, drawn on the GPU", DRAWN, "1,4", "--from", source)
        for more in ("", " warm-start=true"):
            play(f"{name} decoded, cut on the GPU{more}", CUT.replace(" ", more + " ", 1), "1,4", "--from", source)
        play(f"{name} decoded, cut, labelled, drawn on the GPU", FLAGSHIP, "1,4", "--from", source)
        if name == "people" and not quick:
            chains = {"nothing more": "identity", "labelled": NOTHING, "labelled, drawn": DRAWN,
                      "superpixels": CELLS, "cut": CUT, "cut, labelled, drawn": FLAGSHIP}
            for connections, several in ((8, "1,4,8"), (32, "1,8,16")):
                for what, chain in chains.items():
                    play(f"{name} decoded, {what}, {connections} connections", chain, "2", "--from",
                         source, "--streams", several, connections=connections)
            live = source.replace(" ! nvh264dec", f" ! identity eos-after={LIVE_FRAMES + 1} ! nvh264dec") + LIVE
            for turn in LIVE_TURNS:
                for what in ("nothing more", "cut, labelled, drawn"):
                    play(f"{name} decoded, {what}, live", chains[what], "2", "--from", live, "--streams", *turn)
        for row in runner.rows[before:]:
            row["from"] = row["from"].replace(os.path.dirname(clip) + "/", "")
            live = LIVE in row["from"]
            # The decoder alone may keep the last frame.
            decoded = LIVE_FRAMES if live else runner.rows[before]["frames"]
            row["frames_expected"] = decoded * row["streams"]
            if row["frames"] != row["frames_expected"] and not live:
                runner.failures.append(f"{row['frames']} of {name}'s {decoded} frames arrived")


def gpus(runner, programs, clip, turns=3):
    """Times many streams in one process on 1, 2, 4, … GPUs of this host, with 16 streams on each GPU."""
    most = len(lines(QUERY_GPUS))
    counts = sorted({1 << power for power in range(most.bit_length())} | {most})
    env = dict(programs.env, **{CONNECTIONS: "32"})
    first = len(runner.rows)
    for count in counts * turns:
        before = len(runner.rows)
        sources = [word for number in range(count) for word in ("--from", on_gpu(number, clip))]
        runner.run([programs.of("pipeline"), "--json", "--chain", "identity", "--in-flight", "2", *sources,
                    "--streams", str(16 * count)], f"{16 * count} streams on {count} GPUs", env=env)
        for row in runner.rows[before:]:
            row.update({"what": "gpus", "from": row["from"].replace(os.path.dirname(clip) + "/", ""),
                        "frames_expected": runner.rows[first]["frames"] * count})
            if row["frames"] != row["frames_expected"]:
                runner.failures.append(f"{row['frames']} of {row['frames_expected']} frames arrived from {count} GPUs")


def on_gpu(number, clip):
    """A clip decoded and processed on this GPU. The elements get its number, so that they offer the GPU's primary context
    to the decoder. A decoder that is offered none makes its own context, and opening 64 of them failed after minutes."""
    decoder = f"nvh264device{number}dec" if number else "nvh264dec"
    chain = FLAGSHIP.format(device=f" device=cuda cuda-device-id={number}").replace("%d", "2")
    return f"filesrc location={clip} ! qtdemux ! h264parse ! {decoder} ! {chain}"


# Name, size and settings: the whole frame (Lab, iterations, merging) and its parts; the last cases are ECE1782's,
# "Superpixels" (2020). Records say "joining" for merging.
SUPERPIXELS = [
    (f"{what}, region size {region}", size, [f"region-size={region}"] + settings)
    for size in (HD, UHD) for region in (16, 32)
    for what, settings in (("Lab, 5 iterations, joining", ["iterations=5"]),
                           ("Lab, 5 iterations, pieces apart", ["iterations=5", "min-size=0"]),
                           ("Lab, 5 iterations of all rows, joining", ["iterations=5", "row-step=1"]),
                           ("Lab, 5 iterations of all rows, pieces apart",
                            ["iterations=5", "row-step=1", "min-size=0"]),
                           ("Lab, 10 iterations of all rows, pieces apart",
                            ["iterations=10", "row-step=1", "min-size=0"]),
                           ("no iteration, joining", ["iterations=0"]))]
SUPERPIXELS += [(f"report's case, {rows}", "4096x2048",
                 ["region-size=128", "iterations=10", "color-space=rgb", "min-size=0",
                  f"row-step={step}"])
                for rows, step in (("every second row", 2), ("all rows", 1))]
# Like a camera's frame, and flat patches with single wrong pixels, which are hard to merge.
SCENES = ("footage", "blobs")


def superpixels(runner, programs):
    """Times slicsuperpixel on the GPU, one CUDA graph per frame."""
    pictures = {}
    for scene in SCENES:
        for case, size, settings in SUPERPIXELS:
            if (scene, size) not in pictures:
                pictures[scene, size] = picture_of(programs, scene, size)
            before = len(runner.rows)
            command = [programs.of("slicsuperpixel"), size, "--cuda", "--time"]
            for setting in settings:
                command += ["--set", setting]
            runner.run(command, f"superpixels {scene} {size} {case}", env=programs.env,
                       stdin=pictures[scene, size])
            for row in runner.rows[before:]:
                row.update({"content": scene, "case": case, "settings": settings})


def superpixel_ladder(runner, programs):
    """Times the steps of method=report on the case of ECE1782."""
    runner.run([programs.of("slicsuperpixel_report")], "superpixels, steps of method=report",
               env=programs.env, stdin=picture_of(programs, "blobs", "4096x2048"))


def record_rows(suite, rows, path, **facts):
    """Prints each row with the commit and these facts. If there is a path, writes all of them as a record."""
    record = new_record(suite)
    record["figures"] = []
    for row in rows:
        record["figures"].append(row | facts | {"commit": record["commit"]})
        print(json.dumps(record["figures"][-1]), flush=True)
    if path:
        write(record, path)


def write(record, path):
    """Writes one row per line, so that a changed figure changes one line."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    figures = ",\n".join("    " + json.dumps(row) for row in record["figures"])
    rest = json.dumps({k: v for k, v in record.items() if k != "figures"}, indent=1)
    with open(path + ".part", "w") as file:
        file.write(rest[:-2] + ",\n \"figures\": [\n" + figures + "\n ]\n}\n")
    os.replace(path + ".part", path)


if __name__ == "__main__":
    sys.exit("measure.py is used by bench/run and tools/gpu/suite")
