#!/usr/bin/python3
"""Runs one job in its own process.

  run_job.py FD KIND '{"source": …, "outputs": {"video": …, "jsonl": …, "labels": …}, "filter": …, "profile": …}'

Messages go to the file descriptor FD (see job.py). KIND is file, plan, segment or join."""

import contextlib
import ctypes
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from transcode import job, segments  # noqa: E402  (after the path)

CLASSES = {"file": job.Job, "segment": segments.Segment, "join": segments.Joined}


def run(channel, kind, settings):
    """Returns the exit status. `settings` is text."""
    return segments.plan_job(channel, settings) if kind == "plan" else job.main(channel, settings, CLASSES[kind])


if __name__ == "__main__":
    status = run(int(sys.argv[1]), *sys.argv[2:])
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError):  # it is closed
            stream.flush()
    # The end of Python takes 20 ms longer: it frees all objects, and so copies the memory that jobs share with the starter.
    ctypes.CDLL(None).exit(status)
