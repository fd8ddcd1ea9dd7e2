"""Compares the pictures of an input and an output by the rules in judge.py."""

import re
from fractions import Fraction

import numpy
from inspection import COLORS, Difference, epochs, tool

TIME = 1.1e-3  # seconds
LUMA = numpy.array([0.299, 0.587, 0.114], numpy.float32)
SAME = {"bt470bg": "smpte170m"}  # one matrix by two names
# Side data that is compared elsewhere, or that does not change the shown picture.
COMPARED = (r"Display Matrix|3x3 displaymatrix|Mastering display metadata|Content light level metadata|GOP timecode"
            r"|SMPTE 12-1 timecode|CPB properties|H.26\[45\] User Data.*|Film grain.*|Palette|AVPanScan|ATSC A53.*"
            r"|Skip Samples|QP|Video enc params|New Extradata|Matroska BlockAdditional|Quality stats|CPB.*"
            r"|MPEGTS Stream ID")


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
