"""Runs a command where GStreamer finds the plugin: python -m gst_regions gst-launch-1.0 …"""

from .commands import main

main()
