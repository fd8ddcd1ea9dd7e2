#!/usr/bin/python3
"""People who cross each other's way in footage of a street keep their ids: IDF1 (Ristani et al.,
"Performance Measures and a Data Set for Multi-Target, Multi-Camera Tracking", 2016, section 3) on
labelled crossings, against nearest-box matching of the same regions.

crossing_people.json lists them: `frames` are the first and the last, `people` hold a box (x, y, width,
height) at key frames, between which people walk straight. Where people touch, their boxes were drawn
by eye; where they are apart, the silhouettes' boxes were taken and looked at.
"""

import itertools
import json
import math
import pathlib
import unittest

import gi
import media

gi.require_version("Gst", "1.0")
gi.require_version("GstApp", "1.0")
from gi.repository import Gst, GstApp  # noqa: E402,F401  (GstApp: its methods of appsink)

CHAIN = ("filesrc location={clip} ! decodebin ! videoconvert ! video/x-raw,format=I420 ! "
         "graphcutbg output=none ! cclabel source=mask output=none track=true min-area=250 ! "
         "appsink name=frames sync=false max-buffers=4")
OVERLAP = 0.5  # of a box and a person's, for the box to be theirs
REACHES = (20, 40, 80, 160)  # pixels a frame that nearest-box matching may bridge; the best one counts
MEMORIES = (1, 10, 50)  # frames that it waits for a lost box


def crossings():
    return json.loads((pathlib.Path(__file__).parent / "crossing_people.json").read_text())


def boxes_of(person, frame):
    """The person's box at a frame, None before the first and after the last key frame."""
    keys = sorted(map(int, person))
    if not keys[0] <= frame <= keys[-1]:
        return None
    before = max(key for key in keys if key <= frame)
    after = min(key for key in keys if key >= frame)
    share = (frame - before) / (after - before) if after > before else 0
    return [a + (b - a) * share for a, b in zip(person[str(before)], person[str(after)])]


def shared(a, b):
    wide = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    high = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    return max(wide, 0) * max(high, 0)


def overlap(a, b):
    """Intersection over union."""
    both = shared(a, b)
    return both / (a[2] * a[3] + b[2] * b[3] - both)


def regions_of_clip(clip, frames):
    """The boxes by id of this number of frames."""
    Gst.init(None)
    pipeline = Gst.parse_launch(CHAIN.format(clip=clip))
    sink, bus = pipeline.get_by_name("frames"), pipeline.get_bus()
    pipeline.set_state(Gst.State.PLAYING)
    found = []
    while len(found) < frames and not sink.is_eos():
        sample = sink.try_pull_sample(Gst.SECOND)
        if error := bus.pop_filtered(Gst.MessageType.ERROR):
            raise RuntimeError(error.parse_error()[0].message)
        if sample:
            regions = sample.get_buffer().get_custom_meta("regions").get_structure()
            found.append({region.get_value("track"): [region.get_value(side) for side in
                                                      ("x", "y", "width", "height")]
                          for region in regions.get_value("regions")})
    pipeline.set_state(Gst.State.NULL)
    return found


def nearest(frames, reach, memory):
    """The boxes with the ids of the nearest previous boxes, pairs with the least distance first."""
    def centre(box):
        return box[0] + box[2] / 2, box[1] + box[3] / 2

    known, fresh, out = {}, itertools.count(1), []  # known: id -> (box, frame)
    for number, boxes in enumerate(frames):
        boxes = list(boxes.values())
        pairs = sorted((math.dist(centre(box), centre(old)), i, track)
                       for i, box in enumerate(boxes)
                       for track, (old, seen) in known.items() if number - seen <= memory)
        named = {}
        for distance, i, track in pairs:
            if distance <= reach and i not in named and track not in named.values():
                named[i] = track
        now = {named.get(i) or next(fresh): box for i, box in enumerate(boxes)}
        known.update({track: (box, number) for track, box in now.items()})
        out.append(now)
    return out


def counts(crossing, frames):
    """(frames in which a person has the id that is best for them, boxes of people, boxes found).

    What is found elsewhere in the picture does not count."""
    people, hits, truth, found = crossing["people"], {}, 0, 0
    first, last = crossing["frames"]
    for frame in range(first, last + 1):
        places = {name: box for name, person in people.items() if (box := boxes_of(person, frame))}
        truth += len(places)
        for track, box in frames[frame].items():
            found += any(shared(box, place) > 0.5 * min(box[2] * box[3], place[2] * place[3])
                         for place in places.values())
            for name, place in places.items():
                if overlap(box, place) >= OVERLAP:
                    hits[name, track] = hits.get((name, track), 0) + 1
    tracks = sorted({track for _, track in hits}) + [None] * len(people)
    best = max(sum(hits.get(pair, 0) for pair in zip(people, chosen))
               for chosen in itertools.permutations(tracks, len(people)))
    return best, truth, found


def idf1(frames):
    sums = [sum(part) for part in zip(*(counts(crossing, frames) for crossing in crossings()))]
    return 2 * sums[0] / (sums[1] + sums[2])


class Crossings(unittest.TestCase):
    def test_idf1_of_crossing_people_is_above_that_of_nearest_box_matching(self):
        self.assertGreaterEqual(len(crossings()), 10)
        last = max(crossing["frames"][1] for crossing in crossings())
        frames = regions_of_clip(media.CLIP, last + 1)
        self.assertEqual(len(frames), last + 1)
        ours = idf1(frames)
        peers = {(reach, memory): idf1(nearest(frames, reach, memory))
                 for reach in REACHES for memory in MEMORIES}
        best = max(peers, key=peers.get)
        print(f"IDF1 {ours:.3f}; nearest box {peers[best]:.3f} (within {best[0]} pixels, "
              f"waiting {best[1]} frames)")
        self.assertGreater(ours, peers[best])

    def test_idf1_counts_half_of_the_boxes_with_swapped_ids_and_none_with_a_shared_box(self):
        """Two people who swap their ids have half of their frames. With one box for both people, they have fewer."""
        people = {"a": {"0": [0, 0, 10, 10], "9": [90, 0, 10, 10]},
                  "b": {"0": [0, 50, 10, 10], "9": [90, 50, 10, 10]}}
        crossing = {"frames": [0, 9], "people": people}
        kept = [{1: boxes_of(people["a"], f), 2: boxes_of(people["b"], f)} for f in range(10)]
        swapped = [{1 + (f > 4): boxes_of(people["a"], f), 2 - (f > 4): boxes_of(people["b"], f)}
                   for f in range(10)]
        merged = [{1: [10 * f, 0, 10, 60]} for f in range(10)]
        self.assertEqual(counts(crossing, kept), (20, 20, 20))
        self.assertEqual(counts(crossing, swapped), (10, 20, 20))
        self.assertEqual(counts(crossing, merged), (0, 20, 10))
        far = [{1: [300, 300, 10, 10]} for _ in range(10)]
        self.assertEqual(counts(crossing, far), (0, 20, 0))

    def test_nearest_box_matching_keeps_ids_within_reach_and_gives_new_ids_beyond(self):
        """Boxes within reach keep their ids, and other boxes get new ids."""
        steps = [{7: [0, 0, 10, 10]}, {8: [5, 0, 10, 10]}, {9: [100, 0, 10, 10]}]
        self.assertEqual([list(boxes) for boxes in nearest(steps, 20, 1)], [[1], [1], [2]])


if __name__ == "__main__":
    unittest.main(verbosity=2)
