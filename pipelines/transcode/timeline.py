"""Times of MPEG transport and program streams. Such files are often joined from recordings whose clocks differ, so that times
jump. Players and ffmpeg close such jumps. This module closes a jump in the picture and in all other streams by the same
shift, so that sound stays with the picture."""

from fractions import Fraction

FORMATS = ("mpegts", "mpeg")  # FFmpeg's names of the formats whose times may jump
# The limits at which ffmpeg sees a jump, in seconds: from the file's latest time, and back within a stream.
FAR, BACK = 10, Fraction(1, 10)
CLOCKED = ("audio", "video")  # streams whose packets follow each other closely; subtitles pause


class Timeline:
    """Corrects the times of all packets of one file, in the order of the file."""

    def __init__(self):
        self.shift = self.earlier = Fraction(0)  # seconds; `earlier` applied until the last jump
        self.latest = None  # the latest corrected time, in seconds
        self.ends = {}  # by stream index: corrected begin and end of its last packet, in seconds
        self.leads = {}  # by stream index: how long after decoding its last packet is shown, in units of stamps
        self.jumps = []  # (when, by how many seconds) of each jump

    def correct(self, packet):
        """Moves a packet's times by the sum of all earlier jumps."""
        self.correct_lead(packet)
        stamp = packet.pts if packet.dts is None else packet.dts
        if stamp is None:
            return
        shift = self.shift
        if packet.stream.type in CLOCKED:
            shift = self.shift_for(packet.stream.index, stamp * packet.time_base)
            begin = stamp * packet.time_base + shift
            self.latest = begin if self.latest is None else max(self.latest, begin)
            self.ends[packet.stream.index] = begin, begin + (packet.duration or 0) * packet.time_base
        ticks = round(shift / packet.time_base)
        if packet.pts is not None:
            packet.pts += ticks
        if packet.dts is not None:
            packet.dts += ticks

    def correct_lead(self, packet):
        """FFmpeg takes the time at which the last packet before a jump is shown from the packet after the jump. Replaces
        that time by the usual distance from the time of decoding."""
        if packet.pts is None or packet.dts is None:
            return
        lead = packet.pts - packet.dts
        if lead < 0 or lead * packet.time_base > FAR:
            packet.pts = packet.dts + self.leads.get(packet.stream.index, 0)
        else:
            self.leads[packet.stream.index] = lead

    def shift_for(self, stream, raw):
        """The shift of a packet, after closing a jump at the packet, if there is one."""
        begin, expected = self.ends.get(stream, (None, self.latest))
        if not self.is_jump(raw + self.shift, begin):
            return self.shift
        if begin is not None and self.earlier != self.shift and abs(raw + self.earlier - expected) < BACK:
            return self.earlier  # the rest of a stream may come after packets of other streams from beyond the jump
        if abs(expected - self.latest) > FAR:
            expected = self.latest
        self.jumps.append((expected, raw + self.shift - expected))
        self.earlier, self.shift = self.shift, expected - raw
        return self.shift

    def is_jump(self, time, before):
        """`before`: the time of the previous packet in the same stream, or None."""
        if self.latest is None:
            return False
        return abs(time - self.latest) > FAR or (before is not None and time < before - BACK)


def may_jump(file):
    return file.format.name in FORMATS


def picture_packets(file, picture, timeline):
    """Packets of the picture at corrected times. The packets of other streams are read because a jump may begin there."""
    for packet in file.demux():
        timeline.correct(packet)
        if packet.stream.index == picture.index:
            yield packet
