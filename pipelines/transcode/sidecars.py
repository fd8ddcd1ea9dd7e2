"""The labels as a video, which regions-transcode writes beside the picture."""

import gstreamer
import numpy
import profiles
from gstreamer import Gst


class SidecarProblem(Exception):
    """A frame that the sidecar cannot hold; the message says why."""


class LabelVideo:
    """The label of every pixel as a 16-bit gray video, lossless: FFV1 in Matroska."""

    BRANCH = ("appsrc name=labels format=time block=true max-bytes=50000000 ! queue !"
              " avenc_ffv1 name=labels-encoder ! matroskamux ! fdsink sync=false fd={}")

    def __init__(self, pipeline):
        self.source, self.encoder = pipeline.get_by_name("labels"), pipeline.get_by_name("labels-encoder")
        self.size = None

    def write(self, number, time, buffer, caps):
        labels = label_map(buffer, number)
        height, width = labels.shape
        if self.size is None:
            self.size = labels.shape
            profiles.suit_to_size(self.encoder, width, height)
            rate = gstreamer.first_structure(caps).get_value("framerate")
            self.source.set_property("caps", Gst.Caps.from_string(
                f"video/x-raw,format=GRAY16_LE,width={width},height={height},"
                f"framerate={rate.num}/{rate.denom},colorimetry=1:4:0:0"))
        if labels.shape != self.size:
            raise SidecarProblem(f"the picture's size changes at frame {number}:"
                                 " a label video has one size")
        most = labels.max(initial=0)
        if most > 65535:
            raise SidecarProblem(f"frame {number} has {most} regions: a label video holds 65535")
        row = numpy.zeros((height, (width + 1) // 2 * 2), numpy.uint16)  # rows of whole words
        row[:, :width] = labels
        out = Gst.Buffer.new_wrapped(row.tobytes())
        out.pts, out.duration = time, buffer.duration
        if self.source.emit("push-buffer", out) == Gst.FlowReturn.ERROR:
            raise SidecarProblem("the label video cannot be written")

    def close(self):
        self.source.emit("end-of-stream")


def label_map(buffer, number):
    """The label map attached to a frame, as an array [row][column]; that of several thresholds has one
    below another, as the pictures of output=labels have."""
    meta = buffer.get_custom_meta("regions")
    structure = meta.get_structure() if meta else None
    if not structure or not structure.has_field("labels"):
        raise SidecarProblem(f"frame {number} has no label map: the filter has no element that attaches one, such as cclabel")
    kind = numpy.uint8 if structure.get_value("labels-format") == "GRAY8" else numpy.uint32
    labels = structure.get_value("labels")
    of = "labels-" if structure.has_field("labels-width") else ""  # the picture was scaled since
    layers = structure.get_value("layers") if structure.has_field("layers") else 1
    shape = structure.get_value(of + "height") * layers, structure.get_value(of + "width")
    mapped, view = labels.map(Gst.MapFlags.READ)
    if not mapped:
        raise SidecarProblem(f"the label map of frame {number} cannot be read")
    try:
        if view.size != numpy.prod(shape) * kind().itemsize:
            raise SidecarProblem(f"the label map of frame {number} has {view.size} bytes, not those of"
                                 f" {shape[1]} x {shape[0]} labels")
        return numpy.frombuffer(view.data, kind).reshape(shape).astype(numpy.uint32)
    finally:
        labels.unmap(view)
