"""Compares an output with its input by what ffprobe and ffmpeg find in both, and with the notes that the program
printed. No code of the product is used. output_faults() returns faults as sentences. An empty list means that the output is
right.

The rules:

- A note must name each difference, and each note must name a difference. NAMED_BY has the words.
- The output has as many frames as ffmpeg decodes from the input, in the same order. Frames that an edit list hides do
  not count.
- All times count from the first frame that is shown. So a file may begin at 4 s and its output at 0. But
  sound, texts and chapters keep their distance from the picture. Times may differ by 1.1 ms: Matroska rounds to 1 ms.
- Jumps (more than 10 s forward, or backward) stay in picture and sound, or are closed in both with a note. Sound
  belongs to the frames around it: between two jumps it keeps its distance from them.
- A frame that has the time of its predecessor may be anywhere before the next frame. All others keep their times.
- Copied sound has the same packets. If headers within packets change (ADTS), it decodes to the same samples. Any sound
  must be where it was to 3 ms (8 ms if it is Opus or coded again, one packet and one picture after a jump). Correlation finds it. The
  lead-in of an encoder may precede it.
- Sizes and pixel aspects are those shown to viewers, upright. Added rows and columns are a difference.
- bt470bg and smpte170m are the same matrix. An unknown range is the usual one of the pixel format, an unknown place of
  chroma is "left". Colours of RGB are not compared with colours of YUV: the pixels are.
- The lossless profile keeps each bit of the pixels. Others keep a mean PSNR of at least 26 dB in RGB, or in luma if
  chroma is lost. If there is a reference encoding, they stay within 0.5 dB of it.
- An error is honest if ffmpeg complains when it plays the file, if fewer packets are there than the header announces,
  or if nothing can be decoded. What can be decoded must be in a partial output.
"""

import re
from fractions import Fraction

import numpy
from inspection import COLORS, Difference, Inspection, epochs, tool

# Words of notes that name a kind of difference.
NAMED_BY = {
    "frames": r"first picture|cut off|damaged",
    "times": r"\btimes?\b",
    "jump": r"jump|gap|discontinu|go(es)? back|backward|forward",
    "size": r"\bsizes?\b|scaled|padd|black pixels|\b(rows?|columns?)\b|enlarged|border",
    "aspect": r"aspect|pixel shape",
    "rotation": r"rotat|display matrix|turned|degrees",
    "pixels": r"pixels are (coded|taken|converted)",
    "transparency": r"transparency|\b(BGRA|RGBA|ARGB|ABGR|AYUV|A420\w*|A4\w+|RGBA64_LE) pixels are",
    "range": r"range|\bpixels are (coded|taken)",
    "matrix": r"matrix|colou?r",
    "transfer": r"transfer|curve|colou?r",
    "primaries": r"primaries|colou?r",
    "chroma": r"chroma",
    "light": r"mastering display|light",
    "fields": r"\bfields?\b|interlac",
    "captions": r"caption|A53",
    "sound codec": r"sound is encoded",
    "sound": r"sound",
    "sound offset": r"^\b$",  # no note excuses it
    "chapters": r"chapter",
    "timecode": r"time ?code",
    "tags": r"\btags?\b|metadata",
    "text codec": r"track of subtitles is encoded|subtitle",
    "texts": r"subtitle",
    "quality": r"^\b$",
}
TIME = 1.1e-3  # seconds
LUMA = numpy.array([0.299, 0.587, 0.114], numpy.float32)
SAME = {"bt470bg": "smpte170m"}  # one matrix by two names
# Side data that is compared elsewhere, or that does not change the shown picture.
COMPARED = (r"Display Matrix|3x3 displaymatrix|Mastering display metadata|Content light level metadata|GOP timecode"
            r"|SMPTE 12-1 timecode|CPB properties|H.26\[45\] User Data.*|Film grain.*|Palette|AVPanScan|ATSC A53.*"
            r"|Skip Samples|QP|Video enc params|New Extradata|Matroska BlockAdditional|Quality stats|CPB.*"
            r"|MPEGTS Stream ID")
SYNC = 3e-3
LEAD_IN = 8e-3  # ffmpeg 5.1 counts the lead-in of Opus (6.5 ms) again whenever it writes Opus into Matroska
PIECE = 0.06  # a packet of sound and a picture: FFmpeg shows the last picture before a jump after it
LEFT_OUT = {"audio": r"sound", "subtitle": r"subtitles?", "video": r"second video", "data": r"data",
            "attachment": r"attachment",
            "cover": r"cover"}
