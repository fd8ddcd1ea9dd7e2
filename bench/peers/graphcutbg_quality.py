#!/usr/bin/env python3
"""Precision, recall and F-measure of graphcutbg's foreground and of other subtractors, computed as CDnet does. Also
specks (regions of up to 8 pixels per frame), boxes (of more than 8 pixels; correct from an intersection over union of
0.5) and the time of one core.

    bench/peers/graphcutbg_quality.py [FOLDER …] [--seeds 1,2,3,4,5] [--kinds KIND,…] [--set NAME=VALUE …]
            [--tool build/bench/programs/graphcutbg] [--json FILE] [--stills FOLDER]
            [--no-peers | [--peers NAME,…] [--peers-of FILE]]

FOLDER has CDnet's layout, see cdnet.py. Without one, clips are composed with exact masks. A KIND is a difficulty of
composites.py or a category of categories.py; `composites` (the default) and `categories` mean all of them. graphcutbg
has one setting for all clips. Its masks are shown without a filter and with the median, opening or closing that is best
for all clips. Each peer has the best filter for all clips and the best filter for each kind of clip. At the end, the
program prints the peers that are better than graphcutbg without a filter. Needs NumPy and Pillow. Peers, composites and
stills also need opencv-contrib-python-headless; SuBSENSE, PAWCS and PBAS need the package bgslibrary, built against OpenCV 4.
A missing subtractor is named and skipped.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
import cdnet
from cdnet import Counts

try:
    import cv2
    import categories
    import composites
    import subtractors
    from boxes import Agreement, boxes_of_mask
except ImportError:  # peers and composites need it
    cv2 = categories = composites = subtractors = None

SIZE, FRAMES, LAST = (240, 320), 220, (100, 220)  # of composites; LAST: the frames that are scored
SPECK = 8  # maximum pixels
OF_EACH = "the best for each"


def composed(seed, kind, recording):
    everything = np.full(SIZE, 255, np.uint8)
    if kind in categories.EVERY:
        first, last = categories.FIRST, categories.FRAMES
        clip = categories.clip(seed, kind, recording)
    else:
        first, last = composites.SCORED.get(kind, LAST)
        clip = composites.clip(seed, kind, recording, SIZE, FRAMES)
    for i, (picture, mask) in enumerate(clip):
        yield (picture, mask, everything) if first <= i < last else (picture, None, None)


class Scores:
    """The scores of one clip's masks, with each filter."""

    def __init__(self, cleans):
        self.ways = {label: (clean, Counts(), Agreement(SPECK + 1) if cv2 else None)
                     for label, clean in (subtractors.filters() if cleans else [("none", lambda mask: mask)])}
        self.specks = dict.fromkeys(self.ways, 0)
        self.frames = 0

    def add(self, mask, truth, scored):
        self.frames += 1
        true_boxes = boxes_of_mask(truth) if cv2 else []
        for label, (clean, counts, boxes) in self.ways.items():
            cleaned = clean(mask)
            counts.add(cleaned, truth, scored)
            if boxes is None:
                continue
            areas = cv2.connectedComponentsWithStats(cleaned & scored, connectivity=8)[2][1:, 4]
            self.specks[label] += int(np.count_nonzero(areas <= SPECK))
            boxes.add(boxes_of_mask(cleaned & scored), true_boxes)

    def figures(self, ms):
        found = {}
        for label, (_, counts, boxes) in self.ways.items():
            found[label] = counts.figures()
            if boxes is not None:
                found[label] |= {"specks": round(self.specks[label] / max(1, self.frames), 3),
                                 "boxes": boxes.figures()["f"], "ms": round(ms, 3)}
        return found


RECORDING = None  # read once per process


def frames_of(name):
    global RECORDING
    if os.path.isdir(name):
        return list(cdnet.frames(name))
    if RECORDING is None:
        RECORDING = composites.Recording.read()
    seed, kind = name.split("/")
    return list(composed(int(seed), kind, RECORDING))


def kinds_of(names):
    """The kinds of clips that the option --kinds names."""
    groups = {"composites": composites.EVERY, "categories": categories.EVERY}
    kinds = [kind for name in names.split(",") for kind in groups.get(name, (name,))]
    for kind in kinds:
        if kind not in composites.EVERY and kind not in categories.EVERY:
            sys.exit(f"graphcutbg_quality.py: unknown kind {kind}; expected composites, categories, or one of "
                     f"{', '.join((*composites.EVERY, *categories.EVERY))}")
    return kinds


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def score(task):
    """The figures of graphcutbg and of each peer on one clip, with each filter."""
    name, tool, settings, stills, peers, cleans = task
    frames = frames_of(name)
    before = cpu_of_children()
    height, width = frames[0][0].shape[:2]
    run = subprocess.run([tool, f"{width}x{height}", "--threads", "1", *(w for s in settings for w in ("--set", s))],
                         input=b"".join(picture.tobytes() for picture, _, _ in frames),
                         capture_output=True, check=True)
    masks = np.frombuffer(run.stdout, np.uint8).reshape(-1, height, width)
    if len(masks) != len(frames):
        raise SystemExit(f"{name}: {tool} gave {len(masks)} masks for {len(frames)} frames")
    ours = Scores(cleans)
    for mask, (_, truth, scored) in zip(masks, frames):
        if truth is not None:
            ours.add(mask, truth, scored)
    figures = {"graphcutbg": ours.figures((cpu_of_children() - before) * 1e3 / len(frames))}
    last = max(i for i, (_, truth, _) in enumerate(frames) if truth is not None)  # shown in stills
    shown = [masks[last]]
    for peer in peers:
        cv2.setNumThreads(1)
        subtractor = subtractors.EVERY[peer]()
        scores, spent = Scores(cleans), 0
        for i, (picture, truth, scored) in enumerate(frames):
            begin = time.thread_time()
            found = subtractor.apply(picture)
            spent += time.thread_time() - begin
            mask = subtractors.mask_of(found)
            if truth is not None:
                scores.add(mask, truth, scored)
            if i == last:
                shown.append(cv2.medianBlur(mask, 5))
        figures[peer] = scores.figures(spent * 1e3 / len(frames))
    if stills:
        row = [frames[last][0]] + [cv2.cvtColor(mask, cv2.COLOR_GRAY2BGR)
                                   for mask in (frames[last][1], *shown)]
        cv2.imwrite(os.path.join(stills, name.replace("/", "_") + ".jpg"), np.hstack(row))
    return name, figures


def mean_of(results, who, label, name):
    """The means of each kind of clip, and the mean of all clips."""
    kinds = {}
    for clip, figures in results.items():
        kinds.setdefault(clip.split("/")[-1], []).append(figures[who][label][name])
    every = [value for values in kinds.values() for value in values]
    return {kind: round(float(np.mean(values)), 4) for kind, values in kinds.items()}, round(float(np.mean(every)), 4)


def best_of_each(results, who, ways):
    """A peer's figures with the best filter for each kind of clip."""
    f = {}
    for label in ways:
        for kind, value in mean_of(results, who, label, "f")[0].items():
            f[kind] = max(f.get(kind, 0), value)
    return {"who": who, "filter": OF_EACH, "mean_f": round(float(np.mean(list(f.values()))), 4), "f": f}


def summary(results):
    """Mean figures: of graphcutbg without a filter, and of each subtractor with its best filter."""
    lines = []
    for who, ways in next(iter(results.values())).items():
        best = max(ways, key=lambda label, who=who: mean_of(results, who, label, "f")[1])
        for label in dict.fromkeys(["none", best] if who == "graphcutbg" else [best]):
            f, mean = mean_of(results, who, label, "f")
            line = {"who": who, "filter": label, "mean_f": mean,
                    "mean_f_raw": mean_of(results, who, "none", "f")[1], "f": f}
            for name in ("specks", "boxes", "ms") if "ms" in ways[label] else ():
                line |= dict(zip((name, "mean_" + name), mean_of(results, who, label, name)))
            lines.append(line)
        if who != "graphcutbg":
            lines.append(best_of_each(results, who, ways))
    return lines


