"""Runs each job in its own process, so that a decoder that crashes ends nothing else. The starter starts the processes."""

import asyncio
import contextlib
import json
import os
import signal
import socket

from transcode.starter import Starter

JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run_job.py")


class Process:
    """A job. `returncode` is None until it has ended."""

    def __init__(self, heard, stdin):
        self.heard, self.stdin, self.held, self.returncode = heard, stdin, None, None
        heard.setblocking(False)

    async def begun(self):
        """Waits for the process id. It stays None if the starter has died."""
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
            with contextlib.suppress(ProcessLookupError):  # it has ended, and wait() has not seen it yet
                signal.pidfd_send_signal(self.held, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)

    async def wait(self):
        """The return code, as in Popen. None if the starter died: the job ends because its standard input is closed."""
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


async def run(kind, settings, hear, begun=lambda process: None, wrapper=()):
    """Runs a job of a `kind`, which run_job.py names, inside a `wrapper`'s command line. `hear(message)` gets its messages
    and `begun(process)` gets the Process. Returns the problem, or None."""
    problem = None
    reader, writer = os.pipe()
    try:
        starter = Starter.current(wrapper)
        process = Process(*starter.start([JOB, kind, json.dumps(settings)], writer))
    finally:
        os.close(writer)
    with contextlib.closing(process), os.fdopen(reader, "rb") as channel:
        await process.begun()
        begun(process)
        parts = []  # files that a killed job leaves
        told = asyncio.StreamReader(limit=2**30)  # bytes: a line can hold the plan of a file
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(told), channel)
        while line := await told.readline():
            message = json.loads(line)
            if "part" in message:
                parts.append(message["part"])
            elif "problem" in message:
                problem = message["problem"]
            else:
                hear(message)
        status = await process.wait()
        transport.close()
    if status is None:
        starter.forget()
    if status is None or status < 0:
        for part in filter(os.path.exists, parts):
            os.remove(part)
        return f"the job was ended by {signal.Signals(-status).name}" if status else (
            "the job ended because the process that started it ended")
    return problem or (f"the job ended with status {status}" if status else None)
