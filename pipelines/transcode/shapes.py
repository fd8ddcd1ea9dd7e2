"""The shape of decoded pictures (width, height and pixel aspect ratio), which may change inside a stream. The shape of
the first picture is the file's. Pictures of other shapes are scaled into it before the filter, so that regions are in the
pixels that are written."""

from fractions import Fraction

from gstreamer import Gst
from probe import probed

# Scales pictures into the shape of caps_of(), which `fitted` gets. Borders keep the display aspect ratio.
FIT = "videoscale add-borders=true ! capsfilter name=fitted"


def ratio_of(text):
    """The pixel aspect ratio that ffprobe writes as 4:3; 1 if it is unknown."""
    width, _, height = (text or "").partition(":")
    known = width.isdigit() and height.isdigit() and int(width) * int(height)
    return Fraction(int(width), int(height)) if known else Fraction(1)


def first_of(source):
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
        self.source, self.first = source, first_of(source)
        self.now, self.changes = self.first, []
        self.codec_ratio = self.first[2] if self.first and is_begin else None
        self.is_fixed = None  # whether the container stores the ratio, as soon as that matters
        self.is_first_picture = True

    def follow(self, frame, codec, seconds):
        """The shape of a decoded frame. `codec`: its av.CodecContext, or None."""
        ratio = self.ratio(frame, Fraction(codec and codec.sample_aspect_ratio or 1) or Fraction(1))
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

    def ratio(self, frame, codec_ratio):
        """The pixel aspect ratio of a frame. The decoder's threads and its reordering report the codec's ratio some frames
        early. A ratio only changes where a new sequence begins, so it holds from the next key frame on."""
        now = self.now[2] if self.now else codec_ratio
        is_first, self.is_first_picture = self.is_first_picture, False
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


def joined(segments):
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


def change_of(first, changes):
    """How the pictures of a file change, and the name of its first shape."""
    seconds, shape = changes[0]
    with_ratio = any(other[2] != first[2] for _, other in changes)
    more = f" and {len(changes) - 1} more times" if len(changes) > 2 else " and once more" if len(changes) == 2 else ""
    return (f"its pictures change from {described(first, with_ratio)} to {described(shape, with_ratio)} at {seconds:.1f} s"
            + more), described(first, with_ratio)


def note(first, changes):
    """A sentence on changes that were scaled away, or None."""
    if not changes:
        return None
    change, kept = change_of(first, changes)
    return f"{change}: they are scaled to {kept}"


def refusal(shapes, holder):
    """Why `holder`, which stores each pixel, cannot store a file."""
    return (f"{change_of(shapes.first, shapes.changes)[0]}, and {holder} has one size: cut the file there, or use --profile"
            " mp4, mkv or webm without --labels, where pictures are scaled")
