"""A source of pipelines/view: plays it, finds its regions, and gives out pictures, regions, events and encoded video.

The running time of a frame is its name everywhere: a picture, its regions and its encoded form have the same."""

import json
import struct
import threading
import time

import filters
import sources
from gi.repository import GObject
from gstreamer import GLib, Gst, GstVideo, bytes_in, error_text, events_of, first_structure, regions_table, utc_text

MOST_REGIONS = 256  # that a page draws of a frame: the largest
MOST_RUNS = 20000
REMEMBERED = 64  # frames whose regions wait for their picture
KEY_FRAMES = 2  # seconds between key frames
PAUSE = 2  # seconds before a camera is tried again
FRAME_TIME = 40_000_000  # ns between frames without timestamps
NUMBERS = {"i4": "i", "u4": "I", "i8": "q", "u8": "Q", "f8": "d"}
# jpegenc expects full range. videoconvert ignores the range between two formats of luma and chroma.
JPEG_COLORS = "video/x-raw,format=BGRx"
QUEUE = "queue leaky=downstream max-size-buffers={} max-size-bytes=0 max-size-time=0"
PIPELINE = (
    "{source} ! queue {waiting} max-size-bytes=0 max-size-time=0 ! videoconvert name=entry"
    " ! videoflip video-direction=auto ! videoconvert name=before"
    " regionevents name=rules ! tee name=frames  frames. ! fakesink sync=false async=false"
    f" frames. ! {QUEUE.format(2)} ! valve name=pictures drop=true ! videoconvert ! {JPEG_COLORS} ! jpegenc name=jpeg"
    " ! appsink name=picture sync=false async=false max-buffers=2 drop=true emit-signals=true")
# A frame is one slice (threads=1), because browsers showed frames whose first slice was that of an earlier frame.
CODING = (
    f" frames. ! {QUEUE.format(4)} ! valve name=coding drop=true ! videobox name=even ! videoconvert"
    " ! video/x-raw,format=I420 ! x264enc tune=zerolatency speed-preset=ultrafast pass=qual quantizer=24 threads=1"
    f" key-int-max={KEY_FRAMES * 30} ! video/x-h264,profile=constrained-baseline ! h264parse config-interval=-1"
    " ! video/x-h264,stream-format=byte-stream,alignment=au"
    " ! appsink name=coded sync=false async=false max-buffers=60 drop=true emit-signals=true")
CODERS = ("x264enc", "h264parse")
CODED = ("video/x-h264", "video/x-h265")


class Refused(Exception):
    """A request cannot be fulfilled. The message gives the reason."""


def rows(structure, name):
    """A table of the metadata as a list of tuples."""
    if not structure.has_field(name):
        return []
    columns = structure.get_value(name + "-columns").split()
    numbers = "<" + "".join(NUMBERS[column.partition(":<")[2]] for column in columns)
    return list(struct.iter_unpack(numbers, bytes_in(structure, name)))


def described(buffer, with_runs=True):
    """The data of a frame for a page: its regions, and the zones and lines with their counts."""
    meta = buffer.get_custom_meta("regions")
    structure = meta.get_structure() if meta else None
    if not structure or not structure.has_field("width"):
        return {"total": 0, "regions": []}
    table = regions_table(buffer)
    place = {name: at for at, name in enumerate(table["columns"])}
    columns = [place[name] for name in ("id", "track", "x", "y", "width", "height", "area") if name in place]
    found = sorted(([row[at] for at in columns] for row in table["regions"]), key=lambda row: -row[-1])
    frame = {"width": table["width"], "height": table["height"], "total": table["regions-total"],
             "share": round(sum(row[-1] for row in found) / max(table["width"] * table["height"], 1), 4),
             "regions": found[:MOST_REGIONS], "scene": table.get("scene-change", "none")}
    if with_runs and "runs" in table:
        frame["runs"] = [number for run in table["runs"][:MOST_RUNS] for number in run]
    for kind in ("zone", "line"):
        if structure.has_field(f"{kind}-ids"):
            ids = structure.get_value(f"{kind}-ids").splitlines()
            frame[kind + "s"] = [[name, *row] for name, row in zip(ids, rows(structure, kind + "s"))]
    frame |= {name: rows(structure, name) for name in ("shapes", "numbers")}
    return frame


def time_of(pad_or_sample, buffer):
    """The running time of a buffer in ns, or None."""
    if isinstance(pad_or_sample, Gst.Pad):
        event = pad_or_sample.get_sticky_event(Gst.EventType.SEGMENT, 0)
        segment = event.parse_segment() if event else None
    else:
        segment = pad_or_sample.get_segment()
    if segment is None or segment.format != Gst.Format.TIME or buffer.pts == Gst.CLOCK_TIME_NONE:
        return None
    found = segment.to_running_time(Gst.Format.TIME, buffer.pts)
    return None if found == Gst.CLOCK_TIME_NONE else found


