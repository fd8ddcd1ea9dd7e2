#!/usr/bin/env python3
"""Trackers of boxes from the package `trackers`, and HOTA from the package `trackeval`, for tracks.py.

    track_peers.py follow < {"memory": FRAMES, "clips": CLIPS}     prints {tracker: TRACKS of each clip}
    track_peers.py hota < {"truths": TRACKS, "tracks": {way: TRACKS of each clip}}    prints {way: HOTA of all clips}

Input and output are JSON. A clip is a list of frames. A frame in CLIPS is a list of boxes (x, y, width, height); in
TRACKS it is a list of (id, x, y, width, height). A missing package or tracker is named and skipped.

Boxes of regions have no confidence, so all have 0.9. Lost tracks are kept as long as cclabel keeps them. All other
settings are the package's defaults; a track is reported once it is confirmed.
"""
import json
import sys

import numpy as np

TRACKERS = {"SORT": "SORTTracker", "ByteTrack": "ByteTrackTracker", "OC-SORT": "OCSORTTracker",
            "C-BIoU": "CBIoUTracker"}


def skip(name, reason):
    print(f"track_peers.py: {name} is skipped: {reason}", file=sys.stderr)


def followed(tracker, frames):
    import supervision
    for boxes in frames:
        corners = np.array(boxes, float).reshape(-1, 4)
        corners[:, 2:] += corners[:, :2]
        found = tracker.update(supervision.Detections(xyxy=corners, confidence=np.full(len(corners), 0.9),
                                                      class_id=np.zeros(len(corners), int)))
        yield [(int(name), x, y, right - x, bottom - y)
               for name, (x, y, right, bottom) in zip(found.tracker_id, found.xyxy.tolist()) if name >= 0]


def follow(request):
    try:
        import trackers
    except ImportError as reason:
        skip(", ".join(TRACKERS), reason)
        return {}
    found = {}
    for name, kind in TRACKERS.items():
        make = getattr(trackers, kind, None)
        if make is None:
            skip(name, f"this version of the package trackers has no {kind}")
            continue
        found[name] = [list(followed(make(lost_track_buffer=request["memory"], frame_rate=30.0), clip))
                       for clip in request["clips"]]
    return found


def numbers(frames):
    """The ids of each frame as numbers 0..n-1, and n."""
    known = {}
    return [np.array([known.setdefault(each[0], len(known)) for each in boxes], int) for boxes in frames], len(known)


def of_clip(metric, truth, tracks):
    from track_scores import overlaps
    (true_ids, true_count), (found_ids, found_count) = numbers(truth), numbers(tracks)
    return metric.eval_sequence({
        "num_gt_dets": sum(map(len, truth)), "num_tracker_dets": sum(map(len, tracks)), "num_gt_ids": true_count,
        "num_tracker_ids": found_count, "gt_ids": true_ids, "tracker_ids": found_ids,
        "similarity_scores": [overlaps(true, found) for true, found in zip(truth, tracks, strict=True)]})


def hota(request):
    """HOTA is the mean over 19 thresholds of the intersection over union."""
    try:
        from trackeval.metrics import HOTA
    except ImportError as reason:
        skip("HOTA", reason)
        return {}
    metric, found = HOTA(), {}
    for way, clips in request["tracks"].items():
        each = {str(i): of_clip(metric, *pair) for i, pair in enumerate(zip(request["truths"], clips, strict=True))}
        found[way] = round(float(np.mean(metric.combine_sequences(each)["HOTA"])), 4)
    return found


def main():
    if sys.argv[1:] not in (["follow"], ["hota"]):
        sys.exit("track_peers.py: expected one argument, follow or hota")
    # Packages may print; only the answer goes to the standard output.
    answer, sys.stdout = sys.stdout, sys.stderr
    json.dump((follow if sys.argv[1] == "follow" else hota)(json.load(sys.stdin)), answer)


if __name__ == "__main__":
    main()
