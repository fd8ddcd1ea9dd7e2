#!/usr/bin/python3
"""Starts jobs by fork, so that the modules used by all jobs are loaded only once. Loading them takes longer than many
segments take.

processes.py starts this program and requests jobs through the socket on standard input. Each request carries four file
descriptors:

1. the standard input of the job,
2. the channel for the job's messages; its number becomes the job's first argument,
3. a socket to which the starter sends the process number with a file descriptor of the process (pidfd), and later the
   exit status from waitpid,
4. a file with the job's command as JSON: [PROGRAM, ARGUMENT, …].

The starter ends when the socket is closed and all jobs have ended. It initializes neither GStreamer nor a GPU driver,
because neither would work after a fork.
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
    """Imports the modules that jobs use. If one is missing, the job itself reports the error."""
    with contextlib.suppress(ImportError, ValueError):
        import gi

        gi.require_version("Gst", "1.0")
        gi.require_version("GstVideo", "1.0")
        import av  # noqa: F401
        import numpy  # noqa: F401
        from gi.repository import GLib, Gst, GstVideo  # noqa: F401


def serve(requests):
    """Starts jobs until the socket is closed and all jobs have ended. In the process of a new job, returns the job's
    command. In the starter itself, returns None at the end."""
    ended, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    listeners = {}  # by process number: the socket that receives its exit status
    asked = True
    while asked or listeners:
        ready, _, _ = select.select([requests, ended] if asked else [ended], [], [])
        if ended in ready:
            os.read(ended, 2**16)
            for process in list(listeners):
                number, status = os.waitpid(process, os.WNOHANG)
                if number:
                    with listeners.pop(process) as heard, contextlib.suppress(OSError):
                        heard.send(str(status).encode())
        if requests not in ready:
            continue
        asked, given, _, _ = socket.recv_fds(requests, 8, 4)
        if not asked:
            continue
        heard = socket.socket(fileno=given[2])
        process = os.fork()
        if not process:
            for other in (requests, heard, *listeners.values()):
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
        listeners[process] = heard
        with contextlib.suppress(OSError):  # the requesting program may have ended
            socket.send_fds(heard, [str(process).encode()], [held := os.pidfd_open(process)])
            os.close(held)
        for number in (*given[:2], given[3]):
            os.close(number)
    return None


if __name__ == "__main__":
    asking = socket.socket(fileno=os.dup(0))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    load()
    gc.freeze()  # otherwise the first garbage collection of a job would copy all pages shared with this process
    if words := serve(asking):
        sys.argv = words
        ctypes.CDLL(None).prctl(PR_SET_NAME, os.path.basename(words[0]).encode())
        runpy.run_path(words[0], run_name="__main__")
