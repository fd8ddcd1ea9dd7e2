"""Frames with their metadata for tests in Python, read with an appsink."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "pipelines"))
import gstreamer  # noqa: E402,F401  (after the path)
from gstreamer import Gst  # noqa: E402


def frames(line):
    """The buffers at the end of a pipeline."""
    pipeline = Gst.parse_launch(line + " ! appsink name=frames sync=false")
    pipeline.set_state(Gst.State.PLAYING)
    sink = pipeline.get_by_name("frames")
    while sample := sink.emit("pull-sample"):
        yield sample.get_buffer()
    pipeline.set_state(Gst.State.NULL)
