"""The files that this folder's programs read and write. Their names come from strangers: no name becomes part of a
pipeline's text, of a command line's options, or of the control characters that a terminal executes."""

import argparse
import contextlib
import fcntl
import json
import os
import re
import stat
import tempfile

import standard_streams

MAX_JSON = 1 << 27  # bytes that are read of a file of JSON


def opened(path, more_flags=0):
    """Opens a regular file for reading bytes. Opening a FIFO would wait for a writer, and a device has no end."""
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK | more_flags))
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(0, "not a regular file")
    return file


def unreadable(path):
    """Why an input cannot be read, or None."""
    if "://" in str(path) and not os.path.exists(path):
        return "is an address, but only files can be read: download it first"
    try:
        with opened(path) as file:
            return None if file.read(1) else "the file is empty"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


def json_of(path):
    """The object in a file of JSON, or None if the file does not hold a whole one."""
    with opened(path) as file:
        try:
            # The size limits the read: Python allocates memory for all bytes that are requested.
            found = json.loads(file.read(min(os.fstat(file.fileno()).st_size + 1, MAX_JSON)))
        except (ValueError, RecursionError):
            return None
    return found if isinstance(found, dict) else None


def explain(error):
    """The text of an exception for the user, with the name of the file, if it has one."""
    text = getattr(error, "strerror", None) or getattr(error, "message", None) or str(error) or type(error).__name__
    name = getattr(error, "filename", None)
    return f"{os.fsdecode(name)}: {text}" if isinstance(name, (str, bytes)) and name else text


def printable(text):
    """A text that contains names, with control characters and bytes that are not UTF-8 escaped."""
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)


class Arguments(argparse.ArgumentParser):
    """A command line that contains names: errors are printed as printable() returns them."""

    def error(self, message):
        super().error(printable(message))

    def print_help(self, file=None):
        standard_streams.print_result(self.format_help().removesuffix("\n"), self.prog)


def partial_name(path):
    """The name of an output that is not whole."""
    return ".partial".join(os.path.splitext(path))


class Output:
    """A file that gets its name when it is whole. Until keep(), it has a random name in the same folder, which did not
    exist before and is not a link. Leaving `with` without keep() removes the file. Programs write to `fd`, or to the path
    `descriptor`. Neither follows a name."""

    def __init__(self, path):
        self.path = path
        if os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError(0, f"cannot write {path}: it exists and is not a regular file")
        folder = os.path.dirname(os.path.abspath(path))
        try:
            self.fd, self.part = tempfile.mkstemp(prefix=".regions-", suffix=".part", dir=folder)
        except OSError as error:
            raise OSError(error.errno, f"cannot write into the folder {folder}: {error.strerror}") from error
        fcntl.flock(self.fd, fcntl.LOCK_SH)
        self.descriptor = f"/proc/self/fd/{self.fd}"
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(self.fd, 0o666 & ~mask)

    def keep(self, partial=False):
        """Gives the file its name, or the name of an output that is not whole."""
        name = partial_name(self.path) if partial else self.path
        try:
            os.fsync(self.fd)
            os.replace(self.part, name)
        except OSError as error:
            raise OSError(error.errno, f"cannot write {name}: {error.strerror}") from error
        self.part = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)
        if self.part:
            with contextlib.suppress(FileNotFoundError):
                os.remove(self.part)


def make_folder(folder):
    """Makes a folder for outputs, if needed. Raises an OSError that names it if it cannot be made or written."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise OSError(error.errno, f"the folder {folder} cannot be made: {error.strerror}") from error
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise OSError(error.errno, f"cannot write into the folder {folder}: {error.strerror}") from error


def remove_remains(folder):
    """Removes Outputs and locks that killed processes left. Those of a living process are locked."""
    for name in os.listdir(folder):
        if not re.fullmatch(r"\.regions-(\w+\.part|.+\.lock)", name):
            continue
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError), opened(path, os.O_NOFOLLOW) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.remove(path)


class StandardOutput:
    """Standard output in the role of an Output."""

    fd, part, path = 1, None, "standard output"

    def keep(self, partial=False):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass
