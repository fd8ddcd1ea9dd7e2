"""Compares the streams, texts and tags of an input and an output by the rules in judge.py."""

import re

from inspection import Difference
from judge_sound import SYNC

LEFT_OUT = {"audio": r"sound", "subtitle": r"subtitles?", "video": r"second video", "data": r"data",
            "attachment": r"attachment",
            "cover": r"cover"}
# Tags about the making of a file.
TECHNICAL = (r"(?i)encoder|major_brand|minor_version|compatible_brands|duration|bps|number_of_\w+|_statistics\w*"
             r"|handler_name|vendor_id|creation_time|timecode|rotate|alpha_mode|source_id|.*uid|.*umid|.*_ul"
             r"|company_name|product_\w+|modification_date|data_type|file_package\w*|material_package\w*|reel_name|WM/\w+|isft"
             r"|tsse|application_platform|toolkit_version\w*|variant_bitrate|mimetype|filename|metadatacreator|hasvideo"
             r"|hasaudio|hasmetadata|timecode_rate|software|.*-eng$|device\w*conformtemplate")


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
