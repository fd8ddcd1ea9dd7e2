"""What programs tell of their work: bars of progress on a terminal (tqdm, on standard error), plain lines elsewhere
and on terminals that do not say how wide they are."""

import datetime
import os
import sys
import time

from files import printable

PLAIN_PERIOD = 5  # seconds between lines of progress


class Screen:
    def __init__(self, program):
        self.program = program
        self.tqdm = None
        if sys.stderr.isatty() and os.get_terminal_size(sys.stderr.fileno()).columns:
            import tqdm  # takes long for a program without bars
            self.tqdm = tqdm.tqdm
        self.bars = {}  # by input
        self.shown = {}
        self.names = {}  # what the user calls files that have others on this machine

    def meant(self, text):
        """A text (or None) with the user's names."""
        for name, meant in self.names.items():
            text = text and text.replace(name, meant)
        return text

    def line(self, text, to=None):
        text = self.meant(text)
        write = self.tqdm.write if self.tqdm else print  # above the bars
        write(printable(text), file=to or sys.stdout)
        (to or sys.stdout).flush()

    def hear(self, source, said, written=()):
        """What a job tells of an input: a dictionary of one entry."""
        if "progress" in said:
            self.show(source, **said["progress"])
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

    def show(self, name, frame, of, rate, text=None):
        """`of`: how many frames there are, about; 0 if that is not known. `text`: what stands for the name."""
        text = text or printable(os.path.basename(name))
        if self.tqdm:
            if name not in self.bars:
                self.bars[name] = self.tqdm(desc=text, total=of or None, initial=frame, unit=" frames",
                                            file=sys.stderr, leave=False, dynamic_ncols=True)
            bar = self.bars[name]
            bar.total = of or None
            bar.set_description(text, refresh=False)
            bar.update(frame - bar.n)
        elif time.monotonic() - self.shown.get(name, -PLAIN_PERIOD) >= PLAIN_PERIOD:
            self.shown[name] = time.monotonic()
            left = datetime.timedelta(seconds=round(max(of - frame, 0) / rate)) if of and rate > 0 else None
            print(f"{text}: frame {frame}" + (f" of about {of}, {100 * frame // of} %" if of else "")
                  + f", {rate:.0f} frames/s" + (f", {left} left" if left is not None else ""), flush=True)

    def forget(self, name):
        if name in self.bars:
            self.bars.pop(name).close()
