"""What programs tell of their work: progress on a terminal's last line, sentences above it."""

import os
import shutil
import sys
import time

from files import printable

PLAIN_PERIOD = 5  # seconds between lines where the output is no terminal


def clock(seconds):
    minutes, seconds = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}" if minutes >= 60 else f"{minutes}:{seconds:02}"


class Screen:
    """One line that changes on a terminal, plain lines elsewhere."""

    def __init__(self, program):
        self.program = program
        self.changing = sys.stdout.isatty()
        self.progress = {}  # by input: the text of where it is
        self.shown = {}

    def line(self, text, to=None):
        if self.changing:
            print("\r\033[K", end="", flush=True)
        print(printable(text), file=to or sys.stdout, flush=True)
        self.draw()

    def hear(self, source, said, written=()):
        """What a job tells of an input: a dictionary of one entry."""
        if "progress" in said:
            self.show(source, said["progress"])
        elif "note" in said:
            self.line(f"{source}: note: {said['note']}", sys.stderr)
        elif "problem" in said:
            self.line(f"{self.program}: {source}: {said['problem']}", sys.stderr)
        elif "done" in said:
            self.forget(source)
            frames, seconds, length = (said["done"][key] for key in ("frames", "seconds", "length"))
            self.line(f"{source}: {frames} frames in {seconds:.1f} s ({frames / seconds:.0f} a"
                      f" second, {length / seconds:.1f} times its speed);"
                      f" wrote {', '.join(written)}")

    def show(self, name, progress):
        done, total, rate = progress["frame"], progress["of"], progress["rate"]
        text = f"{printable(os.path.basename(name))}: frame {done}"
        if total:
            text += f" of about {total}, {100 * done // total} %"
        text += f", {rate:.0f} frames/s"
        if total and rate:
            text += f", {clock((total - done) / rate)} left"
        self.progress[name] = text
        now = time.monotonic()
        if self.changing:
            self.draw()
        elif now - self.shown.get(name, 0) >= PLAIN_PERIOD:
            self.shown[name] = now
            print(text, flush=True)

    def forget(self, name):
        self.progress.pop(name, None)

    def draw(self):
        if self.changing and self.progress:
            text = " | ".join(self.progress.values())
            print("\r\033[K" + text[:shutil.get_terminal_size().columns - 1], end="", flush=True)
