"""Compares content and times of the first sounds of an input and an output by the rules in judge.py."""

import numpy
from inspection import Difference, epochs

SYNC = 3e-3
LEAD_IN = 8e-3  # ffmpeg 5.1 counts the lead-in of Opus (6.5 ms) again whenever it writes Opus into Matroska
PIECE = 0.06  # a packet of sound and a picture: FFmpeg shows the last picture before a jump after it


def mapped(before, after, time, part):
    """The time in the output that a time of the input became, by the first frame of its uninterrupted part."""
    parts = epochs(before.times)
    first = numpy.flatnonzero(parts == min(part, parts[-1]))[0]
    return time - before.times[first] + after.times[first]


def sound_differences(before, after):
    if not before.streams["audio"] or not after.streams["audio"] or not before.sound_times.size:
        return
    if not after.sound_times.size:
        yield Difference("sound", "no sound can be decoded")
        return
    if len(before.frames) == len(after.frames) and before.frames:
        yield from sound_offsets(before, after)
    for index, (was, now) in enumerate(zip(before.streams["audio"], after.streams["audio"])):
        sums = [[packet.get("data_hash") for packet in one.packets(stream) if "D" not in packet.get("flags", "")]
                for one, stream in ((before, was), (after, now))]
        if was.get("codec_name") != now.get("codec_name") or contains(sums[1], sums[0]):
            continue
        samples = [one.decoded[2] for one in (before, after)]
        if contains(sums[1], sums[0], len(sums[1])):
            yield Difference("sound", f"{len(sums[1]) - len(sums[0])} packets of sound are more, which the input hides")
        elif index or not same_samples(*samples):
            yield Difference("sound", f"the packets of sound {index} are others ({len(sums[0])} became {len(sums[1])})")


def contains(longer, shorter, most=4):
    """Whether a list contains another one without gaps, and has at most `most` other elements (a lead-in)."""
    more = len(longer) - len(shorter)
    return 0 <= more <= most and any(longer[at:at + len(shorter)] == shorter for at in range(more + 1))


def same_samples(one, other):
    """Whether sounds are the same, except at most 0.15 s at the beginning and the end."""
    length = min(len(one), len(other)) - 16384
    if length <= 0:
        return len(one) == len(other) and bool((one == other).all())
    piece = one[8192:8192 + min(length, 8192)]
    found = numpy.correlate(other[:len(piece) + 16384], piece, "valid")
    at = int(numpy.argmax(found)) - 8192
    middle = slice(8192, min(len(one), len(other) - at) - 4096)
    return middle.stop > middle.start and bool(
        (one[middle] == other[middle.start + at:middle.stop + at]).all())


def sound_offsets(before, after):
    parts = epochs(before.sound_times)
    target = epochs(after.sound_times)
    length = 0.08
    codecs = [one.streams["audio"][0].get("codec_name") for one in (before, after)]
    exact = SYNC if codecs[0] == codecs[1] != "opus" else LEAD_IN
    ends = before.sound_times + numpy.diff(before.sound_starts) / before.sound_rate
    offsets = []
    for part in range(parts[-1] + 1):
        here = numpy.flatnonzero(parts == part)
        first, last = before.sound_times[here[0]], ends[here[-1]]
        for time in sorted({first + 0.02, (2 * first + last) / 3, (first + 2 * last) / 3, last - length - 0.03}):
            wanted = before.sound_at(time, part, length)
            place = mapped(before, after, time, part)
            if wanted is None or time < first or abs(wanted).max() < 300:
                continue
            offset = lag(after, place, wanted, min(part, target[-1]), length)
            offsets.append((offset, time, PIECE if part else exact))
    lost = [time for offset, time, _ in offsets if offset is None]
    moved = [(offset, time) for offset, time, most in offsets if offset is not None and abs(offset) > most]
    if moved:
        offset, time = max(moved, key=lambda one: abs(one[0]))
        yield Difference("sound offset", f"sound moves against the picture by {offset * 1000:.0f} ms at"
                         f" {time - before.times[0]:.2f} s")
    if lost and not moved:
        yield Difference("sound offset",
                         f"sound of the picture at {lost[0] - before.times[0]:.2f} s is not found near its place")
    wanted = mapped(before, after, ends[-1], parts[-1])
    found = after.sound_times[-1] + (after.sound_starts[-1] - after.sound_starts[-2]) / after.sound_rate
    if not moved and not lost and abs(found - wanted) > 0.06:
        yield Difference("sound offset", f"sound ends {(found - wanted) * 1000:.0f} ms later than it did")


def lag(after, place, wanted, part, length):
    """Seconds that a piece of sound is later than at a place; None if it is not there or nearby."""
    for reach in (0.01, 0.1, 0.25, 1.0):
        began, ended = (after.heard(place + moved, part) for moved in (-reach, reach + length))
        here = after.sound_at(began, part, ended - began - 1e-4) if ended - began > length else None
        if here is None or len(here) < len(wanted):
            continue
        energy = numpy.sqrt(numpy.convolve(here ** 2, numpy.ones(len(wanted)), "valid") * (wanted ** 2).sum()) + 1e-6
        likeness = numpy.correlate(here, wanted, "valid") / energy
        offsets = began - place + numpy.arange(len(likeness)) / 48000
        good = likeness > max(0.8, likeness.max() - 0.002)
        if good.any():
            return float(offsets[good][numpy.argmin(abs(offsets[good]))])
    return None
