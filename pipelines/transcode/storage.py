"""Inputs and outputs on object storage (s3://), through fsspec. Jobs process copies in a local folder below TMPDIR. The
state of the work is in the storage, not in these copies. An object becomes visible only when its upload is complete."""

import contextlib
import fcntl
import hashlib
import os
import re
import tempfile
import types

from files import Output, unreadable

PREFIX = "s3://"
INSTALL = "run pipelines/setup --cluster, and start regions-transcode with .venv/cluster/bin/python"


def is_address(name):
    return str(name).startswith(PREFIX)


@contextlib.contextmanager
def system(address):
    """Yields the fsspec file system for an address. Errors of the storage become an OSError with a one-line message."""
    try:
        import aiohttp
        import fsspec
        from botocore.exceptions import BotoCoreError, ClientError
        storage = fsspec.filesystem("s3", use_listings_cache=False)
    except ImportError as missing:
        raise OSError(0, f"{address} requires the Python packages fsspec and s3fs ({missing}): {INSTALL}") from missing
    try:
        yield storage
    except FileNotFoundError as missing:
        text = str(missing)
        why = text if "bucket" in text and not address.endswith(text) else "the object does not exist"
        raise OSError(0, f"{address}: {why}") from missing
    except (OSError, BotoCoreError, ClientError, aiohttp.ClientError) as problem:
        text = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
        raise OSError(0, f"{address}: {text.strip().splitlines()[-1]}") from problem


def name_of(address):
    """Returns the name that fsspec's methods require: BUCKET/KEY without the prefix."""
    return address[len(PREFIX):]


def status(source):
    """Returns `st_size` and `st_mtime_ns` of a file or an object."""
    if not is_address(source):
        return os.stat(source)
    with system(source) as files:
        info = files.info(name_of(source))
        if info["type"] != "file":
            raise FileNotFoundError
        return types.SimpleNamespace(st_size=info["size"], st_mtime_ns=round(info["LastModified"].timestamp() * 1e9))


def refusal(source):
    """Returns the reason why an input cannot be read, or None."""
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
    """Returns the objects that match a name with *, ? or [ on object storage. Other names are returned unchanged."""
    if not is_address(name) or not set("*?[") & set(name):
        return [name]
    with system(name) as files:
        if files.exists(name_of(name)):
            return [name]
        found = sorted(files.glob(name_of(name)))
    if not found:
        raise OSError(0, f"{name}: no object matches this name")
    return [PREFIX + one for one in found]


def resolve(options):
    """Expands patterns in the inputs of a program's options. Sets `store`: a Store if outputs go to object storage,
    else None. With a store, `out` becomes the store's local folder."""
    options.store = None
    options.inputs = [one for name in options.inputs for one in inputs(name)]
    if is_address(options.out):
        options.store = Store(options.out)
        options.out = options.store.folder
        if not options.status:
            options.store.expect_writable()


def scratch(kind, address):
    """Returns a local folder for the files of an address. No other account can read it."""
    root = os.path.join(tempfile.gettempdir(), f"regions-{os.getuid()}")
    folder = os.path.join(root, kind, hashlib.sha256(address.encode()).hexdigest()[:16])
    os.makedirs(root, 0o700, exist_ok=True)
    if os.lstat(root).st_uid != os.getuid():
        raise OSError(0, f"the folder {root} belongs to another account: set TMPDIR to another folder")
    os.makedirs(folder, exist_ok=True)
    return folder


class Copy:
    """An input as a local file: after fetch(), `path` is the file. All jobs on this machine share one copy of an
    object. An unused copy is removed when another object is fetched."""

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
        """The local copy if it exists, else the address of the input."""
        return self.path if os.path.exists(self.path) else self.source

    def fetch(self):
        """Downloads the object unless a copy exists. Returns the path of the local file."""
        if self.lock:
            with open(os.path.join(self.folder, ".fetch"), "a", encoding="utf-8") as one_fetches:
                fcntl.flock(one_fetches, fcntl.LOCK_EX)
                if not os.path.exists(self.path):
                    remove_unused(os.path.dirname(self.folder))
                    download(self.source, self.path)
                    os.utime(self.path, ns=(self.time, self.time))
        return self.path


def remove_unused(root):
    """Removes copies of inputs that no job uses."""
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
    """Outputs at an address, and the local folder that mirrors it."""

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
        """Uploads the existing files among `paths`. Without `keep`, removes the local files afterwards."""
        for path in filter(os.path.exists, paths):
            with system(self.address_of(path)) as files:
                files.put_file(path, name_of(self.address_of(path)))
            if not keep:
                os.remove(path)

    def fetch(self, path):
        """Downloads a file. If its object does not exist, removes the local file."""
        if self.exists(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            download(self.address_of(path), path)
        elif os.path.exists(path):
            os.remove(path)

    def pull(self, folder, names):
        """Downloads the files of a folder whose names match the regular expression `names`. Removes matching local
        files without an object."""
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
