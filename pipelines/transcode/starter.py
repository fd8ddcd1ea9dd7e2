#!/usr/bin/python3
"""Starts jobs by fork. The modules that all jobs import are loaded once: loading takes longer than many segments do.
processes.py starts this program and sends requests through the socket on standard input. A request has four file
descriptors: the job's standard input, its channel, a socket for reports about the process, and a file of words,
[PROGRAM, …] as JSON. The job gets the channel's number as its first argument. The reports are the process id with a file
descriptor of the process, and later its status as waitpid returns it. The program ends when the socket is closed and all
jobs have ended.

Nothing is initialised before the fork: neither GStreamer nor a driver would survive it.
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
import sys

PR_SET_NAME = 15  # prctl(2)


def load():
    """Imports the modules of jobs. A job reports a missing module itself."""
    with contextlib.suppress(ImportError, ValueError):
        import gi

        gi.require_version("Gst", "1.0")
        gi.require_version("GstVideo", "1.0")
        import av  # noqa: F401
        import numpy  # noqa: F401
        from gi.repository import GLib, Gst, GstVideo  # noqa: F401


def serve(requests):
    """Returns a job's words in the job's process, and None in the starter, at its end."""
    ended, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    reports = {}  # by process id, the socket that gets its status
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
    return None


if __name__ == "__main__":
    asking = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    load()
    gc.freeze()  # otherwise the first garbage collection of a job copies all pages that it shares with this process
    if words := serve(asking):
        sys.argv = words
        ctypes.CDLL(None).prctl(PR_SET_NAME, os.path.basename(words[0]).encode())
        runpy.run_path(words[0], run_name="__main__")
