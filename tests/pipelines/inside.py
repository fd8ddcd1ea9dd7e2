"""Programs of pipelines/ in the test's own process: they start at once, and their parts can be replaced."""

import collections
import contextlib
import os
import pathlib
import re
import runpy
import signal
import sys
import tempfile
import time
import unittest.mock
import warnings

import media

sys.path[:0] = [str(media.ROOT / "pipelines"), str(media.ROOT / "pipelines" / "transcode")]
os.environ["REGIONS_ENVIRONMENT"] = "1"  # the plugin is where the test was told that it is
import gstreamer  # noqa: E402  (after the path)

Said = collections.namedtuple("Said", "status out err")


class Case(unittest.TestCase):
    maxDiff = None
    within = None  # the folder of the test's own, if not that of temporary files

    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=self.within)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def files(self, folder=None):
        return sorted(path.name for path in (folder or self.folder).iterdir())

    def clip(self, name, source="testsrc2=size=64x48:rate=25:duration=0.4", *options):
        return media.make(self.folder / name, source, *options)

    def replace(self, of, name, value):
        patch = unittest.mock.patch.object(of, name, value)
        patch.start()
        self.addCleanup(patch.stop)
        return value

    def give_contexts(self):
        """From here on all caps give contexts."""
        given = gstreamer.Gst.Caps.get_structure

        def get_structure(caps, number):
            found = given(caps, number)
            return found if hasattr(found, "__enter__") else Context(found)
        self.replace(gstreamer.Gst.Caps, "get_structure", get_structure)


class Context:
    """A structure of caps as the Python of GStreamer 1.26 gives it."""

    def __init__(self, structure):
        self.structure = structure

    def __enter__(self):
        return self.structure

    def __exit__(self, *_):
        pass


@contextlib.contextmanager
def restored():
    """What a program changes of its process and leaves so at its end."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)}
    hook, arguments, timers = sys.excepthook, sys.argv, []
    add = gstreamer.GLib.timeout_add

    def added(*what):
        timers.append(add(*what))
        return timers[-1]

    removed = gstreamer.GLib.source_remove

    def remove(timer):
        if timer in timers:  # PyGObject has some of its own
            timers.remove(timer)
        return removed(timer)

    try:
        with (unittest.mock.patch.object(gstreamer.GLib, "timeout_add", added),
              unittest.mock.patch.object(gstreamer.GLib, "source_remove", remove)):
            yield
    finally:
        for timer in timers:
            removed(timer)
        sys.excepthook, sys.argv = hook, arguments
        for number, handler in handlers.items():
            signal.signal(number, handler)


def called(call, *arguments):
    """What a call returns or exits with, and what it writes to standard output and error."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, restored(), warnings.catch_warnings():
        # unittest has Python tell of what will be gone one day; a program does not.
        warnings.simplefilter("ignore", DeprecationWarning)
        kept = [os.dup(fd) for fd in (1, 2)]
        sys.stdout.flush()
        sys.stderr.flush()
        try:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            # Python's own streams belong to the test, and may be no file.
            with (open(1, "w", closefd=False, encoding="utf-8") as sys.stdout,
                  open(2, "w", closefd=False, encoding="utf-8") as sys.stderr):
                try:
                    status = call(*arguments)
                except SystemExit as end:
                    status = end.code
        finally:
            sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
            for fd, was in zip((1, 2), kept):
                os.dup2(was, fd)
                os.close(was)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
        return Said(status, *texts)


def program(path, *arguments):
    """A script of pipelines/, as `called`."""
    def run():
        sys.argv = [str(path), *map(str, arguments)]
        sys.modules.pop("script", None)  # it keeps the program's name
        runpy.run_path(str(path), run_name="__main__")

    return called(run)


def wait_until(happened):
    """For streaming threads: the program's main thread goes on meanwhile."""
    end = time.monotonic() + 10 * media.PATIENCE
    while not happened() and time.monotonic() < end:
        time.sleep(0.01)


def x264_settings(path):
    """How the encoder says that it worked: it writes so into the stream."""
    text = re.search(rb"x264 - core .*? options: ([^\x80\x00]+)", path.read_bytes())[1].decode()
    return dict(option.split("=", 1) for option in text.split() if "=" in option)
