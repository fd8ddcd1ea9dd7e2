"""Segments on a cluster, as tasks of Ray Core. Ray starts attempts and tells which workers died; what is done stands in
manifests on a folder that all nodes see, so that any part may die, the program too."""

import asyncio
import atexit
import os
import socket
import sys

import attempts
from files import printable
from storage import INSTALL

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 0.5  # seconds between looks at whether the run was interrupted


class NoCluster(Exception):
    """There is none to work on; the message says why."""


def expect_server(address):
    """Raises NoCluster where nothing answers at HOST:PORT: Ray would try for minutes."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise NoCluster(f"--cluster '{address}': expected HOST:PORT, as ray start --head prints it")
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, OverflowError) as problem:
        raise NoCluster(f"there is no cluster of Ray at {address}: {problem}") from problem


class Cluster:
    def __init__(self, address, cpus, gpus, memory=0):
        """Joins the cluster at an address; where it is "", starts one that only this machine reaches, and ends it with
        the program. `cpus`, `gpus`, `memory` (GiB): what Ray reserves for a segment; fractions of a GPU share it."""
        if not address:
            # Else Ray takes the address that others reach for 127.0.0.1, and its servers listen at all there are (seen
            # with 2.60, whose name for this is of other systems).
            os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
            # Else workers, and what they start, have a nice value of 15: other programs would starve them.
            os.environ.setdefault("RAY_worker_niceness", "0")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
            import ray._private.utils
        except ImportError as missing:
            version = ".".join(map(str, sys.version_info[:2]))
            raise NoCluster(f"--cluster requires Ray ({missing}; this is Python {version}): {INSTALL}") from missing
        atexit.register(ray.shutdown)  # before Ray's own way to end, which sleeps half a second
        # What Ray tells of this program is its command line, whose names may be any bytes; Ray takes UTF-8 alone.
        ray._private.utils.get_entrypoint_name = lambda: "regions-transcode"
        if address:
            expect_server(address)
        # Its dashboard, which is not reached, would have a few seconds of the processor.
        own = {} if address else {"_node_ip_address": "127.0.0.1", "include_dashboard": False}
        try:
            ray.init(address=address or "local", log_to_driver=False, logging_level="error", **own)
        except Exception as problem:  # of many kinds, and where Ray starts too slowly no kind more special
            where = (f"there is no cluster of Ray at {address}, or it requires a token (RAY_AUTH_MODE=token,"
                     " RAY_AUTH_TOKEN_PATH)") if address else "Ray does not start on this machine"
            raise NoCluster(f"{where}: {str(problem).strip()}") from problem
        self.ray, folder = ray, HERE

        def attempt(task):
            sys.path[:0] = [folder, os.path.join(folder, "..")]
            import attempts
            return asyncio.run(attempts.attempt(task))

        self.remote = ray.remote(num_cpus=cpus, num_gpus=gpus, memory=int(memory * 2**30), max_retries=0)(attempt)

    async def attempt(self, task, name, stopped):
        """As attempts.attempt, by a worker that Ray chooses; `name` is what its dashboard shows."""
        task = task | {"wrapper": [os.path.join(HERE, "..", "with-plugin")]}
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
        except self.ray.exceptions.LocalRayletDiedError:  # no fault of the segment, and none can be run
            return {"state": "waiting", "problem": "the cluster is gone; the same command goes on"}
        except self.ray.exceptions.RayError as problem:
            return attempts.lost(task, f"its worker died: {str(problem).strip().splitlines()[0]}")
