"""The kinds of files that regions-transcode writes: container, and encoding of picture and sound."""

from collections.abc import Callable
from dataclasses import dataclass

# x264enc's default bit rate of 2048 kbit/s limits every mode, also pass=qual, unless the buffer that the limit refers to
# has no capacity. ffmpeg's preset has no limit and writes no access unit delimiters.
H264 = ("x264enc name=x264 pass=qual quantizer=20 vbv-buf-capacity=0 bframes=0 key-int-max=100 speed-preset=veryfast"
        " aud=false ! h264parse")
# vp9enc lacks libvpx's mode of constant quality, and its mode cq follows a bit rate. A bit rate that no picture reaches
# makes max-quantizer the quantizer of ordinary frames, and key frames and golden frames get better ones. 21 gives the
# PSNR of ffmpeg's `-crf 24 -b:v 0` with the same deadline and cpu-used: 37.05 dB (ffmpeg: 37.01) for noise of 720p,
# 43.8 dB (44.1) for a street scene in 11 % fewer bytes. static-threshold is 0 in ffmpeg, too.
# libvpx may lose frames that it holds back at the end of small pictures (seen with GStreamer 1.22): it holds none.
VP9 = ("vp9enc name=vp9 lag-in-frames=0 deadline=1 cpu-used=6 row-mt=true threads=4 end-usage=vbr target-bitrate=1000"
       " min-quantizer=4 max-quantizer=21 static-threshold=0")
FFV1 = "avenc_ffv1 name=ffv1"
# The smallest side of pictures that FFV1's slices hold, which version 3 of the format always has: FFmpeg writes wrong
# positions of slices, and zeros for pixels, for sides of 1 and 2 (seen with 5.1). Other FFmpeg versions may make more slices.
MIN_SLICED_SIDE = 6
CONVERT = "videoconvert n-threads=2 dither=none"  # dithering changes pixels even between formats of equal depth
TEXTS = ("subrip", "ass", "ssa", "webvtt", "mov_text", "text")  # subtitles that are text
# Subtitles that are text in containers that no profile writes.
FOREIGN_TEXTS = ("eia_608", "jacosub", "microdvd", "mpl2", "pjs", "realtext", "sami", "stl", "subviewer", "subviewer1",
                 "vplayer")
# Matroska keeps its own kinds of subtitles; the texts of other containers become SubRip.
MATROSKA = {name: "copy" for name in (*TEXTS, "dvd_subtitle", "dvb_subtitle", "hdmv_pgs_subtitle")} | dict.fromkeys(
    ("mov_text", *FOREIGN_TEXTS), "srt")
MP4 = dict.fromkeys((*TEXTS, *FOREIGN_TEXTS), "mov_text") | {"dvd_subtitle": "copy"}


def suit_to_size(ffv1, width, height):
    """Prepares the element avenc_ffv1 for pictures of a size."""
    if min(width, height) < MIN_SLICED_SIDE:
        # Without checksums of slices FFmpeg writes version 1 of the format, which has no slices.
        ffv1.set_property("slicecrc", False)
        ffv1.set_property("slices", 1)  # FFmpeg 9 refuses its usual number for narrow pictures


def h264_tags(primaries, transfer, matrix, full):
    return (f"h264_metadata=video_full_range_flag={full:d}:colour_primaries={primaries}"
            f":transfer_characteristics={transfer}:matrix_coefficients={matrix}")


def vp9_tags(_primaries, _transfer, matrix, full):
    names = {1: "bt709", 5: "bt601", 6: "smpte170", 7: "smpte240", 9: "bt2020"}
    return f"vp9_metadata=color_space={names.get(matrix, 'unknown')}:color_range={'pc' if full else 'tv'}"


