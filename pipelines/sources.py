"""What the quickstart reads, files and cameras, and its pipeline for them."""

import os
import stat
import sys
import tempfile

from files import Output, printable

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "transcode"))


class InputProblem(Exception):
    """What the user gave cannot be used; the message says why."""


def is_live(source):
    return source.startswith(("rtsp://", "/dev/video"))


def check_source(source):
    """Raises InputProblem for what can be known to fail without opening the stream."""
    if source.startswith("rtsp://"):
        return
    if "://" in source and not os.path.exists(source):
        raise InputProblem(f"cannot read {source}: of addresses, only those of cameras (rtsp://) are taken")
    try:
        mode = os.stat(source).st_mode
    except OSError as error:
        raise InputProblem(f"cannot read {source}: {error.strerror}") from error
    if stat.S_ISDIR(mode):
        raise InputProblem(f"cannot read {source}: it is a folder")
    if not stat.S_ISREG(mode) and not stat.S_ISCHR(mode):
        raise InputProblem(f"cannot read {source}: it is neither a file nor a video device")
    if not os.access(source, os.R_OK):
        raise InputProblem(f"cannot read {source}: no permission")
    if stat.S_ISREG(mode) and os.path.getsize(source) == 0:
        raise InputProblem(f"cannot read {source}: the file is empty")


def description(source, fd, turn=None):
    """The pipeline as gst-launch would take it, but for a camera's decoder, whose pads appear late."""
    live = is_live(source)
    encoder = "tune=zerolatency speed-preset=ultrafast" if live else "speed-preset=veryfast"
    queue = "queue leaky=downstream max-size-buffers=8" if live else (
        "appsrc name=frames format=time block=true max-buffers=4 max-bytes=0 ! queue")
    flip = f" ! videoflip video-direction={turn} ! videoconvert" if turn else ""
    return (
        f"{queue} name=decoded ! videoconvert n-threads=2{flip}"
        " ! capsfilter name=converted caps=video/x-raw,format=I420 ! queue"
        " ! graphcutbg output=none ! cclabel name=objects source=mask track=true output=none"
        " ! regionoverlay name=drawn style=boxes+outlines+ids"
        # An added row or column, where needed, makes the sides even.
        " ! videobox name=evened fill=black ! videoconvert ! capsfilter name=coded caps=video/x-raw,format=I420 ! queue"
        f" ! x264enc pass=qual quantizer=20 bframes=0 key-int-max=100 {encoder}"
        f" ! h264parse ! mp4mux ! fdsink sync=false fd={fd}"
    )


class File:
    """A file, decoded and joined with its sound as regions-transcode does."""

    def __init__(self, source):
        import probe  # needs packages that a check must do without

        self.source = source
        try:
            self.input = probe.Input(os.path.abspath(source))
        except probe.InputProblem as problem:
            raise InputProblem(f"{source}: {problem}") from problem

    def pipeline(self, fd):
        import decoding
        from gstreamer import Gst

        made = Gst.parse_launch(description(self.source, fd, self.input.turn))
        frames = made.get_by_name("frames")
        frames.set_property("duration", round(self.input.length * Gst.SECOND))
        self.decoder = decoding.Decoder(self.input, frames)
        made.get_by_name("decoded").get_static_pad("src").set_offset(-round(self.input.delay * Gst.SECOND))
        return made

    def join(self, picture, out):
        """Writes `out`: the finished picture with the file's sound and other streams."""
        import joining
        from profiles import PROFILES

        with Output(out) as whole, tempfile.TemporaryFile("w+", errors="replace") as errors:
            process, notes = joining.add(picture, self.input, PROFILES["mp4"], whole.fd, errors)
            if process.wait() != 0:
                errors.seek(0)
                raise InputProblem(f"{self.source}: its sound cannot be kept: {joining.last_line(errors.read())}")
            whole.keep()
        for note in notes:
            print(printable(f"{self.source}: note: {note}"), file=sys.stderr)
