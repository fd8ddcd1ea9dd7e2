"""Clips made by ffmpeg and read back by ffmpeg and ffprobe, which share no code with the plugin."""

import json
import os
import pathlib
import signal
import subprocess
import sys

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
# Shells start background jobs with Ctrl-C ignored, and what a test starts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
PATIENCE = float(os.environ.get("REGIONS_PATIENCE", "1"))  # more under sanitizers


def run(*command, status=0, **options):
    """Runs one of our scripts and returns what it printed; fails on another exit status."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          check=False, timeout=300 * PATIENCE, **options)
    if done.returncode != status:
        raise AssertionError(f"{command} ended with {done.returncode}, not {status}\n"
                             f"{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def script(name):
    return ROOT / "pipelines" / name


def tables(text):
    """The lines that `table` and --json write, each region as a dictionary."""
    rows = [json.loads(line) for line in text.splitlines()]
    for row in rows:
        columns = row.pop("columns")
        row["regions"] = [dict(zip(columns, region, strict=True)) for region in row["regions"]]
    return rows


def objects(*arguments, status=0, **options):
    return run(script("with-plugin"), sys.executable, script("objects.py"), *arguments,
               status=status, **options)


def make(path, source, *options):
    """A clip from one of ffmpeg's test sources."""
    run("ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", source, *options, path)
    return path


def turned(path, clip, degrees):
    """A copy of a clip that says that players are to turn it to the right."""
    newer = "-display_rotation" in run("ffmpeg", "-v", "quiet", "-h", "full")  # from version 6 on
    before, after = (("-display_rotation:v", -degrees), ()) if newer else (
        (), ("-metadata:s:v", f"rotate={degrees}"))
    run("ffmpeg", "-v", "error", "-y", *before, "-i", clip, "-c", "copy", *after, path)
    return path


def times(path):
    """The timestamps of all frames, in seconds, in the order they are shown."""
    text = run("ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries",
               "packet=pts_time", "-of", "default=nw=1:nk=1", path)
    return sorted(float(line) for line in text.split())


def stream(path, *names):
    text = run("ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries",
               "stream=" + ",".join(names), "-of", "default=nw=1", path)
    return dict(line.split("=", 1) for line in text.split())


def frames(path, pixels):
    """All frames as an array: [frame][row][column] for gray and gray16le, [...][channel] for rgb24."""
    size = stream(path, "width", "height")
    shape = (-1, int(size["height"]), int(size["width"])) + ((3,) if pixels == "rgb24" else ())
    raw = subprocess.run(["ffmpeg", "-v", "error", "-i", str(path), "-fps_mode", "passthrough", "-f",
                          "rawvideo", "-pix_fmt", pixels, "-"], capture_output=True, check=True).stdout
    return numpy.frombuffer(raw, numpy.uint16 if pixels == "gray16le" else numpy.uint8).reshape(shape)


def expect_tools():
    """Ends the test as skipped where an input or a reader is missing."""
    missing = [name for name in ("ffmpeg", "ffprobe")
               if not any(os.access(os.path.join(folder, name), os.X_OK)
                          for folder in os.environ["PATH"].split(":"))]
    if not CLIP.exists():
        missing.append(str(CLIP))
    if missing:
        print("missing: " + ", ".join(missing))
        sys.exit(SKIPPED)
