"""Situations of pictures and containers: changes, odd packets, missing decoders, tags, small pictures, damage."""

import struct

import media
from situations import YUV, H264, MPEG2, VP9, each, situation


# Changes of the picture

@each((("H.264 in MPEG-TS", "ts"), ("H.264, bare", "h264"), ("H.264 in Matroska", "mkv"), ("VP9 in WebM", "webm")),
      "{}: the size changes", holds=lambda clip: len(clip.shapes) == 2, holdable=False, segments=("mp4", "lossless"))
def sizes(folder, suffix):
    coded, sound = (VP9, "libopus") if suffix == "webm" else (H264, "aac")
    kind = "ts" if suffix == "mkv" else suffix
    sounds = ("-c:a", sound) if suffix != "h264" else ()
    parts = [folder.clip(f"{size}.{kind}", *coded, *sounds, "-output_ts_offset", str(0.8 * part), sound=bool(sounds),
                         size=size, length=0.8, since=0.8 * part) for part, size in enumerate(("64x48", "128x96"))]
    if suffix == "webm":
        return folder.listed("in.webm", *parts)
    joined = folder.joined(f"joined.{kind}", *parts)
    return folder.copy("in.mkv", joined) if suffix == "mkv" else joined


@situation("MPEG-2 in MPEG-TS: 4:3 becomes 16:9", lambda clip: len(clip.shapes) == 2, segments=("mp4", "lossless"),
           holdable=False)
def aspects(folder):
    return folder.joined("in.ts", *(
        folder.clip(f"{part}.ts", *MPEG2, "-aspect", aspect, "-c:a", "mp2", "-output_ts_offset", str(part), length=0.8,
                    since=part) for part, aspect in enumerate(("4:3", "16:9"))))


# Packets without a frame

@situation("VP9 with hidden frames in separate packets",
           lambda clip: len(clip.packets(clip.picture)) > len(clip.frames))
def hidden_frames(folder):
    for number in "12":
        full = folder.clip("full.webm", *YUV, "-c:v", "libvpx-vp9", "-auto-alt-ref", "1", "-lag-in-frames", "25",
                           "-b:v", "100k", "-deadline", "good", "-cpu-used", "5", "-c:a", "libopus", "-pass", number,
                           "-passlogfile", folder.path / "log", length=1.6)
    return folder.copy("in.mkv", full, "-fflags", "-autobsf", "-bsf:v", "vp9_superframe_split")


@situation("MPEG-4 in AVI with empty chunks", lambda clip: any(int(packet["size"]) == 0
                                                               for packet in clip.packets(clip.picture))
           or int(clip.picture["nb_frames"]) > len(clip.frames), whole=True)
def empty_chunks(folder):
    return folder.clip("in.avi", *YUV, "-vf", "select=not(between(mod(n\\,10)\\,3\\,5))", "-fps_mode", "passthrough",
                       "-c:v", "mpeg4", "-c:a", "mp3")


# Files that cannot be decoded

NOTHING = {"holds": lambda clip: not clip.frames, "segments": ("mp4",), "profiles": ("mp4", "lossless")}


@each((("MP4: a codec without a decoder", "mp4", b"avc1", b"xvcZ"), ("Matroska: a codec without a decoder", "mkv",
       b"V_MPEG4/ISO/AVC", b"V_MPEGX/ISO/AVX")), "{}", **NOTHING)
def no_decoder(folder, suffix, codec, other):
    return folder.patched(folder.clip(f"in.{suffix}", *H264, "-c:a", "aac"), (codec, other))


@situation("Matroska: sound without a decoder",
           lambda clip: clip.frames and clip.streams["audio"] and not clip.sound_frames, segments=())
def no_sound_decoder(folder):
    return folder.patched(folder.clip("in.mkv", *H264, "-c:a", "flac"), (b"A_FLAC", b"A_FLAX"))


@situation("JPEG cut off in its header", **NOTHING)
def short_jpeg(folder):
    path = folder.clip("in.jpg", "-frames:v", "1", sound=False)
    path.write_bytes(path.read_bytes()[:160])
    return path


@situation("MP4: an init segment without its fragments", **NOTHING)
def init_segment(folder):
    path = folder.clip("in.mp4", *H264, "-c:a", "aac", "-movflags", "frag_keyframe+empty_moov+default_base_moof")
    data = path.read_bytes()
    path.write_bytes(data[:data.index(b"moof") - 4])
    return path


@situation("MP4: encrypted", lambda clip: clip.complaints, segments=("mp4",), profiles=("mp4", "lossless"),
           holdable=False)
def encrypted(folder):
    return folder.clip("in.mp4", *H264, "-c:a", "aac", "-encryption_scheme", "cenc-aes-ctr", "-encryption_key",
                       "76" * 16, "-encryption_kid", "a7" * 16)


@situation("Fragmented MP4 with a wrong length", lambda clip: float(clip.format["duration"]) > 50)
def wrong_length(folder):
    path = folder.clip("in.mp4", *H264, "-c:a", "aac", "-movflags", "frag_keyframe+empty_moov+default_base_moof")
    data = bytearray(path.read_bytes())
    header = data.index(b"mvhd") + 4
    scale, = struct.unpack(">I", data[header + 12:header + 16])
    data[header + 16:header + 20] = struct.pack(">I", 100 * scale)
    for name, skipped, length in ((b"tkhd", 20, 100 * scale), (b"mdhd", 16, None)):
        at = -1
        while (at := data.find(name, at + 1)) >= 0:
            if length is None:
                own, = struct.unpack(">I", data[at + 16:at + 20])
            data[at + 4 + skipped:at + 8 + skipped] = struct.pack(">I", length or 100 * own)
    path.write_bytes(data)
    return path


