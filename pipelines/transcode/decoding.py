"""Decoded pictures for a pipeline: PyAV (FFmpeg's libraries) decodes, an appsrc takes the frames. FFmpeg
knows more containers, and which time a frame has, where GStreamer's demuxers lose frames without one."""

import sys
import threading

from gstreamer import Gst, GstVideo, VideoFormat
from shapes import Shapes, caps_of

try:
    import av
except ModuleNotFoundError:
    sys.exit("Debian's package python3-av is not installed: pipelines/setup installs it")

av.logging.set_level(av.logging.PANIC)  # what it tells of damage names no file
# FFmpeg's names of formats by GStreamer's; what is not here is converted to what is nearest.
FORMATS = {
    "yuv420p": "I420", "yuv422p": "Y42B", "yuv444p": "Y444", "yuv411p": "Y41B", "yuvj420p": "I420", "yuvj422p": "Y42B",
    "yuvj444p": "Y444", "nv12": "NV12", "yuyv422": "YUY2", "uyvy422": "UYVY", "yuv420p10le": "I420_10LE",
    "yuv422p10le": "I422_10LE", "yuv444p10le": "Y444_10LE", "yuv420p12le": "I420_12LE", "yuv422p12le": "I422_12LE",
    "yuv444p12le": "Y444_12LE", "yuva420p": "A420", "gray": "GRAY8", "gray16le": "GRAY16_LE", "rgb24": "RGB",
    "bgr24": "BGR", "rgba": "RGBA", "bgra": "BGRA", "argb": "ARGB", "abgr": "ABGR", "rgb0": "RGBx", "bgr0": "BGRx",
    "0rgb": "xRGB", "0bgr": "xBGR", "gbrp": "GBR", "gbrp10le": "GBR_10LE", "gbrp12le": "GBR_12LE",
    "rgba64le": "RGBA64_LE",
}
# Of GstVideoBufferFlags, which PyGObject takes for no flags of buffers.
INTERLACED, TOP_FIRST = (Gst.BufferFlags(int(flag)) for flag in (
    GstVideo.VideoBufferFlags.INTERLACED, GstVideo.VideoBufferFlags.TFF))
CHROMA_SITES = {"left": "mpeg2", "center": "jpeg", "topleft": "cosited"}


def nearest(form):
    """The format of FORMATS that holds a frame of another one (an av.VideoFormat)."""
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
    """Which of its times a packet or frame of a file goes by: AVI knows when packets are decoded, not when frames are
    shown."""
    return "dts" if file.format.name == "avi" else "pts"


