#!/usr/bin/python3
"""regions-transcode on a cluster of Ray that it starts itself or joins. Most tests are skipped if Ray is not installed into
.venv/cluster."""

import contextlib
import os
import pathlib
import random
import secrets
import signal
import socket
import subprocess
import sys
import time
import unittest.mock

import media
from cases import KEYS, PROGRAM, SMALL, UNTOUCHED, TranscodeCase, family, kill_session, main
from transcode import cluster  # after cases, which sets the path


PYTHON = media.ROOT / ".venv" / "cluster" / "bin" / "python"
SLOW = "identity sleep-time=40000 ! " + UNTOUCHED  # about a second for a segment
SLOWER = SLOW.replace("40000", "250000")  # longer than a node needs until it works


def listening(numbers):
    """The addresses at which processes accept connections, in the kernel's notation."""
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
        if not PYTHON.with_name("ray").exists():
            self.skipTest("requirements/cluster.txt is not installed into .venv/cluster")
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
        told = self.summary()["inputs"][str(self.source)]
        return told["segments"], told["attempts"]

    def expect_same(self, chain):
        plain = self.folder / "plain"
        self.transcode(self.source, "--json", chain=chain, out=plain)
        self.assertEqual((self.out / "in.jsonl").read_bytes(), (plain / "in.jsonl").read_bytes())
        self.assertEqual(media.times(self.out / "in.mp4"), media.times(plain / "in.mp4"))


class OnRay(OnCluster):
    def test_cluster_run_when_a_worker_is_killed_tries_its_segment_again(self):
        """Their segments are attempted again; meanwhile no other machine reaches the cluster."""
        work = self.start(SLOW)
        self.wait_for(work, "regions-segment")
        found = listening(family(work.pid))
        self.assertTrue(found)
        self.assertEqual(os.getpriority(os.PRIO_PROCESS, self.wait_for(work, "regions-segment")), os.nice(0),
                         "as without Ray")
        self.assertLessEqual(found, {"0100007F", "0000000000000000FFFF00000100007F",
                                     "00000000000000000000000001000000"}, "127.0.0.1 and ::1 alone")
        os.kill(self.wait_for(work, "ray::in.mp4"), signal.SIGKILL)
        self.assertRegex(self.finished(work), r"segment \d of 3 failed: its worker died")
        self.assertEqual(self.attempts(), (3, 4))
        self.expect_same(SLOW)

    def test_run_when_its_cluster_is_lost_fails_and_the_next_run_writes_equal_outputs(self):
        work = self.start(SLOW)
        self.wait_for(work, "regions-segment")
        os.kill(self.wait_for(work, "raylet/raylet"), signal.SIGKILL)
        self.assertIn("the connection to the cluster is lost; run the same command again to continue", self.finished(work, 1))
        self.finished(self.start(SLOW))
        self.expect_same(SLOW)

    def test_cluster_run_after_a_killed_run_repeats_no_segment_and_writes_equal_outputs(self):
        work = self.start(SLOW)
        self.wait_for(work, "regions-segment")
        kill_session(work.pid)
        work.communicate()
        self.finished(self.start(SLOW))
        self.assertEqual(self.attempts(), (3, 3))
        self.expect_same(SLOW)

    def test_cluster_option_with_wrong_address_is_refused(self):
        for address, why in (("127.0.0.1:1", "--cluster 127.0.0.1:1: cannot connect to a Ray cluster: .*refused"),
                             ("head", "'head': expected HOST:PORT"), ("head:x", "'head:x': expected HOST:PORT")):
            said = media.run(PYTHON, PROGRAM, self.source, "-o", self.out, "--filter", UNTOUCHED, "--segments", "1",
                             "--cluster", address, status=2)
            self.assertRegex(said, why)

    def test_cluster_run_after_an_interrupted_run_writes_the_output(self):
        self.source = self.source.rename(self.folder / "in \udce9'%d.mp4")  # bytes that are not UTF-8
        work = self.start(SLOW)
        self.wait_for(work, "regions-segment")
        work.send_signal(signal.SIGINT)
        self.finished(work, 130)
        self.assertFalse((self.out / self.source.name).exists())
        self.finished(self.start(UNTOUCHED.replace("none", "none ! " + SLOW.split(" ! ", maxsplit=1)[0])))
        self.assertTrue((self.out / self.source.name).exists())


