"""One attempt at a segment, on any machine. The result is written to the manifest."""

import asyncio
import os
import socket
import time

import manifest
import processes
import record
import storage
from files import partial_name


async def attempt(task, hear=lambda said: None, begun=lambda process: None, stopped=lambda: False):
    """Attempts a segment.

    `task` is a dictionary: `source`, the input; `outputs`, the paths of the file's outputs by kind; `store`, the
    address of an object storage for outputs, or None; `number` of the segment; `program`, the script to run; `wrapper`,
    the command that starts it; `settings` of the script; and `keep`, whether local files remain after their upload.

    `hear` receives the messages of the script, and `begun` its process. `stopped()` returns whether the run was
    interrupted: then a failure does not count as an attempt. Returns the segment's state as in the manifest, or only a
    state and a `problem` if another run is processing the segment."""
    known, number = manifest_of(task), task["number"]
    await asyncio.to_thread(known.pull, number)
    try:
        with known.locked(number):
            before = known.segment(number)
            if before["state"] == manifest.DONE:  # another worker has finished it
                return before
            began, result = time.monotonic(), {"notes": [], "done": None}

            def heard(said):
                if "note" in said:
                    result["notes"].append(said["note"])
                result["done"] = said.get("done", result["done"])
                hear(said)

            worker = {"worker": f"{socket.gethostname()} {os.getpid()}"}
            known.write(number, before | worker | {"state": manifest.RUNNING})
            try:
                sums = await make(task, known, heard, begun, result)
            except OSError as problem:
                if stopped():
                    known.write(number, before)
                    return before
                return fail(known, number, before | worker, problem.strerror or str(problem), began)
            after = before | worker | {"state": manifest.DONE, "attempts": before["attempts"] + 1, "seconds": since(began),
                                       "notes": result["notes"], "done": result["done"], "checksums": sums}
            known.write(number, after)
            return after
    except record.Busy as busy:
        return {"state": manifest.RUNNING, "problem": str(busy)}


def manifest_of(task):
    return manifest.Manifest(task["outputs"], storage.Store(task["store"]) if task["store"] else None)


def since(began):
    return round(time.monotonic() - began, 3)


async def make(task, known, heard, begun, result):
    """Makes the output files of a segment. Returns their checksums by kind. Raises an OSError with the problem."""
    files = known.files(task["number"])
    with storage.Copy(task["source"]) as copy:
        settings = task["settings"] | {"source": await asyncio.to_thread(copy.fetch), "outputs": files}
        problem = await processes.run(task["program"], settings, heard, begun, task["wrapper"])
    if known.store and problem:
        await asyncio.to_thread(known.store.publish, map(partial_name, files.values()), False)
    if problem or not result["done"]:
        raise OSError(0, problem or f"{os.path.basename(task['program'])} ended without an error and without a result")
    sums = {kind: await asyncio.to_thread(manifest.checksum, path) for kind, path in files.items()}
    if known.store:
        await asyncio.to_thread(known.store.publish, files.values(), task["keep"])
    return sums


def failed(before, problem):
    """Returns the state of a segment after one more failed attempt."""
    return before | {"state": manifest.FAILED, "attempts": before["attempts"] + 1,
                     "problems": [*before["problems"], problem]}


def fail(known, number, before, problem, began=None):
    after = failed(before, problem) | ({"seconds": since(began)} if began else {})
    known.write(number, after)
    return after


def lost(task, problem):
    """Records a failed attempt whose worker died, unless the worker had finished the segment. Returns the state."""
    known, number = manifest_of(task), task["number"]
    known.pull(number)
    before = known.segment(number)
    return before if before["state"] == manifest.DONE else fail(known, number, before, problem)
