"""A test case that runs regions-transcode in this process and checks the output: one entry of docs/media.md."""

import collections
import contextlib
import json
import os
import re
import tempfile
import time
import unittest.mock

import cases
from inspection import Inspection, decode_together
from output_check import output_faults, refusal_faults
from transcode import command, command_line, ffprobe, job, probe, processes, scheduling, segments, verify  # after cases, which sets the path
from transcode.profiles import PROFILES

SECONDS = 0.35  # of segments
SLOW = 20  # seconds


Run = collections.namedtuple("Run", "profile out problem notes is_late")


class SharedCount:
    """Counts the packets of an input once for all profiles."""

    known = {}

    def __init__(self, path, stream):
        key = identity(path), stream
        if key not in self.known:
            self.known[key] = verify.PacketCount(path, stream)
        self.count = self.known[key]

    def result(self):
        return self.count.result()

    def damage(self, container):
        return self.count.damage(container)

    def close(self):
        """The counts stay for the next profile, see end()."""

    @classmethod
    def end(cls):
        for count in cls.known.values():
            count.close()
        cls.known.clear()


class TranscodingCase(cases.Case):
    def setUp(self):
        super().setUp()
        self.replace(scheduling, "cuda_devices", lambda: 0)
        self.replace(processes, "run", self.run_here)
        self.replace(processes.Starter, "current", lambda _: None)
        self.replace(job, "PATIENCE", SLOW / 2)
        self.replace(probe, "look", lambda path: cases.look(path) or ffprobe.look(path))
        self.replace(job, "PacketCount", SharedCount)
        self.addCleanup(SharedCount.end)
        self.probed = {}  # by file: what ffprobe found

    async def run_here(self, kind, settings, hear, *_):
        """As cases.run_here. Keeps the notes."""
        def heard(said):
            if "note" in said and said["note"] not in self.notes:
                self.notes.append(said["note"])
            hear(said)

        return await cases.run_here(kind, settings, heard)

    def inspect(self, path, _):
        """Replaces verify.inspect: the check of the output uses the same call of ffprobe."""
        self.probed[identity(path)] = Inspection(path).probed
        return self.probed[identity(path)]

    def inspection(self, path):
        found = Inspection(path)
        if identity(path) in self.probed:
            found.probed = self.probed[identity(path)]
        return found

    def transcode(self, clip, profile, *options):
        """Runs the program on an Inspection. Returns a Run: the output or None, the problem that the program reported or
        None, the notes, and whether it took long."""
        began, self.notes = time.monotonic(), []
        folder = self.out / str(time.monotonic_ns())
        words = [str(clip.path), "-o", str(folder), "--filter", "identity", "--profile", profile, *options]
        said = cases.called(command.main, command_line.parse(words))
        problem = "\n".join(line for line in said.err.splitlines() if line.startswith("regions-transcode: "))
        video = folder / (clip.path.stem + PROFILES[profile].suffix)
        is_late = time.monotonic() - began > SLOW
        if said.status == 0 and video.exists():
            return Run(profile, video, None, self.notes, is_late)
        partial = video.with_suffix(".partial" + video.suffix)
        text = problem.removeprefix(f"regions-transcode: {clip.path}: ") or said.err
        text = text.splitlines()[0] if "Traceback" not in text else text
        return Run(profile, partial if partial.exists() else None, text, self.notes, is_late)

    def results(self, clip, profiles, truncated=False, holdable=True, whole=False):
        """Transcodes an Inspection with each profile. Yields the words of its table entry, and its faults."""
        with unittest.mock.patch.multiple(verify, inspect=self.inspect, inspection=unittest.mock.Mock()):
            runs = [self.transcode(clip, profile) for profile in profiles]
        outputs = {run.profile: self.inspection(run.out) for run in runs if run.out and not run.problem}
        decode_together([clip, *outputs.values()])
        for run in runs:
            yield self.result(clip, run, outputs.get(run.profile), truncated, holdable, whole)

    @staticmethod
    def result(clip, run, after, truncated, holdable, whole):
        if run.problem:
            faults = refusal_faults(clip, run.problem, run.out, holdable, whole)
            if run.is_late:
                faults.append("the error comes late")
            return "error: " + short(run.problem), faults
        if run.out is None:
            return "nothing", ["no output and no error"]
        faults = output_faults(clip, after, run.notes, run.profile)
        if truncated and clip.complaints:
            faults.append("a damaged input is taken for whole")
        return ("; ".join(counted(short(note) for note in run.notes)) or "all"), faults

    def segments(self, clip, profile, truncated=False, holdable=True, whole=False):
        """As results(), in segments. A file that is one segment is not transcoded again."""
        with tempfile.TemporaryFile() as channel, contextlib.suppress(Exception):  # the program will meet it again
            segments.plan_job(os.dup(channel.fileno()), json.dumps({"source": str(clip.path), "seconds": SECONDS,
                                                               "warm_up": 0}))
            channel.seek(0)
            plan = json.loads(channel.read()).get("plan", {"spans": []})
            if len(plan["spans"]) == 1:
                return f"one segment: {plan['why']}", []
        run = self.transcode(clip, profile, "--segments", str(SECONDS), "--attempts", "1")
        after = Inspection(run.out) if run.out else None
        return self.result(clip, run, after, truncated, holdable, whole)


def identity(path):
    """Numbers by which a file is known, also after it was renamed."""
    status = os.stat(path)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def short(note):
    """A note or an error without the reasons that follow it."""
    note = note.strip().splitlines()[-1]
    note = re.sub(r"^quarantined after \d+ attempts?: ", "", note)
    note = re.sub(r"; (?:segment \d+ of \d+:|finished segments are|the readable part is) .*", "", note)
    return re.sub(r"(.*?left out|.*?is encoded as \w+): .*", r"\1", note).removeprefix("its ").replace("|", "/")


def counted(notes):
    """Notes with how often each comes."""
    notes = list(notes)
    return [f"{note} ({notes.count(note)} times)" if notes.count(note) > 1 else note for note in dict.fromkeys(notes)]
