#!/usr/bin/python3
"""Finds the moving objects of a video. Writes the video with boxes, outlines and ids (overlay.mp4) and the
frame with the most objects (still.png).

`graphcutbg` learns the background and separates the foreground. `cclabel` finds the objects in the
foreground and tracks them. `regionoverlay` draws them. transcode/job.py processes files, as for regions-transcode;
cameras.py processes cameras.
"""

import argparse
import functools
import os
import stat
import sys
import time

import standard_streams
from files import Arguments, Output, make_folder, printable

CLIP = "/usr/share/doc/opencv-doc/examples/data/vtest.avi"
FILTER = ("videoconvert name=entry n-threads=2 ! capsfilter name=converted caps=video/x-raw,format=I420 ! queue"
          " ! graphcutbg output=none ! cclabel name=regions source=mask track=true output=none"
          " ! regionoverlay style=boxes+outlines+ids")
# Smallest region that can be a person (fraction of the picture): 250 pixels at 768x576, chosen by eye on the
# example clip.
LEAST_AREA = 250 / (768 * 576)


class InputProblem(Exception):
    """The input cannot be used. The message gives the reason."""


def say(text, to=None):
    standard_streams.print_line(printable(text), "quickstart", to)


def is_live(source):
    return source.startswith(("rtsp://", "/dev/video"))


def check_source(source):
    """Raises InputProblem if the source is certain to fail, without opening the stream."""
    if source.startswith("rtsp://"):
        return
    if "://" in source and not os.path.exists(source):
        raise InputProblem(f"cannot read {source}: expected a file, /dev/videoN, or the rtsp:// address of a camera")
    try:
        mode = os.stat(source).st_mode
    except OSError as error:
        raise InputProblem(f"cannot read {source}: {error.strerror}") from error
    if stat.S_ISDIR(mode):
        raise InputProblem(f"cannot read {source}: it is a folder; expected a video file")
    if not stat.S_ISREG(mode) and not stat.S_ISCHR(mode):
        raise InputProblem(f"cannot read {source}: it is neither a file nor a video device")
    if not os.access(source, os.R_OK):
        raise InputProblem(f"cannot read {source}: no permission")
    if stat.S_ISREG(mode) and os.path.getsize(source) == 0:
        raise InputProblem(f"cannot read {source}: the file is empty")


class Found:
    """Results of FILTER: counts frames and regions, and keeps the frame with the most regions."""

    def __init__(self, gst):
        self.gst = gst
        self.frames = self.regions = 0
        self.started = self.ended = 0.0  # times of the first input frame and of the last output frame (seconds)
        self.best = self.device = None  # best: (number of regions, frame number, sample)

    def prepare(self, filtered):
        self.labeller, self.converted = (filtered.get_by_name(name) for name in ("regions", "converted"))
        kinds = self.gst.Gst.PadProbeType
        filtered.get_by_name("entry").get_static_pad("sink").add_probe(
            kinds.BUFFER | kinds.EVENT_DOWNSTREAM, self.see_input)

    def see_input(self, _pad, info):
        Gst = self.gst.Gst
        if info.type & Gst.PadProbeType.BUFFER:
            self.started = self.started or time.monotonic()
        elif info.get_event().type == Gst.EventType.CAPS:
            self.take_size(self.gst.first_structure(info.get_event().parse_caps()))
        return Gst.PadProbeReturn.OK

    def take_size(self, caps):
        """Sets the properties that depend on the input caps, before the elements negotiate."""
        if caps.get_value("format").startswith("GRAY") and (colors := caps.get_string("colorimetry")):
            # Keeping the colorimetry keeps the brightness of a gray picture.
            self.converted.set_property("caps", self.gst.Gst.Caps.from_string(
                f"video/x-raw,format=I420,colorimetry={colors}"))
        least = int(caps.get_value("width") * caps.get_value("height") * LEAST_AREA)
        self.labeller.set_property("min-area", least)
        self.labeller.set_property("fill-holes", least)

    def write(self, number, _time, buffer, caps):
        """Called for each finished frame."""
        found = self.gst.regions_total(buffer)
        self.device = self.device or self.labeller.get_property("active-device")
        self.regions += found
        if self.best is None or found > self.best[0]:
            self.best = (found, number, self.gst.Gst.Sample.new(buffer, caps, None, None))
        self.frames += 1
        self.ended = time.monotonic()

    def close(self):
        pass

    def write_still(self, path):
        Gst, convert = self.gst.Gst, self.gst.GstVideo.video_convert_sample
        opaque = convert(self.best[2], Gst.Caps.from_string("video/x-raw,format=RGB"), Gst.SECOND * 10)
        picture = convert(opaque, Gst.Caps.from_string("image/png"), Gst.SECOND * 10).get_buffer()
        with Output(path) as still:
            with open(still.fd, "wb", closefd=False) as file:
                file.write(picture.extract_dup(0, picture.get_size()))
            still.keep()

    def report(self):
        seconds = max(self.ended - self.started, 1e-9)
        say(f"{self.regions} regions in {self.frames} frames ({self.regions / self.frames:.1f} per frame, at most"
            f" {self.best[0]} in frame {self.best[1]})")
        say(f"{self.frames / seconds:.1f} frames/s including decoding and encoding; labelled on {self.device}")


def take_file(source, video, found):
    """Returns the exit status."""
    import filters  # imported late: --check must work without the packages that it requires
    from transcode import job
    from transcode.profiles import PROFILES
    from transcode.progress import Screen

    screen = Screen("quickstart")

    def say(**said):
        screen.forget(source) if "done" in said else screen.hear(source, said)

    filtered = filters.made(FILTER)
    found.prepare(filtered)
    made = job.Job(os.path.abspath(source), {"video": functools.partial(Output, video)}, filtered,
                   PROFILES["mp4"], say)
    made.sidecars.append(found)
    return made.run()


def parse(arguments):
    parser = Arguments(
        prog="quickstart", description="Finds the moving objects of a video and draws boxes, outlines and ids on them."
    )
    parser.add_argument("source", nargs="?", default=CLIP, metavar="FILE|rtsp://…|/dev/videoN",
                        help="video file or camera; default: the clip of people walking from Debian's opencv-doc")
    parser.add_argument("--out", default="out", metavar="FOLDER", help="folder for the results; default: out")
    parser.add_argument("--check", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    try:
        # pipelines/setup installs the example clip, but --check runs earlier.
        if not (options.check and options.source == CLIP):
            check_source(options.source)
    except InputProblem as problem:
        say(f"quickstart: {problem}", sys.stderr)
        return 2
    if options.check:
        return 0
    import cameras  # imported late: --check must work without the packages that it requires
    import gstreamer

    folder = os.path.realpath(options.out)
    try:
        make_folder(folder)
    except OSError as error:
        say(f"quickstart: {error.strerror}", sys.stderr)
        return 1
    video, still = os.path.join(folder, "overlay.mp4"), os.path.join(folder, "still.png")
    found = Found(gstreamer)
    if is_live(options.source):
        status, written = cameras.record(gstreamer, options.source, video, FILTER, found)
    else:
        status = take_file(options.source, video, found)
        written = status == 0
    if written:
        found.write_still(still)
        found.report()
        say(f"wrote {os.path.relpath(video)} and {os.path.relpath(still)}")
    return status


if __name__ == "__main__":
    standard_streams.reserve()
    sys.exit(main(sys.argv[1:]))
