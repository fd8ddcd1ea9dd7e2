"""Segments on a cluster, as tasks of Ray Core. Ray starts the attempts and reports workers that died. The state of the
work is in manifests, in a folder that all nodes share. So any process may die, including this program."""

import asyncio
import atexit
import os
import socket
import sys

import attempts
from files import printable
from storage import INSTALL

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 0.5  # seconds between two checks for an interruption


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
            raise NoCluster(f"--cluster requires Ray ({missing}; this is Python {version}): {INSTALL}") from missing
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
        self.ray, folder = ray, HERE

        def attempt(task):
            sys.path[:0] = [folder, os.path.join(folder, "..")]
            import attempts
            return asyncio.run(attempts.attempt(task))

        self.remote = ray.remote(num_cpus=cpus, num_gpus=gpus, memory=int(memory * 2**30), max_retries=0)(attempt)

    async def attempt(self, task, name, stopped):
        """Runs attempts.attempt on a worker chosen by Ray. Ray's dashboard shows the task as `name`."""
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
        except self.ray.exceptions.LocalRayletDiedError:  # not an error of the segment, and no other segment can run
            return {"state": "waiting", "problem": "the connection to the cluster is lost; run the same command again"
                    " to continue"}
        except self.ray.exceptions.RayError as problem:
            return attempts.lost(task, f"its worker died: {str(problem).strip().splitlines()[0]}")
