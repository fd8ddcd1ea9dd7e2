#!/usr/bin/python3
"""Inputs and outputs on object storage, with a server of S3 (moto) in its own process. Skipped unless `tests/run --all`
filled .venv/cluster."""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import unittest

import media
from cases import KEYS, PROGRAM, SEGMENTS, SMALL, UNTOUCHED, TranscodeCase, kill_session

PYTHON = media.ROOT / ".venv" / "cluster" / "bin" / "python"
NAMES = ("a b%#.mp4", "a b%#.jsonl")
SERVE = """import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print("%s:%d" % server.get_host_and_port(), flush=True)
sys.stdin.read()
"""


class Server:
    """Runs until stop(). Programs with its `environment` use it."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-c", SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.address = self.process.stdout.readline().strip()
        self.environment = environment(self.address)

    def stop(self):
        self.process.communicate()


def environment(address):
    return {"AWS_ENDPOINT_URL": f"http://{address}", "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull}


class Wire:
    """Forwards the data of programs to a server, until a request begins with the bytes `stop_at`: a little of its body
    is passed on, `stopped` is set, and then that request is stopped."""

    def __init__(self, server, stop_at):
        self.server, self.stop_at, self.stopped = server, stop_at, threading.Event()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client = self.listener.accept()[0]
            host, port = self.server.address.split(":")
            server = socket.create_connection((host, int(port)))
            threading.Thread(target=self.pass_on, args=(client, server, self.stop_at), daemon=True).start()
            threading.Thread(target=self.pass_on, args=(server, client, None), daemon=True).start()

    def pass_on(self, one, other, stop_at):
        with one, contextlib.suppress(OSError):  # the other end is gone
            while data := one.recv(2**16):
                other.sendall(data)
                if stop_at and data.startswith(stop_at):
                    other.sendall(one.recv(100))  # of the body, which a client sends after the server's go-ahead
                    self.stopped.set()
                    return
            other.shutdown(socket.SHUT_WR)


class Stored(TranscodeCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.stop)
        os.environ.update(cls.server.environment)

    def setUp(self):
        super().setUp()
        self.environment = os.environ | {"TMPDIR": str(self.folder)}
        self.files = fsspec.filesystem("s3", use_listings_cache=False)
        self.bucket = "bucket-" + self.id().rpartition(".")[2].replace("_", "-")[:40]
        self.files.mkdir(self.bucket)
        self.source = self.clip("a b%#.mp4", SMALL, *KEYS)
        self.files.put_file(str(self.source), f"{self.bucket}/in/{self.source.name}")

    def command(self, *arguments):
        return [str(word) for word in (PYTHON, PROGRAM, "--filter", UNTOUCHED, "--json", *arguments)]

    def run_on(self, *arguments, status=0, **changed):
        return media.run(*self.command(*arguments), status=status, env=self.environment | changed)

    def address(self, name):
        return f"s3://{self.bucket}/{name}"

    def stored(self, folder):
        return sorted(name.partition(f"/{folder}/")[2] for name in self.files.find(f"{self.bucket}/{folder}"))

    def contents(self, folder):
        return [self.files.cat_file(f"{self.bucket}/{folder}/{name}") for name in NAMES]

    def wanted(self, *how):
        """The outputs of a run over local files."""
        self.transcode(self.source, "--json", *how)
        return [(self.out / name).read_bytes() for name in NAMES]

    def expect_clean(self):
        """No input, output or segment is left on this machine."""
        left = [path for path in self.folder.glob("regions-*/**/*") if path.suffix in (".mp4", ".part")
                and "in" not in path.relative_to(self.folder).parts]
        self.assertEqual([path for path in left if path.is_file()], [])

    def test_outputs_on_storage_equal_those_of_a_local_run(self):
        text = self.run_on(self.address("in/*.mp4"), "-o", self.address("out/"))
        self.assertIn(f"wrote {self.address('out/a b%#.mp4')}", text)
        self.assertEqual(self.stored("out"), sorted([*NAMES, "a b%#.mp4.made.json"]))
        self.assertEqual(self.contents("out"), self.wanted())
        self.expect_clean()
        text = self.run_on(self.address("in/a b%#.mp4"), "-o", self.address("out"))
        self.assertIn(f"a b%#.mp4: skipped: {self.address('out/a b%#.mp4')} exists", text)
        # Between files and storage, either way.
        self.run_on(self.source, "-o", self.address("from-file"))
        self.assertEqual(self.contents("from-file"), self.contents("out"))
        self.run_on(self.address("in/a b%#.mp4"), "-o", self.folder / "to-file")
        self.assertEqual((self.folder / "to-file" / NAMES[1]).read_bytes(), self.contents("out")[1])
        # Another object by the same name.
        other = self.clip("other.mp4", SMALL.replace("testsrc2", "testsrc"), *KEYS)
        self.files.put_file(str(other), f"{self.bucket}/in/{self.source.name}")
        text = self.run_on(self.address("in/a b%#.mp4"), "-o", self.address("out"), status=1)
        self.assertRegex(text, r"exists, but size was \d+ and is now \d+; --force writes it again")

    def test_outputs_on_storage_of_two_workers_equal_those_of_a_local_run(self):
        """Each command has its own TMPDIR, as on machines that share only the storage."""
        job, wanted = (self.address("in/*.mp4"), "-o", self.address("out"), *SEGMENTS), self.wanted(*SEGMENTS)
        self.assertIn("3 segments", self.run_on(*job, "--plan"))
        for number in (1, 2):
            (self.folder / f"worker{number}").mkdir()
            self.run_on(*job, "--segment", f"{number}/2", TMPDIR=str(self.folder / f"worker{number}"))
        (self.folder / "status").mkdir()
        text = self.run_on("-o", self.address("out"), "--status", status=1, TMPDIR=str(self.folder / "status"))
        self.assertIn("a b%#.mp4: 3 done", text)
        self.run_on(*job)
        self.assertEqual(self.contents("out"), wanted)
        self.assertEqual(self.stored("out"), sorted([*NAMES, "a b%#.mp4.made.json", "job.json", "summary.json"]))
        told = json.loads(self.files.cat_file(f"{self.bucket}/out/summary.json"))
        self.assertEqual([file["attempts"] for file in told["inputs"].values()], [3], "each once")
        self.assertIn("1 of 1 files", self.run_on("-o", self.address("out"), "--status"))
        self.expect_clean()

    def test_outputs_on_storage_of_a_cluster_run_equal_those_of_a_local_run(self):
        self.run_on(self.address("in/*.mp4"), "-o", self.address("out"), *SEGMENTS, "--cluster")
        self.assertEqual(self.contents("out"), self.wanted(*SEGMENTS))
        self.expect_clean()

    def test_run_when_killed_during_an_upload_leaves_no_output_and_loses_no_segment(self):
        """Its output is not there, and the next run, on another machine, repeats no segment."""
        wire = Wire(self.server, f"PUT /{self.bucket}/out/a%20b%25%23.mp4 ".encode())
        job = self.command(self.address("in/*.mp4"), "-o", self.address("out"), *SEGMENTS)
        with subprocess.Popen(job, env=self.environment | environment(wire.address), start_new_session=True,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as work:
            cut_off = wire.stopped.wait(60 * media.PATIENCE)
            kill_session(work.pid)
        self.assertTrue(cut_off)
        self.assertNotIn(NAMES[0], self.stored("out"))
        segments = [name for name in self.stored("out") if name.startswith("a b%#.mp4.segments/0")]
        self.assertEqual(len(segments), 9, segments)
        (self.folder / "second").mkdir()
        self.run_on(*job[5:], TMPDIR=str(self.folder / "second"))
        told = json.loads(self.files.cat_file(f"{self.bucket}/out/summary.json"))
        self.assertEqual([file["attempts"] for file in told["inputs"].values()], [3], "none was repeated")
        self.assertEqual(self.contents("out"), self.wanted(*SEGMENTS))

    def test_damaged_segment_on_storage_is_processed_again(self):
        """A segment in the storage that differs from its checksum is made again."""
        job = (self.address("in/*.mp4"), "-o", self.address("out"), *SEGMENTS)
        self.run_on(*job, "--plan")
        self.run_on(*job, "--segment", "1/1")
        self.files.pipe_file(f"{self.bucket}/out/a b%#.mp4.segments/0001.jsonl", b"{}\n")
        self.run_on(*job)
        told = json.loads(self.files.cat_file(f"{self.bucket}/out/summary.json"))
        self.assertEqual([file["attempts"] for file in told["inputs"].values()], [4])
        self.assertEqual(self.contents("out"), self.wanted(*SEGMENTS))

    def test_storage_errors_give_the_reason_in_at_most_two_lines(self):
        here, out = self.address("in/a b%#.mp4"), self.address("out")
        for arguments, changed, status, why in (
                ((here, "-o", "s3://no-such-bucket/out"), {}, 2, "s3://no-such-bucket/out: The specified bucket does not"),
                (("s3://no-such-bucket/*.mp4", "-o", out), {}, 2, "s3://no-such-bucket/*.mp4: no object"),
                ((self.address("in/*.mkv"), "-o", out), {}, 2, f"{self.address('in/*.mkv')}: no object matches"),
                ((self.address("in/b.mp4"), "-o", out), {}, 1, "cannot be read: s3://"),
                ((here, "-o", self.address("in")), {}, 2, "which is an input; choose another folder"),
                ((here, "-o", out), {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, 2,
                 f"{out}: Unable to locate credentials"),
                ((here, "-o", out), {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, 2, f"{out}: Could not connect to the")):
            with self.subTest(why):
                text = self.run_on(*arguments, status=status, **changed)
                self.assertIn(why, text)
                self.assertLessEqual(text.count("\n"), 2)
        self.assertEqual(self.stored("out"), [])

    def test_storage_address_without_fsspec_is_refused(self):
        text = media.run(sys.base_prefix + "/bin/python3", PROGRAM, "--filter", UNTOUCHED, self.source, "-o",
                         self.address("out"), status=2)
        self.assertRegex(text, r"^regions-transcode: s3://\S+ requires the Python packages fsspec and s3fs \(.*\): run"
                         r" pipelines/setup --cluster, and start regions-transcode with \S+\n$")


if __name__ == "__main__":
    media.expect_tools()
    if not PYTHON.with_name("moto_server").exists():
        print("requirements/storage.txt is not installed into .venv/cluster")
        sys.exit(media.SKIPPED)
    if pathlib.Path(sys.prefix) != PYTHON.parent.parent:
        os.execv(PYTHON, [str(PYTHON), *sys.argv])
    import fsspec
    unittest.main(verbosity=2)
