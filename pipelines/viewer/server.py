"""The web server of pipelines/view. Whatever a client sends is refused unless it is expected: see guard() and COMMANDS."""

import asyncio
import collections
import contextlib
import hmac
import ipaddress
import json
import logging
import os
import struct
import urllib.parse

from aiohttp import WSMsgType, web
from files import Output, explain, opened
from viewer import peers
from viewer.recordings import NAME
from viewer.stream import Refused

# aiohttp logs a traceback for each line that is not HTTP. Faults of this program are reported by guard().
logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)
FOLDER = os.path.dirname(os.path.abspath(__file__))
PAGES = {"/": ("page.html", "text/html"), "/page.css": ("page.css", "text/css"), "/page.js": ("page.js", "text/javascript")}
KINDS = {"jpg": "image/jpeg", "mp4": "video/mp4", "json": "application/json"}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:;"
                               " media-src 'self' blob:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none';"
                               " form-action 'none'",
    "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin"}
MOST_BODY = 1 << 20  # bytes of a request: the limit of regionevents for rules
MOST_MESSAGE = 1 << 16  # bytes of a message of a page
MOST_VIEWERS = 100  # of all streams
MOST_CONNECTIONS = 300  # also of clients that send nothing; up to 128 more are closed only after they were accepted
MOST_NOTES = 120  # that wait for a viewer
MOST_UNSEEN = 50  # pictures that a viewer did not take
AHEAD = 2  # pictures on their way to a viewer
PATIENCE = 10  # seconds for the body of a request
PULSE = 10  # seconds between signs of life, which a viewer must answer
COOKIE = "regions-view"
BOUNDARY = "regions-picture"


class Refusal(asyncio.Protocol):
    """Closes a connection at once."""

    def connection_made(self, transport):
        transport.abort()


