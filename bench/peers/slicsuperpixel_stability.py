#!/usr/bin/env python3
"""Stability and quality of superpixels in video, with warm starts and with cold starts.

    bench/peers/slicsuperpixel_stability.py FOLDER [--every N] [--count 500] [--frames 8]
            [--clip FILE] [--build build] [--device cpu|cuda] [--json]

FOLDER is the same as for slicsuperpixel_quality.py. A window moves over each image by a whole number of pixels per
frame, with new noise (sigma 2) in every frame, so that the true motion is known.

kept: share of pixels with the same track as the same pixel of the scene in the previous frame, in the part that both
frames show. UE and EV are defined in slicsuperpixel_quality.py and use the same frames.

warm: warm-start=true, with the element's tracks. cold: each frame separately. A superpixel then takes the track of the
previous superpixel with which it shares most pixels, if the reverse is also true; a user without tracks would do the
same. grid: fixed cells of equal size, which ignore the picture. A useful method must have clearly better UE and EV.

--clip adds frames of a video from a still camera (FILE; OpenCV's vtest.avi). There, `kept` compares pixels at the same
position, and UE is missing because the video has no ground truth.
"""
import argparse
import json
import os
import subprocess
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
import slicsuperpixel_quality as quality

WINDOW = (400, 260)  # fits 8 frames of the fastest motion in an image of 481x321
MOTIONS = ((0, 0), (1, 1), (3, 2), (6, 4))  # pixels per frame
METHODS = [("cold, 10 iterations", False, 10), ("cold, 3 iterations", False, 3),
           ("warm, 1 iteration", True, 1), ("warm, 3 iterations", True, 3)]


def label_frames(options, frames, warm, iterations):
    height, width = frames[0].shape[:2]
    command = [os.path.join(options.build, "bench", "programs", "slicsuperpixel"),
               f"{width}x{height}", *(["--cuda"] if options.device == "cuda" else []), "--tracks",
               "--set", f"superpixels={options.count}", "--set", f"iterations={iterations}",
               "--set", f"warm-start={str(warm).lower()}"]
    run = subprocess.run(command, input=b"".join(f.tobytes() for f in frames), check=True,
                         stdout=subprocess.PIPE)
    labels = np.frombuffer(run.stdout, np.uint32).reshape(-1, height, width).astype(np.int64)
    if len(labels) != len(frames):
        sys.exit(f"slicsuperpixel_stability.py: slicsuperpixel gave labels for {len(labels)} of {len(frames)} frames")
    return list(labels)


def matched(frames):
    """Tracks for frames that were labelled separately."""
    fresh = 0
    tracks = []
    for labels in frames:
        names, own = np.unique(labels, return_inverse=True)
        own = own.reshape(labels.shape)
        given = np.arange(fresh, fresh + len(names))
        fresh += len(names)
        if tracks:
            before, last = np.unique(tracks[-1], return_inverse=True)
            shared = np.bincount(own.ravel() * len(before) + last.ravel(),
                                 minlength=len(names) * len(before))
            shared = shared.reshape(len(names), len(before))
            best, back = shared.argmax(axis=1), shared.argmax(axis=0)
            mutual = back[best] == np.arange(len(names))
            given[mutual] = before[best[mutual]]
        tracks.append(given[own])
    return tracks


def grid_tracks(options, frames):
    height, width = frames[0].shape[:2]
    side = (height * width / options.count) ** 0.5
    columns = max(1, round(width / side))
    rows = max(1, round(height / side))
    y = np.arange(height)[:, None] * rows // height
    x = np.arange(width)[None, :] * columns // width
    return [y * columns + x] * len(frames)


def kept(tracks, motion):
    dx, dy = motion
    height, width = tracks[0].shape
    shares = [(now[:height - dy, :width - dx] == before[dy:, dx:]).mean()
              for before, now in zip(tracks, tracks[1:])]
    return float(np.mean(shares))


def dense(tracks):
    return np.unique(tracks, return_inverse=True)[1].reshape(tracks.shape)


def pan(image, truths, motion, frames, random):
    width, height = WINDOW
    pictures, shown = [], []
    for i in range(frames):
        x, y = motion[0] * i, motion[1] * i
        window = image[y:y + height, x:x + width].astype(float)
        noisy = window + random.normal(0, 2, window.shape)
        pictures.append(np.clip(np.rint(noisy), 0, 255).astype(np.uint8))
        shown.append([t[y:y + height, x:x + width] for t in truths])
    return pictures, shown


