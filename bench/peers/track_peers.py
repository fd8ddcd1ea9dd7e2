#!/usr/bin/env python3
"""SORT and ByteTrack (the package `trackers`) on boxes: reads from stdin, as JSON, how many frames a
lost track is waited for and a list of clips, each a list of frames, each a list of boxes (x, y, width, height).
Writes the tracks of each clip, by the tracker's name.

Boxes of blobs have no confidence: all have 0.9. Lost tracks are waited for as long as cclabel waits. All else is
the package's default: a track is told of once it is confirmed.
"""
import json
import sys

import numpy as np
import supervision
from trackers import ByteTrackTracker, SORTTracker

TRACKERS = {"SORT": SORTTracker, "ByteTrack": ByteTrackTracker}


def followed(tracker, frames):
    for boxes in frames:
        corners = np.array(boxes, float).reshape(-1, 4)
        corners[:, 2:] += corners[:, :2]
        found = tracker.update(supervision.Detections(xyxy=corners, confidence=np.full(len(corners), 0.9),
                                                      class_id=np.zeros(len(corners), int)))
        yield [(int(name), x, y, right - x, bottom - y)
               for name, (x, y, right, bottom) in zip(found.tracker_id, found.xyxy.tolist()) if name >= 0]


def main():
    memory, clips = json.load(sys.stdin)
    json.dump({name: [list(followed(make(lost_track_buffer=memory, frame_rate=30.0), clip)) for clip in clips]
               for name, make in TRACKERS.items()}, sys.stdout)


if __name__ == "__main__":
    main()
