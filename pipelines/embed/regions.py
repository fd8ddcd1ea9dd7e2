#!/usr/bin/python3
"""A Python application that reads the regions and the label map of every frame, and changes a property
while the pipeline is playing. NumPy reads the label map without a copy.

  pipelines/with-plugin /usr/bin/python3 pipelines/embed/regions.py FILE

Prints one line per frame. After frame 10, the threshold is raised to 0.8: only pixels with at least 80 %
of full brightness belong to regions.
"""

import contextlib
import sys

import gi
import numpy

gi.require_version("Gst", "1.0")
gi.require_version("GstApp", "1.0")
from gi.repository import Gst, GstApp  # noqa: E402,F401  (GstApp: its methods of appsink)

CHANGE_AT = 10
NEW_THRESHOLD = 0.8


@contextlib.contextmanager
def label_map(found):
    """The label of every pixel as an array [row][column]; 0 is the background. The array uses the memory of the
    metadata and is valid until the `with` block ends: copy labels that you need later. A label map on a GPU is
    downloaded."""
    buffer = found.get_value("labels")
    shape = found.get_value("height"), found.get_value("width")
    mapped, view = buffer.map(Gst.MapFlags.READ)
    if not mapped:
        raise RuntimeError("cannot map the label map for reading")
    try:
        yield numpy.frombuffer(view.data, numpy.uint32).reshape(shape)
    finally:
        buffer.unmap(view)


def table(found):
    """Returns the regions as one structured array with a field per region property, without a Python loop."""
    if not found.has_field("table"):
        return numpy.empty(0, [("id", "<u4"), ("area", "<u8")])
    columns = [tuple(column.split(":")) for column in found.get_value("table-columns").split()]
    rows = found.get_value("table")
    return numpy.frombuffer(rows.extract_dup(0, rows.get_size()), columns)


def print_frame(number, buffer):
    found = buffer.get_custom_meta("regions").get_structure()
    regions = table(found)
    largest, area = regions[["id", "area"]][regions["area"].argmax()] if len(regions) else (0, 0)
    with label_map(found) as labels:
        counted = numpy.count_nonzero(labels == largest) if largest else 0
    print(f"frame {number}: {len(regions)} regions, the largest is region {largest} with {area} pixels"
          f" ({counted} in the label map)")


def main(path):
    Gst.init(None)
    pipeline = Gst.parse_launch(
        "uridecodebin name=file ! videoconvert ! cclabel name=labeller output=none"
        " ! appsink name=frames sync=false max-buffers=2"
    )
    pipeline.get_by_name("file").set_property("uri", Gst.filename_to_uri(path))
    labeller, frames = pipeline.get_by_name("labeller"), pipeline.get_by_name("frames")
    pipeline.set_state(Gst.State.PLAYING)
    bus = pipeline.get_bus()
    number, failure = 0, None
    # Pull with a timeout: after an error, no more frames arrive.
    while not (failure := bus.pop_filtered(Gst.MessageType.ERROR)) and not frames.is_eos():
        sample = frames.try_pull_sample(Gst.SECOND // 10)
        if not sample:
            continue
        print_frame(number, sample.get_buffer())
        number += 1
        if number == CHANGE_AT:
            labeller.set_property("threshold", NEW_THRESHOLD)
    pipeline.set_state(Gst.State.NULL)
    if failure:
        print(f"regions: {failure.parse_error()[0].message}", file=sys.stderr)
    return 1 if failure else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print("usage: regions.py FILE", file=sys.stderr)
        sys.exit(2)
    sys.exit(main(sys.argv[1]))
