"""Situations in which times matter: where a file begins, late streams, jumps, and frames without a regular time."""

import numpy
from situations import PICTURE, SOUND, H264, MPEG2, VP9, HLG, each, situation


# Where a file begins

def hides(clip):
    return any("D" in packet["flags"] for packet in clip.packets(clip.picture))


@situation("MP4 trimmed by an edit list, AAC", hides)
def edit_list(folder, *options, length=2, at="1.1"):
    full = folder.clip("full.mp4", *(options or (*H264, "-g", "25", "-bf", "2")), "-c:a", "aac", length=length)
    return folder.ffmpeg("in.mp4", "-ss", at, "-i", full, "-c", "copy")


@situation("… HLG of phones, the first packets hidden",
           lambda clip: hides(clip) and clip.frames[0]["color_transfer"] == "arib-std-b67", segments=())
def trimmed_hlg(folder):
    return edit_list(folder, *HLG, "-vf", "setparams=color_primaries=bt2020:color_trc=arib-std-b67", "-c:v", "libx265",
                     "-preset", "ultrafast", "-x265-params", "log-level=none:keyint=20:bframes=0", length=1.4, at="0.3")


BT709 = ("-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709")
MIDDLE = ("-copyinkf", "-bsf:v", r"noise=amount=0:drop=lt(n\,5)")
NO_KEY = {"segments": ("mp4", "lossless"), "whole": True}


def begins_later(clip):
    return clip.frames and 0 < numpy.diff(clip.times).min() and "K" not in clip.packets(clip.picture)[0]["flags"]


@each((("MP4, an edit list", "in.mp4", H264, "aac"), ("H.264 in MPEG-TS", "in.ts", H264, "aac"),
       ("MPEG-2 in MPEG-TS, BT.709, interlaced", "in.ts", (*MPEG2[:2], "-vf", "setfield=tff", "-flags", "+ildct+ilme",
                                                           *BT709, *MPEG2[2:]), "mp2"),
       ("MPEG-2 in MPEG-PS", "in.mpg", MPEG2, "mp2"), ("H.264 in Matroska", "in.mkv", H264, "flac")),
      "{}: begins between key frames", holds=begins_later, **NO_KEY)
def between_keys(folder, name, coded, sound):
    full = folder.clip("full.mkv" if name == "in.mkv" else "full.ts", *coded, "-c:a", sound)
    return folder.copy(name, full, *MIDDLE)


@situation("H.264 in MPEG-TS, cut at a packet", lambda clip: len(clip.frames) < 30)
def cut_packets(folder):
    data = folder.clip("full.ts", *H264, "-c:a", "aac").read_bytes()
    path = folder.path / "in.ts"
    path.write_bytes(data[len(data) // 188 // 3 * 188:])
    return path


@each((("Matroska", "mkv", H264, "flac"), ("WebM", "webm", VP9, "libopus"), ("MPEG-TS", "ts", H264, "aac"),
       ("FLV", "flv", H264, "aac")), "{}: begins later than 0", holds=lambda clip: clip.times[0] > 0.3)
def later(folder, suffix, coded, sound):
    full = folder.clip(f"full.{suffix}", *coded, "-c:a", sound, length=1.6)
    folder.ffmpeg(f"in%d.{suffix}", "-i", full, "-map", "0", "-c", "copy", "-f", "segment", "-segment_time", "0.8")
    return folder.path / f"in1.{suffix}"


# Sound against picture

def offset(clip):
    return clip.sound_times[0] - clip.times[0]


CONTAINERS = (("MPEG-TS", "ts", MPEG2, "mp2"), ("MPEG-PS", "mpg", MPEG2, "mp2"), ("Matroska", "mkv", H264, "flac"),
              ("MP4", "mp4", H264, "aac"))


@each(CONTAINERS, "{}: sound begins late", holds=lambda clip: offset(clip) > 0.5)
def late_sound(folder, suffix, coded, sound):
    return folder.ffmpeg(f"in.{suffix}", "-f", "lavfi", "-i", PICTURE.format(size="64x48", length=1.6), "-itsoffset",
                         "0.6", "-f", "lavfi", "-i", SOUND.format(length=1), *coded, "-c:a", sound)


@each(CONTAINERS, "{}: the picture begins late", holds=lambda clip: offset(clip) < -0.5)
def late_picture(folder, suffix, coded, sound):
    return folder.ffmpeg(f"in.{suffix}", "-itsoffset", "0.6", "-f", "lavfi", "-i",
                         PICTURE.format(size="64x48", length=1), "-f", "lavfi", "-i", SOUND.format(length=1.6), *coded,
                         "-c:a", sound, "-fps_mode", "passthrough")


@situation("MPEG-TS: the earliest stream is a second video", lambda clip: len(clip.streams["video"]) == 2, segments=())
def early_stream(folder):
    early = folder.clip("early.ts", *MPEG2, sound=False)
    late = folder.clip("late.ts", *MPEG2, "-c:a", "mp2")
    return folder.ffmpeg("in.ts", "-itsoffset", "0.6", "-i", late, "-i", early, "-map", "0", "-map", "1", "-c", "copy")


# Times

def equal(clip):
    return (numpy.diff(clip.times) < 1e-6).sum() == 1


@situation("Matroska: two frames have the same time", equal)
def equal_times(folder):
    return folder.copy("in.mkv", folder.clip("full.mkv", *H264, "-bf", "0", "-c:a", "flac"), "-bsf:v",
                       "setts=ts=if(eq(N\\,7)\\,PREV_OUTPTS\\,PTS)")


@each((("MPEG-TS: a jump of 100 s", "ts", 100), ("MPEG-TS: times begin again", "ts", 0),
       ("VOB: a jump of 100 s", "vob", 100), ("VOB: times begin again", "vob", 0)), "{}", segments=("mp4", "lossless"),
      holds=lambda clip: (abs(numpy.diff(clip.times)) > 0.5).sum() == 1)
def jumps(folder, suffix, jump):
    return folder.joined(f"in.{suffix}", *(
        folder.clip(f"{part}.{suffix}", *MPEG2, "-c:a", "mp2", "-output_ts_offset", str(part * jump), length=0.8,
                    since=part)
        for part in range(2)))


@situation("MP4: four pictures in 30 s", lambda clip: len(clip.frames) == 4)
def rare(folder):
    return folder.clip("in.mp4", "-vf", "select=eq(n\\,0)+eq(n\\,1)+eq(n\\,173)+eq(n\\,749)", "-fps_mode", "vfr", *H264,
                       "-c:a", "aac", length=30)
