"""Situations of files as people have them, made by ffmpeg or by a few bytes of Python: rows of docs/media.md. The rows
are in situations_times.py and situations_pictures.py.

Each maker gets a Folder and returns the path of a clip. `holds` must be true of the clip's Inspection. So a version of
ffmpeg that makes another file is noticed."""

import collections
import pathlib

import media

YUV = ("-pix_fmt", "yuv420p")
# Frames differ much from their neighbours, and the pitch rises: no part of a clip is like another.
PICTURE = "testsrc2=size={size}:rate=25:duration={length}"
LATER = ",trim=start={since},setpts=PTS-STARTPTS"
SOUND = "aevalsrc=0.5*sin(2*PI*(300*t+500*t*t)):s=48000:d={length}"
H264 = (*YUV, "-c:v", "libx264", "-g", "10", "-preset", "ultrafast")
MPEG2 = (*YUV, "-c:v", "mpeg2video", "-q:v", "3", "-g", "10", "-bf", "2")
VP9 = (*YUV, "-c:v", "libvpx-vp9", "-deadline", "realtime", "-cpu-used", "8", "-g", "10")
HLG = ("-pix_fmt", "yuv420p10le", "-color_range", "tv", "-colorspace", "bt2020nc")

Row = collections.namedtuple("Row", "name make holds profiles segments truncated holdable whole", defaults=(False,))
ROWS = []
ALL = ("mp4", "mkv", "webm", "lossless")


def situation(name, holds=lambda clip: True, profiles=ALL, segments=("mp4",), truncated=False, holdable=True,
              whole=False):
    """Adds a row. `segments`: the profiles that it is tried with in segments. `truncated`: the input is not whole, and
    the program must report it. `holdable`: False if a profile may refuse the input. `whole`: the program must not refuse
    it, even if ffmpeg complains."""
    def add(make):
        ROWS.append(Row(name, make, holds, profiles, segments, truncated, holdable, whole))
        return make
    return add


def each(variants, name, **options):
    """A row for each variant: (its name, arguments of the maker)."""
    def add(make):
        for variant, *arguments in variants:
            situation(name.format(variant), **options)(lambda folder, arguments=arguments: make(folder, *arguments))
        return make
    return add


class Folder:
    def __init__(self, path):
        self.path = pathlib.Path(path)

    def clip(self, name, *options, length=1.2, sound=True, size="64x48", since=0):
        """A clip of a picture, and sound, from a second of the test source on."""
        words = {"length": length + since, "size": size, "since": since}
        later = LATER.replace("trim", "atrim").replace("setpts", "asetpts")
        tone = ("-f", "lavfi", "-i", (SOUND + later).format(**words))
        return media.make(self.path / name, (PICTURE + LATER).format(**words), *(tone if sound else ()), *options)

    def ffmpeg(self, name, *words):
        media.run("ffmpeg", "-v", "error", "-y", *words, self.path / name)
        return self.path / name

    def copy(self, name, clip, *options):
        return self.ffmpeg(name, "-i", clip, "-map", "0", "-c", "copy", *options)

    def joined(self, name, *clips):
        """The bytes of clips, one after another."""
        path = self.path / name
        path.write_bytes(b"".join(clip.read_bytes() for clip in clips))
        return path

    def listed(self, name, *clips):
        """Clips joined by ffmpeg's concat demuxer."""
        (self.path / "list").write_text("".join(f"file '{clip}'\n" for clip in clips))
        return self.ffmpeg(name, "-f", "concat", "-safe", "0", "-i", self.path / "list", "-c", "copy")

    def patched(self, clip, *pairs):
        data = clip.read_bytes()
        for old, new in pairs:
            assert old in data and len(old) == len(new), (clip, old)
            data = data.replace(old, new)
        clip.write_bytes(data)
        return clip
