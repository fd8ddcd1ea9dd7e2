"""One attempt at a segment, by whichever machine: what it came to stands in the manifest."""

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
    """`task`: the `source`, `outputs` of the file, the address of a `store` for them or None, the `number` of the segment,
    the `program`, the words of its `wrapper`, its `settings`, and whether to `keep` here what goes into the store. `stopped()`:
    whether the run was interrupted, which is no fault of the segment. Returns the segment as the manifest has it, or
    its `problem` alone where another run works on it."""
    known, number = manifest_of(task), task["number"]
    await asyncio.to_thread(known.pull, number)
    try:
        with known.locked(number):
            before = known.segment(number)
            if before["state"] == manifest.DONE:  # another worker was quicker
                return before
            began, told = time.monotonic(), {"notes": [], "done": None}

            def heard(said):
                if "note" in said:
                    told["notes"].append(said["note"])
                told["done"] = said.get("done", told["done"])
                hear(said)

            worker = {"worker": f"{socket.gethostname()} {os.getpid()}"}
            known.write(number, before | worker | {"state": manifest.RUNNING})
            try:
                sums = await make(task, known, heard, begun, told)
            except OSError as problem:
                if stopped():
                    known.write(number, before)
                    return before
                return fail(known, number, before | worker, problem.strerror or str(problem), began)
            after = before | worker | {"state": manifest.DONE, "attempts": before["attempts"] + 1, "seconds": since(began),
                                       "notes": told["notes"], "done": told["done"], "checksums": sums}
            known.write(number, after)
            return after
    except record.Busy as busy:
        return {"state": manifest.RUNNING, "problem": str(busy)}


def manifest_of(task):
    return manifest.Manifest(task["outputs"], storage.Store(task["store"]) if task["store"] else None)


def since(began):
    return round(time.monotonic() - began, 3)


async def make(task, known, heard, begun, told):
    """Makes the files of a segment where they belong; returns their checksums. An OSError says what went wrong."""
    files = known.files(task["number"])
    with storage.Copy(task["source"]) as copy:
        settings = task["settings"] | {"source": await asyncio.to_thread(copy.fetch), "outputs": files}
        problem = await processes.run(task["program"], settings, heard, begun, task["wrapper"])
    if known.store and problem:
        await asyncio.to_thread(known.store.publish, map(partial_name, files.values()), False)
    if problem or not told["done"]:
        raise OSError(0, problem or "the job ended without a result")
    sums = {kind: await asyncio.to_thread(manifest.checksum, path) for kind, path in files.items()}
    if known.store:
        await asyncio.to_thread(known.store.publish, files.values(), task["keep"])
    return sums


def failed(before, problem):
    """A segment after an attempt more."""
    return before | {"state": manifest.FAILED, "attempts": before["attempts"] + 1,
                     "problems": [*before["problems"], problem]}


def fail(known, number, before, problem, began=None):
    after = failed(before, problem) | ({"seconds": since(began)} if began else {})
    known.write(number, after)
    return after


def lost(task, problem):
    """An attempt whose worker died; what it finished before is done."""
    known, number = manifest_of(task), task["number"]
    known.pull(number)
    before = known.segment(number)
    return before if before["state"] == manifest.DONE else fail(known, number, before, problem)