@dataclass(frozen=True)
class Profile:
    meaning: str
    suffix: str
    muxer: str
    encoder: str  # as gst-launch takes it
    coded: str  # the name of its caps
    formats: tuple  # of pictures that the encoder takes and players show
    even: bool  # the encoder requires even sides: a black column or row is added to others
    least: int  # pixels of the smallest side
    sound: frozenset | None  # ffmpeg's names of codecs that are copied; None: all
    sound_encoder: str = ""  # ffmpeg's name of the encoder for the others
    sound_kbits: int = 0  # kbit/s per channel; 0: the encoder's default
    sound_reason: str = ""  # why they are encoded
    experimental_sound: tuple = ()  # codecs that ffmpeg only copies with -strict experimental
    container: str = ""  # ffmpeg's name
    subtitles: dict = None  # ffmpeg's codecs that can be kept, and as what
    attachments: bool = False
    covers: bool = False
    edit_lists: bool = False  # players skip the part before time 0
    captions: bool = False  # closed captions in the pictures are kept
    exact: bool = False  # each pixel is kept
    fields: bool = True  # the file states the order of fields
    color_tags: Callable | None = None  # ffmpeg's filter that writes colours into the stream


PROFILES = {
    "mp4": Profile(
        "H.264 in MP4", ".mp4", "mp4mux", H264, "video/x-h264",
        ("I420", "I420_10LE", "Y42B", "I422_10LE", "Y444", "Y444_10LE"), True, 16,
        frozenset(("aac", "mp3", "ac3", "eac3", "alac", "opus", "flac")), "aac", 96, "few players play it in mp4 files",
        ("flac",), "mp4", MP4, covers=True, captions=True, edit_lists=True, color_tags=h264_tags),
    "mkv": Profile(
        "H.264 in Matroska", ".mkv", "matroskamux", H264, "video/x-h264",
        ("I420", "I420_10LE", "Y42B", "I422_10LE", "Y444", "Y444_10LE"), True, 16, None,
        "flac", container="matroska", subtitles=MATROSKA, attachments=True, covers=True,
        captions=True, color_tags=h264_tags),
    "webm": Profile(
        "VP9 in WebM", ".webm", "webmmux", VP9, "video/x-vp9",
        ("I420", "I420_10LE", "I422_10LE", "Y444", "Y444_10LE"), False, 16,
        frozenset(("opus", "vorbis")), "libopus", 64, "webm files cannot hold it",
        (), "webm", dict.fromkeys((*TEXTS, *FOREIGN_TEXTS), "webvtt"), fields=False, color_tags=vp9_tags),
    "lossless": Profile(
        "FFV1 in Matroska, every pixel kept", ".mkv", "matroskamux", FFV1, "video/x-ffv",
        ("I420", "I420_10LE", "Y42B", "I422_10LE", "Y444", "Y444_10LE", "GRAY8", "GRAY16_LE", "BGRx",
         "BGRA"), False, 1, None, "flac", container="matroska", subtitles=MATROSKA, attachments=True, covers=True, exact=True),
}

# The formats of tables and masks, and how their files' names end.
EXPORTS = {"jsonl": ".jsonl", "csv": ".csv", "mot": ".mot.txt", "coco-rle": ".coco.json"}

# Scripts write this for a photograph: the first picture, in the format that the filter makes.
STILL = Profile("PNG", ".png", "identity", "pngenc snapshot=true", "image/png", (), False, 1, None)

RGB = ("RGB", "BGR", "xRGB", "xBGR", "ARGB", "ABGR", "GBR")  # how names of formats without chroma begin
# (is RGB, horizontal and vertical chroma halvings, more than 8 bits) → format
NEAREST = {
    (False, 1, 0, False): "Y42B", (False, 1, 0, True): "I422_10LE",
    (False, 0, 0, False): "Y444", (False, 0, 0, True): "Y444_10LE",
    (True, 0, 0, False): "BGRx",
}


def coded_format(info, profile):
    """The profile's format nearest to that of a decoded picture (a GstVideoFormatInfo); None if it
    leaves that to the encoder."""
    if not profile.formats:
        return None
    name = info.name
    if name in profile.formats:
        return name
    is_rgb = name.startswith(RGB)
    wide = info.depth[0] > 8
    any_takes = "I420_10LE" if wide else "I420"
    chroma = (info.w_sub[1], info.h_sub[1]) if info.n_components > 1 else (1, 1)
    nearest = NEAREST.get((is_rgb, *chroma, wide), any_takes)
    return nearest if nearest in profile.formats else any_takes
