#!/usr/bin/python3
"""Plans how a file is cut at key frames into segments. Only the times of packets are read, and one frame is decoded.

  cutting.py FD '{"source": …, "seconds": …, "warm_up": …}'

writes JSON to the file descriptor FD: {"plan": {"why": …, "spans": […], "probed": …}} or {"problem": …}. A file that
cannot be cut has one span, and `why` gives the reason. Otherwise `probed` is the result of probe.look(). A span holds

  base           seconds per unit of stamps (a Fraction)
  first          the stamp of the file's first frame
  key, seek      the stamp of the key frame where decoding begins, and the time that a seek to it uses;
                 null: the beginning of the file
  from, until    the stamps of its first frame and of the next span's first frame; null: the end
  packets        the number of its packets
"""

import contextlib
import json
import os
import sys
from bisect import bisect_left, bisect_right

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import timeline  # noqa: E402  (after the path)
from decoding import Decoder, av, stamp_name  # noqa: E402
from probe import Input, InputProblem  # noqa: E402
from undecodable import FILE_ERRORS, error_reason, expect_decoder  # noqa: E402

WHOLE = {"first": 0, "key": None, "seek": None, "from": 0, "until": None}
# Elements that treat each frame alone, if their properties have these values.
STATELESS = {"cclabel": {"track": False, "depth": 1, "sliding": False}, "slicsuperpixel": {"warm-start": False},
             "regionoverlay": {}, "identity": {}, "capsfilter": {}, "queue": {}, "videoconvert": {}, "videoscale": {},
             "videoconvertscale": {}, "videocrop": {}, "videobox": {}, "videoflip": {}, "videobalance": {}}
# Seconds of the file that all other elements see before a segment. After this time graphcutbg treats still objects as
# background (its `history` of 500 frames at 25 frames/s).
WARM_UP = 20


def warm_up(filtered):
    """Seconds of warm-up for a filter (a bin). None: no warm-up is enough, because volumes are counted from the first frame."""
    seconds = 0
    for element in filtered.children:
        name = element.get_factory().get_name()
        if name == "cclabel" and element.get_property("depth") > 1 and not element.get_property("sliding"):
            return None
        if any(element.get_property(key) != value for key, value in STATELESS.get(name, {"name": None}).items()):
            seconds = WARM_UP
    return seconds


class Packets:
    """The picture's packets: all `stamps`, sorted, and `keys`, the time of a seek by the stamp of each key frame at which
    the file can be cut. A cut is impossible if frames coded before a key frame are shown after it."""

    def __init__(self, file, picture):
        name, latest, times = stamp_name(file), None, timeline.Timeline()
        self.stamps, self.keys, self.lacking, self.jumps = [], {}, False, times.jumps
        for packet in timeline.picture_packets(file, picture, times) if timeline.may_jump(file) else file.demux(picture):
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
        """Why the file cannot be cut, or None."""
        if self.lacking:
            return "packets have no times"
        if self.jumps:
            return "its times jump"
        if any(one == other for one, other in zip(self.stamps, self.stamps[1:])):
            return "packets have the same time"
        return None


def packets_from(file, picture, key, seek, until):
    """The packets of a file from a key frame on, after a seek; none if the key frame is not found before the stamp
    `until`. Packets that are coded after the key frame but shown earlier are left out: they need earlier frames."""
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
    """The first span whose key frame a seek does not find, or None."""
    for span in spans:
        if span["key"] is not None:
            with av.open("file:" + path, metadata_errors="replace") as file:
                if not next(packets_from(file, file.streams[index], span["key"], span["seek"], span["from"]), None):
                    return span
    return None


def first_stamp(source):
    """The stamp of the first frame that can be decoded, or None."""
    with contextlib.closing(Decoder(source, None).decoded()) as frames:
        return next((stamp for _, stamp in frames), None)


def cuts(stamps, keys, base, seconds):
    """Stamps of the key frames that begin segments of at least `seconds`."""
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
            return whole("its container has no times of frames")
    if any(source.light):
        return whole("segments cannot hold its metadata for HDR displays")
    if why := packets.why_whole():
        return whole(why)
    first = first_stamp(source)
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
        result = {"plan": plan(settings["source"], settings["seconds"], settings["warm_up"])}
    except (InputProblem, *FILE_ERRORS) as problem:
        result = {"problem": error_reason(problem)}
    os.write(channel, json.dumps(result).encode() + b"\n")
    return 1 if "problem" in result else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2]))