# Tags about the making of a file.
TECHNICAL = (r"(?i)encoder|major_brand|minor_version|compatible_brands|duration|bps|number_of_\w+|_statistics\w*"
             r"|handler_name|vendor_id|creation_time|timecode|rotate|alpha_mode|source_id|.*uid|.*umid|.*_ul"
             r"|company_name|product_\w+|modification_date|data_type|file_package\w*|material_package\w*|reel_name|WM/\w+|isft"
             r"|tsse|application_platform|toolkit_version\w*|variant_bitrate|mimetype|filename|metadatacreator|hasvideo"
             r"|hasaudio|hasmetadata|timecode_rate|software|.*-eng$|device\w*conformtemplate")


def differences(before, after, profile="mp4", notes=(), reference=None):
    """All differences, whether a note names them or not. The files may be names or Inspections."""
    before, after = (one if isinstance(one, Inspection) else Inspection(one) for one in (before, after))
    return [*frame_differences(before, after), *shape_differences(before, after), *pixel_differences(before, after,
                                                                                                     profile),
            *side_differences(before, after), *sound_differences(before, after), *stream_differences(before, after,
                                                                                                     notes),
            *text_differences(before, after), *quality_differences(before, after, profile, reference)]


def names_kind(note, kind):
    pattern = NAMED_BY.get(kind, re.escape(kind))
    return re.search(pattern, note, re.I) and ("left out" not in note or kind not in ("sound", "texts"))


def output_faults(before, after, notes=(), profile="mp4", reference=None):
    """Faults of an output: differences that no note names, and notes that name no difference."""
    before, after = (one if isinstance(one, Inspection) else Inspection(one) for one in (before, after))
    found = differences(before, after, profile, notes, reference)
    faults = [f"silent: {one.text}" for one in found if not any(names_kind(note, one.kind) for note in notes)]
    for note in notes:
        if not any(names_kind(note, one.kind) for one in found) and not is_true(note, before, after):
            faults.append(f"false note: {note}")
    return faults


def is_true(note, before, after):
    """Whether a note is right without a difference: of a stream that is left out (stream_differences counts them), of a
    header that announces more packets than there are, or of frames with equal times."""
    if "left out" in note and any(re.search(words, note) for words in LEFT_OUT.values()):
        return True
    stated = int(before.picture.get("nb_frames", 0))
    packets = sum(int(packet.get("size", 0)) > 0 for packet in before.packets(before.picture))
    if "header" in note and stated != packets:
        return True
    return bool(re.search(NAMED_BY["times"], note)) and bool((numpy.diff(before.times) < 1e-6).any())


def refusal_faults(before, problem, partial=None, holdable=True, whole=False):
    """Faults of an error: the input plays whole, or what can be decoded is not in the partial output. `holdable`: False
    where the profile may refuse the input. `whole`: nothing lacks, whatever ffmpeg complains of."""
    faults = []
    if re.search(r"Traceback|fault of this program|no frame within", problem):
        lines = [line for line in problem.replace("\\n", "\n").splitlines()
                 if re.match(r"\w+(\.\w+)*(Error|Exception)\b", line)]
        faults.append(f"no clear error: {(lines or [problem.strip()])[-1]}")
    if not before.frames:
        return faults
    lacks = int(before.picture.get("nb_frames", 0)) > len(before.packets(before.picture))
    if whole or holdable and not before.complaints and not lacks:
        faults.append(f"refused though ffmpeg plays it whole: {problem}")
    elif partial and holdable:
        written = len(Inspection(partial).frames)
        if written != len(before.frames):
            faults.append(f"the partial output has {written} of {len(before.frames)} frames")
    elif holdable:
        faults.append(f"no partial output, though {len(before.frames)} frames can be decoded")
    return faults


# Pictures