def tracks_of(options, pictures):
    """{method: tracks of the frames}."""
    found = {}
    for name, warm, iterations in METHODS:
        frames = label_frames(options, pictures, warm, iterations)
        found[name] = frames if warm else matched(frames)
    found["grid"] = grid_tracks(options, pictures)
    return found


def measure(options, pictures, truths, motion):
    """{method: (kept, UE, EV, superpixels)}; UE is None without truths."""
    rows = {}
    for name, tracks in tracks_of(options, pictures).items():
        looked_at = range(0, len(pictures), max(1, len(pictures) // 4))
        values = [quality.scores(pictures[i], truths[i] if truths else [dense(tracks[i])],
                                 dense(tracks[i])) for i in looked_at]
        counts = [len(np.unique(tracks[i])) for i in looked_at]
        error, variation = np.mean([v[1] for v in values]), np.mean([v[3] for v in values])
        rows[name] = (kept(tracks, motion), error if truths else float("nan"), variation,
                      np.mean(counts))
    return rows


def print_rows(options, scene, motion, rows, images):
    for name, (share, error, variation, count) in rows.items():
        if options.json:
            row = {"what": "stability", "by": name, "scene": scene, "motion": list(motion),
                   "images": images, "superpixels": round(float(count), 1),
                   "kept": round(share, 4), "ev": round(float(variation), 4)}
            if not np.isnan(error):
                row["ue"] = round(float(error), 4)
            print(json.dumps(row))
        else:
            shown = "-" if np.isnan(error) else f"{error:.4f}"
            print(f"| {scene} {motion[0]},{motion[1]} | {name} | {count:.0f} | {share:.4f} | {shown} "
                  f"| {variation:.4f} |")
        sys.stdout.flush()


def decode(path, frames):
    """The first frames, RGB."""
    probe = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries",
                            "stream=width,height", "-of", "csv=p=0", path], check=True,
                           stdout=subprocess.PIPE, text=True).stdout
    width, height = map(int, probe.strip().split(",")[:2])
    raw = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-frames:v", str(frames),
                          "-pix_fmt", "rgb24", "-f", "rawvideo", "-"], check=True,
                         stdout=subprocess.PIPE).stdout
    return list(np.frombuffer(raw, np.uint8).reshape(-1, height, width, 3))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("folder")
    parser.add_argument("--every", type=int, default=10, help="use every Nth image (default: 10)")
    parser.add_argument("--count", type=int, default=500, help="number of superpixels to request")
    parser.add_argument("--frames", type=int, default=8)
    parser.add_argument("--clip", help="video from a still camera")
    parser.add_argument("--clip-frames", type=int, default=40)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build"))
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")
    options = parser.parse_args()
    reach = (WINDOW[0] + 6 * (options.frames - 1), WINDOW[1] + 4 * (options.frames - 1))
    data = [(image, truths) for image, truths in quality.load(options.folder, options.every)
            if image.shape[1] >= reach[0] and image.shape[0] >= reach[1]]
    if not data:
        sys.exit(f"slicsuperpixel_stability.py: no image in the folder is as large as {reach[0]}x{reach[1]}")
    if not options.json:
        print(f"{len(data)} images of {options.folder}, windows of {WINDOW[0]}x{WINDOW[1]}\n")
        print("| scene, motion | method | K | kept | UE | EV |\n|---|---|---|---|---|---|")
    for motion in MOTIONS:
        random = np.random.default_rng(1)
        sums = {}
        for image, truths in data:
            pictures, shown = pan(image, truths, motion, options.frames, random)
            for name, row in measure(options, pictures, shown, motion).items():
                sums.setdefault(name, []).append(row)
        print_rows(options, "panned", motion,
                   {name: tuple(np.mean(rows, axis=0)) for name, rows in sums.items()}, len(data))
    if options.clip:
        frames = decode(options.clip, options.clip_frames)
        print_rows(options, os.path.basename(options.clip), (0, 0),
                   measure(options, frames, None, (0, 0)), 1)


if __name__ == "__main__":
    main()
