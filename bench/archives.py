"""Measures regions-transcode on long files: how masks change if a file is processed in segments, what segments cost,
and how fast nodes of Ray are. bench/run uses it."""

import contextlib
import ctypes
import json
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time

import measure
import numpy

PLAIN = "cclabel output=none ! regionoverlay"
LEARNS = "graphcutbg output=none ! cclabel source=mask output=none"
SETTLE = 20  # seconds that a node needs to start
SEGMENT, WARM_UPS = 10, (0, 5, 10, 20)  # seconds
PR_SET_CHILD_SUBREAPER = 36  # prctl(2)
SMALL, FRAMES, CUTS = "64x48", 800, (1, 2, 16)  # used by costs()
LARGE_FRAMES, SHORT_FILES, TIMES = 1200, 40, 4
FFMPEG = "ffmpeg"  # instead of a filter
H264 = "-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-bf", "0", "-g", "100"  # as profiles.H264 of pipelines


def expect(command, env):
    """Seconds that a command takes. Exits if the command fails."""
    begin = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env, check=False)
    if done.returncode:
        raise SystemExit(f"bench/run: {' '.join(command)} failed with status {done.returncode}: {done.stdout}")
    return time.monotonic() - begin


def processor_seconds(command, env):
    """CPU seconds of a command and of all processes that it starts."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)  # orphans become children of this process
    before = os.times()
    expect(command, env)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    after = os.times()
    return round(after.children_user + after.children_system - before.children_user - before.children_system, 2)


def costs(program, env, runs):
    """Rows with the CPU time for small frames by number of segments. One segment is the plain program; the differences
    are the costs of a segment and of planning and joining."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = os.path.join(folder, "in.mp4"), os.path.join(folder, "out")
        subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=size={SMALL}:rate=25", "-frames:v",
                        str(FRAMES), "-pix_fmt", "yuv420p", "-g", "25", source], check=True)
        rows = [{"what": "costs", "size": SMALL, "frames": FRAMES, "segments": count, "cpu_seconds": []}
                for count in CUTS]
        for _ in range(runs):
            for row in rows:
                shutil.rmtree(out, ignore_errors=True)
                cut = ["--segments", str(FRAMES / 25 / row["segments"])] if row["segments"] > 1 else []
                command = [program, source, "--filter", PLAIN, "--json", "-o", out, *cut]
                row["cpu_seconds"].append(processor_seconds(command, env))
    for row in rows:
        print("bench/run: " + json.dumps(row), flush=True)
    return rows


def rates(program, clip, filters, env, turns):
    """Rows with the times of the program with each of `filters`, and of ffmpeg with the same codec and settings, for a
    video; and with the last filter, for the video TIMES times in a row, and for LARGE_FRAMES of its frames enlarged to 1080p,
    repeated if it has fewer. All take turns."""
    with tempfile.TemporaryDirectory() as folder:
        name, kind = os.path.splitext(os.path.basename(clip))
        long, large, out = (os.path.join(folder, made) for made in (f"{name}-{TIMES}-times{kind}", "1080p.mp4", "out"))
        subprocess.run(["ffmpeg", "-v", "error", "-stream_loop", str(TIMES - 1), "-i", clip, "-c", "copy", "-an", long], check=True)
        subprocess.run(["ffmpeg", "-v", "error", "-stream_loop", "-1", "-i", clip, "-frames:v", str(LARGE_FRAMES), "-vf",
                        "scale=1920:1080,setsar=1", "-an", "-pix_fmt", "yuv420p", "-preset", "veryfast", large], check=True)
        rows = []
        for path, names in ((clip, filters), (long, filters[-1:]), (large, filters[-1:])):
            shared = {"what": "transcode", "clip": os.path.basename(path), "frames": frames_of(path)}
            rows += [(path, shared | {"filter": name, "seconds": [], "cpu_seconds": []}) for name in (*names, FFMPEG)]
        for _ in range(turns):
            for path, row in rows:
                shutil.rmtree(out, ignore_errors=True)
                os.mkdir(out)
                command = ([program, path, "-o", out, "--filter", row["filter"]] if row["filter"] != FFMPEG else
                           ["ffmpeg", "-v", "error", "-i", path, *H264, os.path.join(out, "out.mp4")])
                begin = time.monotonic()
                row["cpu_seconds"].append(processor_seconds(command, env))
                row["seconds"].append(round(time.monotonic() - begin, 2))
                print("bench/run: " + json.dumps(row), flush=True)
    return [row for _, row in rows]


def frames_of(path):
    counted = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "V:0", "-count_packets", "-show_entries",
                              "stream=nb_read_packets", "-of", "csv=p=0", path], check=True, stdout=subprocess.PIPE, text=True)
    return int(counted.stdout)


def starts(program, env, turns):
    """Rows with the time of one file of a second, and of many such files with two jobs at a time."""
    with tempfile.TemporaryDirectory() as folder:
        sources, out = [os.path.join(folder, f"{number}.mp4") for number in range(SHORT_FILES)], os.path.join(folder, "out")
        subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=size={SMALL}:rate=25:duration=1", "-f",
                        "lavfi", "-i", "sine=duration=1", "-pix_fmt", "yuv420p", sources[0]], check=True)
        for path in sources[1:]:
            shutil.copy(sources[0], path)
        rows = [{"what": "starts", "files": count, "jobs": jobs, "seconds": [], "cpu_seconds": []}
                for count, jobs in ((1, 1), (SHORT_FILES, 2))]
        for _ in range(turns):
            for row in rows:
                shutil.rmtree(out, ignore_errors=True)
                command = [program, *sources[:row["files"]], "-o", out, "--filter", "identity", "-j", str(row["jobs"])]
                begin = time.monotonic()
                row["cpu_seconds"].append(processor_seconds(command, env))
                row["seconds"].append(round(time.monotonic() - begin, 2))
    for row in rows:
        print("bench/run: " + json.dumps(row), flush=True)
    return rows


