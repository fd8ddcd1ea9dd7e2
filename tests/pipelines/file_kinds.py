"""Kinds of files by container and codec, made by ffmpeg: rows of docs/media.md."""

import os

import media
from situations import ALL, SOUND, Row

VIDEO = "testsrc2=size=128x96:rate={rate}:duration=0.6"
TONE = ("-f", "lavfi", "-i", SOUND.format(length=0.6))
SHORT = "testsrc2=size=128x96:rate=25:duration=0.6"
I420 = ("-pix_fmt", "yuv420p")
FULL = ("-vf", "scale=out_range=pc", "-color_range", "pc")
BT709 = ("-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709", "-color_range", "tv")
X265 = ("-c:v", "libx265", "-x265-params", "log-level=none")


def hdr(curve):
    """Sets primaries and curve of the pictures: ffmpeg 7 and later ignore them elsewhere."""
    return ("-pix_fmt", "yuv420p10le", "-color_range", "tv", "-colorspace", "bt2020nc", "-vf",
            f"setparams=color_primaries=bt2020:color_trc={curve}")


# The file's name, the frame rate, and ffmpeg's options. `tone` stands for sound, `rich` for a file with two sounds,
# texts, chapters and a cover, `turned` for a display matrix.
KINDS = {
    "H.264 in MP4": ("a.mp4", 25, I420),
    "… with AAC": ("a.mp4", 25, ("tone", *I420, "-c:a", "aac")),
    "… 29.97 a second, MP3": ("a.mp4", "30000/1001", ("tone", *I420, "-c:a", "mp3")),
    "… of an odd size, 4:4:4": ("a.mp4", 25, ("-vf", "format=yuv444p,crop=63:47:exact=1")),
    "… 10 bits": ("a.mp4", 25, ("-pix_fmt", "yuv420p10le")),
    "… full range": ("a.mp4", 25, (*FULL, *I420)),
    "… BT.709": ("a.mp4", 25, (*I420, *BT709)),
    "… uneven times": ("a.mp4", 25, (*I420, "-vf", "select='not(mod(n,3))+not(mod(n,5))'", "-fps_mode", "vfr")),
    "… fragmented": ("a.mp4", 25, ("tone", *I420, "-c:a", "aac", "-movflags", "frag_keyframe+empty_moov")),
    "… with a time code": ("a.mp4", 25, (*I420, "-timecode", "01:00:00:00")),
    "… interlaced": ("a.mp4", 25, (*I420, "-vf", "setfield=tff", "-x264-params", "tff=1")),
    "H.265 in MP4": ("a.mp4", 25, (*I420, *X265)),
    "H.265 in Matroska, HDR10": ("a.mkv", 25, (*hdr("smpte2084"), *X265[:3], X265[3] + ":hdr10=1:master-"
                                              "display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)"
                                              "L(10000000,1):max-cll=1000,400")),
    "H.265 in Matroska, HLG": ("a.mkv", 25, (*hdr("arib-std-b67"), *X265)),
    "MPEG-4 in MP4": ("a.mp4", 25, ("tone", *I420, "-c:v", "mpeg4", "-c:a", "aac")),
    "MPEG-4 in AVI": ("a.avi", 25, ("tone", *I420, "-c:v", "mpeg4", "-c:a", "mp3")),
    "… with B-frames": ("a.avi", 25, (*I420, "-c:v", "mpeg4", "-bf", "2")),
    "H.264 in AVI, B-frames": ("a.avi", 25, (*I420, "-c:v", "libx264", "-bf", "3")),
    "Motion JPEG in AVI": ("a.avi", 25, ("-pix_fmt", "yuvj420p", "-c:v", "mjpeg")),
    "Uncompressed RGB in AVI": ("a.avi", 25, ("-pix_fmt", "bgr24", "-c:v", "rawvideo")),
    "Uncompressed 4:2:2 in AVI": ("a.avi", 25, ("-pix_fmt", "uyvy422", "-c:v", "rawvideo")),
    "HuffYUV in AVI": ("a.avi", 25, ("-pix_fmt", "yuv422p", "-c:v", "huffyuv")),
    "FFV1 in AVI": ("a.avi", 25, (*I420, "-c:v", "ffv1")),
    "DV": ("a.dv", 25, ("-vf", "scale=720:576,setsar=16/15", *I420, "-c:v", "dvvideo")),
    "H.264 in Matroska, FLAC": ("a.mkv", 25, ("tone", *I420, "-c:a", "flac")),
    "… PCM": ("a.mkv", 25, ("tone", *I420, "-c:a", "pcm_s16le")),
    "… Opus": ("a.mkv", 25, ("tone", *I420, "-c:a", "libopus")),
    "… AC-3": ("a.mkv", 25, ("tone", *I420, "-c:a", "ac3")),
    "FFV1 in Matroska, gray": ("a.mkv", 25, ("-pix_fmt", "gray", "-c:v", "ffv1")),
    "… gray of 16 bits": ("a.mkv", 25, ("-pix_fmt", "gray16le", "-c:v", "ffv1")),
    "… 4:2:2 of 10 bits": ("a.mkv", 25, ("-pix_fmt", "yuv422p10le", "-c:v", "ffv1")),
    "… 4:4:4": ("a.mkv", 25, ("-pix_fmt", "yuv444p", "-c:v", "ffv1")),
    "VP8 in WebM, Vorbis": ("a.webm", 25, ("tone", *I420, "-c:v", "libvpx", "-c:a", "libvorbis")),
    "VP9 in WebM, Opus": ("a.webm", 25, ("tone", *I420, "-c:v", "libvpx-vp9", "-deadline", "realtime", "-c:a",
                                         "libopus")),
    "VP9 with transparency": ("a.webm", 25, ("-pix_fmt", "yuva420p", "-c:v", "libvpx-vp9", "-deadline", "realtime",
                                             "-auto-alt-ref", "0")),
    "AV1 in Matroska": ("a.mkv", 25, (*I420, "-c:v", "libaom-av1", "-cpu-used", "8", "-usage", "realtime")),
    "Theora in Ogg": ("a.ogv", 25, ("tone", *I420, "-c:v", "libtheora", "-c:a", "libvorbis")),
    "MPEG-2 in MPEG-PS": ("a.mpg", 25, ("tone", *I420, "-c:v", "mpeg2video", "-bf", "2", "-c:a", "mp2")),
    "… interlaced, bottom first": ("a.mpg", 25, (*I420, "-vf", "setfield=bff", "-flags", "+ildct+ilme", "-c:v",
                                                 "mpeg2video")),
    "MPEG-1 in MPEG-PS": ("a.mpg", 25, (*I420, "-c:v", "mpeg1video", "-bf", "2")),
    "H.264 in MPEG-TS": ("a.ts", 25, ("tone", *I420, "-c:a", "aac")),
    "MPEG-2 in MPEG-TS": ("a.ts", 25, ("tone", *I420, "-c:v", "mpeg2video", "-c:a", "mp2")),
    "H.264, bare": ("a.h264", 25, (*I420, "-c:v", "libx264", "-bf", "3")),
    "ProRes in QuickTime, interlaced": ("a.mov", 25, ("-vf", "setfield=tff", "-flags", "+ildct+ilme", "-c:v",
                                                      "prores_ks",
                                                      "-pix_fmt", "yuv422p10le")),
    "PNG in QuickTime": ("a.mov", 25, ("-pix_fmt", "rgb24", "-c:v", "png")),
    "H.263 in 3GP": ("a.3gp", 25, ("-vf", "scale=176:144", *I420, "-c:v", "h263")),
    "FLV": ("a.flv", 25, ("tone", *I420, "-c:v", "flv", "-c:a", "mp3", "-ar", "44100")),
    "WMV 2 in ASF": ("a.wmv", 25, ("tone", *I420, "-c:v", "wmv2", "-c:a", "wmav2")),
    "MXF, MPEG-2": ("a.mxf", 25, (*I420, "-c:v", "mpeg2video")),
    "GIF": ("a.gif", 10, ()),
    "Animated PNG": ("a.apng", 10, ("-pix_fmt", "rgb24", "-plays", "0")),
    "Y4M": ("a.y4m", 25, I420),
    "A picture (PNG)": ("a.png", 25, ("-frames:v", "1")),
    "H.264 in MP4, turned by 90°": ("a.mp4", 25, ("turned", *I420)),
    "… with texts, chapters and a cover": ("a.mp4", 25, ("rich", "-map", "5", "-c:s", "mov_text", "-c:v:1", "mjpeg",
                                                         "-disposition:v:1", "attached_pic")),
    "Matroska with texts, chapters and a font": ("a.mkv", 25, ("rich", "-c:a", "flac", "-attach", __file__,
                                                               "-metadata:s:t", "mimetype=font/ttf")),
}


