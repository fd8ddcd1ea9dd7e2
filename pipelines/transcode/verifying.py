"""Compares a finished file with its input: each property of the picture and each tag that the file lost becomes a note."""

import json
import re
import subprocess

import shapes
from probe import MATRICES, PRIMARIES, QUIET, TRANSFERS, input_of

ENTRIES = ("format_tags:stream=index,codec_type:stream_tags:frame=stream_index,width,color_range,color_space,color_transfer,"
           "color_primaries,chroma_location,interlaced_frame,top_field_first,sample_aspect_ratio,pix_fmt:"
           "frame_side_data=side_data_type:stream_side_data=side_data_type")
PACKETS = 40  # of all streams, among them the picture's first one
# Tags that describe the input's file format or the program that wrote it (also in AVI, MXF, ASF and FLV).
TECHNICAL = re.compile(
    r"(encoder|encoder_options|software|major_brand|minor_version|compatible_brands|handler_name|vendor_id|duration|rotate"
    r"|timecode|alpha_mode|stereo_mode|mimetype|filename|bps|number_of_.*|_statistics.*|.*source_id|variant_bitrate"
    r"|uid|.*_uid|.*umid|operational_pattern_ul|company_name|product_.*|application_platform|toolkit_version.*"
    r"|wmfsdk.*|isvbr|deviceconformancetemplate|metadatacreator|has(audio|video|metadata|keyframes)|canseektoend"
    r"|last(timestamp|keyframe.*)|(audio|video|data)size)(-[a-z]{3})?", re.IGNORECASE)
EQUAL_MATRICES = {5: 6}  # two names of one matrix
LIGHT = ("Mastering display metadata", "Content light level metadata")


def inspect(path):
    """The tags, streams and first frames of a file."""
    probe = subprocess.run(["ffprobe", "-v", "error", "-of", "json", "-read_intervals", f"%+#{PACKETS}", "-show_entries",
                            ENTRIES, input_of(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, **QUIET)
    return json.loads(probe.stdout) if probe.returncode == 0 else {}


def notes(path, source, profile, colors, ratio):
    """Sentences on losses of the file at `path`, compared with an Input. `colors`: the result of Input.iso_colors() that it is to state,
    or None. `ratio`: the pixel aspect ratio that it is to have."""
    found = inspect(path)
    frame = next((frame for frame in found.get("frames", []) if frame.get("stream_index") == 0), None)
    picture = next((stream for stream in found.get("streams", []) if stream.get("index") == 0), {})
    lost = tags(source, profile, found)
    if not frame:
        return lost
    kinds = {data.get("side_data_type") for holder in (frame, picture) for data in holder.get("side_data_list", [])}
    return lost + [f"its {what} cannot be stored by {profile.meaning}, which says {now}" for what, now in (
        *(changed_colors(source, frame, colors) if colors else ()), *changed_fields(source, profile, frame),
        *changed_ratio(frame, ratio), *changed_light(source, profile, colors, kinds))]


def changed_colors(source, frame, colors):
    """Names and values of colour properties that the frame does not state as meant, and its own values."""
    primaries, transfer, matrix, is_full = colors
    for what, entry, numbers, meant in (("colour primaries", "color_primaries", PRIMARIES, primaries),
                                        ("transfer function", "color_transfer", TRANSFERS, transfer),
                                        ("colour matrix", "color_space", MATRICES, matrix)):
        now = frame.get(entry, "unknown")
        number = numbers.get(now, 2)
        if EQUAL_MATRICES.get(number, number) != EQUAL_MATRICES.get(meant, meant):
            name = next((name for name, number in numbers.items() if number == meant), "unknown")
            yield f"{what} ({name})", now
    now = frame.get("color_range", "tv")
    if (now == "pc") != is_full:
        yield f"colour range ({'pc' if is_full else 'tv'})", now
    before, now = source.frame.get("chroma_location"), frame.get("chroma_location", "unspecified")
    subsampled = all("420" in form for form in (source.picture.get("pix_fmt", ""), frame.get("pix_fmt", "")))
    if subsampled and before not in (None, "unspecified", now):
        yield f"chroma location ({before})", now


def changed_fields(source, profile, frame):
    if profile.fields:
        first = "bottom" if frame.get("top_field_first") == 0 else "top"
        now = f"{first}-field-first" if frame.get("interlaced_frame") == 1 else None
        if now != source.fields:
            yield f"field order ({source.fields or 'progressive'})", now or "progressive"


def changed_ratio(frame, ratio):
    now = shapes.ratio_of(frame.get("sample_aspect_ratio"))
    if abs(now - ratio) * frame.get("width", 1) > 1 and abs(now / ratio - 1) > 0.01:  # Matroska stores whole pixels
        yield f"pixel aspect ratio ({ratio.numerator}:{ratio.denominator})", f"{now.numerator}:{now.denominator}"


def changed_light(source, profile, colors, kinds):
    if colors and profile.container != "mp4":  # the H.264 in MP4 has it, but not all versions of FFmpeg read it
        for told, kind in zip(source.light, LIGHT):
            if told and kind not in kinds:
                yield kind, "nothing"


def film_tags(holder):
    """The tags of a file or stream that are not technical."""
    return {key: value for key, value in holder.get("tags", {}).items() if not TECHNICAL.fullmatch(key)}


def tags(source, profile, found):
    """A note on tags of the file and of its kept streams that the output does not have."""
    holders = [found.get("format", {}), *found.get("streams", [])]
    kept = {(key.lower(), value.strip()) for holder in holders for key, value in holder.get("tags", {}).items()}
    keys = {key for key, _ in kept}

    def is_lost(key, value):
        key = key.lower()
        if (key == "language" and value == "und") or (key == "creation_time" and key in keys):
            return False
        return (key, value.strip()) not in kept and (re.sub(r"-[a-z]{3}$", "", key), value.strip()) not in kept

    lost = [key for holder in (source.format, source.picture, *kept_streams(source, found))
            for key, value in film_tags(holder).items() if value.strip() and is_lost(key, value)]
    names = ", ".join(sorted(set(lost)))
    return [f"its tag{'s' * (len(set(lost)) > 1)} {names} cannot be stored by {profile.meaning}"] if lost else []


def kept_streams(source, found):
    """The sound and subtitle streams of the input, if the output has the same number. Tags of streams that are left out do not
    count."""
    def count(streams, kind):
        return sum(1 for stream in streams if stream.get("codec_type") == kind)

    return [stream for stream in source.others if (kind := stream.get("codec_type")) in ("audio", "subtitle")
            and count(source.others, kind) == count(found.get("streams", []), kind)]
