#!/usr/bin/env python3
"""Precision, recall and F-measure of the foreground, in CDnet's way, beside OpenCV's subtractors.

    bench/peers/graphcutbg_quality.py [FOLDER …] [--seeds 1,2,3,4,5] [--set NAME=VALUE …]
            [--tool build/bench/programs/graphcutbg] [--json FILE] [--stills FOLDER] [--no-peers]

FOLDER is in CDnet's layout, see cdnet.py. Without one, clips are composed with exact masks, see
composites.py. Ours runs with one setting for all; each peer gets the one median, opening or closing
that is best for it over all clips. Needs numpy and pillow; opencv-contrib-python-headless too for
peers, composites and stills.
"""
import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
import cdnet
from cdnet import Counts

try:
    import cv2
    import composites
except ImportError:  # it makes the peers and the composites
    cv2 = composites = None

SIZE, FRAMES, FIRST = (240, 320), 220, 100  # of composites; frames before FIRST are not scored
PEERS = {"MOG2": lambda: cv2.createBackgroundSubtractorMOG2(),
         "KNN": lambda: cv2.createBackgroundSubtractorKNN(),
         "GSOC": lambda: cv2.bgsegm.createBackgroundSubtractorGSOC()}


def filters():
    """What a peer's mask may be cleaned with."""
    yield "none", lambda mask: mask
    for k in (3, 5, 7, 9):
        yield f"median {k}", lambda mask, k=k: cv2.medianBlur(mask, k)
    for k in (3, 5, 7):
        disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (k, k))
        for name, kind in (("opening", cv2.MORPH_OPEN), ("closing", cv2.MORPH_CLOSE)):
            yield f"{name} {k}", lambda mask, d=disc, o=kind: cv2.morphologyEx(mask, o, d)


def composed(seed, difficulty, recording):
    everything = np.full(SIZE, 255, np.uint8)
    for i, (picture, mask) in enumerate(composites.clip(seed, difficulty, recording, SIZE, FRAMES)):
        yield (picture, mask, everything) if i >= FIRST else (picture, None, None)


RECORDING = None  # read once a process


def frames_of(name):
    global RECORDING
    if os.path.isdir(name):
        return list(cdnet.frames(name))
    if RECORDING is None:
        RECORDING = composites.Recording.read()
    seed, difficulty = name.split("/")
    return list(composed(int(seed), difficulty, RECORDING))


def score(task):
    """Figures of ours and of every peer with every filter on one clip."""
    name, tool, settings, stills, peers = task
    frames = frames_of(name)
    height, width = frames[0][0].shape[:2]
    run = subprocess.run([tool, f"{width}x{height}", "--threads", "1", *(w for s in settings for w in ("--set", s))],
                         input=b"".join(picture.tobytes() for picture, _, _ in frames),
                         capture_output=True, check=True)
    masks = np.frombuffer(run.stdout, np.uint8).reshape(-1, height, width)
    if len(masks) != len(frames):
        raise SystemExit(f"{name}: {len(masks)} masks of {len(frames)} frames")
    figures = {}
    ours = Counts()
    for mask, (_, truth, scored) in zip(masks, frames):
        if truth is not None:
            ours.add(mask, truth, scored)
    figures["graphcutbg"] = {"none": ours.figures()}
    shown = [masks[-1]]
    for peer, make in PEERS.items() if peers else ():
        cv2.setNumThreads(1)
        subtractor = make()
        counts = {label: Counts() for label, _ in filters()}
        for picture, truth, scored in frames:
            mask = np.where(subtractor.apply(picture) == 255, 255, 0).astype(np.uint8)
            if truth is None:
                continue
            for label, clean in filters():
                counts[label].add(clean(mask), truth, scored)
        figures[peer] = {label: count.figures() for label, count in counts.items()}
        shown.append(cv2.medianBlur(mask, 5))
    if stills:
        row = [frames[-1][0]] + [cv2.cvtColor(mask, cv2.COLOR_GRAY2BGR)
                                 for mask in (frames[-1][1], *shown)]
        cv2.imwrite(os.path.join(stills, name.replace("/", "_") + ".jpg"), np.hstack(row))
    return name, figures


def summary(results):
    """Mean figures of each, peers with the filter that is best for them."""
    lines = []
    for who in next(iter(results.values())):
        labels = next(iter(results.values()))[who]
        means = {label: float(np.mean([clip[who][label]["f"] for clip in results.values()]))
                 for label in labels}
        best = max(means, key=means.get)
        kinds = {}
        for name, clip in results.items():
            kind = name.split("/")[-1]
            kinds.setdefault(kind, []).append(clip[who][best]["f"])
        lines.append({"who": who, "filter": best, "mean_f": round(means[best], 4),
                      "mean_f_raw": round(means["none"], 4),
                      "f": {kind: round(float(np.mean(f)), 4) for kind, f in kinds.items()}})
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folders", nargs="*", metavar="FOLDER")
    parser.add_argument("--seeds", default="1,2,3,4,5")
    parser.add_argument("--tool", default=os.path.join(HERE, "../../build/bench/programs/graphcutbg"))
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--stills", metavar="FOLDER")
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args()
    if cv2 is None and not (options.folders and options.no_peers and not options.stills):
        sys.exit("graphcutbg_quality.py: needs cv2, but for FOLDER … --no-peers")
    names = options.folders or [f"{seed}/{difficulty}" for seed in options.seeds.split(",")
                                for difficulty in composites.DIFFICULTIES]
    tasks = [(name, options.tool, options.set, options.stills, not options.no_peers)
             for name in names]
    results = {}
    with ProcessPoolExecutor(min(len(tasks), os.cpu_count() or 1)) as pool:
        for name, figures in pool.map(score, tasks):
            results[name] = figures
            ours = figures["graphcutbg"]["none"]
            print(f"{name}: graphcutbg F {ours['f']:.4f}, P {ours['precision']:.4f}, R "
                  f"{ours['recall']:.4f}", flush=True)
    lines = summary(results)
    for line in lines:
        print(json.dumps(line))
    if options.json:
        record = {"opencv": cv2.__version__ if cv2 else None, "settings": options.set, "summary": lines,
                  "clips": results}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(record, file, indent=1)
            file.write("\n")
    ours, *peers = lines
    if any(peer["mean_f"] >= ours["mean_f"] for peer in peers):
        sys.exit("graphcutbg is not the best")


if __name__ == "__main__":
    main()