class Packet:
    """An encoded frame. Times are running times in ns."""

    def __init__(self, time_, buffer, caps):
        self.time, self.caps = time_, caps
        self.decoding_time = time_ if buffer.dts == Gst.CLOCK_TIME_NONE else max(time_ + buffer.dts - buffer.pts, 0)
        self.is_key = not buffer.has_flags(Gst.BufferFlags.DELTA_UNIT)
        self.data = buffer.extract_dup(0, buffer.get_size())

    def buffer(self, start=0):
        made = Gst.Buffer.new_wrapped(self.data)
        made.pts, made.dts = self.time - start, max(self.decoding_time - start, 0)
        if not self.is_key:
            made.set_flags(Gst.BufferFlags.DELTA_UNIT)
        return made


class Stream(threading.Thread):
    """`listener` has the methods take_state(), take_events(), take_regions(), take_picture(), take_packet() and
    take_end(), which streaming threads call. `rules` is JSON text or empty."""

    def __init__(self, number, source, options, rules, listener):
        super().__init__(daemon=True)
        self.number, self.source, self.options, self.listener = number, source, options, listener
        self.shown = sources.shown(source)
        self.rules_text, self.changes = rules, {}  # changes: properties that viewers set, by element and name
        self.state, self.size, self.warning = "starting", None, None
        self.is_watched = self.with_runs = self.is_coding = False
        self.is_over = False
        self.wishes = False, False  # pictures, packets
        self.is_camera = sources.is_live(source) and source != "test"
        self.ending = threading.Event()
        self.lock = threading.Lock()  # guards made, rules_text and changes
        self.made = None
        self.build()

    # ---- the pipeline

    def build(self):
        line, names = sources.elements(self.source, " ! clocksync")
        waiting = "leaky=downstream max-size-buffers=4" if sources.is_live(self.source) else "max-size-buffers=4"
        self.can_code = all(map(Gst.ElementFactory.find, CODERS))
        made = Gst.parse_launch((PIPELINE + CODING * self.can_code).format(source=line, waiting=waiting))
        for key, value in names.items():
            made.get_by_name("camera").set_property(key, value)
        made.get_by_name("jpeg").set_property("quality", self.options.quality)
        filtered = filters.made(self.options.filter)
        made.add(filtered)
        made.get_by_name("before").link(filtered)
        filtered.link(made.get_by_name("rules"))
        self.elements = [element for element in reversed(filtered.children) if filters.is_ours(element)]
        self.last, self.frame_time, self.tapped, self.remembered = None, FRAME_TIME, None, {}
        kinds = Gst.PadProbeType.BUFFER | Gst.PadProbeType.EVENT_DOWNSTREAM
        made.get_by_name("entry").get_static_pad("sink").add_probe(kinds, self.see_decoded)
        made.get_by_name("rules").get_static_pad("src").add_probe(kinds, self.see_regions)
        made.get_by_name("picture").connect("new-sample", self.see_picture)
        if self.can_code:
            made.get_by_name("coded").connect("new-sample", self.see_coded)
        made.connect("deep-element-added", self.see_element)
        with self.lock:
            self.made = made
            made.get_by_name("rules").set_property("rules", self.rules_text)
            for (at, name), value in self.changes.items():
                Gst.util_set_object_arg(self.elements[at], name, value)
        self.open_valves()

    def see_element(self, _pipeline, _part, element):
        """Encoded frames are recorded as they enter the decoder, so they are not encoded again."""
        factory = element.get_factory()
        if factory and "Codec/Decoder/Video" in factory.get_metadata("klass"):
            element.get_static_pad("sink").add_probe(Gst.PadProbeType.BUFFER, self.see_packet)

    def see_packet(self, pad, info):
        caps, buffer = pad.get_current_caps(), info.get_buffer()
        shape = first_structure(caps)
        at = time_of(pad, buffer)
        if self.tapped is not False:  # one packet without a time is enough: all others are encoded again
            self.tapped = at is not None and shape.get_name() in CODED
        if self.tapped and self.options.record:
            self.listener.take_packet(self, Packet(at, buffer, caps), "source")
        return Gst.PadProbeReturn.OK

    def see_decoded(self, _pad, info):
        """Gives each frame its own time, also if the camera gives none."""
        if not info.type & Gst.PadProbeType.BUFFER:
            if info.get_event().type == Gst.EventType.CAPS:
                known, top, bottom = first_structure(info.get_event().parse_caps()).get_fraction("framerate")
                self.frame_time = Gst.SECOND * bottom // top if known and top else FRAME_TIME
            return Gst.PadProbeReturn.OK
        buffer = info.get_buffer()
        if buffer.pts == Gst.CLOCK_TIME_NONE:
            buffer.pts, self.tapped = 0 if self.last is None else self.last + self.frame_time, False
        elif buffer.pts == self.last:
            buffer.pts += 1
        self.last = buffer.pts
        if not self.tapped and self.options.record and not self.is_coding and self.can_code:
            self.tapped = False  # raw video has no decoder
            self.open_valves()
        return Gst.PadProbeReturn.OK

    def see_regions(self, pad, info):
        if not info.type & Gst.PadProbeType.BUFFER:
            if info.get_event().type == Gst.EventType.CAPS:
                self.take_size(first_structure(info.get_event().parse_caps()))
            elif info.get_event().type == Gst.EventType.EOS:  # a closed valve holds it back, so the pipeline reports no end
                self.is_over = True
            return Gst.PadProbeReturn.OK
        buffer = info.get_buffer()
        at = time_of(pad, buffer)
        if at is None:
            return Gst.PadProbeReturn.OK
        if self.state != "playing":
            self.tell("playing")
        if events := events_of(buffer):
            live = {"received": utc_text(time.time())}
            self.listener.take_events(self, at, [event | live for event in events],
                                      Gst.Sample.new(buffer, pad.get_current_caps(), None, None))
        if self.is_watched:
            frame = {"time": at / Gst.SECOND, "pts": str(at), "rtp": at * 90000 // Gst.SECOND % 2**32,
                     **described(buffer, self.with_runs)}
            if "width" not in frame and self.size:
                frame["width"], frame["height"] = self.size
            self.remembered[at] = text = json.dumps(frame, separators=(",", ":")).encode()
            while len(self.remembered) > REMEMBERED:
                del self.remembered[next(iter(self.remembered))]
            self.listener.take_regions(self, text)
        return Gst.PadProbeReturn.OK

    def take_size(self, shape):
        self.size = shape.get_value("width"), shape.get_value("height")
        even = self.made.get_by_name("even")
        if not even:
            return
        for side, length in (("right", self.size[0]), ("bottom", self.size[1])):
            even.set_property(side, -max(length % 2, 16 - length))  # the encoder needs even sides of at least 16 pixels

    def see_picture(self, sink):
        sample = sink.emit("pull-sample")
        buffer = sample.get_buffer()
        if text := self.remembered.get(time_of(sample, buffer)):
            self.listener.take_picture(self, struct.pack("<I", len(text)) + text + buffer.extract_dup(0, buffer.get_size()))
        return Gst.FlowReturn.OK

    def see_coded(self, sink):
        sample = sink.emit("pull-sample")
        at = time_of(sample, sample.get_buffer())
        if at is not None:
            self.listener.take_packet(self, Packet(at, sample.get_buffer(), sample.get_caps()), "encoder")
        return Gst.FlowReturn.OK

    # ---- playing

    def tell(self, state):
        self.state = state
        self.listener.take_state(self)

    def run(self):
        problem = None
        while not self.ending.is_set():
            try:
                if self.made is None:
                    self.build()
                problem = self.play()
            except (filters.BadFilter, GLib.Error, sources.BadSource) as bad:
                problem = str(bad)
            with self.lock:
                self.keep_changes()
                self.made, made = None, self.made
            if made:
                made.set_state(Gst.State.NULL)
            self.listener.take_end(self)
            if self.ending.is_set() or not (self.is_camera or (self.options.loop and not problem)):
                break
            if self.is_camera:
                self.tell(f"stopped, trying again{': ' + problem if problem else ''}")
                self.ending.wait(PAUSE)
        self.tell(f"failed: {problem}" if problem else "ended")

    def keep_changes(self):
        """Takes over the values that the elements have. An element that cannot use a value keeps the former one."""
        for at, name in self.changes:
            self.changes[at, name] = shown(self.elements[at], self.elements[at].find_property(name))["value"]

    def play(self):
        """Plays until the end. Returns the problem, or None."""
        kinds = Gst.MessageType.ERROR | Gst.MessageType.WARNING
        made, self.is_over = self.made, False
        made.set_state(Gst.State.PLAYING)
        while not (self.ending.is_set() or self.is_over):
            message = made.get_bus().timed_pop_filtered(Gst.SECOND // 10, kinds)
            if message is None:
                continue
            if message.type == Gst.MessageType.ERROR:
                return error_text(message)
            self.warning = message.parse_warning()[0].message
            self.listener.take_state(self)
        return None

    def stop(self):
        self.ending.set()
        if self.is_alive():
            self.join(10)

    # ---- viewers' wishes, from the server's thread

    def watch(self, pictures, packets, runs):
        """Sets the wishes of the current viewers. Nothing else is computed."""
        self.is_watched, self.with_runs = pictures or packets, runs
        self.wishes = pictures, packets
        self.open_valves()

    def open_valves(self):
        pictures, packets = self.wishes
        with self.lock:
            if not self.made:
                return
            self.made.get_by_name("pictures").set_property("drop", not pictures)
            was, self.is_coding = self.is_coding, self.can_code and bool(
                packets or (self.options.record and self.tapped is False))
            if self.can_code:
                self.made.get_by_name("coding").set_property("drop", not self.is_coding)
        if packets and was:  # a new viewer cannot begin between key frames
            self.ask_key_frame()

    def ask_key_frame(self):
        with self.lock:
            if self.made:
                self.made.get_by_name("coded").get_static_pad("sink").push_event(
                    GstVideo.video_event_new_upstream_force_key_unit(Gst.CLOCK_TIME_NONE, True, 0))

    def click(self, x, y, button):
        """Elements with click-seeds=true select the region at this point."""
        structure = Gst.Structure.new_from_string(
            f"application/x-gst-navigation, event=(string)mouse-button-press, button=(int){button},"
            f" pointer_x=(double){x:f}, pointer_y=(double){y:f}, state=(int)0")
        with self.lock:
            if self.made:
                self.made.get_by_name("rules").get_static_pad("src").send_event(Gst.Event.new_navigation(structure))

    def set_rules(self, text):
        """Uses other rules from the next frame on. Refuses rules that regionevents refuses."""
        trial = Gst.ElementFactory.make("regionevents")
        trial.set_property("rules", text)
        trial.set_bus(bus := Gst.Bus.new())
        failed = trial.set_state(Gst.State.PAUSED) == Gst.StateChangeReturn.FAILURE
        trial.set_state(Gst.State.NULL)
        if failed:
            message = bus.pop_filtered(Gst.MessageType.ERROR)
            raise Refused(message.parse_error()[0].message if message else "regionevents refuses the rules")
        with self.lock:
            self.rules_text, self.warning = text, None
            if self.made:
                self.made.get_by_name("rules").set_property("rules", text)

    def properties(self):
        """The properties that viewers may change, by element."""
        with self.lock:
            return [{"element": element.get_factory().get_name(),
                     "properties": [shown(element, spec) for spec in element.list_properties() if is_listed(spec)]}
                    for element in self.elements]

    def set_property(self, at, name, value):
        """Sets a property of the list. `value` is text as for gst-launch."""
        with self.lock:
            if not 0 <= at < len(self.elements):
                raise Refused(f"unknown element {at}: the filter has {len(self.elements)}")
            element = self.elements[at]
            spec = element.find_property(name)
            if spec is None or not is_listed(spec):
                raise Refused(f"{element.get_factory().get_name()} {name} is not on the list of properties that can be changed")
            self.warning = None
            try:
                filters.set_property(element, f"{name}={value}")
            except filters.BadFilter as bad:
                raise Refused(str(bad)) from bad
            self.changes[at, name] = value


def is_listed(spec):
    """Whether viewers may set a property: it changes from frame to frame. Texts are excluded, because a text could name a file."""
    kind, needed = spec.value_type, GObject.ParamFlags.READWRITE | Gst.PARAM_CONTROLLABLE | Gst.PARAM_MUTABLE_PLAYING
    return int(spec.flags) & int(needed) == int(needed) and bool(
        hasattr(spec, "minimum") or kind.name in ("gboolean", "GstValueArray")
        or kind.is_a(GObject.TYPE_ENUM) or kind.is_a(GObject.TYPE_FLAGS))


def shown(element, spec):
    """A property as the page shows it. Values are text as for gst-launch."""
    value, kind = element.get_property(spec.name), spec.value_type
    found = {"name": spec.name, "blurb": spec.blurb, "kind": "number", "value": str(value)}
    if kind.is_a(GObject.TYPE_ENUM):
        choices = type(value).__enum_values__.values()
        found |= {"kind": "choice", "value": value.value_nick, "choices": [each.value_nick for each in choices]}
    elif kind.is_a(GObject.TYPE_FLAGS):
        choices = type(value).__flags_values__.values()
        found |= {"kind": "flags", "value": "+".join(value.value_nicks),
                  "choices": [nick for each in choices for nick in each.value_nicks]}
    elif kind.name == "gboolean":
        found |= {"kind": "switch", "value": str(value).lower()}
    elif kind.name == "GstValueArray":
        found |= {"kind": "list"}
    else:
        found |= {"least": spec.minimum, "most": spec.maximum, "whole": kind.name not in ("gfloat", "gdouble")}
    return found