def masks(path, size):
    """The foreground masks of a label video's frames."""
    with subprocess.Popen(["ffmpeg", "-v", "error", "-i", path, "-fps_mode", "passthrough", "-f", "rawvideo",
                           "-pix_fmt", "gray16le", "-"], stdout=subprocess.PIPE) as reader:
        while data := reader.stdout.read(2 * size[0] * size[1]):
            yield numpy.frombuffer(data, numpy.uint16) != 0


def size_of(path):
    found = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "stream=width,height",
                           "-of", "json", path], stdout=subprocess.PIPE, check=True).stdout
    stream, = json.loads(found)["streams"]
    return stream["width"], stream["height"]


def difference(one, other):
    """Compares two label videos: frames, share of frames with other masks, mean and lowest IoU of the masks."""
    size, overlaps, differ = size_of(one), [], 0
    for first, second in zip(masks(one, size), masks(other, size), strict=True):
        union = numpy.count_nonzero(first | second)
        overlaps.append(numpy.count_nonzero(first & second) / union if union else 1.0)
        differ += bool((first != second).any())
    return {"frames": len(overlaps), "differ": round(differ / len(overlaps), 4),
            "iou": round(float(numpy.mean(overlaps)), 4), "least_iou": round(min(overlaps), 4)}


def learnt(program, clip, env):
    """Rows that compare masks in segments of 10 seconds with the masks of the whole file, one row per warm-up."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        source = keyed(clip, folder, 1)
        name = os.path.splitext(os.path.basename(source))[0] + ".labels.mkv"
        words = [program, source, "--filter", LEARNS, "--labels", "-o"]
        expect([*words, os.path.join(folder, "whole")], env)
        for warm_up in WARM_UPS:
            out = os.path.join(folder, str(warm_up))
            expect([*words, out, "--segments", str(SEGMENT), "--warm-up", str(warm_up)], env)
            rows.append({"what": "learnt", "clip": os.path.basename(clip), "filter": LEARNS, "segments": SEGMENT,
                         "warm_up": warm_up}
                        | difference(os.path.join(folder, "whole", name), os.path.join(out, name)))
            print("bench/run: " + json.dumps(rows[-1]), flush=True)
    return rows


def keyed(clip, folder, seconds, times=1):
    """The path of a video with `times` copies of the clip and key frames at equal distances."""
    path = os.path.join(folder, os.path.splitext(os.path.basename(clip))[0] + ".mp4")
    subprocess.run(["ffmpeg", "-v", "error", "-stream_loop", str(times - 1), "-i", clip, "-an", "-pix_fmt", "yuv420p",
                    "-force_key_frames", f"expr:gte(t,n_forced*{seconds})", path], check=True)
    return path


@contextlib.contextmanager
def nodes(ray, count, env):
    """Starts nodes of Ray on this machine, each with one core, and yields their address."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    address, running = f"127.0.0.1:{port}", []
    try:
        for number in range(count):
            where = (["--address", address] if number else
                     ["--head", "--port", str(port), "--include-dashboard", "false"])
            running.append(subprocess.Popen(
                ["taskset", "-c", str(number), ray, "start", "--block", *where, "--node-ip-address", "127.0.0.1",
                 "--num-cpus", "1", "--disable-usage-stats", "--include-log-monitor", "false"],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env))
            time.sleep(SETTLE)
        yield address
    finally:
        for node in reversed(running):
            node.terminate()
            node.wait()


def cluster(program, python, clip, env, times, runs):
    """Rows of the plain program, and of one and two nodes of Ray with one core each. All take turns."""
    ray = os.path.join(os.path.dirname(python), "ray")
    env = env | {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32),  # for these nodes only
                 "RAY_worker_niceness": "0"}  # otherwise the plain program gets more CPU time on a busy machine
    with tempfile.TemporaryDirectory() as folder:
        source, out = keyed(clip, folder, 1, times), os.path.join(folder, "out")
        length = float(subprocess.run(["ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0",
                                       source], stdout=subprocess.PIPE, check=True).stdout)
        words = [python, program, source, "--filter", PLAIN, "--json", "-o", out]
        cut = ["--segments", str(length / 24)]
        rows = [{"what": "cluster", "clip": os.path.basename(clip), "filter": PLAIN, "how": how, "seconds": []}
                for how in ("plain", "segments", "one node", "two nodes")]
        for _ in range(runs):
            for row in rows:
                shutil.rmtree(out, ignore_errors=True)
                how, count = row["how"], ("one node", "two nodes").index(row["how"]) + 1 if "node" in row["how"] else 0
                with nodes(ray, count, env) as address:
                    more = ["--cluster", address] if count else []
                    pinned = ["taskset", "-c", "0"] if count < 2 else []
                    command = [*pinned, *words, *([] if how == "plain" else cut), *more]
                    row["seconds"].append(round(expect(command, env), 1))
                if row["how"] != "plain":
                    with open(os.path.join(out, "summary.json"), encoding="utf-8") as file:
                        row["segments"] = next(iter(json.load(file)["inputs"].values()))["segments"]
                print("bench/run: " + json.dumps(row), flush=True)
    return rows
