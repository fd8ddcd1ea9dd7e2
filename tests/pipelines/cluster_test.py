#!/usr/bin/python3
"""regions-transcode on a cluster of Ray that it starts itself. Skipped where pipelines/cluster_requirements.txt is not
installed into .venv/cluster."""

import contextlib
import json
import os
import pathlib
import secrets
import signal
import socket
import subprocess
import sys
import time
import unittest
import unittest.mock

import media
from archive_runs_test import KEYS, LABELS, SMALL
from killed_test import kill_session
from transcode_runs_test import family
from transcoding import PROGRAM, TranscodeCase

PYTHON = media.ROOT / ".venv" / "cluster" / "bin" / "python"
SLOW = "identity sleep-time=60000 ! " + LABELS  # seconds for a segment


def listening(numbers):
    """The addresses at which processes accept connections, as the kernel has them."""
    inodes = set()
    for number in numbers:
        for link in pathlib.Path(f"/proc/{number}/fd").iterdir():
            try:
                inodes.add(os.readlink(link))
            except OSError:  # closed meanwhile
                pass
    rows = [line.split() for name in ("tcp", "tcp6") for line in
            pathlib.Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
    return {row[1].split(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in inodes}


class OnCluster(TranscodeCase):
    """A job that starts Ray itself."""

    CLIP = ("in.mp4", SMALL, *KEYS)
    WORDS = ("--segments", "0.7")

    def setUp(self):
        super().setUp()
        self.source = self.clip(*self.CLIP)

    def start(self, chain, *address, **options):
        command = [PYTHON, PROGRAM, self.source, "-o", self.out, "--filter", chain, *self.WORDS, "--json",
                   "--cluster", *address]
        return subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                text=True, start_new_session=True, **options)

    def wait_for(self, work, words):
        """A process that the run began, see family()."""
        while not (found := family(work.pid, words)):
            self.assertIsNone(work.poll())
            time.sleep(0.01)
        return found[0]

    def finished(self, work, status=0):
        text = work.communicate(timeout=200 * media.PATIENCE)[0]
        self.assertEqual(work.returncode, status, text)
        return text

    def attempts(self):
        told = json.loads((self.out / "summary.json").read_text())["inputs"][str(self.source)]
        return told["segments"], told["attempts"]


    def expect_same(self, chain):
        plain = self.folder / "plain"
        media.run(PROGRAM, self.source, "-o", plain, "--filter", chain, "--json")
        self.assertEqual((self.out / "in.jsonl").read_bytes(), (plain / "in.jsonl").read_bytes())
        self.assertEqual(media.times(self.out / "in.mp4"), media.times(plain / "in.mp4"))


class OnRay(OnCluster):
    def test_workers_that_die(self):
        """Their segments are attempted again; meanwhile no other machine reaches the cluster."""
        work = self.start(SLOW)
        self.wait_for(work, "segment.py")
        found = listening(family(work.pid))
        self.assertTrue(found)
        self.assertEqual(os.getpriority(os.PRIO_PROCESS, self.wait_for(work, "segment.py")), os.nice(0),
                         "as without Ray")
        self.assertLessEqual(found, {"0100007F", "0000000000000000FFFF00000100007F",
                                     "00000000000000000000000001000000"}, "127.0.0.1 and ::1 alone")
        os.kill(self.wait_for(work, "ray::in.mp4"), signal.SIGKILL)
        self.assertRegex(self.finished(work), r"segment \d of 3 failed: its worker died")
        self.assertEqual(self.attempts(), (3, 4))
        self.expect_same(SLOW)

    def test_a_cluster_that_dies(self):
        work = self.start(SLOW)
        self.wait_for(work, "segment.py")
        os.kill(self.wait_for(work, "raylet/raylet"), signal.SIGKILL)
        self.assertIn("the connection to the cluster is lost; run the same command again to continue", self.finished(work, 1))
        self.finished(self.start(SLOW))
        self.expect_same(SLOW)

    def test_a_run_that_is_killed(self):
        work = self.start(SLOW)
        self.wait_for(work, "segment.py")
        kill_session(work.pid)
        work.communicate()
        self.finished(self.start(SLOW))
        self.assertEqual(self.attempts(), (3, 3))
        self.expect_same(SLOW)

    def test_addresses(self):
        for address, why in (("127.0.0.1:1", "--cluster 127.0.0.1:1: cannot connect to a Ray cluster: .*refused"),
                             ("head", "'head': expected HOST:PORT"), ("head:x", "'head:x': expected HOST:PORT")):
            said = media.run(PYTHON, PROGRAM, self.source, "-o", self.out, "--filter", LABELS, "--segments", "1",
                             "--cluster", address, status=2)
            self.assertRegex(said, why)

    def test_interrupted(self):
        self.source = self.source.rename(self.folder / "in \udce9'%d.mp4")  # bytes that are no UTF-8
        work = self.start(SLOW)
        self.wait_for(work, "segment.py")
        work.send_signal(signal.SIGINT)
        self.finished(work, 130)
        self.assertFalse((self.out / self.source.name).exists())
        self.finished(self.start(LABELS.replace("none", "none ! " + SLOW.split(" ! ", maxsplit=1)[0])))
        self.assertTrue((self.out / self.source.name).exists())


class OnNodes(OnCluster):
    """A job that joins a cluster of two nodes, each of which does a segment at a time."""

    def setUp(self):
        super().setUp()
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.port = taken.getsockname()[1]
        # Others on this machine are kept out, and it is soon noticed that a node is gone.
        self.environment = os.environ | {
            "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_health_check_period_ms": "500",
            "RAY_health_check_failure_threshold": "4", "RAY_worker_niceness": "0"}
        self.nodes = []
        self.addCleanup(self.stop)

    def node(self):
        """Begins a node more; returns its process."""
        where = ("--address", f"127.0.0.1:{self.port}") if self.nodes else (
            "--head", "--port", str(self.port), "--include-dashboard", "false")
        self.nodes.append(subprocess.Popen(
            [PYTHON.with_name("ray"), "start", "--block", *where, "--node-ip-address", "127.0.0.1", "--num-cpus", "1",
             "--disable-usage-stats"], env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        while True:  # until it answers
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return self.nodes[-1]
            except ConnectionRefusedError:
                self.assertIsNone(self.nodes[-1].poll())
                time.sleep(0.1)

    def stop(self):
        for node in reversed(self.nodes):
            for number in family(node.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(number, signal.SIGKILL)
            node.wait()

    def test_a_node_that_vanishes(self):
        """Its segment is done by the other, and no other segment again."""
        self.node()
        other = self.node()
        work = self.start(SLOW, f"127.0.0.1:{self.port}", env=self.environment)
        while not family(other.pid, "segment.py"):
            self.assertIsNone(work.poll())
            time.sleep(0.01)
        for number in family(other.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self.assertRegex(self.finished(work), r"segment \d of 3 failed: its worker died")
        self.assertEqual(self.attempts(), (3, 4))
        self.expect_same(SLOW)


class WithoutRay(unittest.TestCase):
    def setUp(self):
        sys.path[:0] = [str(PROGRAM.parent), str(PROGRAM.parent.parent)]

    def test_ray_that_does_not_start(self):
        """On a machine that has too much to do Ray raises an Exception that is nothing more special."""
        import cluster
        ray = unittest.mock.MagicMock()
        ray.init.side_effect = Exception("The node timed out")
        modules = {"ray": ray, "ray._private": ray._private, "ray._private.utils": ray._private.utils}
        with (unittest.mock.patch.dict(sys.modules, modules), unittest.mock.patch.object(cluster.atexit, "register"),
              self.assertRaisesRegex(cluster.NoCluster, "Ray does not start on this machine: The node timed out")):
            cluster.Cluster("", 1, 0)

    def test_what_is_said(self):
        import cluster
        with unittest.mock.patch.dict(sys.modules, {"ray": None}), self.assertRaisesRegex(
                cluster.NoCluster, r"--cluster requires Ray .*Python 3\.\d+\): run pipelines/setup --cluster,"):
            cluster.Cluster("", 1, 0)


if __name__ == "__main__":
    media.expect_tools()
    if not PYTHON.with_name("ray").exists():
        print("pipelines/cluster_requirements.txt is not installed into .venv/cluster")
        sys.exit(media.SKIPPED)
    unittest.main(verbosity=2)
