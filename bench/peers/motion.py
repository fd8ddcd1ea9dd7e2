#!/usr/bin/python3
"""CPU time and boxes of motion detection, of this plugin's elements and of OpenCV.

    bench/peers/motion.py [--build build] [--rounds 5] [--boxes] [--seeds 1,2] [--json bench/results/motion.json]

Prints one row per program: the milliseconds of CPU time (user and system, all threads of the process) for a 1080p
frame without decoding, and the ratio to OpenCV's time. Frames are decoded before. Our elements run in gst-launch-1.0;
its time for the same frames without them is subtracted. OpenCV uses one thread, and its thread's time counts. All take
turns, --rounds times; medians are used because other programs may run. The clip is people walking (vtest.avi of
Debian's opencv-doc) at 1920x1080.

--boxes also compares boxes with the truth, on clips composed with exact masks (composites.py) at 1920x1080. A box is
correct if its intersection over union with a true box is at least 0.5; pairs are one to one.

Needs python3-opencv, python3-gi, ffmpeg, GStreamer's base plugins, and half a gigabyte in the folder for temporary
files.
"""
import argparse
import itertools
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import cv2
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import composites
from boxes import Agreement, boxes_of_mask
from elements import Elements
import measure

WIDTH, HEIGHT = 1920, 1080
BYTES = WIDTH * HEIGHT * 3 // 2  # per frame in I420
SHORT, LONG = 40, 160  # frames of two runs; their difference excludes the start
FULL = "graphcutbg device=cpu output=none"
MOTION = ("graphcutbg device=cpu preset=motion ! cclabel device=cpu cpu-threads=1 source=mask track=true "
          "output=none attach-labels=never")
OURS = {"graphcutbg": FULL, "graphcutbg, one thread": FULL + " cpu-threads=1", "motion": MOTION}
BOX = "x", "y", "width", "height"
LEAST = 32 * 32  # minimum pixels of a box
FRAMES, FIRST = 120, 80  # of composed clips: all frames, and the first scored one


def make_clip(path):
    source = os.path.join(composites.DATA, "vtest.avi")
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", source, "-frames:v", str(LONG), "-vf",
                    f"scale={WIDTH}:{HEIGHT}:flags=bicubic,setsar=1", "-pix_fmt", "yuv420p", "-f",
                    "rawvideo", path], check=True)


def launched(clip, chain, frames, env):
    """CPU time in milliseconds of `frames` frames through the chain."""
    def spent():
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (used.ru_utime + used.ru_stime) * 1000
    begin = spent()
    line = (f"filesrc location={clip} blocksize={BYTES} ! rawvideoparse width={WIDTH} height={HEIGHT} "
            f"format=i420 framerate=10/1 ! {chain} ! fakesink sync=false num-buffers={frames}")
    subprocess.run(["gst-launch-1.0", "-q", *line.split()], check=True, env=env)
    return spent() - begin


def of_chain(clip, chain, env):
    """CPU time in milliseconds of one frame."""
    return (launched(clip, chain, LONG, env) - launched(clip, chain, SHORT, env)) / (LONG - SHORT)


class Difference:
    """Difference from a running mean, threshold, dilation and contours, on a scaled picture."""

    def __init__(self, scale, blur):
        self.scale, self.blur, self.mean = scale, (blur, blur), None

    def boxes(self, grey):
        small = cv2.resize(grey, None, fx=self.scale, fy=self.scale, interpolation=cv2.INTER_AREA)
        small = cv2.GaussianBlur(small, self.blur, 0)
        if self.mean is None:
            self.mean = small.astype(np.float32)
        moved = cv2.absdiff(small, cv2.convertScaleAbs(self.mean))
        cv2.accumulateWeighted(small, self.mean, 0.02)
        mask = cv2.dilate(cv2.threshold(moved, 25, 255, cv2.THRESH_BINARY)[1], None, iterations=2)
        found, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
        return [[int(round(v / self.scale)) for v in cv2.boundingRect(contour)] for contour in found]


class Subtractor:
    """A background subtractor of OpenCV at full size, and contours."""

    def __init__(self, subtractor):
        self.subtractor = subtractor

    def boxes(self, picture):
        mask = cv2.threshold(self.subtractor.apply(picture), 254, 255, cv2.THRESH_BINARY)[1]
        found, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
        return [cv2.boundingRect(contour) for contour in found]


# The first follows tutorials, which use a width of 500 pixels; the second uses the scale of preset=motion.
PEERS = {"absdiff, contours": lambda: Difference(500 / WIDTH, 21),
         "absdiff, contours at 0.1": lambda: Difference(0.1, 5),
         "MOG2": lambda: Subtractor(cv2.createBackgroundSubtractorMOG2()),
         "KNN": lambda: Subtractor(cv2.createBackgroundSubtractorKNN())}