def frame_differences(before, after):
    if len(before.frames) != len(after.frames):
        yield Difference("frames", f"{len(after.frames)} of {len(before.frames)} frames")
        return
    if not len(before.frames):
        return
    parts = epochs(before.times)
    wanted, found, closed = before.times - before.times[0], after.times - after.times[0], []
    for part in range(1, parts[-1] + 1):  # from here on as if the jump were closed, if it is
        here = parts == part
        first = numpy.flatnonzero(here)[0]
        moved = (found[first] - found[first - 1]) - (wanted[first] - wanted[first - 1])
        if abs(moved) > abs(wanted[first] - wanted[first - 1]) / 2:
            closed.append(wanted[first] - wanted[first - 1])
            wanted[first:] += moved
    if closed:
        yield Difference("jump", f"jumps of {', '.join(f'{jump:.1f}' for jump in closed)} s are closed")
    late = found - wanted
    nexts = numpy.append(wanted, wanted[-1] + 1 / before.rate)[numpy.searchsorted(wanted, wanted + 1e-6, "right")]
    equal = numpy.concatenate([[False], abs(numpy.diff(wanted)) < 1e-6])
    room = numpy.where(equal, nexts - wanted, 0)
    bad = numpy.flatnonzero((late < -TIME) | (late > TIME + room))
    if bad.size:
        worst = bad[numpy.argmax(abs(late[bad]))]
        yield Difference("times", f"{bad.size} frames have other times, frame {worst} by {late[worst] * 1000:.0f} ms")


def shape_differences(before, after):
    if not before.shapes or not after.shapes:
        return
    sizes, written = ([shape[:2] for shape in one.shapes] for one in (before, after))
    if [size for index, size in enumerate(sizes) if size != sizes[index - 1] or not index] != [
            size for index, size in enumerate(written) if size != written[index - 1] or not index]:
        yield Difference("size", f"sizes {names(sizes)} became {names(written)}")
    aspects, written = (list(dict.fromkeys(shape[2] for shape in one.shapes)) for one in (before, after))
    rounded = 0.002 + 1 / after.shapes[0][0]  # Matroska states how many pixels wide a player shows the picture
    if len(aspects) != len(written) or any(abs(a - b) > rounded for a, b in zip(aspects, written)):
        yield Difference("aspect", f"pixel aspects {names(aspects)} became {names(written)}")
    if before.turn is None and before.matrix[:6] != (after.matrix or [0] * 9)[:6]:
        yield Difference("rotation", "the display matrix is lost")


def names(values):
    return ", ".join("×".join(map(str, value)) if isinstance(value, tuple) else str(value)
                     for value in dict.fromkeys(values))


def pixel_class(pixels):
    """Whether pixels are RGB, how chroma is sampled (None for gray), and how many bits a value has."""
    deep = re.search(r"(?:p|gray|gbrap|gbrp)(9|10|12|14|16)(?=[lb]e)", pixels) or re.search(r"(48|64)[lb]e", pixels)
    bits = {"48": 16, "64": 16}.get(deep[1], int(deep[1])) if deep else 8
    if re.match(r"rgb|bgr|argb|abgr|gbr|pal8|0rgb|0bgr", pixels):
        return True, "444", bits
    chroma = re.search(r"4[1-4][0-4]", pixels)
    chroma = chroma[0] if chroma else {"nv": "420", "p0": "420", "yu": "422", "uy": "422"}.get(pixels[:2])
    return False, chroma, bits


def pixel_differences(before, after, profile):
    if not before.frames or not after.frames:
        return
    pixels = [one.frames[0].get("pix_fmt", "") for one in (before, after)]
    (was_rgb, chroma, bits), (is_rgb, new_chroma, new_bits) = map(pixel_class, pixels)
    if new_bits < bits or was_rgb != is_rgb or (chroma and new_chroma != chroma):
        yield Difference("pixels", f"{pixels[0]} became {pixels[1]}")
    if before.has_alpha and not after.has_alpha and pixels[0] != "pal8":
        yield Difference("transparency", "transparency is lost")
    stated, found = before.colors(before.frames[0]), after.colors(after.frames[0])
    for one, form in ((stated, pixels[0]), (found, pixels[1])):
        if one["color_range"] == "unknown":
            one["color_range"] = "pc" if form.startswith(("gray", "yuvj")) else "tv"
        one["color_space"] = SAME.get(one["color_space"], one["color_space"])
        if one["chroma_location"] in ("unspecified", "unknown") or pixel_class(form)[1] != "420":
            one["chroma_location"] = "left"
    if was_rgb or not chroma or new_chroma != "420":
        found["chroma_location"] = stated["chroma_location"]
    if was_rgb:  # the quality shows whether range and matrix are right
        found |= {name: stated[name] for name in ("color_range", "color_space")}
    for name, kind in zip(COLORS, ("range", "matrix", "transfer", "primaries", "chroma")):
        if stated[name] != found[name]:
            yield Difference(kind, f"{name} {stated[name]} became {found[name]}")
    fields = [[(one.frames[0].get("interlaced_frame"), one.frames[0].get("top_field_first"))]
              for one in (before, after)]
    if fields[0] != fields[1] and (fields[0][0][0] or fields[1][0][0]):
        yield Difference("fields", f"order of fields (interlaced, top first) {fields[0][0]} became {fields[1][0]}")