class OnNodes(OnCluster):
    """A job that joins a cluster of two nodes. Each node processes one segment at a time."""

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
        """Starts a further node. Returns its process."""
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

    def test_cluster_run_when_a_node_is_lost_tries_its_segment_again(self):
        """The other node processes its segment, and no finished segment is repeated."""
        self.node()
        other = self.node()
        work = self.start(SLOWER, f"127.0.0.1:{self.port}", env=self.environment)
        while not family(other.pid, "regions-segment"):
            self.assertIsNone(work.poll())
            time.sleep(0.01)
        for number in family(other.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        self.assertRegex(self.finished(work), r"segment \d of 3 failed: its worker died")
        self.assertEqual(self.attempts(), (3, 4))
        self.expect_same(SLOW)


class WithoutRay(unittest.TestCase):
    def test_cluster_when_ray_does_not_start_raises_an_error(self):
        """On a loaded machine, Ray raises a plain Exception."""
        ray = unittest.mock.MagicMock()
        ray.init.side_effect = Exception("The node timed out")
        modules = {"ray": ray, "ray._private": ray._private, "ray._private.utils": ray._private.utils}
        with (unittest.mock.patch.dict(sys.modules, modules), unittest.mock.patch.object(cluster.atexit, "register"),
              self.assertRaisesRegex(cluster.NoCluster, "Ray does not start on this machine: The node timed out")):
            cluster.Cluster("", 1, 0)

    def test_cluster_without_ray_raises_an_error(self):
        with unittest.mock.patch.dict(sys.modules, {"ray": None}), self.assertRaisesRegex(
                cluster.NoCluster, r"--cluster requires Ray .*Python 3\.\d+\): run pipelines/setup --cluster,"):
            cluster.Cluster("", 1, 0)


# What is killed: words of a command line, or None for the program and all that it started.
VICTIMS = ["regions-segment"] * 4 + ["ray::in.mkv"] * 3 + ["raylet/raylet", None, None]
CHAIN = "identity sleep-time=20000 ! cclabel output=none"


class Kills(OnCluster):
    """One job with ten random kills: processes of segments, workers, the node, and the whole run."""

    CLIP = ("in.mkv", "testsrc2=size=64x48:rate=25:duration=7.68", "-pix_fmt", "yuv420p", "-g", "8")
    WORDS = ("--segments", "0.3", "--attempts", "20", "--profile", "lossless")

    def test_cluster_run_after_ten_kills_writes_the_outputs_of_an_undisturbed_run(self):
        plain = self.folder / "plain"
        self.transcode(self.source, "--json", "--profile", "lossless", chain=CHAIN, out=plain)
        seed = int(os.environ.get("REGIONS_SEED", "7"))
        print(f"seed {seed}", file=sys.stderr)
        numbers, work = random.Random(seed), None
        for victim in numbers.sample(VICTIMS, len(VICTIMS)):
            if not work or work.poll() is not None:
                work = self.start(CHAIN)
            found = self.wait_for(work, victim or "regions-segment")
            time.sleep(numbers.uniform(0, 0.3))
            if not victim:
                kill_session(work.pid)
                work.communicate()
                continue
            try:
                os.kill(found, signal.SIGKILL)
            except ProcessLookupError:  # it ended meanwhile
                os.kill(self.wait_for(work, victim), signal.SIGKILL)
            if victim.startswith("raylet"):
                self.assertIn("the connection to the cluster is lost", self.finished(work, 1))
        if work.poll() is not None:
            work = self.start(CHAIN)
        self.finished(work)
        segments, attempts = self.attempts()
        self.assertEqual(segments, 24)
        self.assertLessEqual(attempts, segments + 20, f"seed {seed}: finished segments were repeated")
        self.assertEqual((self.out / "in.jsonl").read_bytes(), (plain / "in.jsonl").read_bytes(), f"seed {seed}")
        self.assertEqual(media.pictures(self.out / "in.mkv"), media.pictures(plain / "in.mkv"), f"seed {seed}")


if __name__ == "__main__":
    main()
