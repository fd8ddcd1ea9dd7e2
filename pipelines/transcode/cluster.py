"""Attempts at segments, in this process or on a cluster as tasks of Ray Core. The result is written to the manifest. Ray
starts the attempts and reports workers that died. The state of the work is in manifests, in a folder that all nodes
share. So any process may die, including this program."""

import asyncio
import atexit
import os
import socket
import sys
import time

from files import partial_name, printable
from transcode import manifest, processes, storage

PIPELINES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PATIENCE = 0.5  # seconds between two checks for an interruption


async def attempt(task, hear=lambda said: None, begun=lambda process: None, stopped=lambda: False):
    """Attempts a segment.

    `task` is a dictionary: `source`, the input; `outputs`, the paths of the file's outputs by kind; `store`, the
    address of an object storage for outputs, or None; `number` of the segment; `kind` of the job (see
    processes.run); `wrapper`, the command that starts it; `settings` of the job; and `keep`, whether local files remain
    after their upload.

    `hear` receives the messages of the job, and `begun` its process. `stopped()` returns whether the run was
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
                sums = await make_files(task, known, heard, begun, result)
            except OSError as problem:
                if stopped():
                    known.write(number, before)
                    return before
                return fail(known, number, before | worker, problem.strerror or str(problem), began)
            after = before | worker | {"state": manifest.DONE, "attempts": before["attempts"] + 1, "seconds": since(began),
                                       "notes": result["notes"], "done": result["done"], "checksums": sums}
            known.write(number, after)
            return after
    except manifest.Busy as busy:
        return {"state": manifest.RUNNING, "problem": str(busy)}


def manifest_of(task):
    return manifest.Manifest(task["outputs"], storage.Store(task["store"]) if task["store"] else None)


def since(began):
    return round(time.monotonic() - began, 3)


async def make_files(task, known, heard, begun, result):
    """Makes the output files of a segment. Returns their checksums by kind. Raises an OSError with the problem."""
    files = known.files(task["number"])
    with storage.Copy(task["source"]) as copy:
        settings = task["settings"] | {"source": await asyncio.to_thread(copy.fetch), "outputs": files}
        problem = await processes.run(task["kind"], settings, heard, begun, task["wrapper"])
    if known.store and problem:
        await asyncio.to_thread(known.store.publish, map(partial_name, files.values()), False)
    if problem or not result["done"]:
        raise OSError(0, problem or "the job ended without an error and without a result")
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


class NoCluster(Exception):
    """The cluster cannot be used. The message gives the reason."""


def expect_server(address):
    """Raises NoCluster if no server accepts a connection at HOST:PORT. Ray itself would try for minutes."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise NoCluster(f"--cluster '{address}': expected HOST:PORT, as printed by 'ray start --head'")
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, OverflowError) as problem:
        raise NoCluster(f"--cluster {address}: cannot connect to a Ray cluster: {problem}") from problem


class Cluster:
    def __init__(self, address, cpus, gpus, memory=0):
        """Connects to the cluster at HOST:PORT. If `address` is "", starts Ray on this machine, reachable only from
        this machine, and stops it when the program ends. `cpus`, `gpus` and `memory` (GiB) are reserved for each
        segment. With a fraction of a GPU, several segments share a GPU."""
        if not address:
            # Otherwise Ray 2.60 replaces 127.0.0.1 by the external address, and its servers accept connections from
            # other machines. The variable also works on Linux, despite its name.
            os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
            # Otherwise Ray's workers and their child processes have nice value 15 and lose to other programs.
            os.environ.setdefault("RAY_worker_niceness", "0")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
            import ray._private.utils
        except ImportError as missing:
            version = ".".join(map(str, sys.version_info[:2]))
            raise NoCluster(f"--cluster requires Ray ({missing}; this is Python {version}): {storage.INSTALL}") from missing
        atexit.register(ray.shutdown)  # runs before Ray's own exit handler, which sleeps half a second
        # Ray stores the program's command line as UTF-8, but file names in it may contain any bytes.
        ray._private.utils.get_entrypoint_name = lambda: "regions-transcode"
        if address:
            expect_server(address)
        # No user can reach the dashboard of a local cluster. Starting it would cost a few seconds of CPU time.
        own = {} if address else {"_node_ip_address": "127.0.0.1", "include_dashboard": False}
        try:
            ray.init(address=address or "local", log_to_driver=False, logging_level="error", **own)
        except Exception as problem:  # Ray raises many types; a slow start raises plain Exception
            where = (f"--cluster {address}: this is not a Ray cluster, or it requires a token (RAY_AUTH_MODE=token,"
                     " RAY_AUTH_TOKEN_PATH)") if address else "--cluster: Ray does not start on this machine"
            raise NoCluster(f"{where}: {str(problem).strip()}") from problem
        self.ray, folder = ray, PIPELINES

        def attempt(task):
            sys.path.insert(0, folder)
            from transcode import cluster
            return asyncio.run(cluster.attempt(task))

        self.remote = ray.remote(num_cpus=cpus, num_gpus=gpus, memory=int(memory * 2**30), max_retries=0)(attempt)

    async def attempt(self, task, name, stopped):
        """Runs attempt() on a worker chosen by Ray. Ray's dashboard shows the task as `name`."""
        task = task | {"wrapper": [os.path.join(PIPELINES, "with-plugin")]}
        reference = self.remote.options(name=printable(name)).remote(task)
        waiting = asyncio.ensure_future(asyncio.wrap_future(reference.future()))
        while not (await asyncio.wait({waiting}, timeout=PATIENCE))[0]:
            if stopped():
                self.ray.cancel(reference, force=True)
                return {"state": "waiting", "attempts": 0, "problems": []}
        try:
            return waiting.result()
        except self.ray.exceptions.RayTaskError as problem:
            raise problem.cause from problem
        except self.ray.exceptions.LocalRayletDiedError:  # not an error of the segment, and no other segment can run
            return {"state": "waiting", "problem": "the connection to the cluster is lost; run the same command again"
                    " to continue"}
        except self.ray.exceptions.RayError as problem:
            return lost(task, f"its worker died: {str(problem).strip().splitlines()[0]}")
