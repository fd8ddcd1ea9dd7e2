"""Streams, packets, decoded frames and sound of a file, as ffprobe and ffmpeg find them. They run once for each file."""

import collections
import functools
import itertools
import json
import pathlib
import re
import subprocess
import tempfile

import numpy

Difference = collections.namedtuple("Difference", "kind text")
COLORS = ("color_range", "color_space", "color_transfer", "color_primaries", "chroma_location")
FRAME = ("media_type", "stream_index", "pts_time", "best_effort_timestamp_time", "width", "height",
         "sample_aspect_ratio", "pix_fmt",
         *COLORS, "interlaced_frame", "top_field_first", "nb_samples")
ENTRIES = ("format=format_name,start_time,duration:format_tags:stream=index,codec_type,codec_name,codec_tag_string,"
           "nb_frames,start_time,avg_frame_rate,r_frame_rate,pix_fmt,width,height,sample_rate:stream_tags:"
           "stream_disposition=attached_pic:stream_side_data:chapter=start_time:chapter_tags:packet=stream_index,"
           f"pts_time,dts_time,size,flags,data_hash:frame={','.join(FRAME)}:frame_tags:frame_side_data")
JUMP = 10  # seconds: ffmpeg closes longer gaps of MPEG-TS
BACK = -0.15  # seconds: times that go back further than late frames do
TURNS = {(0, 1, -1, 0): 90, (-1, 0, 0, -1): 180, (0, -1, 1, 0): 270, (1, 0, 0, 1): 0}  # signs of a display matrix


def tool(*words):
    """Runs ffprobe or ffmpeg, whatever its exit status is."""
    return subprocess.run([str(word) for word in words], capture_output=True, check=False, stdin=subprocess.DEVNULL,
                          timeout=120)


def number(text):
    """A float, NaN without a number."""
    return float(text) if text not in (None, "N/A") else float("nan")


def epochs(times):
    """The index of the uninterrupted part that each time belongs to: a jump or a step back begins another."""
    steps = numpy.diff(times) if len(times) else numpy.zeros(0)
    return numpy.concatenate([[0], numpy.cumsum((steps > JUMP) | (steps < BACK))]).astype(int)[:len(times)]


