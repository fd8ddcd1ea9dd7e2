"""How often each pixel was foreground, drawn by regions-transcode --heatmap. The pixels come from the runs in stored JSON.
Only the picture of the background is decoded."""

import contextlib
from fractions import Fraction

import numpy
from files import Output, opened
from transcode.decode import FILE_ERRORS, av, error_reason
from transcode.event_lines import LINE_ERRORS, table_in

MAX_SIDE = 16384  # pixels
# The colours from rarely to often.
RAMP = numpy.array([(40, 60, 200), (0, 190, 220), (90, 210, 60), (250, 220, 0), (230, 30, 20)], float)
OPACITY = 0.75  # of the colour of the most frequent pixel


class NoHeatMap(Exception):
    """The picture cannot be made. The message gives the reason."""


class Heat:
    """Counts for each pixel in how many frames it was foreground."""

    def __init__(self):
        self.edges, self.frames = None, 0  # edges: [height][width + 1], beginnings minus ends of runs

    def add(self, path):
        """Adds the frames of a file of stored regions."""
        number = 0
        try:
            with opened(path) as file:
                for number, line in enumerate(file, 1):
                    self.add_frame(table_in(line))
        except OSError as problem:
            raise NoHeatMap(f"{path} cannot be read: {problem.strerror}") from problem
        except LINE_ERRORS as problem:
            raise NoHeatMap(f"{path}: line {number} is not a frame of regions-transcode --json: {problem}") from problem
        except NoHeatMap as problem:
            raise NoHeatMap(f"{path}: line {number}: {problem}") from problem

    def add_frame(self, table):
        shape = table["height"], table["width"] + 1
        if not 1 <= table["height"] <= MAX_SIDE or not 1 <= table["width"] <= MAX_SIDE:
            raise NoHeatMap(f"a picture of {table['width']} x {table['height']} pixels; a side has at most {MAX_SIDE}")
        if self.edges is None:
            self.edges = numpy.zeros(shape, numpy.int64)
        if self.edges.shape != shape:
            raise NoHeatMap(f"{table['width']} x {table['height']} pixels, but earlier frames have"
                            f" {self.edges.shape[1] - 1} x {self.edges.shape[0]}")
        self.frames += 1
        if "runs" not in table:
            if table["regions"]:
                raise NoHeatMap("the regions have no pixels: use cclabel attach-runs=true in the filter")
            return
        if not table["runs"]:
            return
        _, x, y, width = numpy.array(table["runs"], numpy.int64).T
        if (y >= table["height"]).any() or (x + width > table["width"]).any():
            raise NoHeatMap("a run is outside of the picture")
        numpy.add.at(self.edges, (y, x), 1)
        numpy.add.at(self.edges, (y, x + width), -1)

    def shares(self):
        """The share of frames in which each pixel was foreground, [height][width]."""
        return self.edges.cumsum(axis=1)[:, :-1] / self.frames


def picture_of(path, shape):
    """Returns the first picture of a file, scaled to `shape`: an array [height][width][3]."""
    height, width = shape
    try:
        with av.open("file:" + path) as file:
            frame = next(file.decode(video=0))
            return frame.reformat(width, height, "rgb24").to_ndarray()
    except (*FILE_ERRORS, StopIteration, IndexError) as problem:
        raise NoHeatMap(f"{path} is not a picture or video: {error_reason(problem) or 'it is empty'}") from problem


def colored(shares, background):
    """The background with the colours of the shares. Pixels that were never foreground stay as they are."""
    level = numpy.sqrt(shares / max(shares.max(), 1e-9))
    place = level * (len(RAMP) - 1)
    lower = numpy.minimum(place.astype(int), len(RAMP) - 2)
    part = (place - lower)[..., None]
    color = RAMP[lower] * (1 - part) + RAMP[lower + 1] * part
    opacity = (OPACITY * numpy.sqrt(level))[..., None]
    return numpy.round(background * (1 - opacity) + color * opacity).astype(numpy.uint8)


def png_of(rgb):
    """Encodes an array [height][width][3]. Returns the bytes of a PNG file."""
    height, width, _ = rgb.shape
    encoder = av.CodecContext.create("png", "w")
    encoder.width, encoder.height, encoder.pix_fmt, encoder.time_base = width, height, "rgb24", Fraction(1, 25)
    frame = av.VideoFrame.from_ndarray(numpy.ascontiguousarray(rgb), "rgb24")
    return b"".join(bytes(packet) for packet in [*encoder.encode(frame), *encoder.encode(None)])


def write(paths, out, background):
    """Writes the heat map of files of stored regions. `background`: a picture or a video, or None for gray. Returns a
    sentence about the result."""
    heat = Heat()
    for path in paths:
        heat.add(path)
    if not heat.frames:
        raise NoHeatMap("the files have no frames")
    shares = heat.shares()
    below = picture_of(background, shares.shape) if background else numpy.full((*shares.shape, 3), 96, numpy.uint8)
    with contextlib.ExitStack() as kept:
        try:
            file = kept.enter_context(Output(out))
            with open(file.fd, "wb", closefd=False) as stream:
                stream.write(png_of(colored(shares, below)))
            file.keep()
        except OSError as problem:
            raise NoHeatMap(problem.strerror or str(problem)) from problem
    y, x = numpy.unravel_index(shares.argmax(), shares.shape)
    return (f"{heat.frames} frames; foreground at {numpy.count_nonzero(shares) / shares.size:.1%} of the pixels, most often at"
            f" {x}, {y} ({shares[y, x]:.1%} of the frames); wrote {out}")
