"""Jobs as processes of their own: a decoder that crashes takes nothing else with it."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys

STARTER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "starter.py")


class Starter:
    """The process that jobs of this one begin in (see starter.py), begun anew where it has died or the environment
    is another: a cluster tells by it which GPUs are whose."""

    known = None

    def __init__(self, wrapper):
        self.like = tuple(wrapper), dict(os.environ)
        self.requests, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            # A process group of its own: Ctrl-C reaches the program, which ends the jobs.
            self.process = subprocess.Popen([*wrapper, sys.executable, STARTER], stdin=other, process_group=0,
                                            env=os.environ | {"OPENBLAS_NUM_THREADS": "1"})

    @classmethod
    def current(cls, wrapper):
        """The one whose jobs begin within the words of a wrapper."""
        if cls.known and (cls.known.process.poll() is not None or cls.known.like != (tuple(wrapper), dict(os.environ))):
            cls.known.requests.close()
            cls.known = None
        cls.known = cls.known or cls(wrapper)
        return cls.known

    def start(self, words, channel):
        """Returns the Process of a program with a number for `channel` and other words."""
        reader, stdin = os.pipe()
        heard, told = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with os.fdopen(reader, "rb"), told, os.fdopen(os.memfd_create("words"), "w") as written:
            json.dump(words, written)
            written.flush()
            with contextlib.suppress(ConnectionError):  # the starter has just died: the job is one that ended with it
                socket.send_fds(self.requests, [b"job"], [reader, channel, told.fileno(), written.fileno()])
        return Process(heard, stdin)


class Process:
    """A job. `returncode` is None until it has ended."""

    def __init__(self, heard, stdin):
        self.heard, self.stdin, self.held, self.returncode = heard, stdin, None, None
        heard.setblocking(False)

    async def begun(self):
        """Waits for its number; without a starter there is none."""
        await self.readable()
        said, given, _, _ = socket.recv_fds(self.heard, 64, 1)
        self.pid, self.held = (int(said), given[0]) if said else (None, None)

    async def readable(self):
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(self.heard, ready.set)
        try:
            await ready.wait()
        finally:
            loop.remove_reader(self.heard)

    def send_signal(self, number):
        if self.held is not None:
            with contextlib.suppress(ProcessLookupError):  # it has ended, and is to be told of
                signal.pidfd_send_signal(self.held, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    async def wait(self):
        """How it ended, as Popen tells it; None where the starter died, and the job ends as its input does."""
        if self.held is not None:
            await self.readable()
            said = self.heard.recv(64)
            self.returncode = os.waitstatus_to_exitcode(int(said)) if said else None
        return self.returncode

    def close(self):
        self.heard.close()
        os.close(self.stdin)
        if self.held is not None:
            os.close(self.held)


async def run(program, settings, hear, begun=lambda process: None, wrapper=()):
    """Runs a job: a program as job.py is one, within the words of a `wrapper`. `hear(said)` gets what it tells,
    `begun(process)` the Process. Returns what went wrong, or None."""
    problem = None
    reader, writer = os.pipe()
    try:
        process = Starter.current(wrapper).start([program, json.dumps(settings)], writer)
    finally:
        os.close(writer)
    with contextlib.closing(process), os.fdopen(reader, "rb") as channel:
        await process.begun()
        begun(process)
        parts = []  # what a job that is killed cannot remove itself
        told = asyncio.StreamReader(limit=2**30)  # a line holds the plan of a file
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(told), channel)
        while line := await told.readline():
            said = json.loads(line)
            if "part" in said:
                parts.append(said["part"])
            elif "problem" in said:
                problem = said["problem"]
            else:
                hear(said)
        status = await process.wait()
        transport.close()
    if status is None or status < 0:
        for part in filter(os.path.exists, parts):
            os.remove(part)
        return f"the job was ended by {signal.Signals(-status).name}" if status else (
            "the job ended because the process that started it ended")
    return problem or (f"the job ended with status {status}" if status else None)