def peers_to_run(options):
    """The names of the subtractors that this run needs."""
    if options.no_peers or (options.peers_of and not options.peers):
        return ()
    installed = list(subtractors.present())
    names = options.peers.split(",") if options.peers else installed
    if unknown := [name for name in names if name not in installed]:
        sys.exit(f"graphcutbg_quality.py: --peers {','.join(unknown)}: not installed; expected some of {', '.join(installed)}")
    return names


def write(options, results, lines):
    """Writes the record. Of each clip it has the figures that the summary uses, on one line."""
    ways = [(line["who"], line["filter"]) for line in lines if line["filter"] != OF_EACH]
    clips = {name: {} for name in results}
    for who, label in ways:
        for name, figures in results.items():
            clips[name].setdefault(who, {})[label] = figures[who][label]
    record = {"opencv": cv2.__version__ if cv2 else None, "settings": options.set, "summary": lines}
    head = json.dumps(record, indent=1).rstrip().removesuffix("}").rstrip()
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(clip)}" for name, clip in clips.items())
    with open(options.json, "w", encoding="utf-8") as file:
        file.write(head + ',\n "clips": {\n' + rows + "\n }\n}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("folders", nargs="*", metavar="FOLDER")
    parser.add_argument("--seeds", default="1,2,3,4,5")
    parser.add_argument("--kinds", default="composites", metavar="KIND,…", help="kinds of composed clips")
    parser.add_argument("--tool", default=os.path.join(HERE, "../../build/bench/programs/graphcutbg"))
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--stills", metavar="FOLDER")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--peers", metavar="NAME,…", help="run only these peers (default: all that are installed)")
    parser.add_argument("--peers-of", metavar="FILE",
                        help="take the figures of all peers that --peers does not name from this record of the same clips")
    options = parser.parse_args()
    if cv2 is None and not (options.folders and options.no_peers and not options.stills):
        sys.exit("graphcutbg_quality.py: cv2 is not installed; only FOLDER … --no-peers works without it")
    names = options.folders or [f"{seed}/{kind}" for seed in options.seeds.split(",")
                                for kind in kinds_of(options.kinds)]
    runs_peers = peers_to_run(options)
    tasks = [(name, options.tool, options.set, options.stills, runs_peers, not options.no_peers)
             for name in names]
    results = {}
    with ProcessPoolExecutor(min(len(tasks), os.cpu_count() or 1)) as pool:
        for name, figures in pool.map(score, tasks):
            results[name] = figures
            ours = figures["graphcutbg"]["none"]
            print(f"{name}: graphcutbg F {ours['f']:.4f}, P {ours['precision']:.4f}, R "
                  f"{ours['recall']:.4f}", flush=True)
    lines = summary(results)
    if options.peers_of:
        with open(options.peers_of, encoding="utf-8") as file:
            recorded = json.load(file)
        if recorded["clips"].keys() != results.keys():
            sys.exit(f"graphcutbg_quality.py: {options.peers_of} has other clips: {len(recorded['clips'])} in the "
                     f"record, {len(results)} here")
        lines += [line for line in recorded["summary"] if line["who"] not in ("graphcutbg", *runs_peers)]
        results = {name: recorded["clips"][name] | figures for name, figures in results.items()}
    for line in lines:
        print(json.dumps(line))
    if options.json:
        write(options, results, lines)
    ours, *peers = [line for line in lines if line["who"] != "graphcutbg" or line["filter"] == "none"]
    behind = [f"{kind}: {peer['who']} {peer['f'][kind]}, graphcutbg {f}" for peer in peers
              for kind, f in ours["f"].items() if peer["f"][kind] > f]
    if behind:
        print("peers that are better: " + "; ".join(behind))


if __name__ == "__main__":
    main()
