"""Clips of events in a folder of bounded size: NAME.json, NAME.jpg and NAME.mp4. Without a folder, events and their
thumbnails are kept in memory, without clips.

NAME.json is written when an event happens, and again when its clip is whole. So a killed program leaves the events whose clips
are missing. Files get their names when they are whole."""

import collections
import concurrent.futures
import contextlib
import fcntl
import json
import os
import re
import threading
import time

from files import Output, explain, json_of, make_folder, remove_remains
from gstreamer import Gst, GstVideo, error_text, first_structure, utc_text
from viewer.stream import JPEG_COLORS

NAME = re.compile(r"\d{8}T\d{6}Z-\d{3}-\d+")
FILES = re.compile(rf"({NAME.pattern})\.(json|jpg|mp4)")
MOST_WAITING = 8  # pieces of work for the thread that writes, without clips
MOST_EVENTS = 200  # of one clip, and clips in the list of a page
MOST_CLIPS = 10000
BUFFER_BYTES = 64 << 20  # per source
PICTURE_WIDTH = 320  # of thumbnails, in pixels
TIMEOUT = 20 * Gst.SECOND  # for writing a clip


class FolderProblem(Exception):
    """The folder cannot be used. The message gives the reason."""


def thumbnail(sample):
    """A small JPEG of a frame."""
    shape = first_structure(sample.get_caps())
    height = max(PICTURE_WIDTH * shape.get_value("height") // shape.get_value("width"), 1)
    for caps in (f"{JPEG_COLORS},width={PICTURE_WIDTH},height={height},pixel-aspect-ratio=1/1", "image/jpeg"):
        sample = GstVideo.video_convert_sample(sample, Gst.Caps.from_string(caps), 10 * Gst.SECOND)
    made = sample.get_buffer()
    return made.extract_dup(0, made.get_size())


def write_clip(packets, fd):
    """Writes encoded frames as MP4 without encoding them again. Raises OSError."""
    parser = "h265parse" if first_structure(packets[0].caps).has_name("video/x-h265") else "h264parse"
    made = Gst.parse_launch(f"appsrc name=in format=time ! {parser} ! mp4mux ! fdsink fd={fd} sync=false")
    feed, start = made.get_by_name("in"), min(packets[0].decoding_time, packets[0].time)
    feed.set_property("caps", packets[0].caps)
    made.set_state(Gst.State.PLAYING)
    for packet in packets:
        feed.emit("push-buffer", packet.buffer(start))
    feed.emit("end-of-stream")
    message = made.get_bus().timed_pop_filtered(TIMEOUT, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    made.set_state(Gst.State.NULL)
    if message is None or message.type == Gst.MessageType.ERROR:
        raise OSError(0, error_text(message) if message else "the clip was not written in time")


class PacketBuffer:
    """The last seconds of a source's encoded video as groups of packets. Each group begins with a key frame."""

    def __init__(self, caps):
        self.caps, self.groups, self.bytes = caps, collections.deque(), 0

    def add(self, packet, oldest):
        """Keeps packets from the last key frame at or before the time `oldest` on, as far as they fit."""
        if packet.is_key:
            self.groups.append([])
        if self.groups:
            self.groups[-1].append(packet)
            self.bytes += len(packet.data)
        while len(self.groups) > 1 and (self.groups[1][0].time <= oldest or self.bytes > BUFFER_BYTES):
            self.drop()
        if self.bytes > BUFFER_BYTES:  # key frames are too rare
            self.drop()

    def drop(self):
        self.bytes -= sum(len(packet.data) for packet in self.groups.popleft())

    def packets_from(self, start):
        groups = list(self.groups)
        while len(groups) > 1 and groups[1][0].time <= start:
            groups.pop(0)
        return [packet for group in groups for packet in group]


class Tape:
    """The state of a source's recording: its last packets, and the entry whose clip is not finished."""

    def __init__(self):
        self.packets = self.entry = None
        self.first = self.start = self.end = 0  # ns: time of the entry's first event, and its clip


class Recordings:
    """`limit` in bytes, `before` and `after` in seconds. `changed` is called with each entry that changed."""

    def __init__(self, folder, limit, before, after, say, changed):
        self.folder, self.limit, self.say, self.changed = folder, limit, say, changed
        self.before, self.after = int(before * Gst.SECOND), int(after * Gst.SECOND)
        self.lock = threading.Lock()  # guards entries, sizes, tapes, waiting; no file is written meanwhile
        self.entries, self.sizes = collections.OrderedDict(), {}  # by name, the oldest first
        self.thumbnails, self.tapes = {}, collections.defaultdict(Tape)
        self.waiting, self.is_failing = 0, False
        self.writer = concurrent.futures.ThreadPoolExecutor(1)
        if folder:
            self.open_folder()

    def open_folder(self):
        try:
            make_folder(self.folder)
            remove_remains(self.folder)
            self.guard = open(os.path.join(self.folder, ".regions-view.lock"), "wb")
            fcntl.flock(self.guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found = sorted(match[1] for match in map(FILES.fullmatch, os.listdir(self.folder)) if match)
        except BlockingIOError as error:
            raise FolderProblem(f"{self.folder}: another program records into this folder") from error
        except OSError as error:
            raise FolderProblem(explain(error)) from error
        for name in dict.fromkeys(found):
            self.take_up(name)

    def take_up(self, name):
        """An entry of an earlier run."""
        entry = None
        with contextlib.suppress(OSError):
            entry = json_of(self.path(name, "json"))
        if not entry or entry.get("name") != name or not isinstance(entry.get("events"), list):
            entry = {"name": name, "source": "", "events": [], "problem": "its description is missing"}
        has_clip, was_writing = os.path.exists(self.path(name, "mp4")), entry.get("clip") == "writing"
        entry |= {"clip": has_clip, "picture": os.path.exists(self.path(name, "jpg"))}
        self.entries[name] = entry
        if was_writing and not has_clip:
            entry["problem"] = "the program ended before the clip was written"
            self.say(f"{name}: the clip of {self.title(entry)} is missing: {entry['problem']}")
        if was_writing:
            self.write_entry(entry)
        self.measure(name)

    @staticmethod
    def title(entry):
        return ", ".join(" ".join(str(event[key]) for key in ("event", "zone", "line") if key in event)
                         for event in entry["events"] if isinstance(event, dict)) or "an event"

    def path(self, name, kind):
        return os.path.join(self.folder, f"{name}.{kind}")

    # ---- streaming threads

    def take_events(self, stream, at, events, sample):
        """Opens an entry, or adds events to the entry whose clip is not finished."""
        with self.lock:
            tape = self.tapes[stream.number]
            if self.folder and tape.entry and at - tape.first <= self.after and len(tape.entry["events"]) + len(events) <= MOST_EVENTS:
                entry, sample = tape.entry, None
                entry["events"] = entry["events"] + events
            else:
                self.finish(tape)
                now = time.time()
                entry = {"name": self.free_name(now, stream.number), "source": stream.shown,
                         "stream": stream.number, "time": utc_text(now), "events": events[:MOST_EVENTS],
                         "picture": False, "clip": "writing" if self.folder else False}
                tape.entry, tape.first, tape.start = entry, at, at - self.before
                self.entries[entry["name"]] = entry
                while not self.folder and len(self.entries) > MOST_EVENTS:
                    self.thumbnails.pop(self.entries.popitem(last=False)[0], None)
            tape.end = at + self.after
            is_free = self.waiting < MOST_WAITING
            self.waiting += is_free
        self.changed(entry)
        if is_free:
            self.writer.submit(self.store, entry, sample)

    def free_name(self, now, number):
        while True:
            name = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now)) + f"-{int(now * 1000) % 1000:03}-{number}"
            if name not in self.entries:
                return name
            now += 0.001

    def take_packet(self, stream, packet):
        with self.lock:
            tape = self.tapes[stream.number]
            if not tape.packets or not packet.caps.is_equal(tape.packets.caps):
                self.finish(tape)  # another size or format is another clip
                tape.packets = PacketBuffer(packet.caps)
            tape.packets.add(packet, min(packet.time - self.before, tape.start if tape.entry else packet.time))
            if tape.entry and packet.time > tape.end:
                self.finish(tape)

    def take_end(self, stream):
        with self.lock:
            tape = self.tapes.pop(stream.number, None)
            if tape:
                self.finish(tape)

    def finish(self, tape):
        """Writes the clip of the tape's entry, if there is one."""
        entry, tape.entry = tape.entry, None
        if entry and self.folder:
            self.writer.submit(self.store_clip, entry, tape.packets.packets_from(tape.start) if tape.packets else [])

    # ---- the thread that writes

    def store(self, entry, sample):
        name = entry["name"]
        with self.lock:
            self.waiting -= 1
            is_kept = name in self.entries
        try:
            if self.folder and is_kept:
                self.write_entry(entry)  # first: it names the event if the program is killed now
            if picture := thumbnail(sample) if sample and is_kept else None:
                if self.folder:
                    self.write(name, "jpg", picture)
                else:
                    self.thumbnails[name] = picture
                entry["picture"] = True
            if self.folder and is_kept:
                self.measure(name)
                self.make_room(0)
        except Exception as error:  # a bad frame must not stop the thread
            self.fail(entry, error)
        self.changed(entry)

    def store_clip(self, entry, packets):
        try:
            if not packets:
                raise OSError(0, "no encoded video had arrived")
            size = sum(len(packet.data) for packet in packets)
            if size > self.limit:
                raise OSError(0, f"the clip is larger than the limit of {self.limit} bytes")
            self.make_room(size)
            self.write(entry["name"], "mp4", packets)
            self.write_entry(entry | {"clip": True})  # before pages learn of the clip
            entry["clip"] = True
            self.is_failing = False
        except Exception as error:  # a bad clip must not stop the thread
            entry["clip"] = False
            self.fail(entry, error)
        self.measure(entry["name"])
        self.make_room(0)
        self.changed(entry)

    def fail(self, entry, error):
        entry["problem"] = explain(error)
        if not self.is_failing:
            self.say(f"{entry['name']}: {self.title(entry)}: {explain(error)}")
        self.is_failing = True
        if self.folder:
            with contextlib.suppress(OSError):
                self.write_entry(entry)

    def write_entry(self, entry):
        text = json.dumps(entry, ensure_ascii=False).encode()
        self.write(entry["name"], "json", text)

    def write(self, name, kind, content):
        with Output(self.path(name, kind)) as output:
            if kind == "mp4":
                write_clip(content, output.fd)
            else:
                with open(output.fd, "wb", closefd=False) as file:
                    file.write(content)
            output.keep()

    def measure(self, name):
        size = 0
        for kind in ("json", "jpg", "mp4"):
            with contextlib.suppress(OSError):
                size += os.stat(self.path(name, kind)).st_size
        with self.lock:
            self.sizes[name] = size

    def make_room(self, size):
        """Removes the oldest entries until `size` more bytes are within the limit."""
        while True:
            with self.lock:
                if (sum(self.sizes.values()) + size <= self.limit and len(self.entries) <= MOST_CLIPS) or not self.entries:
                    return
                name = next((name for name, entry in self.entries.items() if entry["clip"] != "writing"), None)
                if name is None:
                    return
                entry = self.entries.pop(name)
                self.sizes.pop(name, None)
            for kind in ("mp4", "jpg", "json"):
                with contextlib.suppress(OSError):
                    os.remove(self.path(name, kind))
            self.changed(entry | {"removed": True})

    # ---- the server

    def latest(self):
        with self.lock:
            return [dict(entry) for entry in list(self.entries.values())[-MOST_EVENTS:]][::-1]

    def file(self, name, kind):
        """The path or the bytes of a file, or None. Only names of entries are known here."""
        with self.lock:
            if name not in self.entries:
                return None
        if not self.folder:
            return self.thumbnails.get(name) if kind == "jpg" else None
        path = self.path(name, kind)
        return path if os.path.isfile(path) and not os.path.islink(path) else None

    def close(self):
        """Finishes all clips."""
        with self.lock:
            for tape in self.tapes.values():
                self.finish(tape)
        self.writer.shutdown()