def is_local(host):
    """Whether a host's name means this machine."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


class Viewer:
    """A page that watches a stream. A slow viewer, or a viewer that does not read, misses pictures and delays no other."""

    def __init__(self, loop):
        self.loop, self.wake = loop, asyncio.Event()
        self.picture, self.sent, self.shown = None, 0, 0  # the next picture, and numbers of pictures
        self.notes = collections.deque(maxlen=MOST_NOTES)
        self.is_ended, self.unseen = False, 0  # `unseen`: number of pictures since the last sent picture
        self.wants, self.with_runs, self.peer = "pictures", False, None
        # The value of `wants` is "pictures", "video" or "nothing".

    def show(self, picture):
        self.picture = picture
        self.unseen += 1
        self.wake.set()

    def is_watching(self):
        """Whether pictures are encoded for this viewer. They are not while its page is hidden and does not answer."""
        return self.wants == "pictures" and self.unseen < MOST_UNSEEN

    def tell(self, note):
        self.notes.append(note)
        self.wake.set()

    def tell_later(self, note):
        """For other threads."""
        with contextlib.suppress(RuntimeError):  # the program is ending
            self.loop.call_soon_threadsafe(self.tell, json.dumps(note))

    async def next(self):
        """Waits for the next text or picture for this viewer. Raises ConnectionResetError when the program ends."""
        while True:
            if self.is_ended:
                raise ConnectionResetError
            if self.notes:
                return self.notes.popleft()
            if self.picture and self.sent - self.shown < AHEAD:
                picture, self.picture, self.unseen = self.picture, None, 0
                self.sent += 1
                return picture
            self.wake.clear()
            await self.wake.wait()

    def close(self):
        if self.peer:
            self.peer.close()
            self.peer = None


class Server:
    """Serves a page for streams. Its take_…() methods are called by streaming threads."""

    def __init__(self, loop, options, say):
        self.loop, self.options, self.say = loop, options, say
        self.streams, self.files, self.viewers, self.recordings = [], [], [], None
        self.cookie = COOKIE
        self.listener = None
        self.no_webrtc = peers.missing()
        self.origins = {origin.rstrip("/").lower() for origin in options.origin}
        self.hosts = {urllib.parse.urlsplit(origin).netloc for origin in self.origins}

    def add(self, stream, file):
        """A stream, and the file of its rules or None."""
        self.streams.append(stream)
        self.files.append(file)
        self.viewers.append(set())

    # ---- streaming threads

    def later(self, call, *arguments):
        with contextlib.suppress(RuntimeError):  # the program is ending
            self.loop.call_soon_threadsafe(call, *arguments)

    def take_state(self, stream):
        self.later(self.tell_all, stream.number, {"kind": "state", **self.state_of(stream)})

    def take_events(self, stream, at, events, sample):
        self.recordings.take_events(stream, at, events, sample)

    def take_end(self, stream):
        self.recordings.take_end(stream)

    def take_regions(self, stream, text):
        self.later(self.give, stream.number, "video", "tell", text.decode())

    def take_picture(self, stream, picture):
        self.later(self.give, stream.number, "pictures", "show", picture)

    def take_packet(self, stream, packet, origin):
        if origin == "encoder":
            for viewer in tuple(self.viewers[stream.number]):
                if viewer.wants == "video" and (peer := viewer.peer):
                    peer.send(packet)
        if self.options.record and origin == ("source" if stream.tapped else "encoder"):
            self.recordings.take_packet(stream, packet)

    def take_entry(self, entry):
        self.later(self.tell_all, None, {"kind": "entry", "entry": dict(entry)})

    # ---- the server's thread

    def give(self, number, wanted, method, what):
        for viewer in self.viewers[number]:
            if viewer.wants == wanted:
                getattr(viewer, method)(what)
                if viewer.unseen == MOST_UNSEEN:
                    self.wish(number)

    def tell_all(self, number, note):
        text = json.dumps(note)
        for at, viewers in enumerate(self.viewers):
            for viewer in viewers if number in (None, at) else ():
                viewer.tell(text)

    @staticmethod
    def state_of(stream):
        return {"state": stream.state, "size": stream.size, "warning": stream.warning}

    def wish(self, number):
        """Passes the wishes of all viewers of a stream to the stream."""
        viewers = self.viewers[number]
        self.streams[number].watch(any(each.is_watching() for each in viewers), any(each.wants == "video" for each in viewers),
                                   any(each.with_runs for each in viewers))

    @contextlib.contextmanager
    def watching(self, number):
        if sum(map(len, self.viewers)) >= MOST_VIEWERS:
            raise web.HTTPServiceUnavailable(text=f"{MOST_VIEWERS} viewers are connected; no more can be served")
        viewer = Viewer(self.loop)
        self.viewers[number].add(viewer)
        self.wish(number)
        try:
            yield viewer
        finally:
            self.viewers[number].discard(viewer)
            viewer.close()
            self.wish(number)

    async def listen(self, runner, host, port):
        """Accepts connections. Returns the number of the port."""
        def protocol():
            return runner.server() if len(runner.server.connections) < MOST_CONNECTIONS else Refusal()

        # Only IPv4 for localhost: the two addresses of that name would get different ports if the port is 0.
        self.listener = await self.loop.create_server(protocol, "127.0.0.1" if host == "localhost" else host, port, backlog=128)
        port = self.listener.sockets[0].getsockname()[1]
        self.cookie = f"{COOKIE}-{port}"  # browsers share cookies between the ports of a host
        return port

    async def close(self):
        """Ends all connections. Viewers have a second to take leave."""
        self.listener.close()
        for viewer in set().union(*self.viewers):
            viewer.is_ended = True
            viewer.wake.set()
        end = self.loop.time() + 1
        while any(self.viewers) and self.loop.time() < end:
            await asyncio.sleep(0.01)

    # ---- who may ask

    @web.middleware
    async def guard(self, request, handler):
        """Refuses other hosts and origins, and requests without the token."""
        try:
            if problem := self.foreign(request):
                raise web.HTTPForbidden(text=problem)
            if request.method == "GET" and request.path == "/" and self.is_token(request.query.get("token", "")):
                response = web.HTTPFound(request.path)
                response.set_cookie(self.cookie, self.options.token, httponly=True, samesite="Strict",
                                    secure=request.headers.get("X-Forwarded-Proto") == "https", max_age=30 * 86400)
                raise response
            if self.options.token and not any(map(self.is_token, (
                    request.cookies.get(self.cookie, ""), request.headers.get("Authorization", "").removeprefix("Bearer ")))):
                raise web.HTTPUnauthorized(text="open the address that pipelines/view printed, with its ?token=…")
            response = await handler(request)
        except web.HTTPException as response:
            response.headers.update(HEADERS)
            raise
        except Refused as problem:
            response = web.json_response({"problem": str(problem)}, status=400)
        except ConnectionError:  # the client has gone
            raise
        except Exception as fault:  # a request must not end the program, and its client learns nothing about it
            self.say(f"internal error of this program at {request.path}: {type(fault).__name__}: {fault}")
            response = web.Response(status=500, text="internal error")
        if not response.prepared:
            response.headers.update(HEADERS)
        return response

    def is_token(self, text):
        return bool(self.options.token) and hmac.compare_digest(
            text.encode("utf-8", "surrogateescape"), self.options.token.encode())

    def foreign(self, request):
        """Why a request may come from a page of another site, or None. A name that another site points to this machine is
        not this site."""
        host = request.headers.get("Host", "").lower()
        try:
            name = urllib.parse.urlsplit("//" + host).hostname or ""
        except ValueError:
            name = ""
        if not (is_local(name) or host in self.hosts or name == self.options.host.lower() or (not is_local(self.options.host) and is_address(name))):
            return f"unknown host: add --origin http://{host} if this is right"
        origin = request.headers.get("Origin", "").lower()
        if origin and origin not in self.origins and origin not in (f"http://{host}", f"https://{host}"):
            return "the request comes from a page of another site"
        return None

    # ---- requests

    def application(self):
        made = web.Application(middlewares=[self.guard], client_max_size=MOST_BODY)
        made.add_routes([
            *(web.get(path, self.page) for path in PAGES),
            web.get("/api/streams", self.list_streams), web.get("/api/events", self.list_events),
            web.get(r"/api/streams/{number:\d{1,4}}/properties", self.get_properties),
            web.put(r"/api/streams/{number:\d{1,4}}/properties", self.put_property),
            web.get(r"/api/streams/{number:\d{1,4}}/rules", self.get_rules),
            web.put(r"/api/streams/{number:\d{1,4}}/rules", self.put_rules),
            web.get(r"/streams/{number:\d{1,4}}/live", self.live), web.get(r"/streams/{number:\d{1,4}}/mjpeg", self.mjpeg),
            web.get(f"/events/{{name:{NAME.pattern}}}.{{kind:jpg|mp4}}", self.get_file)])
        return made

    async def page(self, request):
        name, kind = PAGES[request.path]
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            return web.Response(text=file.read(), content_type=kind)

    def number(self, request):
        number = int(request.match_info["number"])
        if number >= len(self.streams):
            raise web.HTTPNotFound(text=f"unknown stream {number}: the page has {len(self.streams)}")
        return number

    async def list_streams(self, _request):
        return web.json_response({
            "streams": [{"name": stream.shown, **self.state_of(stream)} for stream in self.streams],
            "webrtc": self.no_webrtc is None, "no-webrtc": self.no_webrtc, "record": bool(self.options.record)})

    async def list_events(self, _request):
        return web.json_response(self.recordings.latest())

    async def get_properties(self, request):
        return web.json_response(self.streams[self.number(request)].properties())

    async def put_property(self, request):
        number, wanted = self.number(request), await body_of(request)
        if not isinstance(wanted, dict) or set(wanted) != {"element", "name", "value"} or type(wanted["element"]) is not int \
                or not all(isinstance(wanted[key], str) and len(wanted[key]) < 2000 and "\0" not in wanted[key]
                           for key in ("name", "value")):
            raise Refused("expected the number of an element, and the name and value of a property as texts")
        self.streams[number].set_property(wanted["element"], wanted["name"], wanted["value"])
        return web.json_response(self.streams[number].properties())

    async def get_rules(self, request):
        return web.json_response(text=self.streams[self.number(request)].rules_text or "{}")

    async def put_rules(self, request):
        number, rules = self.number(request), await body_of(request)
        if not isinstance(rules, (dict, list)):
            raise Refused("expected an object or a list of zones and lines")
        text = json.dumps(rules, ensure_ascii=False, indent=1)
        try:
            text.encode()
        except UnicodeEncodeError:
            raise Refused("the text is not valid Unicode") from None
        # An object or a list is never taken for the name of a file.
        self.streams[number].set_rules(text)
        if file := self.files[number]:
            try:
                with Output(file) as output:
                    with open(output.fd, "w", closefd=False, encoding="utf-8") as written:
                        written.write(text + "\n")
                    output.keep()
            except OSError as error:
                raise Refused(f"used, but not saved: {explain(error)}") from error
        self.tell_all(number, {"kind": "rules"})
        return web.json_response({"saved": bool(file)})

    async def get_file(self, request):
        kind = request.match_info["kind"]
        found = self.recordings.file(request.match_info["name"], kind)
        if isinstance(found, bytes):
            return web.Response(body=found, content_type=KINDS[kind])
        if not found:
            raise web.HTTPNotFound(text="unknown clip")
        return web.FileResponse(found, headers={"Content-Type": KINDS[kind]} | HEADERS)

    async def mjpeg(self, request):
        """Pictures without regions, for programs without a browser."""
        with self.watching(self.number(request)) as viewer:
            response = web.StreamResponse(headers=HEADERS | {"Content-Type": f"multipart/x-mixed-replace; boundary={BOUNDARY}"})
            await response.prepare(request)
            with contextlib.suppress(ConnectionError):
                while True:
                    picture = await viewer.next()
                    viewer.shown = viewer.sent
                    if isinstance(picture, bytes):
                        jpeg = picture[4 + struct.unpack_from("<I", picture)[0]:]
                        await response.write(f"--{BOUNDARY}\r\nContent-Type: image/jpeg\r\nContent-Length: {len(jpeg)}\r\n\r\n"
                                             .encode() + jpeg + b"\r\n")
            return response

    async def live(self, request):
        """A page's connection: pictures and notes to the page, COMMANDS from it."""
        number = self.number(request)
        with self.watching(number) as viewer:
            socket = web.WebSocketResponse(heartbeat=PULSE, max_msg_size=MOST_MESSAGE, compress=False)
            await socket.prepare(request)
            viewer.tell(json.dumps({"kind": "state", **self.state_of(self.streams[number])}))
            sender = self.loop.create_task(self.send(socket, viewer))
            try:
                async for message in socket:
                    if message.type != WSMsgType.TEXT or not self.take_command(number, viewer, message.data):
                        await socket.close(code=1008, message=b"unexpected message")
            finally:
                if viewer.is_ended:
                    await sender
                sender.cancel()
            return socket

    @staticmethod
    async def send(socket, viewer):
        with contextlib.suppress(ConnectionError, RuntimeError):  # the connection has ended
            while True:
                what = await viewer.next()
                await (socket.send_bytes if isinstance(what, bytes) else socket.send_str)(what)
        await socket.close(code=1001)

    def take_command(self, number, viewer, text):
        """Returns whether the text is a command."""
        try:
            command = json.loads(text)
            kind, values = command.pop("do"), tuple(command.values())
            expected, act = COMMANDS[kind]
            if list(command) != list(expected) or not all(fits(value, of) for value, of in zip(values, expected.values())):
                return False
            return act(self, number, viewer, *values) is not False
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return False

    def do_shown(self, number, viewer, count):
        viewer.shown = min(viewer.shown + count, viewer.sent)
        if viewer.unseen >= MOST_UNSEEN:  # the page is visible again: its picture is old
            viewer.picture, viewer.unseen = None, 0
            self.wish(number)
        viewer.wake.set()

    def do_want(self, number, viewer, what, with_runs):
        viewer.wants, viewer.with_runs, viewer.picture, viewer.unseen = what, with_runs, None, 0
        if what == "video" and self.no_webrtc:
            return False
        if what == "video" and not viewer.peer:
            viewer.peer = peers.Peer(viewer.tell_later, self.streams[number].ask_key_frame)
        elif what != "video":
            viewer.close()
        self.wish(number)
        return True

    def do_click(self, number, _viewer, x, y, button):
        self.streams[number].click(x, y, button)

    @staticmethod
    def do_answer(_server, _number, viewer, sdp):
        return viewer.peer is None or viewer.peer.take_answer(sdp)

    @staticmethod
    def do_candidate(_server, _number, viewer, line, candidate):
        if viewer.peer:
            viewer.peer.take_candidate(line, candidate)


