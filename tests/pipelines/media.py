"""Clips made by ffmpeg, and readers of files by ffmpeg and ffprobe. They share no code with the product."""

import fractions
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

SKIPPED = 77
try:
    import numpy
    import scipy  # noqa: F401  (the tests use it)
except ImportError as missing:
    print(missing)
    sys.exit(SKIPPED)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLES = pathlib.Path("/usr/share/doc/opencv-doc/examples/data")
CLIP = EXAMPLES / "vtest.avi"
# Shells start background jobs with Ctrl-C ignored, and processes of a test would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
PATIENCE = float(os.environ.get("REGIONS_PATIENCE", "1"))  # more under sanitizers
# Clips of all test programs of a build. Each is made once, by the program that needs it first.
PLUGIN = pathlib.Path(os.environ.get("GST_PLUGIN_PATH_1_0", f"{ROOT}/build/plugin").split(":")[0])
CACHE = PLUGIN.parent / "media"
COLORS = ("color_range", "color_space", "color_transfer", "color_primaries")


def run(*command, status=0, **options):
    """Runs a program and returns its standard output and error. Fails on another exit status."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          check=False, timeout=300 * PATIENCE, **options)
    if done.returncode != status:
        raise AssertionError(f"{command} ended with {done.returncode}, not {status}\n"
                             f"{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def script(name):
    return ROOT / "pipelines" / name


def objects(*arguments, status=0, **options):
    """Runs the quickstart's job without building first."""
    return run(script("with-plugin"), sys.executable, script("objects.py"), *arguments,
               status=status, **options)


def tables(text):
    """The lines that `table` and --json write, each region as a dictionary."""
    rows = [json.loads(line) for line in text.splitlines()]
    for row in rows:
        columns = row.pop("columns")
        row["regions"] = [dict(zip(columns, region, strict=True)) for region in row["regions"]]
    return rows


def make(path, source, *options):
    """Makes a clip from one of ffmpeg's test sources. The same command makes a copy of the first clip. Commands that name
    further files are not cached."""
    path, words = pathlib.Path(path), [str(word) for word in options]
    if any(word.startswith("/") for word in words):
        run("ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", source, *words, path)
        return path
    tool = os.stat(shutil.which("ffmpeg"))
    key = hashlib.sha256(json.dumps([tool.st_mtime_ns, tool.st_size, source, *words]).encode()).hexdigest()[:32]
    kept = CACHE / (key + path.suffix)
    if not kept.exists():
        CACHE.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            made = pathlib.Path(folder, "made" + path.suffix)
            run("ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", source, *words, made)
            made.rename(kept)
    shutil.copyfile(kept, path)
    return path


def turned(path, clip, degrees):
    """A copy of a clip that players turn to the right."""
    newer = "-display_rotation" in run("ffmpeg", "-v", "quiet", "-h", "full")  # from version 6 on
    before, after = (("-display_rotation:v", -degrees), ()) if newer else (
        (), ("-metadata:s:v", f"rotate={-degrees % 360}"))
    run("ffmpeg", "-v", "error", "-y", *before, "-i", clip, "-c", "copy", *after, path)
    return path


def probe(path, entries, *options):
    """The entries of a file as ffprobe prints them as JSON."""
    return json.loads(run("ffprobe", "-v", "error", *options, "-show_entries", entries, "-of", "json", path))


def times(path):
    """The timestamps of all frames, in seconds, in the order they are shown."""
    text = run("ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries",
               "packet=pts_time", "-of", "default=nw=1:nk=1", path)
    return sorted(float(line) for line in text.split())


def stream(path, *names):
    """Properties of the first video stream as texts."""
    text = run("ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries",
               "stream=" + ",".join(names), "-of", "default=nw=1", path)
    return dict(line.split("=", 1) for line in text.split())


def first_frame(path, *names):
    """Properties of the first frame."""
    found = probe(path, "frame=" + ",".join(names), "-select_streams", "v:0", "-read_intervals", "%+#1")["frames"][0]
    return {name: found.get(name, "unknown") for name in names}


def frames(path, pixels):
    """All frames as an array: [frame][row][column] for gray and gray16le, [...][channel] for rgb24. Display matrices are
    ignored."""
    size = stream(path, "width", "height")
    shape = (-1, int(size["height"]), int(size["width"])) + ((3,) if pixels == "rgb24" else ())
    return numpy.frombuffer(decoded(path, pixels, "-fps_mode", "passthrough"),
                            numpy.uint16 if pixels == "gray16le" else numpy.uint8).reshape(shape)


def decoded(path, pixels, *options):
    """The bytes of all frames as ffmpeg shows them, upright, in a pixel format."""
    return subprocess.run(["ffmpeg", "-v", "error", "-i", str(path), *options, "-f", "rawvideo", "-pix_fmt", pixels, "-"],
                          capture_output=True, check=True).stdout


def rgb(path, *options):
    """The samples of all frames as ffmpeg shows them, upright, as RGB."""
    return numpy.frombuffer(decoded(path, "rgb24", *options, "-fps_mode", "passthrough"), numpy.uint8)


def pictures(path):
    """Checksums and times of the decoded frames of all videos."""
    return run("ffmpeg", "-v", "error", "-i", path, "-map", "0:v", "-fps_mode", "passthrough", "-copyts", "-f",
               "framemd5", "-")


def sound_sum(path):
    """The checksum of all sound packets as they are in the file."""
    return run("ffmpeg", "-v", "error", "-i", path, "-map", "0:a", "-c", "copy", "-f", "md5", "-")


def sound_times(path):
    text = run("ffprobe", "-v", "error", "-select_streams", "a:0", "-show_entries",
               "packet=pts_time", "-of", "default=nw=1:nk=1", path)
    return [float(line) for line in text.split()]


def light(path):
    """The HDR side data of the first frame and of the stream, by kind."""
    found = json.loads(run("ffprobe", "-v", "error", "-select_streams", "v:0", "-read_intervals", "%+#1", "-show_frames",
                           "-show_streams", "-of", "json", path))
    stated = [data for holder in (found["frames"], found["streams"]) for data in holder[0].get("side_data_list", [])]
    return {data["side_data_type"]: {name: float(fractions.Fraction(value)) for name, value in data.items()
                                     if name != "side_data_type"}
            for data in stated if "light" in data["side_data_type"] or "display metadata" in data["side_data_type"]}


def cut(path, clip, part):
    """The first `part` (0 to 1) of a file's bytes."""
    data = pathlib.Path(clip).read_bytes()
    path.write_bytes(data[:int(len(data) * part)])
    return path


def cut_start(path, clip, part):
    """The packets of an MPEG-TS after the first `part` (0 to 1) of its bytes."""
    data = pathlib.Path(clip).read_bytes()
    path.write_bytes(data[int(len(data) * part) // 188 * 188:])
    return path


def expect_tools():
    """Ends the program as skipped if a tool or an example is missing."""
    missing = [name for name in ("ffmpeg", "ffprobe") if not shutil.which(name)]
    if not CLIP.exists():
        missing.append(str(CLIP))
    if missing:
        print("missing: " + ", ".join(missing))
        sys.exit(SKIPPED)
