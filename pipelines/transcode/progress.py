"""Shows how far the work is. Screen shows the progress and the messages of programs: bars on a terminal (tqdm, on standard
error), plain lines elsewhere and on terminals that do not report their width. Progress adds up the segments of a job.
print_status() reads the state of a job (regions-transcode --status): job.json lists its inputs and outputs, and manifests
store the states of its segments. The job may be running on any machine, or may have died."""

import collections
import contextlib
import datetime
import os
import sys
import time

import standard_streams
from files import printable
from transcode.manifest import DONE, FAILED, QUARANTINED, Busy, Manifest, locked, read_json, record_path, write_json

PLAIN_PERIOD = 5  # seconds between lines of progress
PROGRAM = "regions-transcode"
LOCKED = "job"  # name of the job's lock (locked) in the output folder
SUMMARY = "summary.json"


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


def record_job(folder, outputs, store=None):
    """Writes job.json. `outputs`: for each input, the paths of its outputs by kind."""
    path = os.path.join(folder, "job.json")
    write_json(path, {"outputs": outputs, "began": time.time()})
    if store:
        store.publish([path])


def is_of_job(outputs):
    """Whether `outputs` has the form that record_job() writes: for each input, paths by kind."""
    return isinstance(outputs, dict) and all(
        isinstance(names, dict) and "video" in names and all(map(is_name, names.values())) for names in outputs.values())


def is_summary(summary):
    """Whether `summary` has the form that scheduling.Archive.summarise writes. Only the entries used here are checked. An
    empty dictionary is valid."""
    inputs = summary.get("inputs", {})
    return isinstance(summary.get("began", 0), (int, float)) and isinstance(inputs, dict) and all(
        isinstance(entry, dict) and isinstance(entry.get("problem", ""), str) for entry in inputs.values())


def is_name(what):
    try:
        return isinstance(what, str) and b"\0" not in os.fsencode(what)
    except UnicodeEncodeError:
        return False


def print_status(folder, store=None):
    """Prints the progress. Returns the exit status: 0 if all files are done, 1 if not, 2 if the folder contains no job
    or a damaged summary."""
    for name in ("job.json", SUMMARY) if store else ():
        store.fetch(os.path.join(folder, name))
    job, summary = (read_json(os.path.join(folder, name)) or {} for name in ("job.json", SUMMARY))
    outputs = job.get("outputs")
    if not is_of_job(outputs) or not isinstance(job.get("began", 0), (int, float)):
        complain(f"{store.address if store else folder} contains no valid job.json: expected the output folder of a job"
                 " with --segments")
        return 2
    if not is_summary(summary):
        complain(f"{os.path.join(store.address if store else folder, SUMMARY)} is damaged: remove it (the states of all"
                 " segments are stored elsewhere)")
        return 2
    # By source: the entries of the summary, unless an earlier job wrote it.
    ended = summary["inputs"] if summary.get("began", 0) >= job.get("began", 0) and "inputs" in summary else {}
    files = [of_file(source, names, store, ended.get(source, {}).get("problem")) for source, names in outputs.items()]
    lines = [printable(line) for lines, *_ in files for line in lines]
    done = sum(is_done for _, is_done, *_ in files)
    segments, retries = sum(counts.total() for _, _, counts, _ in files), sum(again for *_, again in files)
    finished = sum(counts[DONE] for _, _, counts, _ in files)
    lines.append(f"{done} of {len(files)} files are done, and {finished} of {segments} segments of the other files;"
                 f" failed attempts: {retries};"
                 f" {'the job is running' if runs(folder) else 'the job is not running on this machine'}")
    standard_streams.print_result("\n".join(lines), PROGRAM)
    return 0 if done == len(files) else 1


def complain(text):
    standard_streams.print_line(printable(f"{PROGRAM}: {text}"), PROGRAM, sys.stderr)


def runs(folder):
    try:
        with locked(os.path.join(folder, LOCKED)):
            return False
    except Busy:
        return True


def of_file(source, outputs, store, problem):
    """Returns the lines to print for a file, whether it is done, the number of its segments by state, and the number of
    failed attempts. `problem`: the file's problem in the summary of the last job, or None."""
    known = Manifest(outputs, store)
    known.pull()
    if not known.spans:
        video = known.outputs["video"]
        is_done = all(map(store.exists if store else os.path.exists, (video, record_path(video))))
        return [f"{source}: {'done' if is_done else problem or 'waiting'}"], is_done, collections.Counter(), 0
    segments = [known.segment(number) for number in range(len(known.spans))]
    counts = collections.Counter(segment["state"] for segment in segments)
    lines = [f"{source}: " + ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))]
    if problem and counts[DONE] == len(segments):
        lines[0] += f"; {problem}"
    for number, segment in enumerate(segments, 1):
        if segment["state"] in (QUARANTINED, FAILED):
            lines.append(f"  segment {number} of {len(segments)} {segment['state']}: {segment['problems'][-1]}")
    return lines, False, counts, sum(len(segment["problems"]) for segment in segments)