def numbers(data):
    return {name: round(float(Fraction(value)), 6) for name, value in data.items() if name != "side_data_type"}


def coded_light(path):
    """Reads HDR light data from the H.264 stream itself: old versions of ffprobe do not show it."""
    text = tool("ffmpeg", "-v", "verbose", "-i", path, "-map", "0:V:0", "-c", "copy", "-bsf:v", "trace_headers",
                "-frames:v", "1",
                "-f", "null", "-").stderr.decode(errors="replace")
    found = {name: int(value) for name, value in re.findall(
        r"(display_primaries_[xy]\[\d\]|white_point_[xy]|m\w+_display_mastering_luminance|max_content_light_level"
        r"|max_pic_average_light_level) .*?= (\d+)", text)}
    stated = {}
    if "white_point_x" in found:
        stated["Mastering display metadata"] = {
            f"{color}_{axis}": round(found[f"display_primaries_{axis}[{index}]"] / 50000, 6)
            for index, color in enumerate(("green", "blue", "red")) for axis in "xy"} | {
            f"white_point_{axis}": round(found[f"white_point_{axis}"] / 50000, 6) for axis in "xy"} | {
            f"{end}_luminance": found[f"{end}_display_mastering_luminance"] / 10000 for end in ("min", "max")}
    if "max_content_light_level" in found:
        stated["Content light level metadata"] = {"max_content": found["max_content_light_level"],
                                                "max_average": found["max_pic_average_light_level"]}
    return stated


def side_differences(before, after):
    lights = ("Mastering display metadata", "Content light level metadata")
    coded = None
    for kind in lights:
        was = before.side_data.get(kind)
        if was:
            found = after.side_data.get(kind)
            if not found:
                coded = coded_light(after.path) if coded is None else coded
                found = coded.get(kind)
            if not found or any(abs(value - numbers(found).get(name, -1)) > 2e-4 * max(1, value)
                                for name, value in numbers(was).items()):
                yield Difference("light", f"{kind} became {found or 'nothing'}")
    captions = [sum("A53" in data.get("side_data_type", "") for frame in one.frames
                    for data in frame.get("side_data_list", ()))
                for one in (before, after)]
    if captions[0] != captions[1]:
        yield Difference("captions", f"captions of {captions[0]} frames became captions of {captions[1]}")
    for kind in before.side_data.keys() - after.side_data.keys():
        if not re.fullmatch(COMPARED, kind):
            yield Difference(kind, f"{kind} is lost")


def psnr(one, other):
    error = (one.astype(numpy.float32) - other) ** 2
    error = error.reshape(len(error), -1).mean(1)
    return numpy.where(error > 0, 10 * numpy.log10(65025 / numpy.maximum(error, 1e-9)), 99.0)


def other_frames(pixels, written, quality):
    """Indices of written frames that are more like a neighbour of their original than like the original."""
    if len(pixels) < 2:
        return numpy.zeros(0, int)
    after, before = psnr(pixels[1:], written[:-1]), psnr(pixels[:-1], written[1:])
    like = numpy.maximum(numpy.append(after, 0), numpy.insert(before, 0, 0))
    return numpy.flatnonzero(like > quality + 6)  # small changes may not be worth bits


def quality_differences(before, after, profile, reference=None, least=26):
    """Compares pixels of frames, cut to the size of the input."""
    (sums, pixels, _), (new_sums, new_pixels, _) = before.decoded, after.decoded
    if not len(pixels) or len(pixels) != len(new_pixels):
        return
    if len({shape[:2] for shape in before.shapes}) > 1:
        least = 18  # frames were scaled by other programs
    height, width = pixels.shape[1:3]
    if any(not 0 <= new - old <= max(1, 16 - old) for old, new in zip(pixels.shape[1:3], new_pixels.shape[1:3])):
        return  # pictures are scaled, which is a difference already
    written = new_pixels[:, :height, :width]
    # Pictures of another pixel aspect have borders in the output, because it has one shape.
    aspects = [frame.get("sample_aspect_ratio") for frame in before.frames]
    if len(aspects) == len(pixels):
        first = numpy.equal(aspects, aspects[0])
        pixels, written = pixels[first], written[first]
    formats = [one.frames[0].get("pix_fmt", "").replace("yuvj", "yuv") for one in (before, after)]
    if profile == "lossless" and len({shape[:2] for shape in before.shapes}) == 1 and not before.turn:
        same = sums == new_sums if formats[0] == formats[1] else (
            formats[0].startswith(("yuv", "pal")) or bool((pixels == written).all()))
        if not same and pixel_class(formats[0])[:2] == pixel_class(formats[1])[:2]:
            yield Difference("quality", "pixels differ though the profile is lossless")
            return
    if pixel_class(formats[0]) != pixel_class(formats[1]) and profile != "lossless":  # lost chroma needs a note
        pixels, written = (numpy.tensordot(one.astype(numpy.float32), LUMA, 1)[..., None] for one in (pixels, written))
    quality = psnr(pixels, written)
    if reference:
        least = psnr(pixels, reference.decoded[1]).mean() - 0.5
    if quality.mean() < least or quality.min() < least - 6:
        yield Difference("quality", f"PSNR is {quality.mean():.1f} dB (worst frame {int(quality.argmin())}:"
                         f" {quality.min():.1f} dB), expected {least:.1f} dB")
    elif (shifted := other_frames(pixels, written, quality)).size:
        yield Difference("quality", f"frame {shifted[0]} and {shifted.size - 1} more look like their neighbours")
    elif abs((written.astype(numpy.float32) - pixels).mean((0, 1, 2))).max() > 6:
        yield Difference("quality", "the mean colour differs")


# Sound

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
        if not index and same_samples(before.decoded[2], after.decoded[2]):
            continue
        if contains(sums[1], sums[0], len(sums[1])):
            yield Difference("sound", f"{len(sums[1]) - len(sums[0])} packets of sound are more, which the input hides")
        else:
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


# Streams, texts and tags

def stream_differences(before, after, notes):
    for kind in sorted(before.streams.keys() | after.streams.keys()):
        was, now = len(before.streams[kind]), len(after.streams[kind])
        stated = sum(bool(re.search(LEFT_OUT.get(kind, kind), note)) for note in notes if "left out" in note)
        if was - now != stated:
            yield Difference("stream", f"{now} of {was} streams of {kind}, {stated} left out by notes")
    for kind, named in (("audio", "sound codec"), ("subtitle", "text codec")):
        for was, now in zip(before.streams[kind], after.streams[kind]):
            codecs = was.get("codec_name"), now.get("codec_name")
            if codecs[0] != codecs[1] and (kind == "audio" or codecs[0] in ("ass", "ssa")):
                yield Difference(named, f"{codecs[0]} became {codecs[1]}")


def text_differences(before, after):
    if not before.frames or not after.frames:
        return
    origin = before.times[0], after.times[0]
    chapters = [[(chapter.get("tags", {}).get("title"), round(float(chapter["start_time"]) - start, 2))
                 for chapter in one.chapters] for one, start in zip((before, after), origin)]
    if len(chapters[0]) != len(chapters[1]) or any(a[0] != b[0] or abs(a[1] - b[1]) > 0.02 for a, b in zip(*chapters)):
        yield Difference("chapters", f"chapters {chapters[0]} became {chapters[1]}")
    if before.timecode != after.timecode:
        yield Difference("timecode", f"time code {before.timecode} became {after.timecode}")
    for was, now in zip(before.streams["subtitle"], after.streams["subtitle"]):
        times = [one.packet_times(stream) - start for one, stream, start in zip((before, after), (was, now), origin)]
        if len(times[0]) != len(times[1]) or (len(times[0]) and abs(times[0] - times[1]).max() > SYNC):
            yield Difference("texts", f"subtitles at {times[0]} are at {times[1]}")
    yield from tag_differences(before, after)


def tags_of(holder):
    return {name.lower(): value for name, value in holder.get("tags", {}).items()
            if not re.fullmatch(TECHNICAL, name) and (name.lower(), value) != ("language", "und")}


def tag_differences(before, after):
    pairs = [(before.format, after.format)]
    for kind in ("video", "audio", "subtitle"):
        pairs += zip(before.streams[kind], after.streams[kind])
    after_all = {}
    for holder in (after.format, *after.probed.get("streams", [])):
        after_all |= tags_of(holder)
    lost = {name: value for was, now in pairs for name, value in tags_of(was).items()
            if tags_of(now).get(name, after_all.get(name)) != value}
    if lost:
        yield Difference("tags", "tags are lost: " + ", ".join(f"{name}={value}" for name,
                                                               value in sorted(lost.items())))
