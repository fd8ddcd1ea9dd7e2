#!/usr/bin/python3
"""Runs one job in its own process.

  run_job.py FD KIND '{"source": …, "outputs": {"video": …, "jsonl": …, "labels": …}, "filter": …, "profile": …}'

Messages go to the file descriptor FD (see job.py). KIND is file, plan, segment or join."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import standard_streams  # noqa: E402  (after the path)
from transcode import job, segments  # noqa: E402

CLASSES = {"file": job.Job, "segment": segments.Segment, "join": segments.Joined}


def run(channel, kind, settings):
    """Returns the exit status. `settings` is text."""
    return segments.plan_job(channel, settings) if kind == "plan" else job.main(channel, settings, CLASSES[kind])


if __name__ == "__main__":
    standard_streams.end(run(int(sys.argv[1]), *sys.argv[2:]))
