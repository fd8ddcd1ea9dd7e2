"""The GStreamer plugin that lies beside this file, for the GStreamer of the system."""

from __future__ import annotations

import ctypes
import os
import pathlib

FOLDER = pathlib.Path(__file__).parent / "gstreamer"
OLDEST = (1, 22)
INSTALL = "on Debian and Ubuntu: apt install gstreamer1.0-tools gstreamer1.0-plugins-base gstreamer1.0-plugins-good"


def setup() -> str:
    """Puts the plugin on GStreamer's plugin path of this process and of those that it starts.

    To be called before GStreamer is initialised. What the variables GST_PLUGIN_PATH and GST_PLUGIN_PATH_1_0 hold is
    kept.

    Returns
    -------
    str: the folder of the plugin

    Raises
    ------
    RuntimeError
        GStreamer is not installed or older than 1.22, or the package was built without the plugin.
    """
    if not (FOLDER / "libgstregions.so").exists():
        raise RuntimeError("this build of gst_regions has no GStreamer plugin; the wheel of packaging/wheel has one")
    version = _version()
    if version is None:
        raise RuntimeError(f"GStreamer is not installed; {INSTALL}")
    if version < OLDEST:
        raise RuntimeError(f"GStreamer is {version[0]}.{version[1]}, the plugin needs {OLDEST[0]}.{OLDEST[1]} or later")
    # GStreamer reads GST_PLUGIN_PATH_1_0, and only where that is not set GST_PLUGIN_PATH.
    others = os.environ.get("GST_PLUGIN_PATH_1_0", os.environ.get("GST_PLUGIN_PATH", ""))
    folders = [str(FOLDER), *(folder for folder in others.split(os.pathsep) if folder not in ("", str(FOLDER)))]
    for name in ("GST_PLUGIN_PATH_1_0", "GST_PLUGIN_PATH"):
        os.environ[name] = os.pathsep.join(folders)
    return str(FOLDER)


def _version() -> tuple[int, int] | None:
    try:
        library = ctypes.CDLL("libgstreamer-1.0.so.0")
    except OSError:
        return None
    numbers = [ctypes.c_uint() for _ in range(4)]
    library.gst_version(*map(ctypes.byref, numbers))
    return numbers[0].value, numbers[1].value
