"""The elements that read a camera, a file or an address. A name never becomes part of a pipeline's text."""

import os
import urllib.parse

from files import unreadable


class BadSource(Exception):
    """The source cannot be read. The message gives the reason."""


def is_live(name):
    """Whether the source plays at its own speed."""
    return name == "test" or name.startswith(("rtsp://", "/dev/"))


def shown(name):
    """The source without a user's name and password."""
    parts = urllib.parse.urlsplit(name) if "://" in name else None
    return name if not parts else parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def elements(name, file_pace=""):
    """Returns the elements that read the source, as for gst-launch, and the properties of the element named `camera`.
    `file_pace` follows the decoder of a file or an address, such as " ! clocksync"."""
    if name == "test":
        return "videotestsrc name=camera is-live=true pattern=ball", {}
    if name.startswith("rtsp://"):
        return "rtspsrc name=camera latency=200 ! decodebin", {"location": name}
    if name.startswith("/dev/"):
        return "v4l2src name=camera ! decodebin", {"device": name}
    is_address = "://" in name and not os.path.exists(name)
    # Opening a FIFO would wait for a writer, and Ctrl-C would not end it.
    if os.path.exists(name) and (problem := unreadable(name)):
        raise BadSource(f"{name}: {problem}")
    from gstreamer import Gst

    uri = name if is_address else Gst.filename_to_uri(os.path.abspath(name))
    return f"uridecodebin name=camera expose-all-streams=false caps=video/x-raw(ANY){file_pace}", {"uri": uri}