def look(peer, name, picture):
    """The peer's boxes, and their CPU time in this thread in milliseconds."""
    if name.startswith("absdiff"):
        picture = cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY)  # the decoder's luma plane, which costs nothing
    begin = time.thread_time()
    boxes = peer.boxes(picture)
    return boxes, (time.thread_time() - begin) * 1000


def of_peer(clip, name):
    peer, times = PEERS[name](), []
    with open(clip, "rb") as frames:
        for i in range(LONG):
            planes = np.frombuffer(frames.read(BYTES), np.uint8).reshape(-1, WIDTH)
            took = look(peer, name, cv2.cvtColor(planes, cv2.COLOR_YUV2BGR_I420))[1]
            if i >= SHORT:
                times.append(took)
    return statistics.mean(times)


def times(options, env):
    with tempfile.TemporaryDirectory() as folder:
        clip = os.path.join(folder, "people.i420")
        make_clip(clip)
        found = {name: [] for name in options.by}
        for _ in range(options.rounds):
            decoding = of_chain(clip, "identity", env)
            for name, all_of in found.items():
                all_of.append(of_chain(clip, OURS[name], env) - decoding if name in OURS
                              else of_peer(clip, name))
    middle = {name: statistics.median(all_of) for name, all_of in found.items()}
    compared = {"graphcutbg": "MOG2", "graphcutbg, one thread": "MOG2", "motion": "absdiff, contours at 0.1"}
    for name, all_of in found.items():
        row = {"what": "motion", "by": name, "width": WIDTH, "height": HEIGHT,
               "cpu_ms": round(middle[name], 3), "least_cpu_ms": round(min(all_of), 3), "rounds": len(all_of)}
        if (peer := compared.get(name)) in middle:
            row |= {"peer": peer, "of_peer": round(middle[name] / middle[peer], 3)}
        yield row


# ---- boxes


def composed(seed, difficulty, recording):
    size = recording.background.shape[:2]
    for picture, mask in composites.clip(seed, difficulty, recording, size, FRAMES):
        yield (cv2.resize(picture, (WIDTH, HEIGHT), interpolation=cv2.INTER_LINEAR),
               cv2.resize(mask, (WIDTH, HEIGHT), interpolation=cv2.INTER_NEAREST))


def boxes(options):
    recording = composites.Recording.read()
    ways = {"motion": lambda: Elements(options.chain, (HEIGHT, WIDTH)), **PEERS}
    ways = {name: way for name, way in ways.items() if name in options.by}
    every = {name: {} for name in ways}
    for seed in options.seeds.split(","):
        for difficulty in composites.DIFFICULTIES:
            running = {name: make() for name, make in ways.items()}
            scored = {name: every[name].setdefault(difficulty, Agreement(LEAST)) for name in ways}
            for i, (picture, mask) in enumerate(composed(int(seed), difficulty, recording)):
                for name, way in running.items():
                    got = way.regions(picture, BOX) if name == "motion" else look(way, name, picture)[0]
                    if i >= FIRST:
                        scored[name].add(got, boxes_of_mask(mask))
            if "motion" in running:
                running["motion"].end()
    for name, kinds in every.items():
        figures = {kind: score.figures() for kind, score in kinds.items()}
        yield {"what": "boxes", "by": name, "width": WIDTH, "height": HEIGHT,
               "mean_f": round(statistics.mean(f["f"] for f in figures.values()), 4), "clips": figures}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--build", default=os.path.join(HERE, "../../build"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--boxes", action="store_true", help="also compare boxes with the truth")
    parser.add_argument("--chain", default=MOTION, help="chain of elements for --boxes")
    parser.add_argument("--by", action="append", choices=(*OURS, *PEERS), help="only these programs")
    parser.add_argument("--seeds", default="1,2", help="seeds of the composed clips")
    parser.add_argument("--json", metavar="FILE", help="write a record")
    options = parser.parse_args()
    options.by = options.by or [*OURS, *PEERS]
    cv2.setNumThreads(1)
    folder = os.path.abspath(options.build)
    env = os.environ
    env["GST_PLUGIN_PATH_1_0"] = os.path.join(folder, "plugin")
    env["GST_REGISTRY_1_0"] = os.path.join(folder, "bench-registry.bin")
    rows = itertools.chain(times(options, env), boxes(options) if options.boxes else ())
    measure.record_rows("motion", rows, options.json, cpu=measure.machine()["cpu"])


if __name__ == "__main__":
    main()
