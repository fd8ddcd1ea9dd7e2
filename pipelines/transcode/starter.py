"""The process that starts jobs by fork. It has loaded the modules and plugins that all jobs need, because loading takes longer
than many segments do. No thread and no driver may be started before the fork: they would not survive it. The first starter is a
fork of regions-transcode. Later starters are new programs.
"""

import contextlib
import ctypes
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys

PR_SET_NAME = 15  # prctl(2)
PLUGINS = "coreelements", "app", "videoconvertscale", "videofilter", "x264", "isomp4", "videoparsersbad"
PLAIN = "without-gstreamer"  # argument of the starter


class Starter:
    """The process that starts jobs (see serve()). It is started again if it has died or the environment has changed: a
    cluster assigns GPUs through the environment."""

    known = None

    def __init__(self, wrapper, requests, process=None):
        """`requests`: the socket to the process. `process`: its Popen, if it is not a fork of this process."""
        self.like = tuple(wrapper), dict(os.environ)
        self.requests, self.process = requests, process

    @classmethod
    def fork(cls, close_files):
        """Loads the libraries of jobs into this process, and forks it. No thread of this process may have been started. The
        new process calls `close_files()`."""
        load_libraries()
        requests, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            if not os.fork():
                os.setpgid(0, 0)
                requests.close()
                close_files()
                serve_to_the_end(other)
        cls.known = cls((), requests)

    @classmethod
    def program(cls, wrapper):
        """Starts the process inside a wrapper's command line."""
        requests, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            # In its own process group, so that Ctrl-C reaches this program only, which ends the jobs.
            return cls(wrapper, requests, subprocess.Popen([*wrapper, sys.executable, os.path.abspath(__file__)], stdin=other,
                                                           process_group=0))

    @classmethod
    def current(cls, wrapper):
        """Returns the starter whose jobs run inside a wrapper's command line."""
        if cls.known and (cls.known.has_ended() or cls.known.like != (tuple(wrapper), dict(os.environ))):
            cls.known.forget()
        cls.known = cls.known or cls.program(wrapper)
        return cls.known

    def forget(self):
        """Later jobs get another starter."""
        if Starter.known is self:
            Starter.known = None
            self.requests.close()

    def has_ended(self):
        """Whether the starter has ended. Its socket closes before its process can be waited for. Sockets of its jobs can
        close earlier: see run()."""
        try:
            return not self.requests.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return bool(self.process) and self.process.poll() is not None
        except ConnectionError:
            return True

    def start(self, words, channel):
        """Starts a program, with the number of `channel` as its first argument, then the rest of `words`. Returns the socket
        that reports about its process, and the end of the pipe to its standard input."""
        reader, stdin = os.pipe()
        heard, told = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with os.fdopen(reader, "rb"), told, os.fdopen(os.memfd_create("words"), "w") as written:
            json.dump(words, written)
            written.flush()
            with contextlib.suppress(ConnectionError):  # the starter has just died: the job has ended, too
                socket.send_fds(self.requests, [b"job"], [reader, channel, told.fileno(), written.fileno()])
        return heard, stdin


def load_libraries():
    """Loads the libraries of FFmpeg and GStreamer. A job reports a missing one itself."""
    os.environ.update(OPENBLAS_NUM_THREADS="1")  # FFmpeg's filters use it, and it would start threads when it is loaded
    with contextlib.suppress(ImportError, ValueError):
        import gi

        gi.require_version("Gst", "1.0")
        import av  # noqa: F401
        from gi.repository import GLib, Gst  # noqa: F401


def load_modules():
    """Imports the modules of jobs, which initialise GStreamer, and loads plugins that most jobs use. A job reports a missing
    module itself."""
    with contextlib.suppress(ImportError, ValueError, SystemExit):
        from transcode import job, segments  # noqa: F401

        from gi.repository import Gst

        for name in PLUGINS:
            if plugin := Gst.Registry.get().find_plugin(name):
                plugin.load()


def load_tables():
    """Imports what only jobs that write tables and label maps need. A single job imports it itself if it needs it."""
    with contextlib.suppress(ImportError):
        import numpy  # noqa: F401


def has_driver():
    """Whether this process has loaded CUDA's driver. GStreamer loads all plugins when it updates its registry, normally in
    another process."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        return "/libcuda.so" in maps.read()


def serve(requests, is_plain):
    """Starts a job for each request on the socket `requests`. A request has four file descriptors: the job's standard
    input, its channel, a socket for reports about the process, and a file of words, [PROGRAM, …] as JSON. The job gets the
    channel's number as its first argument. The reports are the process id with a file descriptor of the process, and
    later its status as waitpid returns it. The starter ends when the socket is closed and all jobs have ended.

    Returns a job's words in the job's process, and None in the starter, at its end."""
    ended, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    reports = {}  # by process id, the socket that gets its status
    jobs = 0
    asked = True
    while asked or reports:
        ready, _, _ = select.select([requests, ended] if asked else [ended], [], [])
        if ended in ready:
            os.read(ended, 2**16)
            for process in list(reports):
                number, status = os.waitpid(process, os.WNOHANG)
                if number:
                    with reports.pop(process) as heard, contextlib.suppress(OSError):
                        heard.send(str(status).encode())
        if requests not in ready:
            continue
        asked, given, _, _ = socket.recv_fds(requests, 8, 4)
        if not asked:
            continue
        heard = socket.socket(fileno=given[2])
        process = os.fork()
        if not process:
            for other in (requests, heard, *reports.values()):
                other.close()
            os.close(ended)
            signal.set_wakeup_fd(-1)
            os.close(wake)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setpgid(0, 0)
            os.dup2(given[0], 0)
            os.close(given[0])
            with os.fdopen(given[3]) as written:
                written.seek(0)
                program, *words = json.load(written)
            return [program, str(given[1]), *words]
        reports[process] = heard
        with contextlib.suppress(OSError):  # the program that sent the request may have ended
            socket.send_fds(heard, [str(process).encode()], [held := os.pidfd_open(process)])
            os.close(held)
        for number in (*given[:2], given[3]):
            os.close(number)
        jobs += 1
        if jobs == 2 and not is_plain:
            load_tables()
    return None


def serve_to_the_end(asking, is_plain=False):
    """Makes this process the starter, and the processes that it forks jobs. Returns in no process."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if not is_plain:
        load_modules()
    if has_driver() and not is_plain:
        os.dup2(asking.fileno(), 0)
        os.execv(sys.executable, [sys.executable, os.path.abspath(__file__), PLAIN])
    gc.freeze()  # otherwise the first garbage collection of a job copies all pages that it shares with this process
    if words := serve(asking, is_plain):
        sys.argv = words
        ctypes.CDLL(None).prctl(PR_SET_NAME, f"regions-{words[2]}".encode())
        runpy.run_path(words[0], run_name="__main__")
    os._exit(0)


if __name__ == "__main__":
    requests, is_plain = socket.socket(fileno=os.dup(0)), sys.argv[1:] == [PLAIN]
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    load_libraries()
    serve_to_the_end(requests, is_plain)
