"""The progress of a job in segments: files, segments, frames, speed, remaining time and failed attempts."""

import collections
import time


class Progress:
    def __init__(self, screen, files):
        """`files`: the number of inputs."""
        self.screen, self.files = screen, files
        self.began = time.monotonic()
        self.ended = self.skipped = self.planned = 0  # files
        self.segments = self.done = self.retries = 0  # segments, segments, attempts
        self.totals = collections.Counter()  # approximate number of frames, by source; None: all files
        self.made = collections.Counter()  # frames that are finished, by source; None: all files
        self.before = 0  # finished frames of an earlier run
        self.running = {}  # frames, by source and segment

    def begin(self, source, spans):
        """A file has been planned."""
        self.planned += 1
        self.segments += len(spans)
        if len(spans) > 1:
            self.expect(source, sum(span["packets"] for span in spans))

    def expect(self, source, frames):
        self.totals[None] += frames - self.totals[source]
        self.totals[source] = frames

    def hear(self, source, number, frame, of):
        """Takes the progress of a segment's job: `frame` of about `of` frames."""
        if number == 0 and self.totals[source] < of:  # a file that is one segment
            self.expect(source, of)
        more = frame - self.running.get((source, number), 0)
        self.running[source, number] = frame
        for name in (source, None):
            self.made[name] += more
        self.show(source)

    def finish(self, source, number, frames, by_earlier=False):
        """A segment has been finished."""
        self.done += 1
        self.before += frames * by_earlier
        self.hear(source, number, frames, 0)
        del self.running[source, number]

    def fail(self):
        """An attempt has failed."""
        self.retries += 1

    def end(self, source):
        """A file has ended or has been skipped."""
        self.ended += 1
        self.skipped += source not in self.totals and source not in self.made

    def show(self, source):
        """Shows the progress of a file and of the whole job."""
        self.screen.show(source, self.made[source], self.totals[source], self.rate(self.made[source]))
        # Files without a plan are assumed to be as long as the others.
        of = self.totals[None] * (self.files - self.skipped) // self.planned
        again = f", {self.retries} retr{'y' if self.retries == 1 else 'ies'}" if self.retries else ""
        self.screen.show("", self.made[None], max(of, self.made[None]) if of else 0,
                         self.rate(self.made[None] - self.before),
                         f"{self.ended} of {self.files} files, {self.done} of {self.segments} segments{again}")

    def rate(self, frames):
        return frames / max(time.monotonic() - self.began, 1e-3)
