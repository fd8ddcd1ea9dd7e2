"""Runs a command that finds the GStreamer plugin of this package: python -m gst_regions gst-launch-1.0 …"""

from .commands import main

main()
