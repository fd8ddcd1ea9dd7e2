"""A test case that runs regions-transcode in this process and checks the output: one entry of docs/media.md."""

import contextlib
import json
import os
import re
import tempfile
import time

import cases
from inspection import Inspection
from output_check import output_faults, refusal_faults
from transcode import command, job, processes, scheduling, segments  # after cases, which sets the path
from transcode.profiles import PROFILES

SECONDS = 0.35  # of segments
SLOW = 20  # seconds


class TranscodingCase(cases.Case):
    def setUp(self):
        super().setUp()
        self.replace(scheduling, "cuda_devices", lambda: 0)
        self.replace(processes, "run", self.run_here)
        self.replace(job, "PATIENCE", SLOW / 2)

    async def run_here(self, kind, settings, hear, *_):
        """As cases.run_here. Keeps the notes."""
        def heard(said):
            if "note" in said and said["note"] not in self.notes:
                self.notes.append(said["note"])
            hear(said)

        return await cases.run_here(kind, settings, heard)

    def transcode(self, clip, profile, *options):
        """Runs the program. Returns the output or None, and the problem that the program reported or None."""
        self.notes = []
        for path in sorted(self.out.rglob("*"), reverse=True) if self.out.exists() else ():
            path.unlink() if path.is_file() else path.rmdir()
        words = [str(clip), "-o", str(self.out), "--filter", "identity", "--profile", profile, "--force", *options]
        said = cases.called(command.main, command.parse(words))
        problem = "\n".join(line for line in said.err.splitlines() if line.startswith("regions-transcode: "))
        video = self.out / (clip.stem + PROFILES[profile].suffix)
        if said.status == 0 and video.exists():
            return video, None
        partial = video.with_suffix(".partial" + video.suffix)
        text = problem.removeprefix(f"regions-transcode: {clip}: ") or said.err
        return (partial if partial.exists() else None), text.splitlines()[0] if "Traceback" not in text else text

    def checked_result(self, clip, profile, *options, truncated=False, holdable=True, whole=False):
        """Transcodes an Inspection. Returns the words of its table entry, and its faults."""
        began = time.monotonic()
        out, problem = self.transcode(clip.path, profile, *options)
        if problem:
            faults = refusal_faults(clip, problem, out, holdable, whole)
            if time.monotonic() - began > SLOW:
                faults.append("the error comes late")
            return "error: " + short(problem), faults
        if out is None:
            return "nothing", ["no output and no error"]
        after = Inspection(out)
        faults = output_faults(clip, after, self.notes, profile)
        if truncated and clip.complaints:
            faults.append("a damaged input is taken for whole")
        return ("; ".join(counted(short(note) for note in self.notes)) or "all"), faults

    def segments(self, clip, profile, **options):
        """As checked_result(), in segments. A file that is one segment is not transcoded again."""
        with tempfile.TemporaryFile() as channel, contextlib.suppress(Exception):  # the program will meet it again
            segments.plan_job(os.dup(channel.fileno()), json.dumps({"source": str(clip.path), "seconds": SECONDS,
                                                               "warm_up": 0}))
            channel.seek(0)
            plan = json.loads(channel.read()).get("plan", {"spans": []})
            if len(plan["spans"]) == 1:
                return f"one segment: {plan['why']}", []
        return self.checked_result(clip, profile, "--segments", str(SECONDS), "--attempts", "1", **options)


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