# Descriptions of the picture

@situation("H.264 in MP4 with closed captions", lambda clip: any("A53" in kind for kind in clip.side_data),
           segments=("mp4",))
def captions(folder):
    data = b"\xb5\x00\x31GA94\x03\x41\xff\xfc\xe8\xe9\xff"
    message = b"\x00\x00\x01\x06\x04" + bytes([len(data)]) + data + b"\x80"
    coded = folder.clip("full.h264", *H264, "-bf", "0", "-x264-params", "slices=1:sliced-threads=0", sound=False)
    stream = coded.read_bytes()
    for slice_type in (b"\x00\x00\x01\x65", b"\x00\x00\x01\x41"):
        stream = stream.replace(slice_type, message + slice_type)
    coded.write_bytes(stream)
    return folder.ffmpeg("in.mp4", "-r", "25", "-i", coded, "-c", "copy")


@situation("H.264 in MP4, turned by 7°", lambda clip: clip.turn is None)
def slightly_turned(folder):
    return media.turned(folder.path / "in.mp4", folder.clip("full.mp4", *H264, "-c:a", "aac"), 7)


@situation("QuickTime with tags of Apple", lambda clip: "com.apple.quicktime.make" in clip.format["tags"])
def apple_tags(folder):
    return folder.clip("in.mov", *H264, "-c:a", "aac", "-movflags", "use_metadata_tags", "-metadata",
                       "com.apple.quicktime.make=Apple", "-metadata",
                       "com.apple.quicktime.location.ISO6709=+48.1+011.5/", "-metadata", "title=Here")


@each((("xvYCC", "transfer_characteristics=11"), ("BT.1361", "transfer_characteristics=12"),
       ("SMPTE 428", "transfer_characteristics=17"), ("YCgCo", "matrix_coefficients=8"),
       ("ICtCp", "matrix_coefficients=14"), ("EBU 3213", "colour_primaries=22"),
       ("chroma at the top left", "chroma_sample_loc_type=2")),
      "H.264 in Matroska, {}", segments=())
def tagged(folder, tag):
    return folder.copy("in.mkv", folder.clip("full.mkv", *H264, sound=False), "-bsf:v", f"h264_metadata={tag}")


# Sound of many channels

@each((("AC-3 of 5.1(side)", "5.1(side)", ("ac3",)), ("DTS of 5.1(side)", "5.1(side)", ("dca", "-strict", "-2")),
       ("PCM of 7.1", "7.1", ("pcm_s16le",))), "H.264 in Matroska, {}", segments=())
def channels(folder, layout, codec):
    count = {"5.1(side)": 6, "7.1": 8}[layout]
    return folder.clip("in.mkv", *H264, "-af", f"pan={layout}|" + "|".join(f"c{index}=c0" for index in range(count)),
                       "-c:a", *codec)


# Small pictures

# Next to black padding, lossy profiles keep only 12.6 dB of a single column and 25.4 dB of 63x47 pixels.
LOSSLESS_ONLY = (("1x1", "rgb24"), ("1x64", "yuv420p"), ("63x47", "yuv420p"))
SMALL = (("2x2", "yuv444p"), ("64x1", "gray"), ("64x1", "yuv422p"))


def named(sizes):
    return tuple((f"{size} pixels, {pixels}", size, pixels) for size, pixels in sizes)


@each(named(LOSSLESS_ONLY), "FFV1, {}", segments=(), profiles=("lossless",))
@each(named(SMALL), "FFV1, {}", segments=())
def small(folder, size, pixels):
    codec = ("png",) if pixels == "rgb24" else ("ffv1", "-level", "1")  # FFmpeg 9 cannot cut small pictures into slices
    return folder.clip("in.mkv", "-vf", f"scale=64:64,crop={size.replace('x', ':')}:exact=1,format={pixels}", "-c:v", *codec,
                       "-pix_fmt", pixels, length=0.4, sound=False)


# Files that are not whole

@each((("MP4", "mp4", (*H264, "-movflags", "+faststart"), "aac"), ("Matroska", "mkv", H264, "flac"),
       ("WebM", "webm", VP9, "libopus"), ("AVI", "avi", (*YUV, "-c:v", "mpeg4", "-g", "10"), "mp3"),
       ("FLV", "flv", H264, "aac"), ("MPEG-TS", "ts", MPEG2, "mp2"), ("MPEG-PS", "mpg", MPEG2, "mp2"),
       ("Ogg", "ogv", (*YUV, "-c:v", "libtheora", "-page_duration", "50000"), "libvorbis")),
      "{}: cut off in the middle", truncated=True, holds=lambda clip: 2 < len(clip.frames) < 58,
      profiles=("mp4", "lossless"))
def cut_off(folder, suffix, coded, sound):
    path = folder.clip(f"in.{suffix}", *coded, "-c:a", sound, length=2.4)
    data = path.read_bytes()
    path.write_bytes(data[:len(data) * 55 // 100 // 188 * 188 + 90])
    return path
