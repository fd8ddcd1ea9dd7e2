"""Makes the GStreamer plugin of this package available to the GStreamer of the system."""

from __future__ import annotations

import ctypes
import os
import pathlib

FOLDER = pathlib.Path(__file__).parent / "gstreamer"  # contains the plugin if the package was built with it
OLDEST_VERSION = (1, 22)
INSTALL_HINT = ("on Debian and Ubuntu: "
                "apt install gstreamer1.0-tools gstreamer1.0-plugins-base gstreamer1.0-plugins-good")


def setup() -> str:
    """Adds the plugin to GStreamer's plugin path, for this process and its child processes.

    Call it before GStreamer is initialised. It prepends the folder of the plugin to the environment variables
    GST_PLUGIN_PATH_1_0 and GST_PLUGIN_PATH.

    Returns
    -------
    str: the folder of the plugin

    Raises
    ------
    RuntimeError
        GStreamer is not installed or is older than 1.22, or the package was built without the plugin.
    """
    if not (FOLDER / "libgstregions.so").exists():
        raise RuntimeError("this build of gst_regions has no GStreamer plugin; install the wheel of packaging/wheel")
    version = _version()
    if version is None:
        raise RuntimeError(f"GStreamer is not installed; {INSTALL_HINT}")
    if version < OLDEST_VERSION:
        raise RuntimeError(f"GStreamer is {version[0]}.{version[1]}, "
                           f"must be {OLDEST_VERSION[0]}.{OLDEST_VERSION[1]} or later")
    # GStreamer reads GST_PLUGIN_PATH only if GST_PLUGIN_PATH_1_0 is not set.
    others = os.environ.get("GST_PLUGIN_PATH_1_0", os.environ.get("GST_PLUGIN_PATH", ""))
    folder = str(FOLDER)
    folders = [folder, *(other for other in others.split(os.pathsep) if other not in ("", folder))]
    for name in ("GST_PLUGIN_PATH_1_0", "GST_PLUGIN_PATH"):
        os.environ[name] = os.pathsep.join(folders)
    return folder


def _version() -> tuple[int, int] | None:
    """Returns the major and minor version of the installed GStreamer, or None without GStreamer."""
    try:
        library = ctypes.CDLL("libgstreamer-1.0.so.0")
    except OSError:
        return None
    numbers = [ctypes.c_uint() for _ in range(4)]
    library.gst_version(*map(ctypes.byref, numbers))
    return numbers[0].value, numbers[1].value
