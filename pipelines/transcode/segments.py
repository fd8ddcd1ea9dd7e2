"""Cuts files at key frames into segments, processes a segment, and joins the results.

plan() cuts a file. Segment passes a range of its frames through the filter, as Job does for a file. Decoding begins at a
key frame. Frames between the key frame and the range warm the filter up: models and trackers use them, and their output
pictures are dropped. Their regions are kept, because Tracks compares them with the regions of the previous segment.
Joined joins the segments, which the file's manifest lists, into the same outputs as Job makes. Nothing is decoded or
encoded again. Sound and all other streams come from the source, as in a run over the whole file."""

import contextlib
import json
import os
import subprocess
import time
import types
import zlib
from bisect import bisect_left, bisect_right
from fractions import Fraction

from gstreamer import Gst
from transcode import job
from transcode.decode import (FILE_ERRORS, Decoder, Shapes, Timeline, av, error_reason, expect_decoder, joined_shapes,
                              may_jump, picture_packets, shape_note, stamp_name, why_no_frame)
from transcode.event_lines import TABLES, writer_of
from transcode.exports import JsonLines
from transcode.ffprobe import QUIET, InputProblem, input_of, last_line
from transcode.manifest import Manifest
from transcode.probe import Input

WHOLE = {"first": 0, "key": None, "seek": None, "from": 0, "until": None}
# Elements that treat each frame alone, if their properties have these values.
STATELESS = {"cclabel": {"track": False, "depth": 1, "sliding": False}, "slicsuperpixel": {"warm-start": False},
             "regionoverlay": {}, "identity": {}, "capsfilter": {}, "queue": {}, "videoconvert": {}, "videoscale": {},
             "videoconvertscale": {}, "videocrop": {}, "videobox": {}, "videoflip": {}, "videobalance": {}}
# Seconds of the file that all other elements see before a segment. After this time graphcutbg treats still objects as
# background (its `history` of 500 frames at 25 frames/s).
WARM_UP = 20
WARM = '{"frame":-'  # the beginning of a line for a frame of the warm-up
LEAST_OVERLAP = 0.5  # smallest intersection over union of the boxes of the same region


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
        name, latest, times = stamp_name(file), None, Timeline()
        self.stamps, self.keys, self.lacking, self.jumps = [], {}, False, times.jumps
        for packet in picture_packets(file, picture, times) if may_jump(file) else file.demux(picture):
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


def plan(path, seconds, warm, probed=None):
    source = Input(path, probed)
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


def plan_job(channel, settings):
    settings = json.loads(settings)
    try:
        result = {"plan": plan(settings["source"], settings["seconds"], settings["warm_up"], settings.get("probed"))}
    except (InputProblem, *FILE_ERRORS) as problem:
        result = {"problem": error_reason(problem)}
    os.write(channel, json.dumps(result).encode() + b"\n")
    return 1 if "problem" in result else 0


class SpanDecoder(Decoder):
    """Gives the frames of a span (see plan()) at the times that they have in a run over the whole file. `frames`
    counts the frames of the range, `warm` the frames before the range. `sums` holds checksums of the range's first frame
    and of the next range's first frame: both neighbours must decode the same picture although they begin at different
    key frames. `fail(why)` is called if the file cannot be cut."""

    def __init__(self, source, appsrc, span, fail):
        super().__init__(source, appsrc)
        self.span, self.base, self.fail = span, Fraction(span["base"]), fail
        self.warm, self.sums = 0, [None, None]
        self.last = -1
        self.shapes = Shapes(source, span["key"] is None)
        self.first_time(span["first"], self.base)
        self.begin = self.time_of(span["from"], self.base)

    def packets(self, file, picture):
        """The packets from the key frame on."""
        key = self.span["key"]
        if key is None:
            yield from super().packets(file, picture)
            return
        packet = None
        for packet in packets_from(file, picture, key, self.span["seek"], self.span["from"]):
            yield packet
        if packet is None:
            self.fail(f"the key frame at {float(key * self.base):.3f} s was not found again")

    def decoded(self):
        first, until = self.span["from"], self.span["until"]
        for frame, stamp in super().decoded():
            if stamp is None:
                self.fail("frames have no times: --exact transcodes the file in one segment")
                return
            if until is not None and stamp >= until:
                self.sums[1] = checksum(frame)
                return
            if stamp >= first and self.sums[0] is None:
                self.sums[0] = checksum(frame)
            yield frame, stamp

    def give(self, frame, stamp):
        if stamp < self.span["from"]:
            self.warm += 1
            self.frames -= 1  # the count that follows is of the range alone
            captions = self.captions
            given = super().give(frame, stamp)
            self.captions = captions
            return given
        return super().give(frame, stamp)


