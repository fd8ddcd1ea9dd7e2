"""One attempt at a segment, by whichever machine: what it came to stands in the manifest."""

import asyncio
import os
import socket
import time

import manifest
import processes
import record


async def attempt(task, hear=lambda said: None, begun=lambda process: None, stopped=lambda: False):
    """`task`: `outputs` of the file, `number` of the segment, `command` of the program and its `settings`. `stopped()`:
    whether the run was interrupted, which is no fault of the segment. Returns the segment as the manifest has it, or
    its `problem` alone where another run works on it."""
    known, number = manifest.Manifest(task["outputs"]), task["number"]
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

            worker = f"{socket.gethostname()} {os.getpid()}"
            known.write(number, before | {"state": manifest.RUNNING, "worker": worker})
            problem = await processes.run(task["command"], task["settings"], heard, begun)
            if not problem and not told["done"]:
                problem = "the job ended without a word"
            if problem and stopped():
                known.write(number, before)
                return before
            after = before | {"worker": worker, "attempts": before["attempts"] + 1,
                              "seconds": round(time.monotonic() - began, 3)}
            if problem:
                after |= {"state": manifest.FAILED, "problems": [*before["problems"], problem]}
            else:
                files = known.files(number)
                after |= {"state": manifest.DONE, "notes": told["notes"], "done": told["done"],
                          "checksums": {kind: await asyncio.to_thread(manifest.checksum, path)
                                        for kind, path in files.items()}}
            known.write(number, after)
            return after
    except record.Busy as busy:
        return {"state": manifest.RUNNING, "problem": str(busy)}


def lost(task, problem):
    """An attempt whose worker died."""
    known, number = manifest.Manifest(task["outputs"]), task["number"]
    before = known.segment(number)
    after = before | {"state": manifest.FAILED, "attempts": before["attempts"] + 1,
                      "problems": [*before["problems"], problem]}
    known.write(number, after)
    return after
