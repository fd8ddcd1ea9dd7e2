#!/usr/bin/python3
"""Compares tracks of cclabel with the truth, and with SORT, ByteTrack, OC-SORT and C-BIoU on the same boxes.

    bench/peers/tracks.py [--build build] [--seeds 101,102,103] [--clip FILE --truth FILE] [--json bench/results/tracks.json]

Prints HOTA, IDF1, MOTA and switches (track_scores.py) for each clip and tracker. Clips are composed with exact truth
(track_scenes.py). --clip adds a video, whose truth has the format of MOTChallenge's gt.txt: OpenCV's vtest.avi is PETS
2009 S2.L1, view 1, and its truth is that of the sequence PETS09-S2L1 of MOTChallenge 2015. The video also gives
precision and recall of boxes: of tracks, of regions without tracks, and of the regions of background subtractors, each
with the mask filter that gives it the best F-measure.

--peers names a Python that has the packages `trackers` (2.6.1 was measured) and `trackeval` (for HOTA; 1.3.0). Without
it, other trackers and HOTA are left out. A missing package is named and skipped. Needs python3-opencv, python3-scipy,
python3-gi and GStreamer's base plugins.
"""
import argparse
import json
import os
import subprocess
import sys

import cv2

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import composites
import measure
import subtractors
import track_scenes
from elements import Elements
from track_scores import Count

MEMORY = 30  # frames
CHAIN = f"graphcutbg output=none ! cclabel source=mask track=true track-memory={MEMORY} output=none attach-labels=never"
TRACK = "track", "x", "y", "width", "height"
MEAN = "mean of the composed clips"
LEAST = 1 / 1000  # of the picture's pixels: smaller regions are not people, as in pipelines/objects.py


def elements(chain, device, size):
    chain = chain.replace("graphcutbg", f"graphcutbg device={device}").replace(
        "cclabel", f"cclabel device={device} min-area={int(LEAST * size[0] * size[1])}")
    return Elements(chain, size)


def truth_of(path, frames):
    """The truth in MOTChallenge's gt.txt. A line has: frame from 1, id, x, y, width, height, whether it counts, …"""
    truth = [[] for _ in range(frames)]
    with open(path, encoding="ascii") as file:
        for line in file:
            frame, name, *box, counts = (float(value) for value in line.split(",")[:7])
            if counts:
                truth[int(frame) - 1].append((int(name), *box))
    return truth


def pictures_of(path):
    clip = cv2.VideoCapture(path)
    while (read := clip.read())[0]:
        yield read[1]


def followed(pictures, options):
    """Tracks of all frames, and the boxes of the regions without tracks, which are the peers' input. Tracking changes
    the boxes of regions that several tracks share."""
    ways, frames = [], ([], [])
    for picture in pictures:
        if not ways:
            chains = [options.chain, options.chain.replace("track=true", "track=false")]
            ways = [elements(chain, options.device, picture.shape[:2]) for chain in chains]
        for way, found in zip(ways, frames):
            # Pieces of objects have track 0.
            found.append([box for box in way.regions(picture, TRACK) if box[0]])
    for way in ways:
        way.end()
    return frames


def clips(options):
    """Yields (kind, truth, tracks, boxes)."""
    recording = composites.Recording.read()
    for scene in track_scenes.EVERY if options.seeds else ():
        for seed in options.seeds.split(","):
            truth = []

            def pictures():
                for picture, boxes in track_scenes.clip(scene, int(seed), recording):
                    truth.append(boxes)
                    yield picture
            tracks, boxes = followed(pictures(), options)
            yield scene, truth, tracks, boxes
    if options.clip:
        tracks, boxes = followed(pictures_of(options.clip), options)
        yield os.path.basename(options.clip), truth_of(options.truth, len(tracks)), tracks, boxes


def numbered(boxes):
    return [(i, *box) for i, box in enumerate(boxes)]


def boxes_of_peer(pictures, make):
    """{mask filter: boxes of all frames}."""
    subtractor, found = make(), {}
    for picture in pictures:
        mask = subtractors.mask_of(subtractor.apply(picture))
        for name, clean in subtractors.filters():
            stats = cv2.connectedComponentsWithStats(clean(mask), connectivity=8)[2][1:]
            large = stats[stats[:, 4] >= int(LEAST * mask.size)]
            found.setdefault(name, []).append(numbered(large[:, :4].tolist()))
    return found


def boxes(options, truth, ours):
    """Rows on boxes in the video. `ours`: {way: frames of boxes}."""
    def row(name, clean, frames):
        count = Count()
        count.add_clip(truth, frames)
        figures = count.figures()
        return {"what": "boxes", "clip": os.path.basename(options.clip), "by": name, "cleaned": clean,
                "f": round(2 * count.matched / max(1, count.true + count.found), 4),
                "precision": figures["precision"], "recall": figures["recall"]}
    for name, frames in ours.items():
        yield row(name, "none", frames)
    for name, make in subtractors.present().items():
        rows = [row(name, clean, frames) for clean, frames in boxes_of_peer(pictures_of(options.clip), make).items()]
        yield max(rows, key=lambda row: row["f"])


def peers(python, command, **request):
    """The answer of track_peers.py."""
    done = subprocess.run([python, os.path.join(HERE, "track_peers.py"), command], input=json.dumps(request),
                          stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def rows_of_tracks(options, every, ways):
    """A row for each kind of clip and tracker."""
    for kind in dict.fromkeys(kind for kind, *_ in every):
        chosen = [i for i, (of_kind, *_) in enumerate(every) if of_kind == kind]
        hota = peers(options.peers, "hota", truths=[every[i][1] for i in chosen], tracks={
            name: [found[i] for i in chosen] for name, found in ways.items()}) if options.peers else {}
        for name, found in ways.items():
            count = Count()
            for i in chosen:
                count.add_clip(every[i][1], found[i])
            row = {"what": "tracks", "clip": kind, "by": name} | count.figures()
            yield row | ({"hota": hota[name]} if name in hota else {})


def rows_of_means(rows):
    """A row for each tracker: the means of its scores over the composed clips, and the sum of its switches."""
    composed = [row for row in rows if row["clip"] in track_scenes.EVERY]
    for name in dict.fromkeys(row["by"] for row in composed):
        own = [row for row in composed if row["by"] == name]
        means = {key: round(sum(row[key] for row in own) / len(own), 4) for key in own[0]
                 if isinstance(own[0][key], float)}
        yield {"what": "tracks", "clip": MEAN, "by": name, **means, "switches": sum(row["switches"] for row in own)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--build", default=os.path.join(HERE, "../../build"))
    parser.add_argument("--chain", default=CHAIN, help="chain of elements to measure")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--seeds", default="101,102,103", help="seeds of the composed clips; may be empty")
    parser.add_argument("--clip", metavar="FILE", help="a video to measure too")
    parser.add_argument("--truth", metavar="FILE", help="truth of the video, in the format of MOTChallenge's gt.txt")
    parser.add_argument("--peers", metavar="PYTHON", help="Python with the packages trackers and trackeval")
    parser.add_argument("--json", metavar="FILE", help="write a record")
    options = parser.parse_args()
    if bool(options.clip) != bool(options.truth):
        parser.error("--clip and --truth need each other: give both or neither")
    folder = os.path.abspath(options.build)
    os.environ["GST_PLUGIN_PATH_1_0"] = os.path.join(folder, "plugin")
    os.environ["GST_REGISTRY_1_0"] = os.path.join(folder, "bench-registry.bin")
    every = list(clips(options))
    ways = {"cclabel": [tracks for _, _, tracks, _ in every]}
    if options.peers:
        clips_of_boxes = [[[box[1:] for box in frame] for frame in boxes] for *_, boxes in every]
        ways |= peers(options.peers, "follow", memory=MEMORY, clips=clips_of_boxes)
    rows = list(rows_of_tracks(options, every, ways))
    rows = [*rows_of_means(rows), *rows]
    if options.clip:
        *_, (_, truth, tracks, regions) = every
        found = {"cclabel": tracks,
                 "cclabel without tracks": [numbered(box[1:] for box in frame) for frame in regions]}
        rows += [row | {"opencv": cv2.__version__} for row in boxes(options, truth, found)]
    measure.record_rows("tracks", rows, options.json)


if __name__ == "__main__":
    main()
