"""How far a job in segments is: files, segments, frames, how fast, how long still, and attempts that failed."""

import collections
import time


class Progress:
    def __init__(self, screen, files):
        """`files`: how many inputs there are."""
        self.screen, self.files = screen, files
        self.began = time.monotonic()
        self.ended = self.skipped = self.planned = 0  # files
        self.segments = self.done = self.retries = 0  # segments, segments, attempts
        self.totals = collections.Counter()  # by source, frames, about; None: all files
        self.made = collections.Counter()  # likewise
        self.before = 0  # frames of these that an earlier run made
        self.running = {}  # by source and segment, frames

    def begin(self, source, spans):
        """A file is planned."""
        self.planned += 1
        self.segments += len(spans)
        if len(spans) > 1:
            self.expect(source, sum(span["packets"] for span in spans))

    def expect(self, source, frames):
        self.totals[None] += frames - self.totals[source]
        self.totals[source] = frames

    def hear(self, source, number, frame, of):
        """What the job of a segment tells; `of` is of the segment."""
        if number == 0 and self.totals[source] < of:  # a file that is one segment
            self.expect(source, of)
        more = frame - self.running.get((source, number), 0)
        self.running[source, number] = frame
        for name in (source, None):
            self.made[name] += more
        self.show(source)

    def finish(self, source, number, frames, by_earlier=False):
        """A segment is done."""
        self.done += 1
        self.before += frames * by_earlier
        self.hear(source, number, frames, 0)
        del self.running[source, number]

    def fail(self):
        """An attempt, after which there may be another."""
        self.retries += 1

    def end(self, source):
        """A file is done with, or is not to be done."""
        self.ended += 1
        self.skipped += source not in self.totals and source not in self.made

    def show(self, source):
        """A file, and the whole."""
        self.screen.show(source, self.made[source], self.totals[source], self.rate(self.made[source]))
        # Files that are not planned yet are taken for as long as the others.
        of = self.totals[None] * (self.files - self.skipped) // self.planned
        again = f", {self.retries} retr{'y' if self.retries == 1 else 'ies'}" if self.retries else ""
        self.screen.show("", self.made[None], max(of, self.made[None]) if of else 0,
                         self.rate(self.made[None] - self.before),
                         f"{self.ended} of {self.files} files, {self.done} of {self.segments} segments{again}")

    def rate(self, frames):
        return frames / max(time.monotonic() - self.began, 1e-3)
