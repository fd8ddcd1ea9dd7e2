"""Shows the progress and the messages of programs: bars on a terminal (tqdm, on standard error), plain lines elsewhere and
on terminals that do not report their width."""

import contextlib
import datetime
import os
import sys
import time

import standard_streams
from files import printable

PLAIN_PERIOD = 5  # seconds between lines of progress


class Screen:
    def __init__(self, program):
        self.program = program
        self.tqdm = None
        if sys.stderr.isatty() and os.get_terminal_size(sys.stderr.fileno()).columns:
            import tqdm  # slow to import, and only needed for bars
            self.tqdm = tqdm.tqdm
        self.bars = {}  # by input
        self.shown = {}
        self.names = {}  # the user's names of files that have other names on this machine

    def meant(self, text):
        """A text (or None) with the user's names of files."""
        for name, meant in self.names.items():
            text = text and text.replace(name, meant)
        return text

    def line(self, text, to=None):
        """Prints a line, above the bars."""
        write = self.tqdm.write if self.tqdm else None
        standard_streams.print_line(printable(self.meant(text)), self.program, to, write)

    def hear(self, source, message, written=()):
        """Shows a job's message about an input: a dictionary with one entry."""
        if "progress" in message:
            self.show(source, **message["progress"])
        elif "note" in message:
            self.line(f"{source}: note: {message['note']}", sys.stderr)
        elif "problem" in message:
            self.line(f"{self.program}: {source}: {message['problem']}", sys.stderr)
        elif "done" in message:
            self.forget(source)
            frames, seconds, length = (message["done"][key] for key in ("frames", "seconds", "length"))
            self.line(f"{source}: {frames} frames in {seconds:.1f} s ({frames / seconds:.0f} frames/s,"
                      f" {length / seconds:.1f} times playing speed); wrote {', '.join(written)}")

    def show(self, name, frame, of, rate, text=None):
        """`of`: approximate number of frames; 0 if unknown. `text`: shown instead of the name."""
        text = text or printable(os.path.basename(name))
        if self.tqdm:
            try:
                self.show_bar(name, frame, of, text)
            except OSError:  # of the terminal
                self.tqdm = None
                self.bars = {}
                standard_streams.silence(sys.stderr)
        elif time.monotonic() - self.shown.get(name, -PLAIN_PERIOD) >= PLAIN_PERIOD:
            self.shown[name] = time.monotonic()
            left = datetime.timedelta(seconds=round(max(of - frame, 0) / rate)) if of and rate > 0 else None
            self.line(f"{text}: frame {frame}" + (f" of about {of}, {100 * frame // of} %" if of else "")
                      + f", {rate:.0f} frames/s" + (f", {left} left" if left is not None else ""))

    def show_bar(self, name, frame, of, text):
        if name not in self.bars:
            self.bars[name] = self.tqdm(desc=text, total=of or None, initial=frame, unit=" frames",
                                        file=sys.stderr, leave=False, dynamic_ncols=True)
        bar = self.bars[name]
        bar.total = of or None
        bar.set_description(text, refresh=False)
        bar.update(frame - bar.n)

    def forget(self, name):
        """Removes the bar of an input that has ended."""
        if name in self.bars:
            with contextlib.suppress(OSError):  # of the terminal
                self.bars.pop(name).close()
