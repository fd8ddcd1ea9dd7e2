"""Inputs and outputs on object storage (s3://), by fsspec. Work is done on copies in a folder of this machine, below
TMPDIR; what the storage holds is the truth, and an object is there whole or not at all."""

import contextlib
import fcntl
import hashlib
import os
import re
import tempfile
import types

from files import Output, unreadable

PREFIX = "s3://"
INSTALL = "pipelines/setup --cluster, and start the program by .venv/cluster/bin/python"


def is_address(name):
    return str(name).startswith(PREFIX)


@contextlib.contextmanager
def system(address):
    """What fsspec has for an address; where the storage refuses or cannot be reached that is an OSError with one line."""
    try:
        import aiohttp
        import fsspec
        from botocore.exceptions import BotoCoreError, ClientError
        storage = fsspec.filesystem("s3", use_listings_cache=False)
    except ImportError as missing:
        raise OSError(0, f"{address} requires fsspec and s3fs ({missing}): {INSTALL}") from missing
    try:
        yield storage
    except FileNotFoundError as missing:
        text = str(missing)
        why = text if "bucket" in text and not address.endswith(text) else "there is no such object"
        raise OSError(0, f"{address}: {why}") from missing
    except (OSError, BotoCoreError, ClientError, aiohttp.ClientError) as problem:
        text = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
        raise OSError(0, f"{address}: {text.strip().splitlines()[-1]}") from problem


def name_of(address):
    """As fsspec's methods want it."""
    return address[len(PREFIX):]


def status(source):
    """`st_size` and `st_mtime_ns` of a file or an object."""
    if not is_address(source):
        return os.stat(source)
    with system(source) as files:
        told = files.info(name_of(source))
        if told["type"] != "file":
            raise FileNotFoundError
        return types.SimpleNamespace(st_size=told["size"], st_mtime_ns=round(told["LastModified"].timestamp() * 1e9))


def refusal(source):
    """Why an input cannot be read, or None."""
    if not is_address(source):
        return unreadable(source)
    try:
        return None if status(source).st_size else "the file is empty"
    except OSError as error:
        return f"cannot be read: {error.strerror}"


@contextlib.contextmanager
def reader(source):
    if not is_address(source):
        with open(source, "rb") as file:
            yield file
        return
    with system(source) as files, files.open(name_of(source), "rb") as file:
        yield file


def inputs(name):
    """Those that a name with * or ? on object storage stands for, or the name itself."""
    if not is_address(name) or not set("*?[") & set(name):
        return [name]
    with system(name) as files:
        if files.exists(name_of(name)):
            return [name]
        found = sorted(files.glob(name_of(name)))
    if not found:
        raise OSError(0, f"{name}: there are no such objects")
    return [PREFIX + one for one in found]


def resolve(options):
    """Names each input of a program, and gives it a `store` (None where outputs are files) whose folder is `out`."""
    options.store = None
    options.inputs = [one for name in options.inputs for one in inputs(name)]
    if is_address(options.out):
        options.store = Store(options.out)
        options.out = options.store.folder
        if not options.status:
            options.store.expect_writable()


def scratch(kind, address):
    """A folder of this machine, and of this account alone, for what is at an address."""
    root = os.path.join(tempfile.gettempdir(), f"regions-{os.getuid()}")
    folder = os.path.join(root, kind, hashlib.sha256(address.encode()).hexdigest()[:16])
    os.makedirs(root, 0o700, exist_ok=True)
    if os.lstat(root).st_uid != os.getuid():
        raise OSError(0, f"{root} belongs to another account: set TMPDIR to another folder")
    os.makedirs(folder, exist_ok=True)
    return folder


class Copy:
    """An input while it is worked on: `path` is that of a file, after fetch(). An object's copy serves all on this
    machine, and goes when another is fetched while nothing works on it."""

    def __init__(self, source):
        self.source, self.path, self.lock = source, os.path.abspath(source), None
        if is_address(source):
            now = status(source)
            self.folder = scratch("in", f"{source} {now.st_size} {now.st_mtime_ns}")
            self.path, self.time = os.path.join(self.folder, os.path.basename(source)), now.st_mtime_ns

    def __enter__(self):
        if is_address(self.source):
            self.lock = open(os.path.join(self.folder, ".lock"), "a", encoding="utf-8")
            fcntl.flock(self.lock, fcntl.LOCK_SH)
        return self

    def __exit__(self, *_):
        if self.lock:
            self.lock.close()

    @property
    def here(self):
        """Where its content is read with least cost."""
        return self.path if os.path.exists(self.path) else self.source

    def fetch(self):
        """Returns the path."""
        if self.lock:
            with open(os.path.join(self.folder, ".fetch"), "a", encoding="utf-8") as one_fetches:
                fcntl.flock(one_fetches, fcntl.LOCK_EX)
                if not os.path.exists(self.path):
                    remove_unused(os.path.dirname(self.folder))
                    download(self.source, self.path)
                    os.utime(self.path, ns=(self.time, self.time))
        return self.path


def remove_unused(root):
    """Removes copies of inputs that nothing works on."""
    for folder in os.listdir(root):
        with open(os.path.join(root, folder, ".lock"), "a", encoding="utf-8") as lock, contextlib.suppress(
                BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for name in os.listdir(os.path.join(root, folder)):
                if name not in (".lock", ".fetch"):
                    os.remove(os.path.join(root, folder, name))


def download(address, path):
    with Output(path) as out, system(address) as files:
        files.get_file(name_of(address), out.part)
        out.keep()


class Store:
    """Outputs at an address, and the folder of this machine that stands for it."""

    def __init__(self, address):
        self.address = address.rstrip("/")
        self.folder = scratch("out", self.address)

    def address_of(self, path):
        return f"{self.address}/{os.path.relpath(path, self.folder)}"

    def expect_writable(self):
        name = name_of(self.address) + "/.regions-try"
        with system(self.address) as files:
            files.pipe_file(name, b"")
            files.rm_file(name)

    def exists(self, path):
        with system(self.address_of(path)) as files:
            return files.exists(name_of(self.address_of(path)))

    def publish(self, paths, keep=True):
        """Writes those files of this machine that there are; without `keep` they are no more here."""
        for path in filter(os.path.exists, paths):
            with system(self.address_of(path)) as files:
                files.put_file(path, name_of(self.address_of(path)))
            if not keep:
                os.remove(path)

    def fetch(self, path):
        """What the storage has of a file, which may be nothing."""
        if self.exists(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            download(self.address_of(path), path)
        elif os.path.exists(path):
            os.remove(path)

    def pull(self, folder, names):
        """What the storage has of a folder's files whose names match a regular expression."""
        with system(self.address_of(folder)) as files:
            there = {os.path.basename(name) for name in files.find(name_of(self.address_of(folder)), maxdepth=1)}
        here = set(os.listdir(folder)) if os.path.isdir(folder) else set()
        for name in there | here:
            if re.fullmatch(names, name):
                self.fetch(os.path.join(folder, name))

    def remove(self, folder):
        address = self.address_of(folder)
        with system(address) as files, contextlib.suppress(FileNotFoundError):
            files.rm(name_of(address), recursive=True)