class Decoder:
    """Gives the frames of an Input to `appsrc`, from a thread of its own."""

    def __init__(self, source, appsrc):
        self.source, self.appsrc = source, appsrc
        self.rate = source.rate or 25
        self.frame_time = round(Gst.SECOND / self.rate)
        self.frames = self.damaged = 0
        self.problem = self.change = None
        self.shapes = self.codec = None
        self.fitted = None  # the capsfilter of shapes.FIT
        self.refuse_changes = None  # is called if the shape of pictures changes
        self.format = self.first_caps = None  # format and shape of the frames; caps of the first frame, fitted
        self.last = None  # the time of the frame before
        self.shifted = 0  # what later times are moved by
        self.thread = threading.Thread(target=self.run)
        self.stopped = False
        self.threads = 0  # at most; 0: as many as there are processors

    def run(self):
        self.shapes = self.shapes or Shapes(self.source)
        try:
            # Names are paths, whatever they look like: not lists, patterns or addresses.
            with av.open("file:" + self.source.path, metadata_errors="replace") as file:
                picture = file.streams[self.source.picture["index"]]
                picture.thread_type = "AUTO"
                picture.codec_context.thread_count = self.threads
                self.codec = picture.codec_context
                name = stamp_name(file)
                for frame in self.decoded(file, picture):
                    if not self.give(frame, getattr(frame, name)):
                        break
                # Threads of the decoder that still work when Python ends are ended with it, and the end waits for them
                # for ever (seen with PyAV 10, in a quarter of the runs that end early).
                self.frames_of(picture.codec_context.decode)
        except (av.error.FFmpegError, OSError) as error:
            self.problem = str(error)
        finally:
            self.appsrc.emit("end-of-stream")

    def decoded(self, file, picture):
        """All frames; packets that are damaged are counted and left out."""
        try:
            for packet in self.packets(file, picture):
                yield from self.frames_of(packet.decode)
        except av.error.FFmpegError as error:  # of the container; frames that the decoder holds still come
            self.problem = str(error)
            yield from self.frames_of(picture.codec_context.decode)

    def packets(self, file, picture):
        return file.demux(picture)

    def frames_of(self, decode):
        try:
            return decode()
        except av.error.EOFError:
            return []
        except av.error.FFmpegError:
            self.damaged += 1
            return []

    def give(self, frame, stamp):
        form = frame.format.name
        if form not in FORMATS or any(plane.line_size < 0 for plane in frame.planes):
            pts, base = frame.pts, frame.time_base
            was, frame = frame.format, frame.reformat(format=nearest(frame.format))
            if loses(was, frame.format):
                self.change = f"its {was.name} pixels are taken for {frame.format.name}"
            frame.pts, frame.time_base = pts, base
        at = self.time(stamp, frame.time_base)
        shape, changes = self.shapes.follow(frame, self.codec, at / Gst.SECOND), len(self.shapes.changes)
        if changes and self.refuse_changes:
            self.refuse_changes()
            return False
        if self.format != (frame.format.name, shape):
            if not self.format:
                self.first_caps = self.caps(frame.format.name, self.shapes.first)
                if self.fitted:
                    self.fitted.set_property("caps", caps_of(self.shapes.first))
            self.format = (frame.format.name, shape)
            self.appsrc.set_property("caps", self.caps(*self.format))
        buffer = self.buffer(frame)
        buffer.pts = at
        buffer.duration = self.frame_time
        self.frames += 1
        return self.appsrc.emit("push-buffer", buffer) == Gst.FlowReturn.OK and not self.stopped

    def stop(self):
        """Ends the thread, also where it waits for a pipeline that never played."""
        self.stopped = True
        self.appsrc.set_property("max-buffers", 0)
        if self.thread.ident:
            self.thread.join()

    def time(self, stamp, base):
        """Nanoseconds from the beginning of the file. Times that are missing, or do not rise, are one
        frame after the one before; those that follow keep their distance from it."""
        beginning = round(self.source.start * Gst.SECOND)
        if self.last is None:
            first = round(self.source.delay * Gst.SECOND)
            if stamp is not None:
                self.shifted = first - round(stamp * base * Gst.SECOND) + beginning
            self.last = first
            return first
        following = self.last + self.frame_time
        time = following if stamp is None else round(stamp * base * Gst.SECOND) - beginning + self.shifted
        if time <= self.last:
            self.shifted += following - time
            time = following
        self.last = time
        return time

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

    def buffer(self, frame):
        """A buffer with a copy of the planes, whose rows may be longer than the picture's."""
        made = Gst.Buffer.new()
        offsets, strides, size = [0] * 4, [0] * 4, 0
        for number, plane in enumerate(frame.planes):
            offsets[number], strides[number] = size, plane.line_size
            data = bytes(plane)
            size += len(data)
            made.append_memory(Gst.Buffer.new_wrapped(data).get_all_memory())
        if self.source.fields:
            made.set_flags(INTERLACED)
            if self.source.fields == "top-field-first":
                made.set_flags(TOP_FIRST)
        form = VideoFormat.from_string(FORMATS[frame.format.name])
        GstVideo.buffer_add_video_meta_full(made, GstVideo.VideoFrameFlags.NONE, form, frame.width, frame.height,
                                            len(frame.planes), offsets, strides)
        return made