class Inspection:
    def __init__(self, path):
        self.path = pathlib.Path(path)

    @functools.cached_property
    def probed(self):
        done = tool("ffprobe", "-v", "error", "-show_entries", ENTRIES, "-show_packets", "-show_frames",
                    "-show_chapters",
                    "-show_data_hash", "md5", "-of", "json", f"file:{self.path}")
        found = json.loads(done.stdout or b"{}")
        mixed = found.get("packets_and_frames", [])
        found["packets"] = [one for one in mixed if one["type"] == "packet"] or found.get("packets", [])
        found["frames"] = [one for one in mixed if one["type"] == "frame"] or found.get("frames", [])
        return found

    @property
    def format(self):
        return self.probed.get("format", {})

    @property
    def chapters(self):
        return self.probed.get("chapters", [])

    @functools.cached_property
    def streams(self):
        """By kind: the picture, sounds, covers, and so on. MP4's streams of time codes and chapter titles are left
        out."""
        found = collections.defaultdict(list)
        for stream in self.probed.get("streams", []):
            kind = stream.get("codec_type", "unknown")
            if kind == "data" and stream.get("codec_tag_string") in ("tmcd", "text"):
                continue
            if kind == "video" and stream.get("disposition", {}).get("attached_pic"):
                kind = "cover"
            found[kind].append(stream)
        return found

    @property
    def picture(self):
        return next(iter(self.streams["video"]), {})

    def packets(self, stream):
        return [packet for packet in self.probed["packets"] if packet["stream_index"] == stream["index"]]

    def packet_times(self, stream):
        return numpy.array([number(packet.get("pts_time", packet.get("dts_time"))) for packet in self.packets(stream)
                            if int(packet.get("size", 0)) > 2])

    # The picture

    @functools.cached_property
    def frames(self):
        return [frame for frame in self.probed["frames"] if frame.get("media_type") == "video"
                and frame["stream_index"] == self.picture.get("index")]

    @functools.cached_property
    def rate(self):
        for name in ("avg_frame_rate", "r_frame_rate"):
            top, _, bottom = self.picture.get(name, "0/0").partition("/")
            if float(top) and float(bottom):
                return float(top) / float(bottom)
        return 25.0

    @functools.cached_property
    def times(self):
        """Times of all frames, in seconds. A frame without a time comes one frame after its predecessor."""
        stated = [number(frame.get("best_effort_timestamp_time")) for frame in self.frames]
        for index, time in enumerate(stated):
            if time != time:
                stated[index] = stated[index - 1] + 1 / self.rate if index else 0.0
        return numpy.array(stated)

    @property
    def matrix(self):
        """The nine numbers of the display matrix, or None."""
        holders = [self.picture, *self.frames[:1]]
        found = [data["displaymatrix"] for holder in holders for data in holder.get("side_data_list", ())
                 if "displaymatrix" in data]
        return [int(word) for line in found[0].strip().splitlines()
                for word in line.split(":")[1].split()] if found else None

    @property
    def turn(self):
        """Degrees that players turn the picture by; None for other angles and for mirrored pictures."""
        if not self.matrix:
            return 0
        signs = tuple((value > 0) - (value < 0) for value in (self.matrix[0], self.matrix[1], self.matrix[3],
                                                              self.matrix[4]))
        return TURNS.get(signs)

    def shown(self, frame):
        """Width, height and pixel aspect of a frame as players show it."""
        size = [int(frame.get("width", 0)), int(frame.get("height", 0))]
        aspect = [int(word) for word in frame.get("sample_aspect_ratio", "1:1").split(":")]
        if 0 in aspect:
            aspect = [1, 1]
        if self.turn in (90, 270):
            size, aspect = size[::-1], aspect[::-1]
        return (*size, round(aspect[0] / aspect[1], 3))

    @functools.cached_property
    def shapes(self):
        """Results of shown() for all frames, one entry for each change."""
        return [shape for shape, _ in itertools.groupby(map(self.shown, self.frames))]

    def colors(self, frame):
        return {name: frame.get(name, "unknown") for name in COLORS}

    @functools.cached_property
    def side_data(self):
        """Side data of the first frame and of the stream by kind, and which kinds any frame has."""
        found = {}
        for holder in (*reversed(self.frames), self.picture):
            found |= {data["side_data_type"]: data for data in holder.get("side_data_list", ())
                      if "side_data_type" in data}
        return found

    @property
    def has_alpha(self):
        pixels = self.frames[0].get("pix_fmt", "") if self.frames else ""
        return (self.picture.get("tags", {}).get("alpha_mode") == "1"
                or bool(re.match(r"yuva|rgba|bgra|argb|abgr|gbrap|ya\d|pal8", pixels)))

    @functools.cached_property
    def timecode(self):
        holders = [self.format, *self.probed.get("streams", []), *self.frames[:1]]
        found = {value for holder in holders for tag, value in holder.get("tags", {}).items()
                 if tag.lower() == "timecode"}
        return found - {"00:00:00:00"}  # which MPEG-2 has in any case

    # Decoded by ffmpeg

    @functools.cached_property
    def decoded(self):
        """Checksums of frames in their own format, the frames in RGB, and the first sound as mono samples."""
        with tempfile.TemporaryDirectory() as folder:
            if not decode([self], folder):
                decode([self], folder, with_sound=False)  # ffmpeg cannot decode it
            return self.read(folder, 0)

    @property
    def size(self):
        return self.shapes[0][:2] if self.shapes else (16, 16)

    def outputs(self, stem, number, with_sound):
        """ffmpeg's options for the files that read() reads, for the input of this number."""
        scale = "scale={}:{}:flags=bilinear+accurate_rnd+full_chroma_int+full_chroma_inp".format(*self.size)
        picture = ["-map", f"{number}:V:0", "-fps_mode", "passthrough"]
        sound = ["-map", f"{number}:a:0", "-ac", "1", "-f", "s16le", f"{stem}.pcm"]
        return [*(sound if with_sound and self.sound_times.size else ()),
                *((*picture, "-f", "framemd5", f"{stem}.md5", *picture, "-vf", scale, "-f", "rawvideo", "-pix_fmt",
                   "rgb24", f"{stem}.rgb") if self.frames else ())]

    def read(self, folder, number):
        made = {path.suffix: path.read_bytes() for path in pathlib.Path(folder).glob(f"{number}.*")}
        sums = [line.split()[-1] for line in made.get(".md5", b"").decode().splitlines() if not line.startswith("#")]
        width, height = self.size
        pixels = numpy.frombuffer(made.get(".rgb", b""), numpy.uint8)
        whole = width * height * 3
        pixels = pixels[:len(pixels) // whole * whole].reshape(-1, height, width, 3)
        return sums, pixels, numpy.frombuffer(made.get(".pcm", b""), numpy.int16).astype(numpy.float32)

    @functools.cached_property
    def complaints(self):
        """Errors that ffmpeg prints when it plays the whole file, except about times that it writes."""
        done = tool("ffmpeg", "-v", "error", "-nostdin", "-i", f"file:{self.path}", "-f", "null", "-")
        lines = [line for line in done.stderr.decode(errors="replace").splitlines()
                 if not line.startswith("[null @") and "Last message repeated" not in line]
        return "\n".join(lines).strip() or (f"exit status {done.returncode}" if done.returncode else "")

    # The sound

    @functools.cached_property
    def sound_frames(self):
        sound = next(iter(self.streams["audio"]), None)
        return [frame for frame in self.probed["frames"] if frame.get("media_type") == "audio" and int(
            frame.get("nb_samples", 0)) and frame["stream_index"] == sound["index"]] if sound else []

    @functools.cached_property
    def sound_times(self):
        return numpy.array([number(frame.get("pts_time", frame.get("best_effort_timestamp_time")))
                            for frame in self.sound_frames])

    @property
    def sound_rate(self):
        return int(self.streams["audio"][0].get("sample_rate", 48000))

    @functools.cached_property
    def sound_starts(self):
        """The index of the first sample of each frame of sound, and of the end."""
        return numpy.concatenate([[0], numpy.cumsum([int(frame["nb_samples"]) for frame in self.sound_frames])])

    def heard(self, time, epoch):
        """A time, or the nearest at which there is sound in an uninterrupted part."""
        here = numpy.flatnonzero(epochs(self.sound_times) == epoch)
        last = here[-1]
        end = self.sound_times[last] + (self.sound_starts[last + 1] - self.sound_starts[last]) / self.sound_rate
        return min(max(time, self.sound_times[here[0]]), end)

    def sound_at(self, time, epoch, length):
        """`length` seconds of sound from a time on, in an uninterrupted part, at 48000 samples per second. None in
        gaps and outside."""
        here = numpy.flatnonzero((epochs(self.sound_times) == epoch) & (self.sound_times <= time + 1e-6))
        if not here.size:
            return None
        covered = numpy.flatnonzero((self.sound_times >= time) & (self.sound_times < time + length) & (
            epochs(self.sound_times) == epoch))
        stated = self.sound_times[covered] - self.sound_times[here[-1]]
        counted = (self.sound_starts[covered] - self.sound_starts[here[-1]]) / self.sound_rate
        if (abs(stated - counted) > 0.03).any():
            return None  # a gap
        start = self.sound_starts[here[-1]] + (time - self.sound_times[here[-1]]) * self.sound_rate
        samples = self.decoded[2]
        places = start + numpy.arange(round(length * 48000)) * self.sound_rate / 48000
        if places[-1] >= len(samples):
            return None
        return numpy.interp(places, numpy.arange(len(samples)), samples)


def decode(inspections, folder, with_sound=True):
    """Decodes files by one process of ffmpeg into a folder. Returns whether it succeeded."""
    inputs, outputs = [], []
    for number, one in enumerate(inspections):
        inputs += [*(["-noautorotate"] if one.turn is None else ()), "-i", f"file:{one.path}"]
        outputs += one.outputs(f"{folder}/{number}", number, with_sound)
    return not outputs or not tool("ffmpeg", "-v", "error", "-nostdin", "-y", *inputs, *outputs).returncode


def decode_together(inspections):
    """Sets `decoded` of files: a process for each takes longer. Files that fail together are decoded one by one later."""
    with tempfile.TemporaryDirectory() as folder:
        if decode(inspections, folder):
            for number, one in enumerate(inspections):
                one.decoded = one.read(folder, number)
