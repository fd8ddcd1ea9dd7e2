"""Decoded pictures for a pipeline: PyAV (FFmpeg's libraries) decodes, and an appsrc takes the frames. FFmpeg reads more
containers than GStreamer, and it finds the times of frames that GStreamer's demuxers would drop.

Decoder gives the frames. Shapes follows their size and pixel aspect ratio, and Timeline closes jumps of their times."""

import contextlib
import ctypes
import functools
import gc
import itertools
import sys
import threading
from fractions import Fraction

from gstreamer import Gst, GstVideo, VideoFormat, c_function, keep_thread_state
from transcode.ffprobe import InputProblem, probed
from transcode.probe import ratio_of

try:
    import av
except ModuleNotFoundError:
    sys.exit("Debian's package python3-av is not installed: pipelines/setup installs it")

av.logging.set_level(av.logging.PANIC)  # its messages about damage name no file
# GStreamer's formats by FFmpeg's names. Other formats are converted to the nearest one of these.
FORMATS = {
    "yuv420p": "I420", "yuv422p": "Y42B", "yuv444p": "Y444", "yuv411p": "Y41B", "yuvj420p": "I420", "yuvj422p": "Y42B",
    "yuvj444p": "Y444", "nv12": "NV12", "yuyv422": "YUY2", "uyvy422": "UYVY", "yuv420p10le": "I420_10LE",
    "yuv422p10le": "I422_10LE", "yuv444p10le": "Y444_10LE", "yuv420p12le": "I420_12LE", "yuv422p12le": "I422_12LE",
    "yuv444p12le": "Y444_12LE", "yuva420p": "A420", "gray": "GRAY8", "gray16le": "GRAY16_LE", "rgb24": "RGB",
    "bgr24": "BGR", "rgba": "RGBA", "bgra": "BGRA", "argb": "ARGB", "abgr": "ABGR", "rgb0": "RGBx", "bgr0": "BGRx",
    "0rgb": "xRGB", "0bgr": "xBGR", "gbrp": "GBR", "gbrp10le": "GBR_10LE", "gbrp12le": "GBR_12LE",
    "rgba64le": "RGBA64_LE",
}
# GstVideoBufferFlags as buffer flags: PyGObject does not convert them.
INTERLACED, TOP_FIRST = (Gst.BufferFlags(int(flag)) for flag in (
    GstVideo.VideoBufferFlags.INTERLACED, GstVideo.VideoBufferFlags.TFF))
CHROMA_SITES = {"left": "mpeg2", "center": "jpeg", "topleft": "cosited"}
# PyAV 10 to 16 raise these for a file that cannot be opened or decoded. A stream without a decoder would give a
# RuntimeError or an AttributeError: see expect_decoder().
FILE_ERRORS = (av.error.FFmpegError, OSError, MemoryError)
# Scales pictures into the shape of caps_of(), which `fitted` gets. Borders keep the display aspect ratio.
FIT = "videoscale add-borders=true ! capsfilter name=fitted"
JUMPING = ("mpegts", "mpeg")  # FFmpeg's names of the formats whose times may jump
# The limits at which ffmpeg sees a jump, in seconds: from the file's latest time, and back within a stream.
FAR, BACK = 10, Fraction(1, 10)
CLOCKED = ("audio", "video")  # streams whose packets follow each other closely; subtitles pause


def nearest(form):
    """The format of FORMATS that holds a frame in another format (an av.VideoFormat)."""
    wide = form.components[0].bits > 8
    if form.has_palette:
        return "bgra"
    if form.is_rgb:
        return "rgba64le" if wide else "bgra" if len(form.components) > 3 else "bgr24"
    if len(form.components) < 3:
        return "gray16le" if wide else "gray"
    chroma = (form.chroma_width(8), form.chroma_height(8))
    return {(4, 8): "yuv422p", (8, 8): "yuv444p"}.get(chroma, "yuv420p") + ("12le" if wide else "")


def loses(old, new):
    """Whether a frame has fewer bits, or other chroma, in a new format."""
    chroma = [(form.chroma_width(8), form.chroma_height(8)) for form in (old, new)]
    return new.components[0].bits < old.components[0].bits or (
        not old.is_rgb and len(old.components) > 2 and chroma[0] != chroma[1])


def stamp_name(file):
    """The attribute of packets and frames that holds their time: AVI stores decoding times only."""
    return "dts" if file.format.name == "avi" else "pts"


class Damaged(Exception):
    """A packet could not be decoded."""


def frames_of(decode):
    """Frames that a call of PyAV returns, or None if it fails."""
    try:
        return decode()
    except av.error.EOFError:
        return []
    except av.error.FFmpegError:
        return None


MPEG = ("mpeg1video", "mpeg2video")  # their decoders do not work on several frames at once
# Bytes in a packet whose frame has closed captions, by ffprobe's name of the codec. Frames of other codecs have none.
CAPTION_MARKS = dict.fromkeys(("h264", "hevc", "vvc", "av1"), b"GA94") | dict.fromkeys(MPEG, b"")
# Number of frames with captions after which unused frames are freed. In PyAV, a frame and its side data refer to each
# other, so only the garbage collector frees them. By itself, it would run after hundreds of frames.
COLLECTED_FRAMES = 32


@functools.cache
def format_number(name):
    """GStreamer's number of a format in FORMATS."""
    return int(VideoFormat.from_string(FORMATS[name]))


class Decoder:
    """Gives the frames of an Input to `appsrc` from its own thread."""

    def __init__(self, source, appsrc):
        self.source, self.appsrc = source, appsrc
        self.rate = source.rate or 25
        self.frame_time = round(Gst.SECOND / self.rate)
        self.frames = self.damaged = 0
        self.problem = self.change = None
        self.shapes = self.codec = None
        self.captions = 0  # frames with closed captions
        self.may_have_captions = False  # whether a packet had the mark of captions
        self.key_stamp = None  # time of the last key packet, if the codec's ratio is that of this packet
        self.fitted = None  # the capsfilter of shapes.FIT
        self.refuse_changes = None  # is called if the shape of pictures changes
        self.format = self.first_caps = None  # format and shape of the frames; caps of the first frame, fitted
        self.last = None  # time of the previous frame, in nanoseconds
        self.shifted = 0  # nanoseconds that later times are moved by
        self.timeline = Timeline()
        self.has_decoding_times = source.format.get("format_name") == "avi"
        self.thread = threading.Thread(target=self.run)
        self.stopped = False
        self.threads = 0  # maximum number of decoder threads; 0: one per processor

    def run(self):
        self.shapes = self.shapes or Shapes(self.source)
        try:
            with contextlib.closing(self.decoded()) as frames:
                for frame, stamp in frames:
                    if not self.give(frame, stamp):
                        break
        except (av.error.FFmpegError, OSError, MemoryError) as error:
            self.problem = getattr(error, "strerror", None) or str(error)
        finally:
            self.appsrc.emit("end-of-stream")

    def decoded(self):
        """Yields all frames that can be decoded, each with its stamp. Damaged packets are counted and left out.

        Several threads decode until the first error. PyAV drops frames that other threads have finished when one thread
        fails, so a single thread then decodes the file again from its beginning, and frames that were given already
        are skipped."""
        given = 0
        try:
            for found in self.frames_of_file(self.threads, stop_at_damage=True):
                yield found
                given += 1
        except Damaged:
            self.timeline = Timeline()
            yield from itertools.islice(self.frames_of_file(1), given, None)

    def frames_of_file(self, threads, stop_at_damage=False):
        # "file:" makes every name a path: not a list, a pattern or an address.
        with av.open("file:" + self.source.path, metadata_errors="replace") as file:
            picture = file.streams[self.source.picture["index"]]
            if picture.codec_context is None:  # PyAV's FFmpeg is older than ffprobe's
                raise OSError(0, "no decoder is installed for its video")
            picture.thread_type = "AUTO"
            picture.codec_context.thread_count = threads
            self.codec, name, has_begun = picture.codec_context, stamp_name(file), False
            codec = self.source.picture.get("codec_name")
            mark = CAPTION_MARKS.get(codec)
            try:
                for packet in self.packets_to_the_end(file, picture):
                    if packet and mark is not None and not self.may_have_captions:
                        self.may_have_captions = mark in bytes(packet)
                    if packet and not packet.size and packet.dts is not None:
                        continue  # it repeats the last picture
                    if packet and packet.is_keyframe and codec in MPEG:
                        self.key_stamp = packet.pts
                    frames = frames_of(packet.decode if packet else picture.codec_context.decode)
                    # Errors before the first frame do not count: recordings may begin between key frames.
                    if frames is None and stop_at_damage and (has_begun or not (packet and packet.size)):
                        raise Damaged
                    self.damaged += frames is None and has_begun
                    for frame in frames or ():
                        has_begun = True
                        yield frame, getattr(frame, name)
            finally:
                # The decoder's threads must be idle when Python ends. Otherwise the process can hang (seen with PyAV 10
                # in a quarter of the runs that end early).
                frames_of(picture.codec_context.decode)

    def packets_to_the_end(self, file, picture):
        """All packets; None at the end of a damaged container, when the decoder still holds frames."""
        try:
            yield from self.packets(file, picture)
        except av.error.FFmpegError as error:
            self.problem = str(error)
            yield None

    def packets(self, file, picture):
        if may_jump(file):
            return picture_packets(file, picture, self.timeline)
        return file.demux(picture)

    def give(self, frame, stamp):
        name, planes = frame.format.name, frame.planes
        if name not in FORMATS or any(plane.line_size < 0 for plane in planes):
            pts, base = frame.pts, frame.time_base
            was, frame = frame.format, frame.reformat(format=nearest(frame.format))
            name, planes = frame.format.name, frame.planes
            if loses(was, frame.format):
                self.change = f"its {was.name} pixels are converted to {name}"
            frame.pts, frame.time_base = pts, base
        time = self.time(stamp, frame.time_base)  # first of all: later elements use the source's delay
        shape, changes = self.shapes.follow(frame, self.codec, time / Gst.SECOND, self.key_stamp), len(self.shapes.changes)
        if changes and self.refuse_changes:
            self.refuse_changes()
            return False
        if self.format != (name, shape):
            if not self.format:
                self.first_caps = self.caps(name, self.shapes.first)
                if self.fitted:
                    self.fitted.set_property("caps", caps_of(self.shapes.first))
            self.format = (name, shape)
            self.appsrc.set_property("caps", self.caps(*self.format))
        buffer = self.buffer(frame, name, planes)
        buffer.pts, buffer.duration = time, self.frame_time
        self.frames += 1
        if self.may_have_captions and self.frames % COLLECTED_FRAMES == 0:
            gc.collect()
        return self.appsrc.emit("push-buffer", buffer) == Gst.FlowReturn.OK and not self.stopped

    def notes(self):
        """Sentences on what changes between the file and the frames given."""
        begin = self.source.start
        return [note for note in (self.change, *(
            f"its times jump by {float(by):.1f} s at {float(at) - begin:.1f} s: the jump is closed in all streams"
            for at, by in self.timeline.jumps)) if note]

    @property
    def has_ended_without_frame(self):
        """Whether the thread has ended and the pipeline got no frame. Without caps, the end of the stream does not pass
        the pipeline."""
        return self.format is None and not self.thread.is_alive()

    def stop(self):
        """Ends the thread, also if it waits for a pipeline that never played."""
        self.stopped = True
        self.appsrc.set_property("max-buffers", 0)
        if self.thread.ident:
            self.thread.join()

    def time(self, stamp, base):
        """Nanoseconds from the beginning of the file. A missing time is one frame after the previous one. A time that
        does not rise becomes the smallest later one, and later frames keep their own times. If times jump back by more
        than two frames, all later frames move, so that the first of them is one frame after the previous one."""
        if self.last is None:
            self.last = self.first_time(stamp, base)
            return self.last
        following = self.last + self.frame_time
        time = following if stamp is None else self.time_of(stamp, base)
        if time < self.last - max(2 * self.frame_time, Gst.SECOND // 10):
            self.shifted += following - time
            time = following
        elif time <= self.last:
            time = self.last + min(Gst.MSECOND, self.frame_time // 2)
        self.last = time
        return time

    def time_of(self, stamp, base):
        return round(stamp * base * Gst.SECOND) - round(self.source.start * Gst.SECOND) + self.shifted

    def first_time(self, stamp, base):
        """The time of the first frame. If frames have decoding times only, the file says when the first one is shown."""
        if stamp is not None and not self.has_decoding_times:
            self.source.begin_at(stamp * base)
        first = round(self.source.delay * Gst.SECOND)
        if stamp is not None:
            self.shifted = first - self.time_of(stamp, base)
        return first

    def caps(self, name, shape):
        source, (width, height, ratio) = self.source, shape
        form = FORMATS[name]
        told = {"format": form, "width": width, "height": height, "colorimetry": source.colorimetry(form, height),
                "interlace-mode": "interleaved" if source.fields else "progressive"}
        if source.fields:
            told["field-order"] = source.fields
        if site := CHROMA_SITES.get(source.frame.get("chroma_location")):
            told["chroma-site"] = site
        text = "".join(f", {key}=(string){value}" if isinstance(value, str) else f", {key}={value}"
                       for key, value in told.items())
        rate = source.rate.limit_denominator(65536) if source.rate else 0
        return Gst.Caps.from_string(
            f"video/x-raw{text}, framerate=(fraction){rate.numerator}/{rate.denominator},"
            f" pixel-aspect-ratio=(fraction){ratio.numerator}/{ratio.denominator}")

    def buffer(self, frame, name, planes):
        """A buffer with the planes of a frame, which are not copied. Their rows may be longer than the picture's. `name`: the
        frame's format in FORMATS."""
        made, offsets, strides, size = Gst.Buffer.new(), OFFSETS(), STRIDES(), 0
        for number, plane in enumerate(planes):
            offsets[number], strides[number] = size, plane.line_size
            size += plane.buffer_size
            append_plane(made, plane)
        ADD_VIDEO_META(hash(made), 0, format_number(name), frame.width, frame.height, len(planes), offsets, strides)
        if self.source.fields:
            made.set_flags(INTERLACED)
            if self.source.fields == "top-field-first":
                made.set_flags(TOP_FIRST)
        for data in frame.side_data if self.may_have_captions else ():
            if data.type.name == "A53_CC":
                self.captions += 1
                GstVideo.buffer_add_video_caption_meta(made, GstVideo.VideoCaptionType.CEA708_RAW, bytes(data))
        return made


OFFSETS, STRIDES = ctypes.c_size_t * 4, ctypes.c_int * 4
ADD_VIDEO_META = c_function("gst_buffer_add_video_meta_full", ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int] * 2,
                            *[ctypes.c_uint] * 3, OFFSETS, STRIDES, library="libgstvideo-1.0.so.0")
PLANES = {}  # by number, the planes whose memory GStreamer still uses
NUMBERS = itertools.count(1)
DESTROY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # GDestroyNotify
MEMORY_OF = c_function("gst_memory_new_wrapped", ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t,
                       ctypes.c_size_t, ctypes.c_size_t, ctypes.c_void_p, DESTROY)
APPEND_MEMORY = c_function("gst_buffer_append_memory", None, ctypes.c_void_p, ctypes.c_void_p)


@DESTROY
def forget_plane(number, planes=PLANES):
    keep_thread_state()
    planes.pop(number, None)


def append_plane(buffer, plane):
    """Adds the memory of a plane to a buffer. The plane lives as long as this memory. Elements that change the picture copy
    it before, because the decoder may need it for later frames."""
    number, size = next(NUMBERS), plane.buffer_size
    PLANES[number] = plane
    APPEND_MEMORY(hash(buffer), MEMORY_OF(int(Gst.MemoryFlags.READONLY), plane.buffer_ptr, size, 0, size, number, forget_plane))


class Timeline:
    """Corrects the times of all packets of one file, in the order of the file."""

    def __init__(self):
        self.shift = self.earlier = Fraction(0)  # seconds; `earlier` applied until the last jump
        self.latest = None  # the latest corrected time, in seconds
        self.ends = {}  # by stream index: corrected begin and end of its last packet, in seconds
        self.leads = {}  # by stream index: how long after decoding its last packet is shown, in units of stamps
        self.jumps = []  # (when, by how many seconds) of each jump

    def correct(self, packet):
        """Moves a packet's times by the sum of all earlier jumps."""
        self.correct_lead(packet)
        stamp = packet.pts if packet.dts is None else packet.dts
        if stamp is None:
            return
        shift = self.shift
        if packet.stream.type in CLOCKED:
            shift = self.shift_for(packet.stream.index, stamp * packet.time_base)
            begin = stamp * packet.time_base + shift
            self.latest = begin if self.latest is None else max(self.latest, begin)
            self.ends[packet.stream.index] = begin, begin + (packet.duration or 0) * packet.time_base
        ticks = round(shift / packet.time_base)
        if packet.pts is not None:
            packet.pts += ticks
        if packet.dts is not None:
            packet.dts += ticks

    def correct_lead(self, packet):
        """FFmpeg takes the time at which the last packet before a jump is shown from the packet after the jump. Replaces
        that time by the usual distance from the time of decoding."""
        if packet.pts is None or packet.dts is None:
            return
        lead = packet.pts - packet.dts
        if lead < 0 or lead * packet.time_base > FAR:
            packet.pts = packet.dts + self.leads.get(packet.stream.index, 0)
        else:
            self.leads[packet.stream.index] = lead

    def shift_for(self, stream, raw):
        """The shift of a packet, after closing a jump at the packet, if there is one."""
        begin, expected = self.ends.get(stream, (None, self.latest))
        if not self.is_jump(raw + self.shift, begin):
            return self.shift
        if begin is not None and self.earlier != self.shift and abs(raw + self.earlier - expected) < BACK:
            return self.earlier  # the rest of a stream may come after packets of other streams from beyond the jump
        if abs(expected - self.latest) > FAR:
            expected = self.latest
        self.jumps.append((expected, raw + self.shift - expected))
        self.earlier, self.shift = self.shift, expected - raw
        return self.shift

    def is_jump(self, time, before):
        """`before`: the time of the previous packet in the same stream, or None."""
        if self.latest is None:
            return False
        return abs(time - self.latest) > FAR or (before is not None and time < before - BACK)


def copied_stream(file, stream):
    """Adds a stream to an output file for packets of another file's stream."""
    # PyAV 14 and later; without `opaque`, it would open an encoder for a video.
    add = getattr(file, "add_stream_from_template", None)
    return add(stream, opaque=True) if add else file.add_stream(template=stream)


def may_jump(file):
    return file.format.name in JUMPING


def picture_packets(file, picture, timeline):
    """Packets of the picture at corrected times. The packets of other streams are read because a jump may begin there."""
    for packet in file.demux():
        timeline.correct(packet)
        if packet.stream.index == picture.index:
            yield packet


def first_shape(source):
    """The shape of the first picture of an Input as ffprobe reports it, or None."""
    frame = source.frame
    if not frame.get("width") or not frame.get("height"):
        return None
    ratio = frame.get("sample_aspect_ratio", source.picture.get("sample_aspect_ratio"))
    return frame["width"], frame["height"], ratio_of(ratio)


def caps_of(shape):
    width, height, ratio = shape
    return Gst.Caps.from_string(f"video/x-raw(ANY), width={width}, height={height},"
                                f" pixel-aspect-ratio=(fraction){ratio.numerator}/{ratio.denominator}")


def ratio_in(caps):
    """The pixel aspect ratio of a structure of caps."""
    found, width, height = caps.get_fraction("pixel-aspect-ratio")
    return Fraction(width, height) if found and width * height else Fraction(1)


def container_has_ratio(source):
    """Whether the container stores a pixel aspect ratio, which FFmpeg prefers to the codec's."""
    streams = probed(source.path, "-nofind_stream_info", "-select_streams", str(source.picture["index"]),
                     "-show_entries", "stream=sample_aspect_ratio").get("streams", [])
    return any("sample_aspect_ratio" in stream for stream in streams)


class Shapes:
    """Follows the shape of an Input's pictures. `first` is the shape of the file, None before the first picture if ffprobe
    does not report it. `changes` lists when the shape changed (seconds) and the new shape."""

    def __init__(self, source, is_begin=True):
        """`is_begin`: decoding begins at the beginning of the file."""
        self.source, self.first = source, first_shape(source)
        self.now, self.changes = self.first, []
        self.codec_ratio = self.first[2] if self.first and is_begin else None
        self.reported = self.valid_from = None  # the codec's latest ratio, and the time from which it holds, if that is known
        self.is_fixed = None  # whether the container stores the ratio, as soon as that matters
        self.is_first_picture = True

    def follow(self, frame, codec, seconds, key_stamp=None):
        """The shape of a decoded frame. `codec`: its av.CodecContext, or None. `key_stamp`: the time of the key packet that the
        codec's ratio belongs to, in the frame's units, if it is known."""
        ratio = self.ratio(frame, Fraction(codec and codec.sample_aspect_ratio or 1) or Fraction(1), key_stamp)
        shape = (frame.width, frame.height, ratio)
        self.first = self.first or shape
        if shape != (self.now or shape):
            self.changes.append((seconds, shape))
        self.now = shape
        return shape

    def state(self, begin):
        """For JSON: the first shape, and the shapes from `begin` seconds on."""
        def told(shape):
            return [*shape[:2], str(shape[2])]

        earlier = [shape for seconds, shape in self.changes if seconds <= begin]
        return {"first": told(self.first), "changes": [[begin, told((earlier or [self.first])[-1])]] + [
            [seconds, told(shape)] for seconds, shape in self.changes if seconds > begin]}

    def ratio(self, frame, codec_ratio, key_stamp):
        """The pixel aspect ratio of a frame. The decoder's threads and its reordering report the codec's ratio some frames
        early. A ratio only changes where a new sequence begins, so it holds from the next key frame on."""
        now = self.now[2] if self.now else codec_ratio
        is_first, self.is_first_picture = self.is_first_picture, False
        if codec_ratio != self.reported:
            self.reported, self.valid_from = codec_ratio, key_stamp
        if self.valid_from is not None and frame.pts is not None and frame.pts < self.valid_from:
            return now
        if codec_ratio == self.codec_ratio or not (frame.key_frame or is_first):
            return now
        if is_first and self.codec_ratio is not None:  # the threads may be ahead of the first frame
            return now
        self.codec_ratio = codec_ratio
        if codec_ratio == now:
            return now
        if self.is_fixed is None:
            self.is_fixed = container_has_ratio(self.source)
        return now if self.is_fixed else codec_ratio


def joined_shapes(segments):
    """The first shape of a file and the changes of its consecutive segments, each as Shapes.state() reports it."""
    first, changes = shape_from(segments[0]["first"]), []
    now = first
    for segment in segments:
        for seconds, state in segment["changes"]:
            if (shape := shape_from(state)) != now:
                changes.append((seconds, shape))
            now = shape
    return first, changes


def shape_from(state):
    return state[0], state[1], Fraction(state[2])


def described(shape, with_ratio):
    width, height, ratio = shape
    return f"{width}x{height}" + (f" (pixel aspect ratio {ratio.numerator}:{ratio.denominator})" if with_ratio else "")


def shape_change(first, changes):
    """How the pictures of a file change, and the name of its first shape."""
    seconds, shape = changes[0]
    with_ratio = any(other[2] != first[2] for _, other in changes)
    more = f" and {len(changes) - 1} more times" if len(changes) > 2 else " and once more" if len(changes) == 2 else ""
    return (f"its pictures change from {described(first, with_ratio)} to {described(shape, with_ratio)} at {seconds:.1f} s"
            + more), described(first, with_ratio)


def shape_note(first, changes):
    """A sentence on changes that were scaled away, or None."""
    if not changes:
        return None
    change, kept = shape_change(first, changes)
    return f"{change}: they are scaled to {kept}"


def shape_refusal(shapes, holder):
    """Why `holder`, which stores each pixel, cannot store a file."""
    return (f"{shape_change(shapes.first, shapes.changes)[0]}, and {holder} has one size: cut the file there, or use --profile"
            " mp4, mkv or webm without --labels, where pictures are scaled")


def error_reason(error):
    """The text of an exception, without a file's name."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def expect_decoder(stream):
    """Raises InputProblem if PyAV's FFmpeg cannot decode a stream of ffprobe's."""
    name = stream.get("codec_name", "unknown")
    try:
        av.codec.Codec(name, "r")
    except ValueError as unknown:  # PyAV's UnknownCodecError is in different modules in different versions
        codec = "unknown codec" if name == "unknown" else f"codec {name}"
        raise InputProblem(f"no decoder is installed for its video: {codec}"
                           f" (tag {stream.get('codec_tag_string', 'none')})") from unknown


def why_no_frame(source):
    """Why no frame of an Input can be decoded. Reads the file up to the first packet that the decoder refuses."""
    packets = 0
    try:
        with av.open("file:" + source.path, metadata_errors="replace") as file:
            for packet in file.demux(file.streams[source.picture["index"]]):
                packets += packet.size > 0
                try:
                    packet.decode()
                except av.error.EOFError:
                    break
                except av.error.FFmpegError as error:
                    return f"the decoder refuses its packets ({error_reason(error)})"
    except FILE_ERRORS as error:
        return error_reason(error)
    return f"the decoder makes no picture of its {packets} packets" if packets else "it holds no packets of video"
