"""What regions-transcode remembers of an output, in a file NAME.made.json beside it: what it was made of
and how, so that a later run knows whether it is what is wanted. And the lock of the process that writes it."""

import contextlib
import fcntl
import hashlib
import json
import os

import storage
from files import Output, json_of


class Busy(Exception):
    """Another run writes the output."""


def path_of(video):
    return video + ".made.json"


def wanted(source, outputs, options, version):
    """What a record of the output would say, but for the content, which takes long to read."""
    status = storage.status(source)
    return {"source": os.path.basename(source), "size": status.st_size, "time": status.st_mtime_ns,
            "filter": options.filter, "profile": options.profile, "sound": not options.no_sound,
            "outputs": sorted(outputs), "version": version}


def content(source):
    with storage.reader(source) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write(video, made):
    with Output(path_of(video)) as out:
        os.write(out.fd, json.dumps(made, indent=1).encode() + b"\n")
        out.keep()


def difference(video, source, made):
    """How a finished output is not what is wanted now, or None."""
    try:
        was = json_of(path_of(video))
    except OSError as error:
        why = "does not exist" if isinstance(error, FileNotFoundError) else f"cannot be read: {error.strerror}"
        return f"its record is missing ({os.path.basename(path_of(video))} {why})"
    if was is None:
        return f"{path_of(video)} is damaged"
    lines = [f"{name} was {json.dumps(was.get(name))}, is {json.dumps(value)}" for name, value in made.items()
             if name not in ("source", "time") and was.get(name) != value]
    if not lines and was.get("time") != made["time"] and was.get("content") != content(source):
        lines = ["the input's content has changed"]
    return "; ".join(lines) or None


@contextlib.contextmanager
def locked(video):
    """Only one run at a time writes an output; the lock ends with the process, however it ends."""
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
        os.close(fd)  # the run before removed it
    try:
        yield
    finally:
        os.remove(path)
        os.close(fd)
