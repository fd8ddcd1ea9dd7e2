"""Runs commands that need the plugin: GStreamer's tools, and the scripts from pipelines/ that this package contains."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from typing import NoReturn

from . import gstreamer

SCRIPTS = pathlib.Path(__file__).parent / "pipelines"
BINDINGS_HINT = "on Debian and Ubuntu: apt install python3-gi python3-gst-1.0 gir1.2-gst-plugins-base-1.0 python3-av"
USAGE = """usage: python -m gst_regions COMMAND [ARGUMENT…]

Runs COMMAND so that GStreamer finds the plugin of this package.

example: python -m gst_regions gst-inspect-1.0 cclabel"""


def main() -> NoReturn:
    """Implements python -m gst_regions COMMAND…"""
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(USAGE, file=sys.stdout if len(sys.argv) > 1 else sys.stderr)
        sys.exit(len(sys.argv) < 2)
    start(sys.argv[1], sys.argv[1:])


def run() -> NoReturn:
    """Implements the console command regions-NAME. Runs the script pipelines/NAME."""
    name = pathlib.Path(sys.argv[0]).name
    script = SCRIPTS / "transcode" / name if name == "regions-transcode" else SCRIPTS / name.removeprefix("regions-")
    if not script.exists():
        fail(f"{script} does not exist: this build of gst_regions has no scripts; install the wheel of packaging/wheel")
    # The script runs with the interpreter of its first line, which is the system's Python. It usually has GStreamer's
    # bindings, unlike the Python that runs this function.
    interpreter = script.read_text(encoding="utf-8").partition("\n")[0].removeprefix("#!").strip()
    if "python" in interpreter and not has_bindings(interpreter):
        fail(f"{name} runs with {interpreter}, which has no GStreamer bindings; {BINDINGS_HINT}")
    start(interpreter, [interpreter, str(script), *sys.argv[1:]])


def has_bindings(python: str) -> bool:
    """Whether the interpreter `python` can import GStreamer's bindings."""
    program = "import gi; gi.require_version('Gst', '1.0'); from gi.repository import Gst"
    try:
        return subprocess.run([python, "-c", program], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def start(program: str, arguments: list[str]) -> NoReturn:
    """Replaces this process by the program, which finds the plugin of this package."""
    try:
        gstreamer.setup()
        os.execvp(program, arguments)
    except RuntimeError as error:
        fail(str(error))
    except FileNotFoundError:
        hint = f"; {gstreamer.INSTALL_HINT}" if program.startswith("gst-") else ""
        fail(f"command {program} not found{hint}")
    except PermissionError:
        fail(f"{program} is not executable")


def fail(text: str) -> NoReturn:
    """Prints an error and exits with status 1."""
    print(f"gst_regions: {text}", file=sys.stderr)
    sys.exit(1)
