"""Lines on standard output and standard error, which may be closed, full, or pipes without a reader."""

import contextlib
import ctypes
import errno
import os
import signal
import sys

REASONS = {errno.EBADF: "it is closed", errno.EPIPE: "its reader has ended"}


def reserve():
    """Opens standard streams that are closed. Otherwise a file that the program opens later gets their number, and prints
    go into that file. Call this before anything else is opened."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # open() returns the lowest free number, which is `number`. Writing to it fails, as to a closed stream.
            os.set_inheritable(os.open(os.devnull, os.O_RDONLY), True)
    if sys.stdout is None:
        sys.stdout = open(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = open(2, "w", buffering=1, closefd=False)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # names may have characters that the terminal lacks


def why(error):
    """The reason in an OSError of a write."""
    return REASONS.get(error.errno) or error.strerror or str(error)


def print_line(text, program, to=None, write=None):
    """Prints a line about the work, to standard output unless `to` is another stream. If that is impossible, the work
    goes on: one line on standard error reports it, and later lines are dropped. `write`: a function that prints, such as tqdm.write."""
    stream = to or sys.stdout
    if (reason := failure(stream, text, write)) and stream is sys.stdout:
        failure(sys.stderr, f"{program}: standard output cannot be written: {reason}. The work goes on.")


def print_result(text, program):
    """Prints a text for which the program was called. If that is impossible, the program ends: quietly, by SIGPIPE, if the
    reader has ended, else with an error."""
    end_with_reader()
    if reason := failure(sys.stdout, text):
        print_line(f"{program}: standard output cannot be written: {reason}", program, sys.stderr)
        sys.exit(1)


def end_with_reader():
    """From now on, the program ends by SIGPIPE when it writes into a pipe without a reader. Python ignores that signal."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


def failure(stream, text, write=None):
    """Prints a line at once, so that threads do not mix theirs. Returns why that failed, or None."""
    try:
        if write:
            write(text, file=stream)
        else:
            stream.write(text + "\n")
        stream.flush()
    except OSError as error:
        silence(stream)
        return why(error)
    return None


def silence(stream):
    """Drops later lines of a stream, and the ones in its buffer, which Python would write at its end."""
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def end(status):
    """Ends the process without exit handlers of Python. The end of Python would take 20 ms or more: it frees all objects, and
    copies memory that it shares with another process."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError):  # it is closed
            stream.flush()
    ctypes.CDLL(None).exit(status)
