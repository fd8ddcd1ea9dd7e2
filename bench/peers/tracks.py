#!/usr/bin/python3
"""How well tracks of cclabel agree with the truth, beside SORT and ByteTrack on the same boxes.

    bench/peers/tracks.py [--build build] [--seeds 1,2,3] [--clip FILE --truth FILE] [--json bench/results/tracks.json]

Prints IDF1, MOTA and switches (track_scores.py) a clip and way. Clips are composed with exact truth
(track_scenes.py); with --clip also a video, whose truth is a file as MOTChallenge's gt.txt: OpenCV's vtest.avi
is PETS 2009 S2.L1, view 1, and its truth is that of the sequence PETS09-S2L1 of MOTChallenge 2015. Of the
video also precision and recall of boxes: of tracks, of regions without them, and of the regions of OpenCV's
subtractors, each with the clean-up that makes most boxes right (the F-measure).

--peers names a Python that has the package `trackers` (2.6.1 was measured); without, the peers are left out.
Needs python3-opencv, python3-scipy, python3-gi and GStreamer's base plugins.
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
LEAST = 1 / 1000  # of the picture's pixels: smaller regions are no people, as in pipelines/objects.py


def elements(chain, device, size):
    chain = chain.replace("graphcutbg", f"graphcutbg device={device}").replace(
        "cclabel", f"cclabel device={device} min-area={int(LEAST * size[0] * size[1])}")
    return Elements(chain, size)


def truth_of(path, frames):
    """Of a file as MOTChallenge's gt.txt: frame from 1, id, x, y, width, height, whether it counts, …"""
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
    """Tracks of all frames, and for the peers the regions' boxes, which tracking changes where several tracks
    share a region."""
    ways, frames = [], ([], [])
    for picture in pictures:
        if not ways:
            chains = [options.chain, options.chain.replace("track=true", "track=false")]
            ways = [elements(chain, options.device, picture.shape[:2]) for chain in chains]
        for way, found in zip(ways, frames):
            found.append(way.regions(picture, TRACK))
    for way in ways:
        way.end()
    return frames


def clips(options):
    """Yields (kind, truth, tracks, boxes)."""
    recording = composites.Recording.read()
    for scene in track_scenes.SCENES if options.seeds else ():
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
    """Of all frames, by the name of the clean-up."""
    subtractor, found = make(), {}
    for picture in pictures:
        mask = subtractors.mask_of(subtractor.apply(picture))
        for name, clean in subtractors.filters():
            stats = cv2.connectedComponentsWithStats(clean(mask), connectivity=8)[2][1:]
            large = stats[stats[:, 4] >= int(LEAST * mask.size)]
            found.setdefault(name, []).append(numbered(large[:, :4].tolist()))
    return found


def boxes(options, truth, ours):
    """Rows on boxes in the video. `ours`: frames of boxes, by the way they were found."""
    def row(name, clean, frames):
        count = Count()
        count.add_clip(truth, frames)
        figures = count.figures()
        return {"what": "boxes", "clip": os.path.basename(options.clip), "by": name, "cleaned": clean,
                "f": round(2 * count.matched / max(1, count.true + count.found), 4),
                "precision": figures["precision"], "recall": figures["recall"]}
    for name, frames in ours.items():
        yield row(name, "none", frames)
    for name, make in subtractors.EVERY.items():
        rows = [row(name, clean, frames) for clean, frames in boxes_of_peer(pictures_of(options.clip), make).items()]
        yield max(rows, key=lambda row: row["f"])


def peers(python, boxes):
    said = subprocess.run([python, os.path.join(HERE, "track_peers.py")], input=json.dumps([MEMORY, boxes]),
                          stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(said.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", default=os.path.join(HERE, "../../build"))
    parser.add_argument("--chain", default=CHAIN, help="elements in place of ours")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--seeds", default="1,2,3", help="of composed clips; may be empty")
    parser.add_argument("--clip", metavar="FILE", help="also this video")
    parser.add_argument("--truth", metavar="FILE", help="of the video, as MOTChallenge's gt.txt")
    parser.add_argument("--peers", metavar="PYTHON", help="also SORT and ByteTrack, by this Python")
    parser.add_argument("--json", metavar="FILE", help="writes a record")
    options = parser.parse_args()
    if bool(options.clip) != bool(options.truth):
        parser.error("--clip and --truth go together")
    folder = os.path.abspath(options.build)
    os.environ["GST_PLUGIN_PATH_1_0"] = os.path.join(folder, "plugin")
    os.environ["GST_REGISTRY_1_0"] = os.path.join(folder, "bench-registry.bin")
    every = list(clips(options))
    ways = {"cclabel": [tracks for _, _, tracks, _ in every]}
    if options.peers:
        ways |= peers(options.peers, [[[box[1:] for box in frame] for frame in boxes] for *_, boxes in every])
    record = measure.new_record("tracks")
    record["figures"] = []
    for kind in dict.fromkeys(kind for kind, *_ in every):
        for name, found in ways.items():
            count = Count()
            for (of_kind, truth, *_), tracks in zip(every, found):
                if of_kind == kind:
                    count.add_clip(truth, tracks)
            row = {"what": "tracks", "clip": kind, "by": name} | count.figures() | {"commit": record["commit"]}
            record["figures"].append(row)
            print(json.dumps(row), flush=True)
    if options.clip:
        *_, (_, truth, tracks, regions) = every
        for row in boxes(options, truth, {"cclabel": tracks, "cclabel without tracks": [
                numbered(box[1:] for box in frame) for frame in regions]}):
            record["figures"].append(row | {"opencv": cv2.__version__, "commit": record["commit"]})
            print(json.dumps(record["figures"][-1]), flush=True)
    if options.json:
        measure.write(record, options.json)


if __name__ == "__main__":
    main()
