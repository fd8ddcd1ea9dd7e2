#!/usr/bin/python3
"""Passes a range of a file's frames through a filter, as job.py does for a file. The settings hold a `span` of cutting.py.

Decoding begins at a key frame. Frames between the key frame and the range warm the filter up: models and trackers use
them, and their output pictures are dropped. Their regions are kept, because assembly.py compares them with the regions of
the previous segment to find equal tracks. A segment holds the picture alone; assembly.py joins segments.
"""

import os
import sys
import time
import zlib
from fractions import Fraction

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import job  # noqa: E402  (after the path)
from cutting import packets_from  # noqa: E402
from decoding import Decoder  # noqa: E402
from gstreamer import Gst  # noqa: E402
from shapes import Shapes  # noqa: E402


class SpanDecoder(Decoder):
    """Gives the frames of a span (see cutting.py) at the times that they have in a run over the whole file. `frames`
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
        return f"no frame of this segment can be decoded: {self.decoder.problem or job.why_no_frame(self.input)}"

    def expected(self):
        return self.settings["span"]["packets"]

    def see_frame(self, pad, buffer):
        segment = pad.get_sticky_event(Gst.EventType.SEGMENT, 0).parse_segment()
        at = segment.to_running_time(Gst.Format.TIME, buffer.pts)
        if at >= self.decoder.begin:
            return super().see_frame(pad, buffer)
        self.moved = time.monotonic()
        for sidecar in self.sidecars:
            if isinstance(sidecar, job.exports.JsonLines):
                sidecar.write(-1, at, buffer, pad.get_current_caps())
        return Gst.PadProbeReturn.DROP

    def transcode_and_keep(self):
        self.input = job.Input(self.source, self.probed)
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


if __name__ == "__main__":
    sys.exit(job.main(int(sys.argv[1]), sys.argv[2], Segment))
