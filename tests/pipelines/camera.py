#!/usr/bin/python3
"""A network camera for tests: a server of RTSP in its own process, which shows a bouncing ball to this machine alone. As a
program it prints its address, and exits with 77 if GStreamer's RTSP server is not installed.

  camera.py [PORT]
"""

import subprocess
import sys


class Camera:
    """Plays until stop(). The test is skipped without a server."""

    def __init__(self, test, port=0):
        self.server = subprocess.Popen([sys.executable, __file__, str(port)], stdout=subprocess.PIPE, text=True)
        test.addCleanup(self.stop)
        self.address = self.server.stdout.readline().strip()
        if not self.address.startswith("rtsp://"):
            test.skipTest("no camera: " + self.address)
        self.port = int(self.address.split(":")[2].split("/")[0])

    def stop(self):
        """Ends without a message to clients, as if the camera lost its power."""
        self.server.kill()
        self.server.wait()
        self.server.stdout.close()


def serve(port):
    """Serves on a port, or on any free port if it is "0"."""
    import gi

    gi.require_version("Gst", "1.0")
    try:
        gi.require_version("GstRtspServer", "1.0")
    except ValueError as missing:
        print(missing)
        sys.exit(77)
    from gi.repository import GLib, Gst, GstRtspServer

    Gst.init(None)
    server = GstRtspServer.RTSPServer()
    server.set_address("127.0.0.1")
    server.set_service(port)
    factory = GstRtspServer.RTSPMediaFactory()
    factory.set_launch(
        "( videotestsrc is-live=true pattern=ball ! video/x-raw,width=320,height=240,framerate=25/1"
        " ! x264enc tune=zerolatency key-int-max=10 ! rtph264pay name=pay0 pt=96 )"
    )
    server.get_mount_points().add_factory("/ball", factory)
    server.attach(None)
    print(f"rtsp://127.0.0.1:{server.get_bound_port()}/ball", flush=True)
    GLib.MainLoop().run()


if __name__ == "__main__":
    serve(sys.argv[1] if len(sys.argv) > 1 else "0")
