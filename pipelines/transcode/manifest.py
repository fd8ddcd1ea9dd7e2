"""What is known of a file that is worked on in segments: the folder OUT.segments beside its output OUT has plan.json,
and for segment N NNNN.json and its files. All are written whole, by rename, so that any part of a job may die, and
the next command that reads them goes on from there."""

import hashlib
import json
import os
import shutil

import record
from files import Output, json_of, remove_remains

# Of NNNN.json; a segment without one waits.
STATES = RUNNING, FAILED, DONE, QUARANTINED, WAITING = "running", "failed", "done", "quarantined", "waiting"


def write_json(path, what):
    with Output(path) as out:
        with open(out.fd, "w", encoding="utf-8", closefd=False) as file:
            json.dump(what, file, indent=1)
            file.write("\n")
        out.keep()


def read_json(path):
    """None where there is none, or what is there is no whole object of JSON."""
    try:
        return json_of(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        raise OSError(problem.errno, f"{path}: {problem.strerror}") from problem


def is_segment(told):
    """Whether a dictionary is what a segment's file holds: what is damaged is as if it were not there."""
    done = told.get("done")
    return (told.get("state") in STATES and isinstance(told.get("attempts"), int)
            and isinstance(told.get("problems"), list)
            and (told["state"] not in (FAILED, QUARANTINED) or told["problems"])
            and (told["state"] != DONE or (isinstance(told.get("checksums"), dict) and isinstance(done, dict)
                                           and isinstance(done.get("frames"), int))))


def checksum(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_plan(told):
    """Likewise of plan.json. Of one span, nothing is asked here."""
    spans = told.get("spans")
    return (isinstance(told.get("made"), dict) and isinstance(spans, list)
            and (len(spans) == 1 or all(isinstance(span, dict) and isinstance(span.get("packets"), int) for span in spans)))


class Manifest:
    def __init__(self, outputs, store=None):
        """`outputs`: names of the file's outputs by kind. `store`: of storage.py, where they are to be, if not on this
        machine: its folder stands for them, and what is written here is written there, too."""
        self.store = store
        self.outputs = {kind: os.path.join(store.folder, os.path.basename(path)) if store else path
                        for kind, path in outputs.items()}
        self.folder = self.outputs["video"] + ".segments"
        self.known_plan = None

    def path(self, name):
        return os.path.join(self.folder, name)

    @property
    def plan(self):
        """Of cutting.py, with what it is `made` of; of no spans where there is none."""
        if not self.known_plan:
            told = {} if os.path.islink(self.folder) else read_json(self.path("plan.json")) or {}
            self.known_plan = told if is_plan(told) else None
        return self.known_plan or {"spans": []}

    @property
    def spans(self):
        return self.plan["spans"]

    def difference(self, made):
        """How the plan is not of what is wanted now (`made`, as record.wanted tells it, and how it is cut); None where
        it is, or where there is none."""
        before = self.plan.get("made", made)
        lines = [f"{name} was {json.dumps(before.get(name))}, is {json.dumps(value)}"
                 for name, value in made.items() if before.get(name) != value]
        return "; ".join(lines) or None

    def begin(self, made, plan):
        """Forgets what was there."""
        try:
            self.remove()
            os.makedirs(self.folder)
        except OSError as problem:
            raise OSError(problem.errno, f"{self.folder}: {problem.strerror or problem}") from problem
        self.known_plan = None
        self.keep("plan.json", {"made": made} | plan)

    def keep(self, name, what):
        write_json(self.path(name), what)
        if self.store:
            self.store.publish([self.path(name)])

    def remove(self):
        if self.store:
            self.store.remove(self.folder)
        if os.path.isdir(self.folder):
            shutil.rmtree(self.folder)

    def pull(self, number=None):
        """Learns from the store, if there is one, what others wrote: of a segment, or of all."""
        if self.store and number is None:
            self.store.pull(self.folder, r"(plan|\d+)\.json")
        elif self.store:
            self.store.fetch(self.path("plan.json"))
            self.store.fetch(self.path(f"{number:04}.json"))
        self.known_plan = None

    def tidy(self):
        """Removes what killed processes left."""
        if os.path.isdir(self.folder):
            remove_remains(self.folder)

    def segment(self, number):
        """What is known of a segment."""
        told = read_json(self.path(f"{number:04}.json")) or {}
        return told if is_segment(told) else {"state": WAITING, "attempts": 0, "problems": []}

    def write(self, number, told):
        self.keep(f"{number:04}.json", told)

    def files(self, number):
        """The names of a segment's outputs, by kind: JSON lines serve all tables, and tell tracks of masks. A file in one
        segment has its own."""
        if len(self.spans) == 1:
            return self.outputs
        names = {}
        for kind, path in self.outputs.items():
            if kind in ("video", "labels", "coco-rle"):
                stem = os.path.splitext(self.outputs["video"])[0]
                suffix = os.path.splitext(path)[1] if kind == "video" else path[len(stem):]
                names[kind] = self.path(f"{number:04}{suffix}")
            if kind not in ("video", "labels"):
                names["jsonl"] = self.path(f"{number:04}.jsonl")
        return names

    def locked(self, number):
        return record.locked(self.path(f"{number:04}"))

    def finished(self, number):
        """Whether a segment's files are there as they were written."""
        told = self.segment(number)
        return told["state"] == DONE and all(self.is_whole(path, told["checksums"].get(kind))
                                             for kind, path in self.files(number).items())

    def is_whole(self, path, wanted):
        for is_here in (True, False):
            if not is_here and self.store:
                self.store.fetch(path)
            if os.path.isfile(path) and checksum(path) == wanted:
                return True
        return False
