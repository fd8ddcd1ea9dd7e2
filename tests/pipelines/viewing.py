"""pipelines/view as a process of a test, and the requests of a page."""

import asyncio
import contextlib
import http.client
import json
import os
import signal
import struct
import subprocess
import sys
import time
import urllib.parse

import media
from cases import Case

try:
    import aiohttp
except ImportError:
    print("python3-aiohttp is not installed: pipelines/setup --tests installs it")
    sys.exit(media.SKIPPED)

VIEW = media.script("view")
FILTER = "cclabel threshold=0.5 track=true attach-runs=true output=none"
SIZE = 320, 240
SIDE = 24
# A white square that moves over a black picture: its left edge in frame n is LEFT(n).
SQUARE = (f"color=black:s={SIZE[0]}x{SIZE[1]}:r=25:d={{0}}[b];color=white:s={SIDE}x{SIDE}:r=25:d={{0}}[w];"
          "[b][w]overlay=x='140+100*sin(t*3)':y='100+60*cos(t*2)'")
GATE = {"width": 320, "height": 240, "lines": [{"id": "gate", "points": [[150, 0], [150, 240]], "object-retention": 5}]}
WAIT = 30 * media.PATIENCE
CRASHES = [-number for number in (signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV, signal.SIGTRAP)]


def until(happened, seconds=WAIT, what="what was expected"):
    """The first true result of a call."""
    end = time.monotonic() + seconds
    while not (found := happened()):
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not happen within {seconds:.0f} s")
        time.sleep(0.05)
    return found


class View:
    """A running program. `address` is that of its page."""

    def __init__(self, test, *words, port=0, host="localhost", filter=FILTER, **process):
        listen = [] if port is None else ["--listen", f"{host}:{port}"]
        self.errors = open(test.folder / f"errors-{time.monotonic_ns()}", "w+", encoding="utf-8")
        test.addCleanup(self.errors.close)
        self.process = subprocess.Popen(
            [str(word) for word in (sys.executable, "-X", "faulthandler", VIEW, *words, "--filter", filter, *listen)], stdout=subprocess.PIPE,
            stderr=self.errors, text=True, **process)
        test.addCleanup(self.stop, signal.SIGKILL)
        line = self.process.stdout.readline().strip()
        if not line.startswith("view: http"):
            raise AssertionError(f"view did not start: {line}{self.said()}")
        self.address = line.removeprefix("view: ")
        parts = urllib.parse.urlsplit(self.address)
        self.port, self.token = parts.port, urllib.parse.parse_qs(parts.query).get("token", [None])[0]

    def said(self):
        """The program's messages so far."""
        self.errors.flush()
        self.errors.seek(0)
        return self.errors.read()

    def stop(self, number=signal.SIGTERM):
        """Returns the exit status. A crash fails the test."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        with contextlib.suppress(ValueError):
            self.process.communicate(timeout=WAIT)
        if self.process.returncode in CRASHES:
            raise AssertionError(f"view ended by {signal.Signals(-self.process.returncode).name}: {self.said()}")
        return self.process.returncode

    def memory(self):
        """Resident memory in bytes."""
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def ask(self, path, body=None, method=None, headers=None):
        """Status, headers and body of the answer to a request. `body`: text, bytes, or anything else as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        with contextlib.closing(connection):
            if body is not None and not isinstance(body, (str, bytes)):
                body = json.dumps(body)
            connection.request(method or ("GET" if body is None else "PUT"), path, body if not isinstance(body, str) else body.encode(),
                               {"Host": f"localhost:{self.port}"} | (headers or {}))
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()

    def get(self, path):
        status, _, body = self.ask(path)
        if status != 200:
            raise AssertionError(f"{path}: {status} {body}")
        return json.loads(body)

    def wait_for(self, state, number=0):
        until(lambda: self.get("/api/streams")["streams"][number]["state"].startswith(state), what=state)

    def events(self):
        return self.get("/api/events")


class Socket:
    """A page's connection to a stream."""

    def __init__(self, session, view, number=0, headers=None):
        self.session, self.address = session, f"ws://127.0.0.1:{view.port}/streams/{number}/live"
        self.headers = headers or {}

    async def __aenter__(self):
        self.socket = await self.session.ws_connect(self.address, max_msg_size=0, headers=self.headers)
        return self

    async def __aexit__(self, *_):
        await self.socket.close()

    async def say(self, do, **values):
        await self.socket.send_str(json.dumps({"do": do} | values))

    async def next(self):
        """The next message: a note, or the regions and the JPEG of a picture. None: the server has closed the connection."""
        message = await self.socket.receive(timeout=WAIT)
        if message.type == aiohttp.WSMsgType.TEXT:
            return json.loads(message.data), None
        if message.type != aiohttp.WSMsgType.BINARY:
            return None
        length, = struct.unpack_from("<I", message.data)
        return json.loads(message.data[4:4 + length]), message.data[4 + length:]

    async def pictures(self, count, is_answered=True):
        """The next pictures, each with its regions."""
        found = []
        while len(found) < count:
            what, picture = await self.next()
            if picture is not None:
                found.append((what, picture))
                if is_answered:
                    await self.say("shown", count=1)
        return found


def with_session(call):
    """Runs a coroutine that is given a client's session."""
    async def run():
        async with aiohttp.ClientSession() as session:
            return await call(session)

    return asyncio.run(run())


class ViewCase(Case):
    def square(self, seconds=8, name="in.mkv", codec=("-c:v", "ffv1")):
        return self.clip(name, SQUARE.format(seconds), *codec, "-pix_fmt", "yuv420p")

    def view(self, *words, **options):
        return View(self, *words, **options)

    def rules_file(self, rules=GATE):
        path = self.folder / "rules.json"
        path.write_text(json.dumps(rules), encoding="utf-8")
        return path
