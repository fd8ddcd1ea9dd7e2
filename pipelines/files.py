"""The files that programs of this folder read and write. Their names come from strangers: no name
becomes part of a pipeline's text, of a command line's options, or of what a terminal obeys."""

import argparse
import contextlib
import fcntl
import json
import os
import re
import stat
import tempfile

MOST_JSON = 1 << 27  # bytes that are read of a file of JSON


def opened(path, more_flags=0):
    """A regular file, to be read as bytes. A FIFO would be waited for, and a device has no end."""
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK | more_flags))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(0, "it is no regular file")
    return file


def unreadable(path):
    """Why an input cannot be read, or None."""
    if "://" in str(path) and not os.path.exists(path):
        return "is an address; only files are taken: download it first"
    try:
        with opened(path) as file:
            return None if file.read(1) else "the file is empty"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def json_of(path):
    """The object in a file of JSON, or None where the file holds no whole one."""
    with opened(path) as file:
        try:
            # No more: a read takes memory for all bytes that are asked for.
            found = json.loads(file.read(min(os.fstat(file.fileno()).st_size + 1, MOST_JSON)))
        except (ValueError, RecursionError):
            return None
    return found if isinstance(found, dict) else None


def printable(text):
    """A text with names in it, where control characters and bytes that are no UTF-8 are escaped."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


class Arguments(argparse.ArgumentParser):
    """Of a command line with names in it: what is wrong with it is said as printable() has it."""

    def error(self, message):
        super().error(printable(message))


def partial_name(path):
    """Of an output that is not whole."""
    return ".partial".join(os.path.splitext(path))


class Output:
    """A file that gets its name when it is whole: until keep(), it has a random one beside it, which
    was not there before and is no link. What `with` leaves without keep() is removed. Programs write
    to `fd`, or to the path `descriptor`; neither follows a name."""

    def __init__(self, path):
        self.path = path
        if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError(0, f"cannot write {path}: it is there, and no regular file")
        folder = os.path.dirname(os.path.abspath(path))
        try:
            self.fd, self.part = tempfile.mkstemp(prefix=".regions-", suffix=".part", dir=folder)
        except OSError as error:
            raise OSError(error.errno, f"cannot write into {folder}: {error.strerror}") from error
        fcntl.flock(self.fd, fcntl.LOCK_SH)
        self.descriptor = f"/proc/self/fd/{self.fd}"
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(self.fd, 0o666 & ~mask)

    def keep(self, partial=False):
        """Gives the file its name, or the one of what is not whole."""
        os.fsync(self.fd)
        os.replace(self.part, partial_name(self.path) if partial else self.path)
        self.part = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)
        if self.part:
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.part)


def remove_remains(folder):
    """Removes what killed processes left of Outputs, and their locks: where a process lives, they are locked."""
    for name in os.listdir(folder):
        if not re.fullmatch(r"\.regions-(\w+\.part|.+\.lock)", name):
            continue
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError), opened(path, os.O_NOFOLLOW) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.remove(path)


class StandardOutput:
    """In place of an Output."""

    fd, part, path = 1, None, "standard output"

    def keep(self, partial=False):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass
