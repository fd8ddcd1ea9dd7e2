"""The progress of a job in segments: files, segments, frames, speed, remaining time and failed attempts."""

import collections
import time


class Progress:
    def __init__(self, screen, files):
        """`files`: the number of inputs."""
        self.screen, self.files = screen, files
        self.began = time.monotonic()
        self.ended = self.skipped = self.planned = 0  # numbers of files
        self.segments = self.done = 0  # numbers of segments
        self.retries = 0  # number of failed attempts
        self.totals = collections.Counter()  # by source: estimated number of frames; key None: sum of all files
        self.made = collections.Counter()  # by source: number of finished frames; key None: sum of all files
        self.before = 0  # finished frames that an earlier run made
        self.running = {}  # by source and segment number: finished frames of a running segment

    def begin(self, source, spans):
        """Called when a file is planned."""
        self.planned += 1
        self.segments += len(spans)
        if len(spans) > 1:
            self.expect(source, sum(span["packets"] for span in spans))

    def expect(self, source, frames):
        self.totals[None] += frames - self.totals[source]
        self.totals[source] = frames

    def hear(self, source, number, frame, of):
        """Called when a segment's job reports progress: `frame` of about `of` frames of the segment are finished."""
        if number == 0 and self.totals[source] < of:  # true only if the file is one segment
            self.expect(source, of)
        more = frame - self.running.get((source, number), 0)
        self.running[source, number] = frame
        for name in (source, None):
            self.made[name] += more
        self.show(source)

    def finish(self, source, number, frames, by_earlier=False):
        """Called when a segment is done. `by_earlier`: an earlier run has made it."""
        self.done += 1
        self.before += frames * by_earlier
        self.hear(source, number, frames, 0)
        del self.running[source, number]

    def fail(self):
        """Called when an attempt has failed."""
        self.retries += 1

    def end(self, source):
        """Called when a file is done, failed or skipped."""
        self.ended += 1
        self.skipped += source not in self.totals and source not in self.made

    def show(self, source):
        """Shows the progress of a file and of the whole job."""
        self.screen.show(source, self.made[source], self.totals[source], self.rate(self.made[source]))
        # Files that are not planned yet are assumed to be as long as the average of the planned files.
        of = self.totals[None] * (self.files - self.skipped) // self.planned
        again = f", {self.retries} retr{'y' if self.retries == 1 else 'ies'}" if self.retries else ""
        self.screen.show("", self.made[None], max(of, self.made[None]) if of else 0,
                         self.rate(self.made[None] - self.before),
                         f"{self.ended} of {self.files} files, {self.done} of {self.segments} segments{again}")

    def rate(self, frames):
        return frames / max(time.monotonic() - self.began, 1e-3)
