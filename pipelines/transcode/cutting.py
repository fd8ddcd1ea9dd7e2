#!/usr/bin/python3
"""Cuts a file at key frames into segments, by the times of its packets; nothing but its first frame is decoded.

  cutting.py FD '{"source": …, "seconds": …, "warm_up": …}'

tells through the file descriptor FD, as JSON, {"plan": {"why": …, "spans": […], "probed": …}}, or {"problem": …}. There
is one span where the file is not to be cut, and why; else `probed` is what ffprobe told (see probe.look). A span has

  base           seconds that a stamp counts, as a fraction
  first          the stamp of the file's first frame
  key, seek      the stamp of the key frame where decoding begins and the time that containers find it by;
                 null: the beginning of the file
  from, until    the stamp of its first frame, and of the first after it; null: the end
  packets        how many there are in it
"""

import json
import os
import sys
from bisect import bisect_left, bisect_right

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from decoding import Decoder, av, stamp_name  # noqa: E402  (after the path)
from probe import Input, InputProblem  # noqa: E402
from undecodable import FILE_ERRORS, error_reason, expect_decoder  # noqa: E402

WHOLE = {"first": 0, "key": None, "seek": None, "from": 0, "until": None}
# Elements whose work on a frame tells nothing of the next, and what must be so.
STATELESS = {"cclabel": {"track": False, "depth": 1, "sliding": False}, "slicsuperpixel": {"warm-start": False},
             "regionoverlay": {}, "identity": {}, "capsfilter": {}, "queue": {}, "videoconvert": {}, "videoscale": {},
             "videoconvertscale": {}, "videocrop": {}, "videobox": {}, "videoflip": {}, "videobalance": {}}
# Seconds that others see of a file before a segment of it: graphcutbg takes into its background at 25 frames/s after
# these what stands still (its `history` of 500 frames).
WARM_UP = 20


def warm_up(filtered):
    """Seconds that a filter (a bin) wants, or None where no warm-up does: volumes of frames count from the first."""
    seconds = 0
    for element in filtered.children:
        name = element.get_factory().get_name()
        if name == "cclabel" and element.get_property("depth") > 1 and not element.get_property("sliding"):
            return None
        if any(element.get_property(key) != value for key, value in STATELESS.get(name, {"name": None}).items()):
            seconds = WARM_UP
    return seconds


class Packets:
    """Of the picture of a file: stamps, sorted; and by the stamp of each key frame where a cut can be, the time to seek
    it by. A cut cannot be where frames that are coded before a key frame are shown after it."""

    def __init__(self, file, picture):
        name, latest = stamp_name(file), None
        self.stamps, self.keys, self.lacking = [], {}, False
        for packet in file.demux(picture):
            if not packet.size:
                continue
            stamp = getattr(packet, name)
            if stamp is None:
                self.lacking = True
                return
            if packet.is_keyframe and (latest is None or stamp > latest):
                self.keys[stamp] = stamp if packet.dts is None else min(stamp, packet.dts)
            latest = stamp if latest is None else max(stamp, latest)
            self.stamps.append(stamp)
        self.stamps.sort()

    def why_whole(self):
        """Why the file is not to be cut, or None."""
        if self.lacking:
            return "packets have no times"
        if any(one == other for one, other in zip(self.stamps, self.stamps[1:])):
            return "packets have the same time"
        return None


def packets_from(file, picture, key, seek, until):
    """Those of a file from a key frame on, after a seek; none where it is not found before the stamp `until`. What is
    shown before it and coded after it is left out: it needs frames before it."""
    name, begun = stamp_name(file), False
    file.seek(seek, stream=picture, backward=True)
    for packet in file.demux(picture):
        stamp = getattr(packet, name)
        begun = begun or (packet.is_keyframe and stamp == key)
        if begun and (not packet.size or (stamp is not None and stamp >= key)):
            yield packet
        elif not begun and stamp is not None and stamp > until:
            return


def lost_key(path, index, spans):
    """The first of spans whose key frame is not found by a seek, or None."""
    for span in spans:
        if span["key"] is not None:
            with av.open("file:" + path, metadata_errors="replace") as file:
                if not next(packets_from(file, file.streams[index], span["key"], span["seek"], span["from"]), None):
                    return span
    return None


def first_stamp(file, picture, source):
    """Of the first frame that can be decoded, or None."""
    return next((getattr(frame, stamp_name(file)) for frame in Decoder(source, None).decoded(file, picture)), None)


def cuts(stamps, keys, base, seconds):
    """Stamps of the key frames that begin segments of at least so many seconds."""
    found, end = [], stamps[-1]
    for key in keys:
        since = found[-1] if found else stamps[0]
        if (key - since) * base >= seconds and (end - key) * base >= seconds / 2:
            found.append(key)
    return found


def plan(path, seconds, warm):
    source = Input(path)
    expect_decoder(source.picture)
    index = source.picture["index"]
    with av.open("file:" + source.path, metadata_errors="replace") as file:
        picture = file.streams[index]
        base = picture.time_base
        try:
            packets = Packets(file, picture)
        except av.error.FFmpegError:
            return whole("it is damaged")
        if stamp_name(file) == "dts" and picture.codec_context.has_b_frames:
            return whole("its container tells no times of frames")
    if any(source.light):
        return whole("what HDR displays are told is not kept in segments")
    if why := packets.why_whole():
        return whole(why)
    with av.open("file:" + source.path, metadata_errors="replace") as file:
        first = first_stamp(file, file.streams[index], source)
    if first is None or not packets.stamps:
        return whole("no frame could be decoded")
    stamps = packets.stamps[bisect_left(packets.stamps, first):]
    keys = sorted(key for key in packets.keys if key > first)
    edges = [first, *cuts(stamps, keys, base, seconds)] if stamps else [first]
    if len(edges) == 1:
        return whole("no key frame is far enough from its ends")
    spans = []
    for begin, end in zip(edges, [*edges[1:], None]):
        before = [] if begin == first else keys[:bisect_right(keys, begin - warm / base)]
        key = before[-1] if before else None
        count = bisect_left(stamps, end) - bisect_left(stamps, begin) if end is not None else (
            len(stamps) - bisect_left(stamps, begin))
        spans.append({"base": str(base), "first": first, "key": key, "seek": packets.keys.get(key), "from": begin,
                      "until": end, "packets": count})
    if lost_key(source.path, index, spans):
        return whole("a seek does not find its key frames")
    return {"why": None, "spans": spans, "probed": source.probed}


def whole(why):
    return {"why": why, "spans": [WHOLE]}


def main(channel, settings):
    settings = json.loads(settings)
    try:
        told = {"plan": plan(settings["source"], settings["seconds"], settings["warm_up"])}
    except (InputProblem, *FILE_ERRORS) as problem:
        told = {"problem": error_reason(problem)}
    os.write(channel, json.dumps(told).encode() + b"\n")
    return 1 if "problem" in told else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2]))
