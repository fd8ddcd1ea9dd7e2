#!/usr/bin/python3
"""A camera on the network, for tests: serves a bouncing ball on this machine alone and prints its
address. Exits with 77 where GStreamer's RTSP server is not installed.

  rtsp_server.py [PORT]
"""

import sys

import gi

gi.require_version("Gst", "1.0")
try:
    gi.require_version("GstRtspServer", "1.0")
except ValueError as missing:
    print(missing)
    sys.exit(77)
from gi.repository import GLib, Gst, GstRtspServer  # noqa: E402  (after require_version)

Gst.init(None)
server = GstRtspServer.RTSPServer()
server.set_address("127.0.0.1")
server.set_service(sys.argv[1] if len(sys.argv) > 1 else "0")  # 0: any free port
factory = GstRtspServer.RTSPMediaFactory()
factory.set_launch(
    "( videotestsrc is-live=true pattern=ball ! video/x-raw,width=320,height=240,framerate=25/1"
    " ! x264enc tune=zerolatency key-int-max=10 ! rtph264pay name=pay0 pt=96 )"
)
server.get_mount_points().add_factory("/ball", factory)
server.attach(None)
print(f"rtsp://127.0.0.1:{server.get_bound_port()}/ball", flush=True)
GLib.MainLoop().run()
