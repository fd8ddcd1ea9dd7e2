"""What is stored about the work, next to the outputs. Every file is written completely and then renamed. So any process of
a job may die, and the same command continues.

The record of the finished output OUT is OUT.made.json: its input and settings, so that a later run can skip it. The
manifest of a file in segments is the folder OUT.segments: plan.json, and for each segment its state (such as 0003.json)
and its output files. A lock on an output ends with the process that holds it."""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil

from files import Output, json_of, remove_remains
from transcode import storage

# States of a segment in its JSON file. A segment without such a file is waiting.
STATES = RUNNING, FAILED, DONE, QUARANTINED, WAITING = "running", "failed", "done", "quarantined", "waiting"


def write_json(path, what):
    with Output(path) as out:
        with open(out.fd, "w", encoding="utf-8", closefd=False) as file:
            json.dump(what, file, indent=1)
            file.write("\n")
        out.keep()


def read_json(path):
    """Returns the object in a JSON file, or None if the file is missing or damaged."""
    try:
        return json_of(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as problem:
        raise OSError(problem.errno, f"{path}: {problem.strerror}") from problem


def is_segment(state):
    """Whether a dictionary is a valid segment state. An invalid file is treated as a missing file."""
    done = state.get("done")
    return (state.get("state") in STATES and isinstance(state.get("attempts"), int)
            and isinstance(state.get("problems"), list)
            and (state["state"] not in (FAILED, QUARANTINED) or state["problems"])
            and (state["state"] != DONE or (isinstance(state.get("checksums"), dict) and isinstance(done, dict)
                                            and isinstance(done.get("frames"), int))))


def checksum(source):
    """Returns the SHA-256 of a file's or object's content."""
    with storage.reader(source) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_plan(plan):
    """Whether a dictionary is a valid plan. The span of a file in one segment is not checked."""
    spans = plan.get("spans")
    return (isinstance(plan.get("made"), dict) and isinstance(spans, list)
            and (len(spans) == 1 or all(isinstance(span, dict) and isinstance(span.get("packets"), int) for span in spans)))


class Manifest:
    def __init__(self, outputs, store=None):
        """`outputs`: paths of the file's outputs by kind. `store`: a storage.Store if the outputs go to object storage,
        else None. With a store, paths are in its local folder, and every file written there is also uploaded."""
        self.store = store
        self.outputs = {kind: os.path.join(store.folder, os.path.basename(path)) if store else path
                        for kind, path in outputs.items()}
        self.folder = self.outputs["video"] + ".segments"
        self.known_plan = None

    def path(self, name):
        return os.path.join(self.folder, name)

    @property
    def plan(self):
        """The plan (see segments.plan) and the settings (`made`) that it is for. Without a plan, `spans` is empty."""
        if not self.known_plan:
            found = {} if os.path.islink(self.folder) else read_json(self.path("plan.json")) or {}
            self.known_plan = found if is_plan(found) else None
        return self.known_plan or {"spans": []}

    @property
    def spans(self):
        return self.plan["spans"]

    def difference(self, made):
        """Describes how the settings of the plan differ from the current settings `made` (from
        wanted_record(), plus the settings of segments). Returns None if they are equal or if no plan exists."""
        before = self.plan.get("made", made)
        lines = [f"{name} was {json.dumps(before.get(name))} and is now {json.dumps(value)}"
                 for name, value in made.items() if before.get(name) != value]
        return "; ".join(lines) or None

    def begin(self, made, plan):
        """Removes the old manifest and writes a new one with this plan."""
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
        """Downloads the plan and the state of one segment, or of all segments, if there is a store."""
        if self.store and number is None:
            self.store.pull(self.folder, r"(plan|\d+)\.json")
        elif self.store:
            self.store.fetch(self.path("plan.json"))
            self.store.fetch(self.path(f"{number:04}.json"))
        self.known_plan = None

    def tidy(self):
        """Removes temporary files of killed processes."""
        if os.path.isdir(self.folder):
            remove_remains(self.folder)

    def segment(self, number):
        """Returns the state of a segment."""
        found = read_json(self.path(f"{number:04}.json")) or {}
        return found if is_segment(found) else {"state": WAITING, "attempts": 0, "problems": []}

    def write(self, number, state):
        self.keep(f"{number:04}.json", state)

    def files(self, number):
        """Returns the paths of a segment's outputs by kind. A file in one segment is written directly to its final
        outputs. Otherwise a segment has one file of JSON lines, from which all tables and the tracks of masks are
        made."""
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
        return locked(self.path(f"{number:04}"))

    def finished(self, number):
        """Whether a segment is done and its files still have the recorded checksums."""
        state = self.segment(number)
        return state["state"] == DONE and all(self.is_whole(path, state["checksums"].get(kind))
                                              for kind, path in self.files(number).items())

    def is_whole(self, path, wanted):
        for is_here in (True, False):
            if not is_here and self.store:
                self.store.fetch(path)
            if os.path.isfile(path) and checksum(path) == wanted:
                return True
        return False


class Busy(Exception):
    """Another run is writing the output."""


def record_path(video):
    return video + ".made.json"


def wanted_record(source, outputs, options, version):
    """Returns the record of an output with the current input and settings, without the checksum of the input's content,
    because that takes long to compute."""
    status = storage.status(source)
    return {"source": os.path.basename(source), "size": status.st_size, "time": status.st_mtime_ns,
            "filter": options.filter, "profile": options.profile, "sound": not options.no_sound,
            "outputs": sorted(outputs), "version": version} | ({"rules": options.rules_text} if options.events else {})


def record_difference(video, source, made):
    """Describes how a finished output differs from the record `made`. Returns None if the output is up to date."""
    try:
        was = json_of(record_path(video))
    except OSError as error:
        why = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
        return f"its record {os.path.basename(record_path(video))} {why}"
    if was is None:
        return f"its record {record_path(video)} is damaged"
    lines = [f"{name} was {json.dumps(was.get(name))} and is now {json.dumps(value)}" for name, value in made.items()
             if name not in ("source", "time") and was.get(name) != value]
    if not lines and was.get("time") != made["time"] and was.get("content") != checksum(source):
        lines = ["the content of its input has changed"]
    return "; ".join(lines) or None


@contextlib.contextmanager
def locked(video):
    """Holds the lock on an output, so that only one run writes it. The lock ends with the process, even if it crashes.
    Raises Busy if another run holds the lock."""
    folder, name = os.path.split(video)
    path = os.path.join(folder, f".regions-{name}.lock")
    while True:
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        except OSError as error:
            raise OSError(error.errno, f"cannot write into the folder {folder}: {error.strerror}") from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(fd), os.stat(path)):
                    break
        except BlockingIOError as taken:
            os.close(fd)
            raise Busy(f"another run is writing {video}") from taken
        os.close(fd)  # the previous run removed this lock file: try again
    try:
        yield
    finally:
        os.remove(path)
        os.close(fd)