def fits(value, expected):
    """Whether a value is one of a tuple of texts, a number in a range, a text of at most a length, or a boolean."""
    if isinstance(expected, tuple):
        return value in expected if isinstance(value, str) else False
    if isinstance(expected, range):
        return type(value) in (int, float) and expected.start <= value <= expected.stop
    if isinstance(expected, int):
        return isinstance(value, str) and len(value) <= expected and "\0" not in value
    return type(value) is bool


# name: the expected values, and the function. All other messages end the connection.
COMMANDS = {
    "shown": ({"count": range(1, AHEAD)}, Server.do_shown),
    "want": ({"what": ("pictures", "video", "nothing"), "runs": bool}, Server.do_want),
    "click": ({"x": range(0, 65535), "y": range(0, 65535), "button": range(1, 3)}, Server.do_click),
    "answer": ({"sdp": MOST_MESSAGE}, Server.do_answer),
    "candidate": ({"line": range(0, 64), "candidate": 4096}, Server.do_candidate)}


def is_address(name):
    with contextlib.suppress(ValueError):
        return bool(ipaddress.ip_address(name))
    return False


async def body_of(request):
    """The JSON of a request."""
    try:
        text = await asyncio.wait_for(request.text(), PATIENCE)
        return json.loads(text, object_pairs_hook=only_once, parse_constant=refuse_constant)
    except asyncio.TimeoutError:
        raise web.HTTPRequestTimeout() from None
    except (ValueError, LookupError, RecursionError) as error:
        raise Refused(f"expected JSON: {error}") from error


def only_once(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is repeated")
    return found


def refuse_constant(text):
    raise ValueError(f"{text} is not a number")


def read_rules(path):
    """The text of a file of rules, or empty if it does not exist."""
    try:
        with opened(path) as file:
            return file.read(MOST_BODY + 1).decode()
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise OSError(0, f"{path}: the text is not UTF-8") from error