def checksum(frame):
    """The CRC-32 of a decoded frame's pixels, without the padding of rows."""
    total = 0
    for number, plane in enumerate(frame.planes):
        parts = [part for part in frame.format.components if part.plane == number]
        bits = (frame.format.padded_bits_per_pixel if len(frame.planes) == 1
                else sum((part.bits + 7) // 8 * 8 for part in parts))
        size, data = plane.width * bits // 8, memoryview(plane)
        step = plane.line_size
        rows = [data[row * step:row * step + size] for row in range(plane.height)] if step > 0 else [data]
        for row in rows:
            total = zlib.crc32(row, total)
    return total


class Segment(job.Job):
    def decoder_to(self, appsrc):
        return SpanDecoder(self.input, appsrc, self.settings["span"], self.stop)

    def why_empty(self):
        if self.decoder.frames > 0:
            return super().why_empty()
        return f"no frame of this segment can be decoded: {self.decoder.problem or why_no_frame(self.input)}"

    def expected(self):
        return self.settings["span"]["packets"]

    def see_frame(self, pad, buffer):
        at = self.segment.to_running_time(Gst.Format.TIME, buffer.pts)
        if at >= self.decoder.begin:
            return super().see_frame(pad, buffer)
        self.moved = time.monotonic()
        for sidecar in self.sidecars:
            if isinstance(sidecar, JsonLines):
                sidecar.write(-1, at, buffer, pad.get_current_caps())
        return Gst.PadProbeReturn.DROP

    def transcode_and_keep(self):
        self.input = Input(self.source, self.probed)
        for kind in self.outputs:
            self.open(kind)
        self.transcode()
        decoder = self.decoder
        if not self.problem and not self.frames:
            self.problem = self.why_empty()
        if not self.problem and self.frames != decoder.frames:
            self.problem = (f"the filter made {self.frames} frames of {decoder.frames}: it can not be cut;"
                            " --exact transcodes files in one segment")
        for note in (*decoder.notes(), self.lost_captions()):
            if note:
                self.say(note=note)
        if self.problem:
            return
        for file in self.files.values():
            file.keep()
        self.say(done={"frames": self.frames, "begin": decoder.begin, "end": self.end, "colors": self.colors,
                       "ratio": str(self.ratio or 1), "shapes": decoder.shapes.state(decoder.begin / Gst.SECOND),
                       "sums": decoder.sums, "lost": decoder.problem, "damaged": decoder.damaged})


class Joined(job.Job):
    def transcode(self):
        known = Manifest(self.settings["outputs"])
        segments = [known.segment(number)["done"] | {"files": known.files(number)}
                    for number in range(len(known.spans))]
        self.started = time.monotonic()
        self.input.begin_at(known.spans[0]["first"] * Fraction(known.spans[0]["base"]))
        lost = [segment["lost"] for segment in segments if segment["lost"]]
        self.decoder = types.SimpleNamespace(
            frames=sum(segment["frames"] for segment in segments), problem=lost[0] if lost else None,
            damaged=sum(segment["damaged"] for segment in segments), rate=self.input.rate or 25, notes=list,
            timeline=Timeline())
        self.frames, self.end = self.decoder.frames, segments[-1]["end"]
        self.colors, self.ratio = segments[0]["colors"], Fraction(segments[0]["ratio"])
        self.shapes = [segment["shapes"] for segment in segments]
        for number, (one, other) in enumerate(zip(segments, segments[1:])):
            if one["sums"][1] != other["sums"][0] and not self.decoder.damaged and not lost:
                self.problem = (f"its pictures depend on where decoding begins (after segment {number}): --exact takes"
                                " it in one segment")
                return
        if "video" in self.files:
            self.picture = listed(segments, "video")
        if "labels" in self.files:
            write_labels(listed(segments, "labels"), self.files["labels"].fd)
        self.write_tables(segments)

    def lost_captions(self):
        return None  # each segment reports its own

    def shape_changes(self):
        return shape_note(*joined_shapes(self.shapes))

    def write_tables(self, segments):
        with contextlib.ExitStack() as opened:
            writers = {kind: opened.enter_context(contextlib.closing(writer_of(kind, file, self.rules)))
                       for kind, file in self.files.items() if kind in TABLES}
            masks = writers.pop("coco-rle", None)
            if not writers and not masks:
                return
            tracks, before, jsonl = Tracks(), 0, writers.get("jsonl")
            for segment in segments:
                with open(segment["files"]["jsonl"], encoding="utf-8") as file:
                    lines = list(file)
                warm = [line for line in lines if line.startswith(WARM)]
                tracks.begin([json.loads(line) for line in warm if is_followed(line)])
                for number, line in enumerate(lines[len(warm):], before):
                    if is_followed(line) or writers.keys() - {"jsonl"}:
                        table = json.loads(line) | {"frame": number}
                        tracks.rename(table)
                        for writer in writers.values():
                            writer.add(table)
                    elif jsonl:
                        jsonl.copy(line, number)
                if masks:
                    masks.append(segment["files"]["coco-rle"], before, tracks.names)
                before += segment["frames"]


def is_followed(line):
    """Whether a line of JSON holds tracks and must be parsed. Parsing and writing each line takes a tenth of the time of the
    transcoding, on the single machine that joins."""
    return '"first-seen"' in line or '"last-track"' in line


def listed(segments, kind):
    """ffmpeg's options for an input: the videos of all segments, one after another, as a list for ffmpeg's concat reader. That
    list names them by /proc/…/fd, because a # in a path would end an address. Each segment begins at its time in the
    whole file, whatever time its own file says (MP4: 0)."""
    paths = [segment["files"][kind] for segment in segments]
    coded = set()
    for path in paths:
        with av.open("file:" + path) as file:
            coded.add(file.streams.video[0].codec_context.extradata)
    if len(coded) > 1:
        raise OSError(0, "its segments are coded in different ways: --exact transcodes it in one segment")
    micros = [segment["begin"] // 1000 for segment in segments]
    folder = os.open(os.path.dirname(paths[0]), os.O_RDONLY | os.O_CLOEXEC)
    open_files = f"/proc/{os.getpid()}/fd"
    list_of_them = os.memfd_create("segments")
    with open(list_of_them, "w", encoding="utf-8", closefd=False) as file:
        file.write("ffconcat version 1.0\n")
        for part, begin, end in zip(paths, micros, [*micros[1:], None]):
            file.write(f"file {open_files}/{folder}/{os.path.basename(part)}\n")
            if end is not None:
                file.write(f"duration {end - begin}us\n")
    return ["-f", "concat", "-safe", "0", "-auto_convert", "0", "-i", input_of(f"{open_files}/{list_of_them}")]


def write_labels(words, fd):
    made = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", *words, "-map", "0:v", "-c", "copy", "-fflags",
                           "+bitexact", "-disposition:v:0", "default", "-f", "matroska", f"/proc/self/fd/{fd}"],
                          stderr=subprocess.PIPE, pass_fds=(fd,), check=False, **QUIET)
    if made.returncode:
        raise OSError(0, f"its label videos cannot be joined: {last_line(made.stderr)}")


class Tracks:
    """Renumbers the tracks of a file's segments, in the order of the segments. New ids start at 1 and are unique in the
    file."""

    def __init__(self):
        self.names = {}  # by the track's id in its segment: its id in the file, and the time of its first frame
        self.rests = {}  # by the track's id in its segment: its last `still`, and the frames it rested before the warm-up
        self.used = 0  # the greatest id so far
        self.seen = {}  # by time: tables of the previous segment, with ids of the file

    def begin(self, warm):
        """Begins a segment. `warm`: the tables of its warm-up frames. Their tracks get the ids of overlapping tracks in
        the previous segment. A track that rests during the whole warm-up continues to count `still`."""
        self.names, self.rests = {}, {}
        taken = set()
        for table in reversed(warm):  # the last frames are the most reliable: the filter has learnt longest
            before = self.seen.get(table["time"])
            pairs = sorted(((overlap(old, new), old, new) for old in (followed(before) if before else ())
                            for new in followed(table)), key=lambda pair: -pair[0])
            for share, old, new in pairs:
                if share >= LEAST_OVERLAP and new["track"] not in self.names and old["track"] not in taken:
                    self.names[new["track"]] = old["track"], old["first-seen"]
                    taken.add(old["track"])
                    if "still" in new and not has_moved(new["track"], warm):
                        self.rests[new["track"]] = new["still"], max(old["still"] - new["still"], 0)
        self.seen = {}

    def rename(self, table):
        """Renumbers the tracks in the table of a frame. Without tracking, `track` is the region's id and stays
        unchanged. Sets `last-track` to the greatest id so far."""
        if "first-seen" in table["columns"]:
            track, first = map(table["columns"].index, ("track", "first-seen"))
            track_still = table["columns"].index("still") if "still" in table["columns"] else None
            for region in table["regions"]:
                found = region[track]
                if region[first] is None or not found:
                    continue
                if found not in self.names:
                    self.used += 1
                    self.names[found] = self.used, region[first]
                region[track], region[first] = self.names[found]
                if track_still is not None:
                    region[track_still] = self.rested(found, region[track_still])
        if "part-of" in table["columns"]:
            part = table["columns"].index("part-of")
            for region in table["regions"]:
                if region[part]:  # 0 if max-regions cut off the object's main region from the first frame on
                    region[part] = self.names.get(region[part], (0,))[0]
        if "last-track" in table:
            table["last-track"] = self.used
        self.seen[table["time"]] = table

    def rested(self, track, still):
        """Returns for how many frames of the file a track rests. `still`: for how many frames of its segment."""
        before, earlier = self.rests.get(track, (0, 0))
        if still < before:  # it has moved since
            earlier = 0
        self.rests[track] = still, earlier
        return still + earlier


def has_moved(track, warm):
    """Whether a track moved during the warm-up, after its first frame."""
    counts = [region["still"] for table in warm for region in followed(table) if region["track"] == track]
    return any(after < before for before, after in zip(counts, counts[1:]))


def overlap(one, other):
    """Returns the intersection over union of the bounding boxes of two regions."""
    width = min(one["x"] + one["width"], other["x"] + other["width"]) - max(one["x"], other["x"])
    height = min(one["y"] + one["height"], other["y"] + other["height"]) - max(one["y"], other["y"])
    both = max(width, 0) * max(height, 0)
    return both / (one["width"] * one["height"] + other["width"] * other["height"] - both)


def followed(table):
    """Returns the regions with tracks in a frame's table (see exports.table_of), as dictionaries."""
    regions = (dict(zip(table["columns"], region)) for region in table["regions"])
    return [region for region in regions if region.get("first-seen") is not None and region["track"]]