def rich(folder, name, *options):
    """A file with two sounds, subtitles, chapters and a cover."""
    (folder / "in.srt").write_text("1\n00:00:00,000 --> 00:00:00,300\nhello\n")
    (folder / "in.txt").write_text(
        ";FFMETADATA1\ntitle=T\n" + "".join(f"[CHAPTER]\nTIMEBASE=1/1000\nSTART={at}\nEND={at + 300}\ntitle={title}\n"
                                             for at, title in ((0, "one"), (300, "two"))))
    cover = media.make(folder / "cover.jpg", "testsrc2=size=64x48", "-frames:v", "1")
    sine = ("-f", "lavfi", "-i", "sine=duration=0.6")
    path = folder / name
    media.run("ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", SHORT, *sine, *sine, "-i", folder / "in.srt", "-i",
              folder / "in.txt", "-i", cover, "-map", "0", "-map", "1", "-map", "2", "-map", "3",
              "-map_metadata", "4", "-map_chapters", "4", "-metadata:s:a:1", "language=ger", "-pix_fmt", "yuv420p",
              *options, path)
    return path, cover


def make(folder, name, rate, options):
    words = [word for word in options if word not in ("tone", "rich", "turned")]
    if "rich" in options:
        return rich(folder.path, name, *words)[0]
    clip = media.make(folder.path / name, VIDEO.format(rate=rate), *(TONE if "tone" in options else ()), *words)
    if "turned" in options:
        os.rename(media.turned(folder.path / "turned.mp4", clip, 90), clip)
    return clip


def rows():
    return [Row(name, lambda folder, kind=kind: make(folder, *kind), lambda clip: clip.frames, ALL, (), False, True)
            for name, kind in KINDS.items()]
